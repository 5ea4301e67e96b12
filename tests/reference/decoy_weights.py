"""The conditional Poisson weights of decoy groups, without selection of a form, and bounds that always hold.

Derivation: ``mechanism/conditional_poisson.md``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.conditional_poisson import InverseWeights
from duckdb_priv.mechanism.splu_reconstruction import for_all_values, published_design


def count_bounds(count: ArrayLike, rows: ArrayLike, subset: ArrayLike) -> tuple[Vector, Vector]:
    """Return the smallest and the largest possible count of a value in a subset, whatever the subset shows.

    ``count`` of ``rows`` records hold the value. If a value is in every group, nothing else is known.

    >>> [float(bound) for bound in count_bounds(300, 1000, 800)]
    [100.0, 300.0]
    """
    total, size = np.asarray(count, np.float64), np.asarray(subset, np.float64)
    return np.maximum(0, size + total - np.asarray(rows)), np.minimum(total, size)


def conditional_poisson_weights(counts: ArrayLike, gamma: int) -> InverseWeights:
    """Return the conditional Poisson weights for a published histogram.

    A value that no record shows has the estimate 0 in every subset. Raises ``InvalidParameter`` if a value is in more
    than 9,999 of 10,000 groups, or if there are too many distinct counts.

    >>> form = conditional_poisson_weights([4, 3, 3, 2], 2)
    >>> (form.row(0) @ [4, 3, 3, 2]).round(9), (form.row(0) @ [1, 1, 1, 0]).round(3)
    (np.float64(4.0), np.float64(0.858))
    """
    published = np.asarray(counts, np.float64)
    return for_all_values(published_design(published, gamma).inverse(), published > 0, gamma)
