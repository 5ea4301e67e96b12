"""The largest sample size for which reconstruction privacy holds by the exact tails.

A group of at most s records is perturbed whole. A larger group is represented by exactly s records: ``floor(f s)`` or
``ceil(f s)`` of them hold a value of frequency f, with mean ``f s``. The definition must hold for every value of every
such group. The tails are not monotone in the size or the count. So the search checks all counts of all sizes up to s,
and for samples every real ``f s``. Derivation: ``exact_threshold.md``.

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
"""Largest s that is searched. A larger s may be private too, but a smaller one is always allowed."""


def exact_threshold(
    frequencies: Floats, operator: Uniform, epsilon: float, delta: float
) -> NDArray[np.int64]:
    """Return, for each frequency, the largest s up to 1000 that is private for all frequencies up to it.

    ``frequencies`` are in (0, 1], of any shape; ``0 < epsilon < 1``, ``0 < delta <= 1/2``. The result is 0 if no s is
    private: small samples rarely show a rare value, and large samples estimate every value well.

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
    # Per s, the smallest frequency at which all sizes of at least s fail; it does not grow with s.
    hopeless = np.maximum.accumulate(np.array(failing)[::-1])[::-1]
    return np.searchsorted(-hopeless, -frequencies, side="left").astype(np.int64)


def _cumulative_distributions(operator: Uniform) -> Iterator[tuple[int, Floats]]:
    """Yield n and the cumulative distributions Pr[O <= j | k of n records hold the value], entry [k, j], n = 1, 2, …"""
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
    """Return the smallest frequency that a whole group of this size estimates too accurately, or infinity."""
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
    """Return the smallest frequency that a sample of this size estimates too accurately, or infinity.

    The sample has ``y = f size`` records of frequency f on average. Between whole y the cumulative distribution of
    observed records is linear in y, so it is interpolated from ``cumulative[:, j]``.
    """
    noise = size * operator.other
    cut = np.arange(int(np.floor(noise + TIE)), size + 1)
    # Upper tail: from y = `start` on, an estimate is too high if more than `cut` records are observed. The tail
    # grows with y until the next cut, so its minimum is at `start`.
    start = np.maximum((cut - noise) / (operator.retention * (1 + epsilon)), 0.0)
    cuts, start = cut[start <= size], start[start <= size]
    held = np.minimum(start.astype(np.int64), size - 1)
    part = start - held
    upper = 1 - ((1 - part) * cumulative[held, cuts] + part * cumulative[held + 1, cuts])
    too_high = start[upper < delta]
    # Lower tail: from y = `start` to `end`, an estimate is too low if at most `cut` records are observed. The tail
    # falls with y, and is below delta after `crossing`.
    cut = cut[:-1]  # at most `size` records are always observed
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
