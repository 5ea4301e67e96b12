"""Reconstruction privacy: how many records of one micro group may be perturbed independently.

A value has frequency f in a group of n records. ``F'`` is its unbiased estimate from the perturbed records. In
(epsilon, delta)-reconstruction privacy, ``F'`` is too high by more than the factor epsilon with probability at least
delta, and too low with probability at least delta. The threshold ``s_g`` is the number of independent trials up to
which the tails, or bounds of them, are at least delta. ``simplified`` and ``chernoff`` are the paper's bounds; they are
*upper* bounds of the tails, so they prove nothing. ``exact`` computes the tails themselves.

Derivations, and what the paper's "if and only if" misses: ``reconstruction_privacy.md``.
Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", sections 4 and 5.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import kl_div, xlogy

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.exact_threshold import exact_threshold
from duckdb_priv.mechanism.tails import Tails, tails
from duckdb_priv.mechanism.uniform import Uniform

Bound = Literal["simplified", "chernoff", "exact"]


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
    if not 0 < epsilon < np.inf:
        raise InvalidParameter(
            f"epsilon must be positive and finite, got {epsilon}", hint="0.3 is usual"
        )
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
