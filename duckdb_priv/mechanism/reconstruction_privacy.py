"""Reconstruction privacy: how many records of one micro group may be perturbed independently.

A value has frequency f in a group of n records. ``F'`` is its unbiased estimate from the perturbed records. In
(epsilon, delta)-reconstruction privacy, ``F'`` is too high by more than the factor epsilon with probability at least
delta, and too low with probability at least delta. The threshold ``s_g`` is the number of independent trials up to
which the tails, or bounds of them, are at least delta. ``simplified`` and ``chernoff`` are the paper's bounds; they are
*upper* bounds of the tails, so they prove nothing. ``exact`` computes the tails themselves.

Derivations, and what the paper's "if and only if" misses: ``reconstruction_privacy.md``; for the exact tails
``exact_threshold.md``.
Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", definition 3, sections 4 and 5.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import kl_div, xlogy

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Floats
from duckdb_priv.mechanism.tails import TIE, Tails, require_error, tails
from duckdb_priv.mechanism.uniform import Uniform

Bound = Literal["simplified", "chernoff", "exact"]
LARGEST_SIZE = 1000
"""Largest s that is searched by exact tails. A larger s may be private too, but a smaller one is always allowed."""


def max_epsilon(max_frequency: ArrayLike, operator: Uniform) -> NDArray[np.float64]:
    """Return the largest possible relative error downwards, ``1 + q / (p f)``.

    No estimate is lower, so for a larger epsilon the lower tail is exactly 0, and no delta can be required of it.

    >>> float(max_epsilon(0.5, Uniform(retention=0.5, domain_size=14))) == 8 / 7
    True
    """
    return 1 + operator.other / (operator.retention * _frequencies(max_frequency))


def threshold(
    max_frequency: ArrayLike,
    operator: Uniform,
    epsilon: float,
    delta: float,
    bound: Bound = "simplified",
) -> NDArray[np.float64]:
    """Return ``s_g``, the number of records that may be perturbed independently, for each group.

    ``max_frequency`` has the largest frequency of a sensitive value in each group; the result has the same shape. A
    group with more than ``s_g`` records violates the requirement. ``simplified`` is equation (10) of the paper,
    ``chernoff`` is equation (9), which is up to twice as strict. ``exact`` gives a whole number of records, and 0 if
    no number satisfies the definition.

    >>> operator = Uniform(retention=0.5, domain_size=14)
    >>> threshold([0.5, 1.0], operator, epsilon=0.3, delta=0.3).round(2).tolist()
    [122.31, 57.33]
    >>> threshold([0.5, 1.0], operator, epsilon=0.3, delta=0.3, bound="chernoff").round(2).tolist()
    [111.07, 51.69]
    >>> threshold([0.5, 1.0], operator, epsilon=0.3, delta=0.1, bound="exact").tolist()
    [27.0, 11.0]
    """
    frequencies = _frequencies(max_frequency)
    _check_requirement(frequencies, operator, epsilon, delta, bound)
    if bound == "exact":
        return exact_threshold(frequencies, operator, epsilon, delta).astype(np.float64)
    shown = frequencies * operator.retention + operator.other
    theta = epsilon * operator.retention * frequencies / shown
    # kl_div(1 - theta, 1) is theta + (1 - theta) ln(1 - theta), 1 at theta = 1.
    exponent = kl_div(1 - theta, 1.0) if bound == "chernoff" else theta**2 / 2
    return np.asarray(-np.log(delta) / (shown * exponent), dtype=np.float64)


def tail_bounds(
    frequency: float,
    operator: Uniform,
    epsilon: float,
    group_size: int,
    bound: Bound = "simplified",
) -> Tails:
    """Return upper bounds of both tails of a group, which `threshold` compares with delta.

    ``frequency`` is the share of the group's records that have the value. ``chernoff`` and ``simplified`` are
    equations (2) to (8) of the paper; ``exact`` computes the tails themselves. For an epsilon above `max_epsilon` the
    lower tail is 0. Raises InvalidParameter for numbers outside their range.

    >>> operator = Uniform(retention=0.5, domain_size=14)
    >>> for bound in ("simplified", "chernoff", "exact"):
    ...     upper, lower = tail_bounds(0.5, operator, 0.3, 122, bound)
    ...     print(bound, round(float(upper), 4), round(float(lower), 4))
    simplified 0.3459 0.3009
    chernoff 0.3303 0.2665
    exact 0.0101 0.0116
    """
    share = float(_frequencies(frequency, "frequency"))
    require_error(epsilon)
    if not (group_size >= 1 and group_size == np.floor(group_size)):
        raise InvalidParameter(
            f"group_size must be a whole number of at least 1, got {group_size}",
            hint="it is the number of records that are equal in all public columns",
        )
    if bound == "exact":
        return _exact_tails(share, operator, epsilon, int(group_size))
    shown = share * operator.retention + operator.other
    theta = epsilon * operator.retention * share / shown
    expected = group_size * shown
    if bound == "chernoff":
        upper = theta - (1 + theta) * np.log1p(theta)
        lower = -theta - float(xlogy(1 - theta, 1 - theta)) if theta <= 1 else -np.inf
    else:
        upper = -(theta**2) / (2 + theta)
        lower = -(theta**2) / 2 if theta <= 1 else -np.inf
    return Tails(np.asarray(np.exp(expected * upper)), np.asarray(np.exp(expected * lower)))


def _exact_tails(share: float, operator: Uniform, epsilon: float, group_size: int) -> Tails:
    count = round(share * group_size)
    if count < 1 or abs(count - share * group_size) > 1e-6 * group_size:
        raise InvalidParameter(
            f"no whole number of {group_size} records has the frequency {share}",
            hint="write the frequency as k / group_size, where k records have the value",
        )
    return tails(group_size, count, operator, epsilon)


def sample_size(
    operator: Uniform,
    epsilon: float,
    delta: float,
    bound: Bound = "simplified",
    max_frequency: float = 1.0,
) -> int:
    """Return the sample size s: every group with more than s records publishes exactly s of them.

    s depends on public numbers only. The paper's own threshold depends on the secret largest frequency of each group,
    which its duplicates then reveal. Thresholds fall with the frequency, so the s for ``max_frequency`` is valid for
    every group whose frequencies do not exceed it, and the s for 1 is valid for all groups.

    >>> sample_size(Uniform(retention=0.5, domain_size=14), epsilon=0.3, delta=0.3)
    57
    """
    size = int(threshold(max_frequency, operator, epsilon, delta, bound))
    if size < 1:
        raise InvalidParameter(
            f"no group may publish even one record under epsilon = {epsilon} and delta = {delta} "
            f"(bound := '{bound}', max_frequency := {max_frequency})",
            hint=_feasible_delta(operator, epsilon, bound, max_frequency)
            + "; a smaller epsilon or retention allows more",
        )
    return size


def _feasible_delta(operator: Uniform, epsilon: float, bound: Bound, max_frequency: float) -> str:
    """Return a hint with the largest delta, in thousandths, that allows publishing at least one record."""

    def fails(thousandths: int) -> bool:
        return bool(threshold(max_frequency, operator, epsilon, thousandths / 1000, bound) < 1)

    # Thresholds fall as delta grows.
    met = bisect_left(range(1, 500 if bound == "exact" else 1000), True, key=fails)
    return (
        f"here delta can be at most {met / 1000}" if met else "here even delta = 0.001 is too large"
    )


def _frequencies(max_frequency: ArrayLike, name: str = "max_frequency") -> NDArray[np.float64]:
    frequencies = np.asarray(max_frequency, dtype=np.float64)
    outside = ~((frequencies > 0) & (frequencies <= 1))
    if outside.any():
        raise InvalidParameter(
            f"{name} must lie in (0, 1], got {frequencies[outside].flat[0]}",
            hint="1 is always valid; write less only if no group has a more frequent value"
            if name == "max_frequency"
            else "it is the share of the group's records that have the value",
        )
    return frequencies


def _check_requirement(
    frequencies: NDArray[np.float64],
    operator: Uniform,
    epsilon: float,
    delta: float,
    bound: Bound,
) -> None:
    if bound not in get_args(Bound):
        raise InvalidParameter(
            f"there is no bound {bound!r}", hint="choose 'simplified', 'chernoff' or 'exact'"
        )
    if not 0 < delta < 1:
        raise InvalidParameter(
            f"delta must lie strictly between 0 and 1, got {delta}",
            hint="0 requires nothing (publish_uniform does that), 1 is impossible; 0.1 is usual",
        )
    if bound == "exact" and delta > 0.5:
        raise InvalidParameter(
            f"delta = {delta} cannot be met: an estimate cannot be too high and too low at once, "
            "so one of both has a probability of at most 1/2",
            hint="choose delta below 0.5",
        )
    if frequencies.size == 0:
        return
    # The limit falls with the frequency, so the most frequent value determines it.
    largest = np.max(frequencies)
    limit = float(max_epsilon(largest, operator))
    # The limit is always above 1. The search for exact tails covers epsilon below 1 only.
    interval = "(0, 1)" if bound == "exact" else f"(0, {limit:.6g}]"
    if not (0 < epsilon < 1 if bound == "exact" else 0 < epsilon <= limit):
        raise InvalidParameter(
            f"epsilon = {epsilon} lies outside {interval}, the range valid for groups in which the "
            f"most frequent value has frequency {largest:.6g}",
            hint=f"choose epsilon in {interval}",
        )


def exact_threshold(
    frequencies: Floats, operator: Uniform, epsilon: float, delta: float
) -> NDArray[np.int64]:
    """Return, for each frequency, the largest s up to 1000 that is private for all frequencies up to it.

    A group of at most s records is perturbed whole. A larger group is represented by exactly s records: ``floor(f s)``
    or ``ceil(f s)`` of them hold a value of frequency f, with mean ``f s``. The definition must hold for every value of
    every such group. The tails are not monotone in the size or the count. So the search checks all counts of all sizes
    up to s, and for samples every real ``f s``.

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
