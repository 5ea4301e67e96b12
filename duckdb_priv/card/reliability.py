"""Finds the size from which on counts are exact enough."""

from __future__ import annotations

import math

import numpy as np

from duckdb_priv.card.charts import Z95
from duckdb_priv.mechanism.arrays import Vector

MOST = 0.95
"""The share of counts, from the size on, that must be exact enough."""


def reliable_from(counts: Vector, stderrs: Vector, error: float) -> float | None:
    """Return the size from which on nearly all counts have a 95% interval within ``error`` times the count.

    ``stderrs`` are the standard errors of ``counts``. The size is rounded up to two digits. Returns None if not even
    the largest counts are that exact.

    >>> counts = np.array([10.0, 100.0, 1000.0, 2000.0])
    >>> reliable_from(counts, np.full(4, 30.0), 0.1)
    1000.0
    >>> reliable_from(counts, np.full(4, 300.0), 0.1) is None
    True
    """
    kept = counts >= 1
    order = np.argsort(counts[kept])
    sizes, errors = counts[kept][order], (Z95 * stderrs[kept])[order]
    exact = errors <= error * sizes
    from_here = np.arange(len(exact), 0, -1)
    enough = exact & (np.cumsum(exact[::-1])[::-1] >= MOST * from_here)
    if not enough.any():
        return None
    size = float(sizes[np.argmax(enough)])
    digit = 10.0 ** max(math.floor(math.log10(size)) - 1, 0)
    return math.ceil(size / digit) * digit
