"""Hiding in the crowd: what a shuffled group reveals about one record's sensitive value.

A release is stored in an order made from its own columns, so that of a group of equal public attributes only the
multiset of published values is seen. To someone who knows the true values of all *other* records of the
group, but not the secret, the published values of those others hide the one that is left: (epsilon, delta) with
epsilon far below the local one. Derivations, and what it rests on: ``shuffle.md`` beside this file.

Source: Balle, Bell, Gascon, Nissim, "The privacy blanket of the shuffle model" (CRYPTO 2019), lemma 5.3,
evaluated without the inequalities that follow it there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product

import numpy as np

from duckdb_priv.mechanism.arrays import Floats
from duckdb_priv.mechanism.positive_part import log_positive_part
from duckdb_priv.mechanism.symmetric_code import Code

LARGEST_EPSILON = 50.0
"""Where some published value rules out a true one, delta is asked at this epsilon whether any will do."""
MOST_PAIRS = 100
"""Each pair costs milliseconds for every size of a group: of operators with more different ones nothing is said."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two true values, for someone who wants to distinguish them: three distributions of the published values.

    Published values that say the same may be one, with the sums of their probabilities. Pairs are equal if
    their laws are, up to rounding.
    """

    first: Floats
    """Probability of each published value if the record has the first true value."""
    second: Floats
    """The same for the second."""
    blanket: Floats
    """What every record publishes at least as often, whatever its true value; sums to at most 1."""

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
        """Put published values together that say the same of the two true values."""
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
        """The logarithm of the largest ratio of the first law to the second: what one record alone tells."""
        shown = self.first > 0
        if (self.second[shown] == 0).any():
            return math.inf
        return float(np.log(self.first[shown] / self.second[shown]).max())


def code_pair(code: Code, amplification: float) -> Pair:
    """Return the pair of any two values of a symmetric code, at a likelihood ratio.

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
    """Return the pairs of any operator ``P[published, true]``, those that say the same only once.

    Values of one of the ``kinds`` can be exchanged: the operator stays what it is when two of them change places.
    Without ``kinds`` every value is compared with every other one. Empty where there are more than ``most``
    pairs of kinds.

    >>> P = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    >>> len(operator_pairs(P)), len(operator_pairs(P, most=2)), len(operator_pairs(P, [0, 0, 0], most=2))
    (1, 0, 1)
    """
    members: dict[int, list[int]] = {}
    for value, kind in enumerate(kinds if kinds is not None else range(operator.shape[1])):
        members.setdefault(kind, []).append(value)
    # Of each kind, two values stand for all.
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
    """Return the pairs of records with several attributes, of which some or all differ.

    ``pairs`` has one for each attribute, perturbed on its own. Where an attribute does not differ, the two
    true values are the same one.
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
    """Return the logarithm of a delta with which the first true value hides behind the second, at ``epsilon``.

    >>> pair = code_pair(Code(50), 9.0)
    >>> f"{math.exp(log_delta(pair, 100, 0.5)):.4e}"
    '9.4535e-06'
    """
    excess = pair.first - math.exp(epsilon) * pair.second
    covered = pair.blanket > 0
    alone = float(np.maximum(excess[~covered], 0).sum())
    if group_size == 1 or excess[covered].sum() > -1e-9:
        # Nobody to hide behind; or the second value is so rarely covered that hiding is not worth computing.
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
    """Return an epsilon with which a group of so many records is (epsilon, delta)-private, for all pairs.

    Never below what the bound gives at ``delta``, and about what it gives at ``(1 - close) delta``. A group of one
    record has the local epsilon. Infinite where no epsilon reaches ``delta``.

    >>> round(shuffle_epsilon([code_pair(Code(50), 9.0)], 100, 1e-6), 4)
    0.5702
    """
    largest, goal = 0.0, math.log(delta)
    for pair in pairs:
        if group_size == 1:
            largest = max(largest, pair.epsilon)
        elif log_delta(pair, group_size, largest) > goal:
            largest = _epsilon_above(pair, group_size, goal, largest, close)
    return largest


def _epsilon_above(pair: Pair, group_size: int, goal: float, low: float, close: float) -> float:
    """Find where the logarithm of delta falls below the goal, above ``low``."""

    def excess(epsilon: float) -> float:
        return log_delta(pair, group_size, epsilon, tolerance=max(close / 100, 1e-6)) - goal

    limit = min(pair.epsilon, LARGEST_EPSILON)
    if excess(limit) > 0:
        return math.inf
    high = min(limit, max(2 * low, 4 / math.sqrt(group_size)))
    while high < limit and excess(high) > 0:
        low, high = high, min(2 * high, limit)
    return safe_end(excess, safe=high, other=low, close=close)


def safe_end(excess: Callable[[float], float], *, safe: float, other: float, close: float) -> float:
    """Return a point whose ``excess`` is at most 0 and nearly 0, between ``safe`` where it is and ``other`` where not.

    Regula falsi that halves the weight of an end which stays (the Illinois method), and bisection while an
    excess is infinite. Ends when the excess is within ``close`` of 0, or when nothing lies between the two ends.

    >>> round(safe_end(lambda x: 2 - x * x, safe=2.0, other=1.0, close=1e-9), 6)
    1.414214
    """
    at_safe, at_other, stayed = excess(safe), excess(other), 0.0
    while at_safe < -close and abs(safe - other) > 1e-12 * abs(safe):
        share = at_other / (at_other - at_safe) if math.isfinite(at_safe - at_other) else 0.5
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
