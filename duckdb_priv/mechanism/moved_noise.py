"""The largest noise that one record adds to the difference of a count between two versions of a release.

Derivation: ``two_looks.md`` beside this file.
"""

from __future__ import annotations

import numpy as np

from duckdb_priv.mechanism.arrays import Matrix, Vector


def noise_of_one(operator: Matrix, weights: Matrix) -> tuple[Vector, Vector]:
    """Return, for each value, the largest variance of a record's weight, and the range of its weights.

    Entry ``[y, x]`` of ``operator`` is Pr[published = y | original = x]; ``weights`` is its inverse. Entry ``[x, y]``
    of the inverse is what a published y adds to the estimate of x.

    >>> operator = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> largest, step = noise_of_one(operator, np.linalg.inv(operator))
    >>> largest.tolist(), step.tolist()
    ([0.75, 0.75], [2.0, 2.0])
    """
    variances = weights**2 @ operator - (weights @ operator) ** 2
    return np.maximum(variances.max(axis=1), 0), np.ptp(weights, axis=1)
