"""Numbers per value that score intervals need for any operator, besides its weights: variance and skewness.

The variance estimated from rows that show no heavily weighted value is near 0, although their records have noise. And a
skewed estimate needs a correction to its normal approximation. So an interval also uses the variance of records that
are distributed as in the whole release, and a bound of the skewness on either side. Derivation: ``operator.md``.
Source: Wilson (1927) for the score interval; Cornish, Fisher, "Moments and cumulants in the specification of
distributions" (1938), for the term of skewness.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Matrix, Vector

STEPS = 100
"""Steps of the iterative Bayesian method, from the clipped unbiased estimates: close to maximum likelihood."""

SILENT = 1e-12
"""A variance below this is rounding error and counts as 0."""


class ScoreTerms(NamedTuple):
    """One number per value, in the order of the domain. Units are records and squared records."""

    slope: Vector
    """Increase of the estimate's variance for each further record that truly has the value."""
    scatter: Vector
    """Variance that one record with another value adds, averaged over the release."""
    most_scatter: Vector
    """Largest variance that any record adds."""
    upward: Vector
    """Largest ratio of third cumulant to variance of a record's contribution; 0 if all are negative."""
    downward: Vector
    """The same ratio for the negative of the contribution."""


def likely_shares(weights: Matrix, operator: Matrix, observed: ArrayLike) -> Vector:
    """Return approximate maximum likelihood shares of the true values, given observed counts. All are positive.

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
    """Return the terms of all values; records with other values are distributed as ``shares``.

    For uniform perturbation the terms do not depend on the shares:

    >>> P = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    >>> terms = score_terms(np.linalg.inv(P), P, np.array([0.8, 0.1, 0.1]))
    >>> terms.slope.round(9), terms.scatter.round(9), terms.upward.round(9)
    (array([0.5, 0.5, 0.5]), array([1., 1., 1.]), array([1.5, 1.5, 1.5]))
    """
    # W P = 1, so a record's contribution has mean 1 if it has the value, else 0.
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
