"""Intervals of few rows behind general operators: where rows that show no noise used to be taken for certainty."""

from __future__ import annotations

import numpy as np
import pytest
from reference.score_interval import score_interval
from scipy.stats import binom

from duckdb_priv.mechanism.arrays import Matrix, Vector
from duckdb_priv.mechanism.fine_grain_program import optimal_operator
from duckdb_priv.mechanism.operator import half_step, invert
from duckdb_priv.mechanism.requirements import Requirements
from duckdb_priv.mechanism.score_terms import likely_shares, score_terms

SHARES = np.array([30, 18, 12, 10, 8, 6, 5, 4, 3, 2, 1, 1]) / 100
PUBLISHED, RUNS = 50_000, 400


def fine_grain(tolerance: float) -> Matrix:
    """With values that hardly ever show what they are."""
    requirements = Requirements.from_tolerance(SHARES, tolerance)
    return optimal_operator(SHARES, requirements, min_retention=0.01).matrix()


def sparse() -> Matrix:
    """Of ten records six show what they have, and four the next value."""
    return 0.6 * np.eye(SHARES.size) + 0.4 * np.roll(np.eye(SHARES.size), 1, axis=0)


def drawn(operator: Matrix, held: Vector, runs: int, rng: np.random.Generator) -> Matrix:
    """Return how often every value is shown, in every run, by records that hold values so often."""
    shown = np.zeros((runs, held.size))
    for value in np.flatnonzero(held):
        shown += rng.multinomial(int(held[value]), operator[:, value], runs)
    return shown


@pytest.mark.parametrize("confidence", [0.95, 0.99])
@pytest.mark.parametrize(
    "operator", [fine_grain(10), fine_grain(20), sparse()], ids=["10", "20", "sparse"]
)
def test_a_value_that_nobody_has_is_covered(operator: Matrix, confidence: float) -> None:
    """Over subsets of 20 to 150 records; with a normal interval and no floor it is 80 to 90%."""
    rng = np.random.default_rng(11)
    weights = invert(operator)
    published = drawn(operator, np.rint(PUBLISHED * SHARES), 1, rng)[0]
    terms = score_terms(weights, operator, likely_shares(weights, operator, published))
    covered, asked, worst = 0.0, 0, 1.0
    for rows in (20, 40, 80, 150):
        for _ in range(6):
            held = rng.multinomial(rows, rng.dirichlet(10 * SHARES))
            shown = drawn(operator, held, RUNS, rng)
            estimates, variances = shown @ weights.T, shown @ (weights**2 - weights).T
            nearest = np.clip(estimates, 0, rows)
            floor = (rows - 1) * terms.scatter + terms.most_scatter
            low, high = score_interval(
                estimates,
                np.maximum(variances - terms.slope * nearest, floor),
                terms.slope,
                half_step(weights),
                rows,
                confidence,
                upward=terms.upward,
                downward=terms.downward,
            )
            assert (low < high).all()
            assert ((low <= nearest) & (nearest <= high)).all()
            absent = held == 0
            share = (low <= 0).mean(axis=0)[absent]
            covered, asked = covered + share.sum(), asked + share.size
            worst = min(worst, *share)
    assert covered / asked >= confidence
    # No single count misses 94% by more than chance explains.
    assert worst * RUNS >= binom.ppf(1e-9, RUNS, min(confidence, 0.94))


def test_the_likeliest_shares_are_those_of_the_records() -> None:
    rng = np.random.default_rng(2)
    for operator in (fine_grain(20), sparse()):
        published = drawn(operator, np.rint(PUBLISHED * SHARES), 1, rng)[0]
        found = likely_shares(invert(operator), operator, published)
        assert found.min() > 0
        assert found.sum() == pytest.approx(1)
        np.testing.assert_allclose(found, SHARES, atol=0.1)


def test_a_single_value_may_be_all_there_is() -> None:
    operator = sparse()
    only = np.zeros(SHARES.size)
    only[3] = 1000
    shares = likely_shares(invert(operator), operator, operator @ only)
    terms = score_terms(invert(operator), operator, shares)
    assert all(np.isfinite(of).all() for of in terms)
