"""Counting on a sample: what suppressing small groups does to a count.

Derivations: ``scaled_count.md`` beside this file; the estimate and its interval are written in SQL, and in
``reference/scaled_count.py``. Source: Li, Qardaji, Su (ASIACCS 2012) for the sample and the suppression.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism import binomial
from duckdb_priv.mechanism.arrays import Floats
from duckdb_priv.mechanism.sampling import check_beta, check_k


def suppression_bias(size: ArrayLike, k: int, beta: float) -> Floats:
    """Return the bias of ``kept / beta`` for one group of ``size`` records, never positive.

    ``E[J 1{J >= k}] / beta - n = -n Pr[Bin(n - 1, beta) <= k - 2]``: a group is missing whenever
    fewer than k of its records are sampled. size: any shape, counts.

    >>> [round(float(x), 2) for x in suppression_bias([50, 200, 400], k=20, beta=0.1)]
    [-50.0, -76.25, -0.02]
    """
    check_k(k)
    check_beta(beta)
    n = np.asarray(size, dtype=np.float64)
    return np.asarray(-n * binomial.cdf(k - 2, np.maximum(n - 1, 0), beta))


def suppression_variance(size: ArrayLike, k: int, beta: float) -> Floats:
    """Return the variance of ``kept / beta`` for one group of ``size`` records, suppression included.

    From ``E[J 1{J >= k}] = n beta Pr[Bin(n - 1, beta) >= k - 1]`` and
    ``E[J (J - 1) 1{J >= k}] = n (n - 1) beta^2 Pr[Bin(n - 2, beta) >= k - 2]``. It is largest for groups that are as
    often missing as not. size: any shape, counts.

    >>> [round(float(x)) for x in suppression_variance([50, 200, 400], k=20, beta=0.1)]
    [0, 13752, 3611]
    """
    check_k(k)
    check_beta(beta)
    n = np.asarray(size, dtype=np.float64)
    first = n * binomial.sf(k - 2, np.maximum(n - 1, 0), beta)
    pairs = n * (n - 1) * binomial.sf(k - 3, np.maximum(n - 2, 0), beta)
    return np.asarray(np.maximum(pairs + first / beta - first**2, 0.0))
