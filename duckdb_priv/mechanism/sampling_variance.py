"""Bias and variance of an estimated count after perturbing, sampling and scaling a group, or suppressing it.

A group has ``size`` records, and ``count`` of them hold the value. Either all records are perturbed and published, or
``published`` of them are, each with the weight ``size / published``. (The paper duplicates records instead:
``reference/duplicated_sample.py``.) Variances are in squared records, for a fixed population: only the noise is
random. A release that is only a sample leaves out its small groups. SQL computes its estimates and intervals; tests
compare them with ``reference/scaled_count.py``.
Derivations: ``sampling_variance.md`` and ``scaled_count.md`` beside this file.

Sources: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", sections 3 and 5; Li, Qardaji, Su
(ASIACCS 2012) for the sample and the suppression.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism import binomial
from duckdb_priv.mechanism.arrays import Floats
from duckdb_priv.mechanism.uniform import Uniform


def perturbed_variance(size: ArrayLike, count: ArrayLike, operator: Uniform) -> Floats:
    """Return the variance of a count that is estimated from all records of a group after perturbing them.

    >>> float(perturbed_variance(1000, 300, Uniform(0.5, 14)).round(6))
    394.897959
    """
    holding, others = np.asarray(count, np.float64), np.asarray(size) - np.asarray(count)
    own, other = operator.own, operator.other
    spread = holding * own * (1 - own) + others * other * (1 - other)
    return np.asarray(spread / operator.retention**2)


def weighted_variance(
    size: ArrayLike, count: ArrayLike, published: ArrayLike, operator: Uniform
) -> Floats:
    """Return the variance of a count that is estimated from a weighted sample of ``published`` records.

    The sample holds ``floor`` or ``ceil`` of ``count * published / size`` records of the value, and that many on
    average, so the estimate is unbiased. With ``published == size`` every record is published, as in
    ``perturbed_variance``.

    >>> float(weighted_variance(20, 5, 15, Uniform(0.5, 2)).round(4))
    20.3333
    """
    weight = np.asarray(size) / np.asarray(published)
    # The probability that the number of the value's records in the sample is rounded up.
    part = np.asarray(count) * np.asarray(published, np.float64) / np.asarray(size) % 1
    whole = perturbed_variance(size, count, operator)
    return np.asarray(weight * whole + weight**2 * part * (1 - part))


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
