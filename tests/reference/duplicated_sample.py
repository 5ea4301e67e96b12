"""Mean and variance of an estimated count under the paper's Algorithm 1, which duplicates records.

A group has ``size`` records, and ``count`` of them hold the value. ``published`` records represent it; each appears
``size / published`` times on average. Derivation: ``mechanism/sampling_variance.md``.

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
    """Return the variance if each published record appears ``size / published`` times on average.

    Each record appears ``floor`` or ``ceil`` times, drawn with that mean, and the estimate counts all rows. It is
    unbiased. The draws add to the variance: most at 4/3 duplicates, where they add 12.5% of the perturbation's part and
    a part of the count's own.

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

    Each value's records are sampled at the rate ``published / size``, rounded up or down at random for each value. So
    the size N of the sample is random. The sample is perturbed, and each record appears ``size / N`` times on average.
    The function enumerates N. The division by N makes the estimate biased; an empty sample has the estimate 0.

    Example 5.15 of the paper has 5 and 15 records of two values, and 15 records are published:

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
    """Return the distribution on the floor and the ceiling of ``expected`` that has this mean."""
    low = math.floor(expected)
    chances = np.zeros(low + 2)
    chances[low], chances[low + 1] = 1 - (expected - low), expected - low
    return chances
