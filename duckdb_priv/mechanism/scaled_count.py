"""Counting on a sample: estimate, interval, and what suppressing small groups does to them.

Derivations: ``scaled_count.md`` beside this file. Sources: Wilson (1927) for inverting the score; Li,
Qardaji, Su (ASIACCS 2012) for the sample and the suppression.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import binom

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.sampling import check_beta, check_k

Floats = NDArray[np.float64]


class ScaledCount(NamedTuple):
    """What a count on a sample says about the whole table; each field as the count was given."""

    estimate: Floats
    """``kept / beta``: unbiased but for suppression, see :func:`suppression_bias`."""
    stderr: Floats
    """Estimated standard error, ``sqrt(kept (1 - beta)) / beta``."""
    low: Floats
    """Lower end of the interval, at least the number of records seen."""
    high: Floats
    """Upper end of the interval."""


def scaled_count(kept: ArrayLike, beta: float, confidence: float = 0.95) -> ScaledCount:
    """Estimate how many records a table holds from how many of them a beta-sample kept.

    The interval solves ``|kept - beta n| - 1/2 = z sqrt(n beta (1 - beta))`` for n: a score
    interval with continuity correction, which covers at least 95% of the time at every rate, for
    true counts from 10 up. It knows nothing of suppressed groups. kept: any shape, counts.

    >>> [round(float(x), 1) for x in scaled_count(40, beta=0.1)]
    [400.0, 60.0, 294.2, 541.9]
    """
    check_beta(beta)
    if not 0 < confidence < 1:
        raise InvalidParameter(
            f"confidence must lie strictly between 0 and 1, got {confidence!r}",
            hint="0.95 is usual",
        )
    seen = np.asarray(kept, dtype=np.float64)
    if not np.all(seen >= 0):
        raise InvalidParameter(
            f"a count cannot be negative or missing, got {float(seen.min())!r}",
            hint="count the records of the release that satisfy the predicate",
        )
    half = ndtri((1 + confidence) / 2) * math.sqrt(1 - beta) / 2
    below = np.sqrt(half**2 + np.maximum(seen - 0.5, 0)) - half
    above = np.sqrt(half**2 + seen + 0.5) + half
    return ScaledCount(
        estimate=seen / beta,
        stderr=np.sqrt(seen * (1 - beta)) / beta,
        low=np.maximum(below**2 / beta, seen),
        high=above**2 / beta,
    )


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
    return np.asarray(-n * binom.cdf(k - 2, np.maximum(n - 1, 0), beta))


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
    first = n * binom.sf(k - 2, np.maximum(n - 1, 0), beta)
    pairs = n * (n - 1) * binom.sf(k - 3, np.maximum(n - 2, 0), beta)
    return np.asarray(np.maximum(pairs + first / beta - first**2, 0.0))
