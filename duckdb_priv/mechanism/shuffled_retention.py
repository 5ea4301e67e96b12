"""The largest retention in a group of a given size with which its shuffle is (epsilon, delta)-private.

All records of a group have equal public attributes, so its size is public, and the retention may depend on it. A larger
group needs less noise. Derivation: ``shuffle.md`` beside this file, "Retention by the size of the group".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import product

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.shuffle import (
    Pair,
    code_pair,
    joint_pairs,
    log_delta,
    safe_end,
    shuffle_epsilon,
)
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.mechanism.uniform import Uniform, amplified_retention

SIGNIFICANT_BITS = 5
"""Sizes of groups are rounded down to this many binary digits, so that all groups have few different retentions."""
LARGEST_LOG_AMPLIFICATION = 30.0
"""Largest logarithm of an amplification. With exp(30), about one value in 10^13 records changes."""
STEPS = 2.0**20
"""Noise scales are multiples of 1 / STEPS, so that sums of billions of them are exact in any order."""
CLOSE, TOLERANCE = 1e-2, 1e-4
"""For releases: the distance at which the search for log delta ends, and how far log delta may be overestimated."""


def size_class(group_size: int) -> int:
    """Return the size of a group, rounded down to ``SIGNIFICANT_BITS`` binary digits: 16 classes for every doubling.

    A guarantee for the smaller size also holds for the group.

    >>> [size_class(n) for n in (1, 31, 63, 1000, 100_000)]
    [1, 31, 62, 992, 98304]
    """
    dropped = max(0, group_size.bit_length() - SIGNIFICANT_BITS)
    return group_size >> dropped << dropped


def _next_class(
    codes: tuple[Code, ...],
    size: int,
    epsilon: float,
    delta: float,
    before: tuple[int, float, float],
    close: float,
    tolerance: float,
) -> tuple[int, float, float]:
    """Return the size, the logarithm of its amplification, and an exponent, given the same numbers of a smaller size.

    The total relative likelihood of all outcomes grows about like this power of the size. The next search starts from
    the amplification that the power predicts.
    """
    smaller, known, power = before
    if size == 1 or known >= LARGEST_LOG_AMPLIFICATION:
        return size, min(known, LARGEST_LOG_AMPLIFICATION), power
    goal, rest = math.log(delta), max(code.outcomes / code.holding - 1 for code in codes)

    @cache
    def excess(logarithm: float) -> float:
        pairs = joint_pairs([code_pair(code, math.exp(logarithm)) for code in codes])
        return max(log_delta(pair, size, epsilon, tolerance=tolerance) for pair in pairs) - goal

    def total(logarithm: float) -> float:
        return math.log(math.exp(logarithm) + rest)

    safe, growth = known, math.log(size / smaller)
    guess = math.log(max(math.exp(total(known) + power * growth) - rest, 1))
    high = min(max(guess, safe + 1e-6), LARGEST_LOG_AMPLIFICATION)
    step = max(high - safe, 0.05) / 4
    while excess(high) < -close and high < LARGEST_LOG_AMPLIFICATION:
        safe, high, step = high, min(high + step, LARGEST_LOG_AMPLIFICATION), 2 * step
    found = high if excess(high) <= 0 else safe_end(excess, safe=safe, other=high, close=close)
    return size, found, (total(found) - total(known)) / growth


@lru_cache(maxsize=1024)
def joint_epsilon(laws: tuple[tuple[Pair, ...], ...], group_size: int, delta: float) -> float:
    """Return the epsilon of a record in a shuffled group whose attributes are perturbed independently.

    ``laws`` has the pairs of true values of each attribute. The result is never too small, and it is valid for larger
    groups. The delta that it reaches differs from ``delta`` by a relative error of about ``CLOSE``.

    >>> round(joint_epsilon(((code_pair(Code(50), 9.0),),), 1000, 1e-6), 3)
    0.176
    """
    alone = sum(max(pair.epsilon for pair in pairs) for pairs in laws)
    if group_size == 1:
        return alone
    found = {each: each.epsilon for pairs in product(*laws) for each in joint_pairs(pairs)}
    # The pair with the largest local epsilon comes first. The other pairs then mostly need one comparison each.
    hardest_first = sorted(found, key=lambda pair: found[pair], reverse=True)
    return min(shuffle_epsilon(hardest_first, group_size, delta, CLOSE), alone)


def noise_scale(log_amplification: float) -> float:
    """Return the noise scale: the probability of one given other value, divided by the retention.

    It is ``other / (own - other)``, which is ``1 / (amplification - 1)`` for domains of every size. It is rounded up to
    a multiple of ``1 / STEPS``, towards more noise.

    >>> noise_scale(math.log(3)), noise_scale(30.0) * STEPS
    (0.5, 1.0)
    """
    return math.ceil(STEPS / math.expm1(log_amplification)) / STEPS


def scaled_retention(scale: float, domain_size: int) -> float:
    """Return the retention that belongs to a noise scale: ``1 / (1 + m scale)``, rounded down.

    >>> round(scaled_retention(0.125, 10), 12)
    0.444444444444
    """
    return math.nextafter(1 / (1 + domain_size * scale), 0)


def scales_of_sizes(
    codes: tuple[Code, ...], sizes: Iterable[int], epsilon: float, delta: float
) -> dict[int, float]:
    """Return the noise scale for each group size with which the shuffle of a group is (epsilon, delta)-private.

    Records publish one outcome of each of ``codes``, drawn independently with the same amplification. The scale is
    nearly the smallest possible: the delta of the bound is at least ``1 - CLOSE`` of the allowed delta. Larger groups
    have a larger amplification. All codes of one record together have an amplification of at least exp(epsilon), with
    which a single record is epsilon-private without other records.

    >>> scales = scales_of_sizes((Code(50),), [1, 40, 41], 1.0, 1e-6)
    >>> round(scales[1], 3), scales[40] == scales[41] < scales[1]
    (0.582, True)
    """
    classes = {size: size_class(size) for size in sizes}
    found = _of_classes(codes, tuple(sorted({*classes.values()})), epsilon, delta)
    return {size: found[each] for size, each in classes.items()}


@lru_cache(maxsize=64)
def _of_classes(
    codes: tuple[Code, ...], classes: tuple[int, ...], epsilon: float, delta: float
) -> dict[int, float]:
    """Return the noise scale for each size class. ``classes`` ascend, and each search starts from the one before."""
    found: dict[int, float] = {}
    before = (1, epsilon / len(codes), 1.0)
    for size in classes:
        before = _next_class(codes, size, epsilon, delta, before, CLOSE, TOLERANCE)
        found[size] = noise_scale(before[1])
    return found


def shuffled_epsilon(retention: float, domain_size: int, group_size: int, delta: float) -> float:
    """Return the epsilon of uniform perturbation for a record in a shuffled group of ``group_size`` records.

    The guarantee with this epsilon and ``delta`` holds against someone who knows the true values of all other records
    of the group and sees its published values in no particular order. The result never exceeds the local epsilon,
    which is that of a group of one. Raises InvalidParameter for a delta that is not strictly between 0 and 1, or a
    group without records.

    >>> round(shuffled_epsilon(8 / 58, 50, 1000, 1e-6), 4)
    0.1758
    """
    operator = Uniform(retention, domain_size)
    _check(group_size, delta)
    if group_size == 1:
        return operator.ldp_epsilon
    return shuffle_epsilon(
        [code_pair(Code(domain_size), operator.amplification)], group_size, delta
    )


def shuffled_retention(epsilon: float, delta: float, domain_size: int, group_size: int) -> float:
    """Return the largest retention with which a shuffled group of ``group_size`` records is (epsilon, delta)-private.

    It is rounded towards more noise: its ``shuffled_epsilon`` exceeds ``epsilon`` by a millionth at most. It is never
    below the retention with which a single record is epsilon-private. Raises InvalidParameter for an epsilon that is
    not above 0, and in the cases of ``shuffled_epsilon``.

    >>> p = shuffled_retention(1.0, 1e-6, 50, 1000)
    >>> round(p, 3), shuffled_epsilon(p, 50, 1000, 1e-6) <= 1.000001
    (0.523, True)
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InvalidParameter(
            f"epsilon must be above 0, got {epsilon!r}", hint="1.0 is a usual value"
        )
    Uniform(0.5, domain_size)
    _check(group_size, delta)
    start = (1, epsilon, 1.0)
    _, logarithm, _ = _next_class(
        (Code(domain_size),), group_size, epsilon, delta, start, close=1e-6, tolerance=1e-6
    )
    return amplified_retention(math.exp(logarithm), domain_size)


def _check(group_size: int, delta: float) -> None:
    if not (group_size >= 1 and group_size == math.floor(group_size)):
        raise InvalidParameter(
            f"group_size must be a whole number of at least 1, got {group_size!r}",
            hint="it is the number of records with the same public attributes",
        )
    if not 0 < delta < 1:
        raise InvalidParameter(
            f"delta must lie strictly between 0 and 1, got {delta!r}",
            hint="1e-6 is usual; with delta 0 only the local epsilon holds: call priv.ldp_epsilon",
        )
