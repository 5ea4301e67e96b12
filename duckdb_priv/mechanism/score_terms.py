"""What score intervals need to know of any operator besides its weights, in numbers per value.

Rows that show none of the values that weigh most seem to have no noise, and a law with a long tail passes its normal
approximation by. So an interval also knows how much noise records have that are like those of the whole release, and
how far its law leans to either side. Derivation: ``operator.md``.
Source: Wilson (1927) for the score interval; Cornish, Fisher, "Moments and cumulants in the specification of
distributions" (1938), for the term of skewness.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Matrix, Vector

STEPS = 100
"""Steps of the iterative Bayesian method from the estimates that are not negative: near the likeliest shares."""

SILENT = 1e-12
"""Below this a variance is rounding."""


class ScoreTerms(NamedTuple):
    """Per value, in the order of the domain, in records and squared records."""

    slope: Vector
    """How much the variance of the estimate grows when one more record truly has the value."""
    scatter: Vector
    """What one record with another value adds to the variance, on average over the release."""
    most_scatter: Vector
    """The most that a record can add."""
    upward: Vector
    """Third cumulant over variance of what a record adds, at most; 0 if it is negative."""
    downward: Vector
    """The same with the other sign."""


def likely_shares(weights: Matrix, operator: Matrix, observed: ArrayLike) -> Vector:
    """Return shares of true values under which the observed counts are about the most likely; none is 0.

    >>> P = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> likely_shares(np.linalg.inv(P), P, [60, 40]).round(6)
    array([0.7, 0.3])
    """
    shown = np.asarray(observed, np.float64) / max(np.sum(observed), 1)
    shares = _positive(weights @ shown)
    for _ in range(STEPS):
        shares = _positive(shares * (operator.T @ (shown / np.maximum(operator @ shares, 1e-300))))
    return shares


def _positive(shares: Vector) -> Vector:
    floored = np.maximum(shares, 1e-9)
    return np.asarray(floored / floored.sum(), np.float64)


def score_terms(weights: Matrix, operator: Matrix, shares: Vector) -> ScoreTerms:
    """Return the terms of all values, the records without a value being like those of ``shares``.

    For uniform perturbation they do not depend on the shares:

    >>> P = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    >>> terms = score_terms(np.linalg.inv(P), P, np.array([0.8, 0.1, 0.1]))
    >>> terms.slope.round(9), terms.scatter.round(9), terms.upward.round(9)
    (array([0.5, 0.5, 0.5]), array([1., 1., 1.]), array([1.5, 1.5, 1.5]))
    """
    # W P = 1, so what a record adds has mean 1 if it has the value, and 0 if not.
    square, cube = weights**2, weights**3
    scatters = square @ operator
    own = np.diagonal(scatters) - 1
    np.fill_diagonal(scatters, 0)
    own_cube = np.einsum("xy,yx->x", cube, operator)
    apart = 1 - shares
    scatter = scatters @ shares / apart
    leaning = (cube @ (operator @ shares) - shares * own_cube) / apart
    ratios = [
        np.divide(third, second, out=np.zeros_like(second), where=second > SILENT)
        for third, second in (
            (own_cube - 3 * (own + 1) + 2, own),
            (leaning, scatter),
        )
    ]
    most = np.maximum(scatters.max(axis=1), own)
    return ScoreTerms(
        own - scatter, scatter, most, np.maximum(0, np.maximum(*ratios)),
        np.maximum(0, -np.minimum(*ratios)),
    )  # fmt: skip
