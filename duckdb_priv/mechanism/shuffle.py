"""The (epsilon, delta) guarantee of a shuffled group: what it reveals about one record's sensitive value.

The rows of a release are sorted by its own columns. So a group of equal public attributes shows only the multiset of
its published values. An adversary knows the true values of all *other* records of the group, but not the secret. The
noise of the others then hides the published value of the remaining record, with an epsilon far below the local one.
The delta is the mean positive part of a sum of many independent steps. A Fourier transform on a lattice computes it,
and every approximation can only increase the result.
Derivations and assumptions: ``shuffle.md`` and ``positive_part.md`` beside this file.

Sources: Balle, Bell, Gascon, Nissim, "The privacy blanket of the shuffle model" (CRYPTO 2019), lemma 5.3,
evaluated without the inequalities that follow it there; Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the
dots: tighter discrete approximations of privacy loss distributions" (PETS 2022), for steps split so that their mean
stays; Esscher (1932) for tilting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.mechanism.arrays import Floats
from duckdb_priv.mechanism.symmetric_code import Code

LARGEST_EPSILON = 50.0
"""If a published value rules out a true one, no epsilon above this is tried."""
MOST_PAIRS = 100
"""Most pairs of true values for which a bound is computed. Each pair takes milliseconds per group size."""
SMALLEST_LATTICE = 1 << 13
"""Smallest number of lattice points. Sums of few steps need a fine lattice, because rounding matters most near 0."""
LARGEST_LATTICE = 1 << 20
"""Largest number of lattice points. If they do not reach the tolerance, the bound is less tight."""
STRETCHES = np.linspace(1.0, 1.3, 400)
"""Candidate widths, as multiples of the smallest possible width. One of them fits the steps well."""
TILTS = np.geomspace(0.02, 50, 160)
"""Candidate tilts for Chernoff bounds, as multiples of the best tilt."""
FORGOTTEN = 34.0
"""Sums beyond the lattice contribute less than exp(-34) of the result. A bound of that is added."""
FORGOTTEN_FREQUENCY = 46.0
"""Frequencies with an amplitude below exp(-46) are left out. Together they are below the rounding error."""
ROUNDING = 1e-10, 1e-14
"""Bounds of the relative rounding error: a constant, and an error per step."""
CANCELLED = 1e-15
"""Rounding error of a sum with cancelling terms, relative to the sum of their absolute values."""


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


class StepLaw(NamedTuple):
    """The distribution of one step: its values and their probabilities. With the remaining probability it is 0."""

    values: Floats
    probabilities: Floats

    @property
    def still(self) -> float:
        """Probability that a step is 0, besides that of the value 0 in ``values``."""
        return max(0.0, 1 - float(self.probabilities.sum()))

    def cumulants(self, tilts: Floats) -> Floats:
        """Return the logarithm of the mean of ``exp(tilt * Z)`` for each tilt."""
        powers = np.outer(tilts, self.values)
        top = np.maximum(powers.max(axis=1), 0)
        sums = np.exp(powers - top[:, None]) @ self.probabilities + self.still * np.exp(-top)
        cumulants: Floats = top + np.log(sums)
        return cumulants

    def drift(self, tilt: float) -> float:
        """Return the mean of ``Z exp(tilt * (Z - max))``. Its callers use only the sign."""
        return float(
            self.probabilities * np.exp(tilt * (self.values - self.values.max())) @ self.values
        )


def log_positive_part(
    values: Floats, probabilities: Floats, count: int, *, tolerance: float = 1e-6
) -> float:
    """Return the logarithm of an upper bound of the mean positive part of a sum of ``count`` independent steps.

    A step takes ``values`` with ``probabilities``, which sum to at most 1; otherwise it is 0. Its mean must be
    negative. The relative error of the bound is of the order of ``tolerance``. The result is ``-inf`` if no value is
    positive.

    Ten games each win 1 or lose 2. The sum is 10, 7, 4 or 1 for ten, nine, eight or seven wins:

    >>> exact = (10 + 10 * 7 + 45 * 4 + 120 * 1) / 2**10
    >>> bound = math.exp(log_positive_part(np.array([1.0, -2.0]), np.array([0.5, 0.5]), 10))
    >>> exact <= bound <= exact * (1 + 1e-6)
    True
    """
    steps = StepLaw(values, probabilities)
    if values.max() <= 0:
        return -math.inf
    tilt = _saddle(steps)
    window = _window(steps, tilt, count)
    lattice, width, size = _lattice(steps, tilt, count, window, tolerance)
    cumulant, beyond = lattice.cumulants(np.array([tilt, window.outer]))
    tilted = lattice.probabilities * np.exp(tilt * lattice.values - cumulant)
    step = np.bincount(np.rint(lattice.values / width).astype(np.int64) % size, tilted, size)
    step[0] += lattice.still * math.exp(-cumulant)
    # The transform wraps around. A sum below the window is counted at its upper end, which increases the result. A sum
    # above the window is lost; the bound ``lost`` of these sums is added.
    points = size - math.ceil(window.bottom / width) - 1
    inside = width * _mean_of_tilted(np.fft.rfft(step), size, count, tilt * width, points)
    known = count * float(cumulant) + math.log(inside)
    top = points * width
    lost = (
        -math.inf
        if top >= count * lattice.values.max() - width / 2
        else math.log(max(top, 1 / window.outer)) - window.outer * top + count * float(beyond)
    )
    return float(np.logaddexp(known, lost)) + ROUNDING[0] + ROUNDING[1] * count


def _mean_of_tilted(
    transform: NDArray[np.complex128], size: int, count: int, tilt: float, points: int
) -> float:
    """Return an upper bound of the mean of ``k exp(-tilt k)``, where sums k outside 1 … ``points`` count as 0.

    ``transform`` is the Fourier transform of one step on a lattice of ``size`` points; its power is that of the sum.
    By Parseval's equation the mean is a sum over frequencies. Those with a negligible amplitude are left out.
    """
    modulus = np.abs(transform)
    alive = np.flatnonzero(modulus > math.exp(-FORGOTTEN_FREQUENCY / count))
    power = np.exp(count * np.log(transform[alive]))
    # The sum of k z^k for k from 1 to K is z (1 - (K + 1) z^K + K z^(K + 1)) / (1 - z)^2.
    logarithm = -tilt + 2j * np.pi / size * alive
    end = np.exp(points * logarithm)
    gap = -np.expm1(logarithm)
    payoff = np.exp(logarithm) * (1 - end * (1 + points * gap)) / gap**2
    terms = np.where((alive == 0) | (2 * alive == size), 1, 2) * (power * payoff).real
    # Terms can cancel until only a rounding error is left, which may be negative.
    return float(max(terms.sum(), 0.0) + CANCELLED * np.abs(terms).sum()) / size


def _saddle(steps: StepLaw) -> float:
    """Return the tilt with which a step has mean 0, rounded up."""
    high = 1 / float(np.abs(steps.values).max())
    while steps.drift(high) < 0:
        high *= 2
    low, exact = 0.0, high * 1e-6
    while high - low > exact:
        middle = (low + high) / 2
        low, high = (middle, high) if steps.drift(middle) < 0 else (low, middle)
    # Any tilt above 0 gives a bound, 0 gives none; so the upper end is returned.
    return high


class Window(NamedTuple):
    """The range of sums that a lattice must cover."""

    top: float
    """Largest sum. Larger ones are negligible, by the Chernoff bound with the tilt ``outer``."""
    bottom: float
    """Distance from 0 to the smallest sum."""
    outer: float


def _window(steps: StepLaw, tilt: float, count: int) -> Window:
    """Return the range of sums that are not negligible, by the best of many Chernoff bounds."""
    (here,) = steps.cumulants(np.array([tilt]))
    outer = tilt * (1 + TILTS)
    rises = (count * (steps.cumulants(outer) - here) + FORGOTTEN) / outer
    best = int(rises.argmin())
    falls = (count * (steps.cumulants(tilt * (1 - TILTS)) - here) + FORGOTTEN) / (tilt * TILTS)
    lowest = -count * min(float(steps.values.min()), 0.0)
    return Window(float(rises[best]), min(float(falls.min()), lowest), float(outer[best]))


def _lattice(
    steps: StepLaw, tilt: float, count: int, window: Window, tolerance: float
) -> tuple[StepLaw, float, int]:
    """Return steps on a lattice, the distance between its points, and the number of points.

    Every value is split between its two neighbours on the lattice, so that the mean of a step does not change. A split
    adds variance. The lattice is refined until that increases the result by ``tolerance`` at most.
    """
    (here,) = steps.cumulants(np.array([tilt]))
    tilted = steps.probabilities * np.exp(tilt * steps.values - here)
    allowed = 2 * tolerance / (count * tilt**2)
    highest, size = count * float(steps.values.max()), SMALLEST_LATTICE
    while True:
        points = size - 4
        least = (window.top + window.bottom) / points
        if points > count:
            # A split increases the largest value by one width at most, and so the largest sum by one width per step.
            least = min(least, (highest + window.bottom) / (points - count))
        widths = STRETCHES * least
        parts = (steps.values[:, None] / widths) % 1
        added = (tilted @ (parts * (1 - parts))) * widths**2
        best = int(added.argmin())
        if added[best] <= allowed or size >= LARGEST_LATTICE:
            break
        size *= 2
    width = float(widths[best])
    lower = np.floor(steps.values / width)
    part = steps.values / width - lower
    places = np.concatenate([lower, lower + 1])
    shares = np.concatenate([1 - part, part]) * np.tile(steps.probabilities, 2)
    return StepLaw(places[shares > 0] * width, shares[shares > 0]), width, size
