"""Differentially private frequencies of a table's values: noisy counts, rounded to half powers of two.

Published retentions are computed from frequencies, so they reveal something about the table. If they are computed from
these noisy frequencies, epsilon bounds what they reveal. Derivation: ``reference_frequencies.md`` beside this file.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Integers, Vector
from duckdb_priv.mechanism.discrete_laplace import Bits, laplace_count, secure_bits


def reference_frequencies(counts: Integers, epsilon: float, bits: Bits = secure_bits) -> Vector:
    """Return a noisy share of each value, shape (m,), rounded to a half power of two.

    The shares are epsilon-differentially private: they change the odds between two values of one record by at most
    the factor ``exp(epsilon)``, even for someone who knows all other records. Noisy counts below 1 become 1.

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
