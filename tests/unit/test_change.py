"""The interval of a change between two versions, by the exact law of the noise of the records that moved."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from duckdb_priv.mechanism.fine_grain import FineGrain
from duckdb_priv.mechanism.moved_noise import noise_of_one
from duckdb_priv.mechanism.uniform import Uniform, epsilon_retention

MOVED = 100
"""Rows of both versions that are of records that moved: the fewest that the catalog says, if any."""


FEW = (1, 2, 3, 4, 5, 10, 30)
"""Rows of a part of the table."""


def reported(holders: int, others: int, operator: Uniform) -> np.ndarray:
    """Return the law of how many of some rows show a value that ``holders`` of them truly have."""
    law: np.ndarray = np.convolve(
        stats.binom.pmf(np.arange(holders + 1), holders, operator.own),
        stats.binom.pmf(np.arange(others + 1), others, operator.other),
    )
    return law


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99, 0.999])
def test_it_covers_whatever_the_records_that_moved_have(confidence) -> None:
    z = stats.norm.ppf((1 + confidence) / 2)
    for epsilon, size, came in product((0.5, 1.0, 3.0), (2, 8, 50), (0, 30, 50, 100)):
        operator = Uniform(epsilon_retention(epsilon, size), size)
        gap = operator.own - operator.other
        worst = max(operator.own * (1 - operator.own), operator.other * (1 - operator.other))
        reach = z * math.sqrt(MOVED * worst) / gap + max(0.5, (z**2 - 1) / 6) / gap
        gone = MOVED - came
        for have, had in product({0, came // 2, came}, {0, gone // 2, gone}):
            law = np.convolve(
                reported(have, came - have, operator), reported(had, gone - had, operator)[::-1]
            )
            shown = np.arange(len(law)) - gone
            estimate = (shown - operator.other * (came - gone)) / gap
            assert law[abs(estimate - (have - had)) <= reach + 1e-9].sum() >= confidence


def reach_of(rows: int, largest: float, step: float, confidence: float) -> float:
    """Return half the interval, as change.sql has it."""
    z = stats.norm.ppf((1 + confidence) / 2)
    return float(z * math.sqrt(max(rows, 5) * largest) + max(0.5, (z**2 - 1) / 6) * step)


@pytest.mark.parametrize("rows", FEW)
def test_it_covers_in_parts_where_few_moved(rows) -> None:
    for confidence, epsilon, size in product((0.9, 0.95, 0.99), (0.5, 1.0, 3.0), (2, 8, 50)):
        operator = Uniform(epsilon_retention(epsilon, size), size)
        gap = operator.own - operator.other
        worst = max(operator.own * (1 - operator.own), operator.other * (1 - operator.other))
        reach = reach_of(rows, worst / gap**2, 1 / gap, confidence)
        for came in {0, rows // 2, rows}:
            gone = rows - came
            for have, had in product({0, came // 2, came}, {0, gone // 2, gone}):
                law = np.convolve(
                    reported(have, came - have, operator), reported(had, gone - had, operator)[::-1]
                )
                estimate = (np.arange(len(law)) - gone - operator.other * (came - gone)) / gap
                near = abs(estimate - (have - had)) <= reach + 1e-9
                assert law[near].sum() >= confidence


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_it_covers_where_values_have_retentions_of_their_own(confidence) -> None:
    """Fine grain of three values: all that came truly have one of them, all that left one."""
    operator = FineGrain(np.array([0.15, 0.4, 0.8])).matrix()
    weights = np.linalg.inv(operator)
    largest, step = noise_of_one(operator, weights)
    for came, (new, old), value in product((0, 20, 40), product(range(3), range(3)), range(3)):
        gone = 40 - came
        sums, law = np.zeros(1), np.ones(1)
        for count, true, sign in ((came, new, 1), (gone, old, -1)):
            shown = [(a, b, count - a - b) for a in range(count + 1) for b in range(count + 1 - a)]
            chance = stats.multinomial.pmf(shown, count, operator[:, true])
            each = sign * (np.array(shown) @ weights[value])
            sums, law = np.add.outer(sums, each).ravel(), np.outer(law, chance).ravel()
        true_change = came * (new == value) - gone * (old == value)
        reach = reach_of(40, largest[value], step[value], confidence)
        assert law[abs(sums - true_change) <= reach + 1e-9].sum() >= confidence - 1e-9
