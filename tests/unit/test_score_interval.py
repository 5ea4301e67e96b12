"""Score intervals: golden numbers, and coverage computed exactly over every possible outcome."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from reference.score_interval import (
    WeightedSums,
    reconstructed_interval,
    reconstructed_variance,
    score_interval,
)
from scipy.stats import binom

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.uniform import Uniform

Floats = NDArray[np.float64]


@cache
def shown_distribution(rows: int, held: int, operator: Uniform) -> Floats:
    return np.convolve(
        binom.pmf(np.arange(held + 1), held, operator.own),
        binom.pmf(np.arange(rows - held + 1), rows - held, operator.other),
    )


def uniform_coverage(rows: int, operator: Uniform, low: Floats, high: Floats) -> Floats:
    """Return the exact coverage at every true count; the ends are per observed count."""
    return np.array(
        [
            shown_distribution(rows, k, operator)[(low <= k + 1e-9) & (k <= high + 1e-9)].sum()
            for k in range(rows + 1)
        ]
    )


def group_sums(size: int, sample: int, shown: NDArray[np.int64]) -> WeightedSums:
    """Return the sums over one group of ``size`` records represented by ``sample`` rows."""
    w = size / sample
    return WeightedSums(
        weight=size,
        weight_squared=w * size,
        shown=w * shown,
        shown_squared=w**2 * shown,
        sampled_squared=w * size if w > 1 else 0,
        largest=w,
    )


@pytest.mark.parametrize(
    ("rows", "shown", "p", "m", "low", "high"),
    [
        (100, 40, 0.5, 14, 56.4087, 92.7898),
        (100, 2, 0.5, 14, 0, 6.4729),
        (1000, 200, 0.2, 50, 801.991, 1000),
    ],
)
def test_golden(rows: int, shown: int, p: float, m: int, low: float, high: float) -> None:
    found = reconstructed_interval(WeightedSums.of_counts(rows, shown), Uniform(p, m))
    assert found == pytest.approx((low, high), abs=1e-4)


DOCUMENT = Path(__file__).parents[2] / "docs" / "counting.md"
DESIGNS = [
    (rows, p, m)
    for rows in (1, 2, 5, 10, 20, 50, 100)
    for p in (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
    for m in (2, 14, 50)
]


@pytest.mark.parametrize("column", [1, 2, 3, 4])
def test_the_coverage_that_the_documents_state(column: int) -> None:
    """Exactly, over every outcome: the smallest over all true counts and designs."""
    table = [line.split("|") for line in DOCUMENT.read_text("utf-8").splitlines()]
    stated = {cells[1].strip(): cells[1:] for cells in table if len(cells) == 7}
    confidence = float(stated["confidence"][column])
    found = []
    for rows, p, m in DESIGNS:
        operator = Uniform(p, m)
        ends = reconstructed_interval(
            WeightedSums.of_counts(rows, np.arange(rows + 1)), operator, confidence=confidence
        )
        assert (ends[1] > ends[0]).all()
        found.append(uniform_coverage(rows, operator, *ends).min())
    assert len(found) == 126
    assert min(found) == pytest.approx(float(stated["covered at least"][column]), abs=5e-5)
    assert min(found) >= confidence - 1e-12


def test_a_weight_is_a_unit_of_counting() -> None:
    """One group of 10 s records shown by s rows: ten times the interval of the s rows.

    Apart from the sampling's variance, which the interval of the rows does not have.
    """
    operator, shown = Uniform(0.5, 14), np.arange(58)
    rows = WeightedSums.of_counts(57, shown)
    sums = group_sums(570, 57, shown)
    unsampled = WeightedSums(
        sums.weight, sums.weight_squared, sums.shown, sums.shown_squared, 0.0, sums.largest
    )
    low, high = reconstructed_interval(rows, operator)
    tenfold = reconstructed_interval(unsampled, operator, 57)
    np.testing.assert_allclose(tenfold, (10 * low, 10 * high), rtol=1e-12)
    sampled_low, sampled_high = reconstructed_interval(sums, operator, 57)
    assert (sampled_low <= 10 * low + 1e-9).all()
    assert (sampled_high >= 10 * high - 1e-9).all()


def test_variance_is_unbiased_over_all_outcomes() -> None:
    operator, rows, held = Uniform(0.3, 4), 40, 9
    mass = shown_distribution(rows, held, operator)
    estimate = (np.arange(rows + 1) - rows * operator.other) / operator.retention
    true_variance = mass @ (estimate - held) ** 2
    found = reconstructed_variance(WeightedSums.of_counts(rows, np.arange(rows + 1)), operator)
    assert mass @ found == pytest.approx(true_variance)
    assert (found >= 0).all()


def test_ends_hold_for_any_sums_that_rows_can_have() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        operator = Uniform(rng.uniform(0.05, 0.95), int(rng.integers(2, 60)))
        weight = 1 + rng.lognormal(0, 2, 30) * (rng.random(30) < 0.5)
        shown = rng.random(30) < rng.random()
        sums = WeightedSums(
            weight.sum(),
            (weight**2).sum(),
            weight[shown].sum(),
            (weight[shown] ** 2).sum(),
            (weight[weight > 1] ** 2).sum(),
            weight.max(),
        )
        narrow = reconstructed_interval(sums, operator, 3, 0.5)
        wide = reconstructed_interval(sums, operator, 3, 0.99)
        assert 0 <= wide[0] <= narrow[0] <= narrow[1] <= wide[1] <= weight.sum()


def test_an_empty_subset_holds_nothing() -> None:
    found = reconstructed_interval(WeightedSums.of_counts(0, 0), Uniform(0.5, 14))
    assert [float(end) for end in found] == [0, 0]


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, float("nan")])
def test_refuses_a_confidence_that_is_none(confidence: float) -> None:
    with pytest.raises(InvalidParameter, match="confidence must lie"):
        score_interval(1.0, 1.0, 0.0, 0.5, 10.0, confidence)
