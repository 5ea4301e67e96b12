"""The interval of a change between two versions, by the exact law of the noise of the records that moved."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from duckdb_priv.mechanism.uniform import Uniform, epsilon_retention

MOVED = 100
"""Rows of both versions that are of records that moved: the fewest that the catalog says, if any."""


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
