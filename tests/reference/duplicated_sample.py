"""What the paper's Algorithm 1 makes of the estimate of a count: mean and variance with duplicated records.

A group of ``size`` records, ``count`` of which hold the value, is represented by ``published`` records that appear
``size / published`` times each. Derivation: ``../sampling_variance.md``.

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", sections 3 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Floats
from duckdb_priv.mechanism.sampling_variance import perturbed_variance, weighted_variance
from duckdb_priv.mechanism.uniform import Uniform


class Moments(NamedTuple):
    """Mean and variance of an estimated count."""

    mean: float
    variance: float


def duplicated_variance(
    size: ArrayLike, count: ArrayLike, published: ArrayLike, operator: Uniform
) -> Floats:
    """Return the variance when each published record is duplicated ``size / published`` times.

    Each record appears ``floor`` or ``ceil`` times, by a draw with that mean, and the estimate
    counts the rows that appear. Unbiased; the draws add to the variance, most (12.5% of the
    perturbation's part, and the count's own) at 4/3 duplicates.

    >>> float(duplicated_variance(20, 5, 15, Uniform(0.5, 2)).round(4))
    23.6667
    """
    weight = np.asarray(size) / np.asarray(published)
    fraction = weight % 1
    random_bits = fraction * (1 - fraction) / weight
    whole = perturbed_variance(size, count, operator)
    return np.asarray(
        weighted_variance(size, count, published, operator)
        + random_bits * (whole + np.asarray(count))
    )


def paper_moments(
    counts: Sequence[int], value: int, published: float, operator: Uniform
) -> Moments:
    """Return mean and variance of the estimate of ``counts[value]`` under the paper's Algorithm 1.

    Each value's records are sampled at the rate ``published / size``, rounded by a coin of its
    own, so that the number sampled, N, is random; the sample is perturbed and each record
    duplicated ``size / N`` times on average. Enumerates N: the estimate is biased, because of the
    division by N, and an empty sample estimates 0.

    Example 5.15 of the paper, 5 and 15 records of two values, 15 records published:

    >>> mean, variance = paper_moments([5, 15], 0, 15, Uniform(retention=0.5, domain_size=2))
    >>> round(mean, 6), round(variance, 4)
    (4.991071, 23.5406)
    """
    size = sum(counts)
    sampled = [_rounded(count * published / size) for count in counts]
    others = np.ones(1)  # entry i: probability that i records of the other values are sampled
    for index, chances in enumerate(sampled):
        if index != value:
            others = np.convolve(others, chances)
    own, other, p = operator.own, operator.other, operator.retention
    first = second = 0.0
    for held, chance in enumerate(sampled[value]):
        number = np.arange(len(others), dtype=np.float64) + held
        sampling = chance * others
        factor = np.divide(size, number, out=np.zeros_like(number), where=number > 0)
        fraction = factor % 1
        random_bits = fraction * (1 - fraction)
        spread = held * own * (1 - own) + (number - held) * other * (1 - other)
        mean = factor * held
        variance = (factor**2 + random_bits) * spread / p**2 + random_bits * held
        first += float(sampling @ mean)
        second += float(sampling @ (variance + mean**2))
    return Moments(first, second - first**2)


def _rounded(expected: float) -> Floats:
    """Return the distribution of a whole number next to ``expected``, with that mean."""
    low = math.floor(expected)
    chances = np.zeros(low + 2)
    chances[low], chances[low + 1] = 1 - (expected - low), expected - low
    return chances
