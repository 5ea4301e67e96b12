"""Weights and bounds of decoy groups that nothing chooses: the second form alone, and what is always true.

Derivation: ``../conditional_poisson.md``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.conditional_poisson import InverseWeights
from duckdb_priv.mechanism.splu_reconstruction import for_all_values, published_design


def count_bounds(count: ArrayLike, rows: ArrayLike, subset: ArrayLike) -> tuple[Vector, Vector]:
    """Return what the count of a value in a subset must lie between, whatever was published there.

    ``count`` of ``rows`` records hold the value. All that is known where a value is in every group.

    >>> [float(bound) for bound in count_bounds(300, 1000, 800)]
    [100.0, 300.0]
    """
    total, size = np.asarray(count, np.float64), np.asarray(subset, np.float64)
    return np.maximum(0, size + total - np.asarray(rows)), np.minimum(total, size)


def conditional_poisson_weights(counts: ArrayLike, gamma: int) -> InverseWeights:
    """Return the conditional Poisson weights for a published histogram.

    A value that no record shows is estimated as 0 in every subset; its column meets no record.
    Raises ``InvalidParameter`` where a value is in all groups but one in ten thousand, or where
    there are too many distinct counts.

    >>> form = conditional_poisson_weights([4, 3, 3, 2], 2)
    >>> (form.row(0) @ [4, 3, 3, 2]).round(9), (form.row(0) @ [1, 1, 1, 0]).round(3)
    (np.float64(4.0), np.float64(0.858))
    """
    published = np.asarray(counts, np.float64)
    return for_all_values(published_design(published, gamma).inverse(), published > 0, gamma)
