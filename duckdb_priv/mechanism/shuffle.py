"""The (epsilon, delta) guarantee of a shuffled group: what it reveals about one record's sensitive value.

The rows of a release are sorted by its own columns. So a group of equal public attributes shows only the multiset of
its published values. An adversary knows the true values of all *other* records of the group, but not the secret. The
noise of the others then hides the published value of the remaining record, with an epsilon far below the local one.
Derivations and assumptions: ``shuffle.md`` beside this file.

Source: Balle, Bell, Gascon, Nissim, "The privacy blanket of the shuffle model" (CRYPTO 2019), lemma 5.3,
evaluated without the inequalities that follow it there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from itertools import product

import numpy as np

from duckdb_priv.mechanism.arrays import Floats
from duckdb_priv.mechanism.positive_part import log_positive_part
from duckdb_priv.mechanism.symmetric_code import Code

LARGEST_EPSILON = 50.0
"""If a published value rules out a true one, no epsilon above this is tried."""
MOST_PAIRS = 100
"""Most pairs of true values for which a bound is computed. Each pair takes milliseconds per group size."""


@dataclass(frozen=True, eq=False)
class Pair:
    """The distributions of the published value under two true values, and their blanket.

    Published values with equal likelihood ratios may be merged into one. Pairs are equal if their distributions are
    equal, up to rounding.
    """

    first: Floats
    """Probability of each published value if the record has the first true value."""
    second: Floats
    """Probability of each published value if the record has the second true value."""
    blanket: Floats
    """Lower bound of each published value's probability, over all true values; the sum is at most 1."""

    @cached_property
    def _rounded(self) -> bytes:
        mantissas, exponents = np.frexp([self.first, self.second, self.blanket])
        return bytes(mantissas.round(12).tobytes() + exponents.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and self._rounded == other._rounded

    def __hash__(self) -> int:
        return hash(self._rounded)

    def combined(self, other: Pair) -> Pair:
        """Return the pair for two attributes that are perturbed independently and published together."""
        laws = (
            (self.first, other.first),
            (self.second, other.second),
            (self.blanket, other.blanket),
        )
        first, second, blanket = (np.outer(a, b).ravel() for a, b in laws)
        return Pair(first, second, blanket)

    def merged(self) -> Pair:
        """Return the pair after merging published values whose likelihood ratios are equal."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.array([self.first, self.second]) / self.blanket
        ratios = np.where(self.blanket > 0, ratios, [self.first, self.second])
        keys = np.vstack([self.blanket > 0, ratios])
        _, group = np.unique(keys.round(14), axis=1, return_inverse=True)
        group = group.ravel()
        laws = (self.first, self.second, self.blanket)
        first, second, blanket = (np.bincount(group, law).astype(np.float64) for law in laws)
        return Pair(first, second, blanket)

    @property
    def epsilon(self) -> float:
        """The local epsilon: the logarithm of the largest ratio of ``first`` to ``second``."""
        shown = self.first > 0
        if (self.second[shown] == 0).any():
            return math.inf
        return float(np.log(self.first[shown] / self.second[shown]).max())


def code_pair(code: Code, amplification: float) -> Pair:
    """Return the pair of any two values of a symmetric code with a given amplification.

    >>> code_pair(Code(2), 3.0).first.tolist()
    [0.75, 0.25]
    """
    only = code.holding - code.shared
    neither = code.outcomes - code.holding - only
    counts = np.array([code.shared, only, only, neither], dtype=np.float64)
    blanket = counts / code.total(amplification)
    likelihoods = np.where([[1, 1, 0, 0], [1, 0, 1, 0]], amplification, 1.0)
    some = counts > 0
    first, second = (blanket * likelihoods)[:, some]
    return Pair(first, second, blanket[some])


def operator_pairs(
    operator: Floats, kinds: Sequence[int] | None = None, most: int | None = None
) -> list[Pair]:
    """Return the distinct pairs of true values of an operator ``P[published, true]``.

    Values of the same kind can be exchanged without changing the operator; ``kinds`` has the kind of each value.
    Without ``kinds``, every value is compared with every other one. The list is empty if there are more than ``most``
    pairs of kinds.

    >>> P = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    >>> len(operator_pairs(P)), len(operator_pairs(P, most=2)), len(operator_pairs(P, [0, 0, 0], most=2))
    (1, 0, 1)
    """
    members: dict[int, list[int]] = {}
    for value, kind in enumerate(kinds if kinds is not None else range(operator.shape[1])):
        members.setdefault(kind, []).append(value)
    # Two values represent each kind.
    two = [(kind, value) for kind, values in members.items() for value in values[:2]]
    between = {
        (kind, other): (first, second)
        for (kind, first), (other, second) in product(two, repeat=2)
        if first != second
    }
    if most is not None and len(between) > most:
        return []
    blanket: Floats = operator.min(axis=1)
    pairs = (
        Pair(operator[:, first], operator[:, second], blanket).merged()
        for first, second in between.values()
    )
    return list(dict.fromkeys(pairs))


def joint_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs of tuples of several attributes that differ in some or all attributes.

    ``pairs`` has one pair for each attribute; the attributes are perturbed independently. If an attribute does not
    differ, both true values are the first one.
    """
    if len(pairs) == 1:
        return list(pairs)
    found = []
    for differs in product((True, False), repeat=len(pairs)):
        if any(differs):
            parts = [
                pair if differ else Pair(pair.first, pair.first, pair.blanket)
                for pair, differ in zip(pairs, differs, strict=True)
            ]
            found.append(reduce(Pair.combined, parts).merged())
    return found


def log_delta(pair: Pair, group_size: int, epsilon: float, *, tolerance: float = 1e-6) -> float:
    """Return the logarithm of an upper bound of delta at ``epsilon``, for the first true value against the second.

    >>> pair = code_pair(Code(50), 9.0)
    >>> f"{math.exp(log_delta(pair, 100, 0.5)):.4e}"
    '9.4535e-06'
    """
    excess = pair.first - math.exp(epsilon) * pair.second
    covered = pair.blanket > 0
    alone = float(np.maximum(excess[~covered], 0).sum())
    if group_size == 1 or excess[covered].sum() > -1e-9:
        # There are no other records, or the blanket covers the second value too rarely. The local delta is the bound.
        whole = float(np.maximum(excess, 0).sum())
        return math.log(whole) if whole > 0 else -math.inf
    blanket = pair.blanket[covered]
    hidden = log_positive_part(excess[covered] / blanket, blanket, group_size, tolerance=tolerance)
    return float(
        np.logaddexp(math.log(alone) if alone else -math.inf, hidden - math.log(group_size))
    )


def shuffle_epsilon(
    pairs: Iterable[Pair], group_size: int, delta: float, close: float = 1e-6
) -> float:
    """Return an epsilon with which a group of ``group_size`` records is (epsilon, delta)-private, for all pairs.

    It is never below the epsilon of the bound at ``delta``, and close to that at ``(1 - close) delta``. A group of one
    record has the local epsilon. The result is infinite if no epsilon reaches ``delta``.

    >>> round(shuffle_epsilon([code_pair(Code(50), 9.0)], 100, 1e-6), 4)
    0.5702
    """
    largest, goal, tolerance = 0.0, math.log(delta), max(close / 100, 1e-6)
    for pair in pairs:
        if group_size == 1:
            largest = max(largest, pair.epsilon)
        elif log_delta(pair, group_size, largest, tolerance=tolerance) > goal:
            largest = _epsilon_above(pair, group_size, goal, largest, close, tolerance)
    return largest


def _epsilon_above(
    pair: Pair, group_size: int, goal: float, low: float, close: float, tolerance: float
) -> float:
    """Return an epsilon above ``low`` at which the logarithm of delta is at most ``goal``, and nearly equal to it."""

    @cache
    def excess(epsilon: float) -> float:
        return log_delta(pair, group_size, epsilon, tolerance=tolerance) - goal

    limit = min(pair.epsilon, LARGEST_EPSILON)
    if excess(limit) > 0:
        return math.inf
    high = min(limit, max(2 * low, 4 / math.sqrt(group_size)))
    while high < limit and excess(high) > 0:
        low, high = high, min(2 * high, limit)
    # In large groups the logarithm of delta is nearly linear in the square of epsilon.
    square = safe_end(lambda x: excess(math.sqrt(x)), safe=high**2, other=low**2, close=close)
    return math.sqrt(square)


def safe_end(excess: Callable[[float], float], *, safe: float, other: float, close: float) -> float:
    """Return a point between ``safe`` and ``other`` where ``excess`` is at most 0 and nearly 0.

    ``excess`` is the logarithm of a ratio, at most 0 at ``safe``, and positive at ``other``. The search is regula falsi
    that halves the weight of an end which does not move (the Illinois method). If the ratio is 0 at ``safe``, it is
    interpolated, not its logarithm. The search ends when the excess is within ``close`` of 0, or when the two ends
    agree to 12 digits.

    >>> round(safe_end(lambda x: 2 - x * x, safe=2.0, other=1.0, close=1e-9), 6)
    1.414214
    """
    at_safe, at_other, stayed = excess(safe), excess(other), 0.0
    while at_safe < -close and abs(safe - other) > 1e-12 * abs(safe):
        if at_safe == -math.inf:
            share = -math.expm1(-at_other)
        else:
            share = at_other / (at_other - at_safe) if math.isfinite(at_other) else 0.5
        middle = other + (safe - other) * min(max(share, 0.02), 0.98)
        at_middle = excess(middle)
        if at_middle <= 0:
            safe, at_safe = middle, at_middle
            at_other /= 2 if stayed == other else 1
            stayed = other
        else:
            other, at_other = middle, at_middle
            at_safe /= 2 if stayed == safe else 1
            stayed = safe
    return safe
