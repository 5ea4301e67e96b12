"""Bias and variance of a count that is scaled up from a sample without its small groups.

Derivations: ``scaled_count.md`` beside this file. SQL computes the estimate and its interval; tests compare them with
``reference/scaled_count.py``. Source: Li, Qardaji, Su (ASIACCS 2012) for the sample and the suppression.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism import binomial
from duckdb_priv.mechanism.arrays import Floats


def suppression_bias(size: ArrayLike, k: int, beta: float) -> Floats:
    """Return the bias of ``kept / beta`` for one group of ``size`` records; it is never positive.

    ``E[J 1{J >= k}] / beta - n = -n Pr[Bin(n - 1, beta) <= k - 2]``: a group is suppressed if fewer than k of its
    records are sampled. ``size`` is an array of counts, of any shape.

    >>> [round(float(x), 2) for x in suppression_bias([50, 200, 400], k=20, beta=0.1)]
    [-50.0, -76.25, -0.02]
    """
    n = np.asarray(size, dtype=np.float64)
    return np.asarray(-n * binomial.cdf(k - 2, np.maximum(n - 1, 0), beta))


def suppression_variance(size: ArrayLike, k: int, beta: float) -> Floats:
    """Return the variance of ``kept / beta`` for one group of ``size`` records, suppression included.

    It follows from ``E[J 1{J >= k}] = n beta Pr[Bin(n - 1, beta) >= k - 1]`` and
    ``E[J (J - 1) 1{J >= k}] = n (n - 1) beta^2 Pr[Bin(n - 2, beta) >= k - 2]``. The variance is largest for groups
    that are suppressed about half of the time. ``size`` is an array of counts, of any shape.

    >>> [round(float(x)) for x in suppression_variance([50, 200, 400], k=20, beta=0.1)]
    [0, 13752, 3611]
    """
    n = np.asarray(size, dtype=np.float64)
    first = n * binomial.sf(k - 2, np.maximum(n - 1, 0), beta)
    pairs = n * (n - 1) * binomial.sf(k - 3, np.maximum(n - 2, 0), beta)
    return np.asarray(np.maximum(pairs + first / beta - first**2, 0.0))
