"""Aggregate utility: 1 minus the mean distance of reconstructed frequencies from the true ones.

Source: Chaytor, Wang, "Fine grain perturbation for privacy preserving data publishing", section V. The paper measures
one release; this module computes the mean over many simulated releases.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Matrix


def aggregate_utility(
    weights: Matrix,
    operator: Matrix,
    true_counts: ArrayLike,
    rng: np.random.Generator,
    releases: int,
) -> float:
    """Return the mean over releases of 1 - mean of abs(f - f') over the values; larger is better.

    ``operator[y, x]`` is the probability that a record with value x shows y, ``weights`` is its inverse, and
    ``true_counts`` are whole numbers. Errors are nearly normal, so the result is about 1 minus sqrt(2 / pi) times the
    mean standard error, which is .00866 here:

    >>> P = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> utility = aggregate_utility(
    ...     np.linalg.inv(P), P, [7000, 3000], np.random.default_rng(1), 20_000
    ... )
    >>> round((1 - utility) / 0.008660254, 2), round(float(np.sqrt(2 / np.pi)), 2)
    (0.8, 0.8)
    """
    true = np.asarray(true_counts, np.int64)
    shown = rng.multinomial(true, operator.T, size=(releases, true.size)).sum(axis=1)
    return float(1 - np.abs(shown @ weights.T - true).mean() / true.sum())
