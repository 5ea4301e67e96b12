"""Frequencies of a table that may be published: counted with noise, and rounded to half powers of two.

What is computed from a table and published reveals something of it. Retentions that follow from these frequencies
reveal no more than these do, and that is bounded. Derivation: ``reference_frequencies.md`` beside this file.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Integers, Vector
from duckdb_priv.mechanism.discrete_laplace import Bits, laplace_count, secure_bits


def reference_frequencies(counts: Integers, epsilon: float, bits: Bits = secure_bits) -> Vector:
    """Return the share of each value, shape (m,), as a half power of two that one record hardly changes.

    Someone who knows all records but one learns from them at most a factor ``exp(epsilon)`` for the odds of two values
    of that record. A value that does not occur counts once.

    >>> reference_frequencies(np.array([250_000, 500_000, 250_000]), 0.1).tolist()
    [0.25, 0.5, 0.25]
    """
    return rounded(np.maximum(laplace_count(counts, epsilon / 2, bits), 1) / counts.sum())


def rounded(shares: ArrayLike) -> Vector:
    """Return the nearest of 1, 2^-1/2, 2^-1, 2^-3/2, ... to each share.

    >>> rounded([0.26, 0.3, 0.44]).round(4).tolist()
    [0.25, 0.3536, 0.5]
    """
    return np.asarray(np.exp2(np.rint(2 * np.log2(shares)) / 2), dtype=np.float64)
