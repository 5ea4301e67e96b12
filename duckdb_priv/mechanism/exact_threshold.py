"""The largest sample size for which reconstruction privacy holds by the exact tails.

Publishing with sample size s does two things: a group of at most s records is perturbed whole, and
a larger one is represented by exactly s records, ``floor(f s)`` or ``ceil(f s)`` of which hold a
value of frequency f, by a coin with the exact mean. The definition must hold for every value of
every such group. Tails of counts jump, so nothing here is monotone and everything is looked at:
all counts of all sizes up to s, and for the sample every real ``f s``. Derivation:
``exact_threshold.md``.

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", definition 3.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.mechanism.arrays import Floats
from duckdb_priv.mechanism.tails import TIE
from duckdb_priv.mechanism.uniform import Uniform

LARGEST_SIZE = 1000
"""Sizes above are not searched. A smaller s than the largest possible one is private as well."""


def exact_threshold(
    frequencies: Floats, operator: Uniform, epsilon: float, delta: float
) -> NDArray[np.int64]:
    """Return the largest s, up to 1000, that is private for all frequencies up to each given one.

    ``frequencies`` in (0, 1], any shape; ``0 < epsilon < 1``, ``0 < delta <= 1/2``. 0 means that
    no s is: small samples hardly ever show a rare value at all, large ones show every value well.

    >>> operator = Uniform(retention=0.5, domain_size=14)
    >>> exact_threshold(np.array([1.0]), operator, epsilon=0.3, delta=0.05).tolist()
    [23]
    >>> exact_threshold(np.array([1.0]), operator, epsilon=0.3, delta=0.3).tolist()
    [0]
    """
    if frequencies.size == 0:
        return np.zeros(frequencies.shape, dtype=np.int64)
    lowest = frequencies.min()
    whole = np.inf
    failing = []
    for size, cumulative in _cumulative_distributions(operator):
        whole = min(whole, _whole_group_fails_at(size, cumulative, operator, epsilon, delta))
        if whole <= lowest:
            break
        sample = _sample_fails_at(size, cumulative, operator, epsilon, delta)
        failing.append(min(whole, sample))
    # The smallest frequency at which some size from s on is private fails: it falls with s.
    hopeless = np.maximum.accumulate(np.array(failing)[::-1])[::-1]
    return np.searchsorted(-hopeless, -frequencies, side="left").astype(np.int64)


def _cumulative_distributions(operator: Uniform) -> Iterator[tuple[int, Floats]]:
    """Yield n and Pr[O <= j | k of n records hold the value] as entry [k, j], for n = 1, 2, …"""
    mass = np.ones((1, 1))
    for size in range(1, LARGEST_SIZE + 1):
        smaller, mass = mass, np.zeros((size + 1, size + 1))
        mass[:-1, :-1] = smaller * (1 - operator.other)
        mass[:-1, 1:] += smaller * operator.other
        mass[-1, :-1] = smaller[-1] * (1 - operator.own)
        mass[-1, 1:] += smaller[-1] * operator.own
        yield size, np.cumsum(mass, axis=1)


def _whole_group_fails_at(
    size: int, cumulative: Floats, operator: Uniform, epsilon: float, delta: float
) -> float:
    """Return the smallest frequency that a group of this size reconstructs too well, or inf."""
    count = np.arange(1, size + 1)
    noise = size * operator.other
    above = np.floor(noise + operator.retention * count * (1 + epsilon) + TIE).astype(np.int64)
    below = np.ceil(noise + operator.retention * count * (1 - epsilon) - TIE).astype(np.int64) - 1
    # No observed count exceeds the size, and none is negative.
    upper = 1 - cumulative[count, np.minimum(above, size)]
    lower = np.where(below >= 0, cumulative[count, below], 0.0)
    fails = np.minimum(upper, lower) < delta
    return float(count[fails][0] / size) if fails.any() else np.inf


def _sample_fails_at(
    size: int, cumulative: Floats, operator: Uniform, epsilon: float, delta: float
) -> float:
    """Return the smallest frequency that a sample of this size reconstructs too well, or inf.

    A frequency f puts ``y = f size`` records into the sample on average, and the probability of at
    most j observed ones is linear in y between whole numbers: ``cumulative[:, j]`` interpolated.
    """
    noise = size * operator.other
    cut = np.arange(int(np.floor(noise + TIE)), size + 1)
    # Upwards: from `start` on, y asks for more than `cut` observed records. The tail grows with y
    # until the next cut, so it is smallest at the start.
    start = np.maximum((cut - noise) / (operator.retention * (1 + epsilon)), 0.0)
    cuts, start = cut[start <= size], start[start <= size]
    held = np.minimum(start.astype(np.int64), size - 1)
    part = start - held
    upper = 1 - ((1 - part) * cumulative[held, cuts] + part * cumulative[held + 1, cuts])
    too_high = start[upper < delta]
    # Downwards: from `start` to `end`, y allows at most `cut` observed records. The tail falls
    # with y, and is below delta after `crossing`.
    cut = cut[:-1]  # that at most `size` records are observed is certain
    start = np.maximum((cut - noise) / (operator.retention * (1 - epsilon)), 0.0)
    end = np.minimum((cut + 1 - noise) / (operator.retention * (1 - epsilon)), size)
    likely = (cumulative[:, cut] >= delta).sum(axis=0)
    crossing = np.where(likely == 0, 0.0, np.inf)
    leaves = (likely > 0) & (likely <= size)
    held, cuts = likely[leaves] - 1, cut[leaves]
    here, there = cumulative[held, cuts], cumulative[held + 1, cuts]
    crossing[leaves] = held + (here - delta) / (here - there)
    crossing = np.maximum(crossing, start)
    too_low = crossing[crossing < end]
    return float(min(np.min(too_high, initial=np.inf), np.min(too_low, initial=np.inf)) / size)
