"""Whether some columns determine another, from how often the records of a group agree, and what chance does.

Derivation: ``determination.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism import binomial
from duckdb_priv.mechanism.arrays import Integers, Vector

ODDS = 10.0
"""How many times larger the odds of a value must be in a group than in the table."""
CONCLUSIVE = 0.01
"""Largest chance of agreeing with which a group is judged on its own."""
TOGETHER = 0.9
"""Least share, corrected for chance, at which groups too small to judge one by one count."""
FALSE_ALARM = 1e-6
"""Largest probability of as many determined groups where nothing depends on anything."""
DENSE = 16
"""Pairs of values for each record up to which they are counted in an array with a place for each pair."""
LARGEST = 2_000
"""Groups above this size are taken for as large: they agree by chance more rarely still."""
DIGITS = 3
"""Shares are rounded up to so many digits, since what depends on them is computed for each."""


@dataclass(frozen=True)
class Groups:
    """Groups of records that agree on some columns, one entry for each size that occurs."""

    sizes: Integers
    """Records of a group."""
    groups: Integers
    """How many groups have this size."""
    determined: Integers
    """How many of these agree on another column, as ``determines`` says."""


@dataclass(frozen=True)
class Codes:
    """A column whose values are numbered from 0."""

    of: Integers
    """The number of each record's value."""
    size: int
    """How many values there are."""

    @cached_property
    def counts(self) -> Integers:
        """Records of each value."""
        return np.bincount(self.of, minlength=self.size)

    def __and__(self, other: Codes) -> Codes:
        """Number the pairs of values of two columns.

        >>> one, two = Codes(np.array([0, 1, 1]), 2), Codes(np.array([2, 0, 2]), 3)
        >>> (one & two).of
        array([0, 1, 2])
        """
        pairs = self.of * other.size + other.of
        if self.size * other.size > DENSE * len(pairs):
            found, numbers = np.unique(pairs, return_inverse=True)
            return Codes(numbers, len(found))
        there = np.zeros(self.size * other.size, bool)
        there[pairs] = True
        numbers = np.cumsum(there) - 1
        return Codes(numbers[pairs], int(numbers[-1]) + 1)

    def first(self, records: int) -> Codes:
        """Return the column of the first records."""
        return self if records >= len(self.of) else Codes(self.of[:records], self.size)


@dataclass(frozen=True)
class Determination:
    """How far columns determine another."""

    share: float
    """Share of all records whose value is determined."""
    log_chance: float
    """Logarithm of a bound on the probability that as many groups agree by chance; 0 says nothing."""

    @property
    def evident(self) -> bool:
        """Whether chance is ruled out."""
        return self.log_chance < math.log(FALSE_ALARM)


def require_certainty(certainty: float) -> None:
    """Raise ``InvalidParameter`` unless a certainty lies above one half: two values cannot both be certain.

    >>> require_certainty(0.95)
    """
    if not 0.5 < certainty <= 1:
        raise InvalidParameter(
            f"certainty must lie above 0.5 and be at most 1, got {certainty!r}",
            hint="0.95 is usual: a posterior of 95% counts as certain",
        )


def least_count(sizes: ArrayLike, share: ArrayLike, certainty: float) -> Vector:
    """Return how many records of a group must have a value of this share in the table to be determined.

    >>> least_count([2, 100], 0.5, 0.95)
    array([ 2., 95.])
    """
    n, p = np.asarray(sizes, np.float64), np.asarray(share, np.float64)
    # A rounding error must not ask for one record more.
    return np.ceil(n * np.maximum(certainty, ODDS * p / (1 - p + ODDS * p)) - 1e-9)


def chance(sizes: ArrayLike, counts: ArrayLike, certainty: float) -> Vector:
    """Return the probability that a group of each size is determined by chance.

    ``counts`` has the records of each value in the table.

    Two equal values agree in half of the pairs:

    >>> chance([2, 6], [500, 500], 0.95)
    array([0.5    , 0.03125])
    """
    require_certainty(certainty)
    histogram = np.asarray(counts, np.float64)
    scale = 10.0**DIGITS
    shares = histogram / histogram.sum()
    magnitude = scale / 10 ** np.ceil(np.log10(shares))
    values, multiplicity = np.unique(
        np.minimum(np.ceil(shares * magnitude - 1e-9) / magnitude, 1.0), return_counts=True
    )
    n = np.minimum(np.asarray(sizes, np.int64), LARGEST)[:, None]
    needed = least_count(n, values[None, :], certainty)
    tails = binomial.sf(needed - 1, n, values[None, :])
    return np.asarray(np.minimum(tails @ multiplicity, 1.0))


def groups_of(given: Codes, reported: Codes, counts: Integers, certainty: float) -> Groups:
    """Count the groups of records that agree on a column, and those that determine another (``determination.md``).

    ``counts`` has the records of each value of the other column in the whole table, or sample.

    >>> town, disease = Codes(np.array([0, 0, 1, 1]), 2), Codes(np.array([0, 0, 0, 1]), 20)
    >>> groups_of(town, disease, np.full(20, 5), certainty=0.95)
    Groups(sizes=array([2]), groups=array([2]), determined=array([1]))
    """
    # Records that are unique in their value are in no group.
    several = given.counts[given.of] > 1
    given, reported = (
        Codes(given.of[several], given.size),
        Codes(reported.of[several], reported.size),
    )
    if not given.of.size:
        nothing = np.empty(0, np.int64)
        return Groups(nothing, nothing, nothing)
    cells = given & reported
    group, value = np.empty((2, cells.size), np.int64)
    group[cells.of], value[cells.of] = given.of, reported.of
    # Pairs are numbered in the order of the groups.
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    most = np.maximum.reduceat(cells.counts, starts)
    place = np.cumsum(np.r_[False, group[1:] != group[:-1]])
    largest = np.flatnonzero(cells.counts == most[place])
    of_largest = np.empty(len(starts), np.int64)
    of_largest[place[largest]] = counts[value[largest]]
    size, records = given.counts[group[starts]], counts.sum()
    determined = (
        (most >= certainty * size)
        & (most * (records - of_largest) >= ODDS * (size - most) * of_largest)
        & (of_largest < records)
    )
    sizes, number = np.unique(size, return_inverse=True)
    return Groups(
        sizes,
        np.bincount(number, minlength=len(sizes)),
        np.bincount(number[determined], minlength=len(sizes)),
    )


def determination(
    groups: Groups, counts: ArrayLike, records: int, certainty: float
) -> Determination:
    """Return which share of ``records`` has a value of another column that its group determines.

    ``counts`` has the records of each value of the other column.

    A thousand pairs, each of one of two values, are no accident:

    >>> pairs = Groups(np.array([2]), np.array([1000]), np.array([1000]))
    >>> found = determination(pairs, [1000, 1000], 2000, certainty=0.95)
    >>> found.share, found.evident
    (1.0, True)

    Half of them agreeing is one:

    >>> pairs = Groups(np.array([2]), np.array([1000]), np.array([510]))
    >>> found = determination(pairs, [1000, 1000], 2000, certainty=0.95)
    >>> found.share, found.evident
    (0.0, False)
    """
    several = groups.sizes > 1
    sizes, number, agreeing = (
        each[several] for each in (groups.sizes, groups.groups, groups.determined)
    )
    if not agreeing.any():
        return Determination(0.0, 0.0)
    by_chance = chance(sizes, counts, certainty)
    expected, found = float(number @ by_chance), float(agreeing.sum())
    excess = math.log(found) - math.log(max(expected, np.finfo(np.float64).tiny))
    log_chance = found - expected - found * excess if excess > 0 else 0.0
    conclusive = by_chance <= CONCLUSIVE
    held = float((agreeing * sizes)[conclusive].sum())
    small = ~conclusive
    of_small = float((number * sizes)[small].sum())
    if of_small:
        accident = float((number * sizes * by_chance)[small].sum()) / of_small
        together = float((agreeing * sizes)[small].sum()) / of_small
        corrected = (together - accident) / (1 - accident) if accident < 1 else 0.0
        held += corrected * of_small if corrected >= TOGETHER else 0.0
    return Determination(held / records, log_chance)
