"""Test whether some columns determine another one: groups of records agree more often than by chance.

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
"""Smallest factor between the odds of a value in a determined group and its odds in the table."""
CONCLUSIVE = 0.01
"""A group is conclusive by itself if its records agree by chance with at most this probability."""
TOGETHER = 0.9
"""Smaller groups count together if at least this share of them is determined, corrected for chance."""
FALSE_ALARM = 1e-6
"""Largest probability of a false finding if the columns are independent."""
DENSE = 16
"""Pairs of values are counted in a dense array if there are at most this many possible pairs per record."""
LARGEST = 2_000
"""Larger groups are treated as groups of this size, which agree by chance more often."""
DIGITS = 3
"""Shares are rounded up to this many digits, so that few different shares are computed with."""


@dataclass(frozen=True)
class Groups:
    """Numbers of groups of records that are equal in some columns. The arrays have one entry per group size."""

    sizes: Integers
    """Number of records in a group."""
    groups: Integers
    """Number of groups of this size."""
    determined: Integers
    """Number of these groups that determine another column (``determination.md``)."""


@dataclass(frozen=True)
class Codes:
    """A column whose values are numbered from 0."""

    of: Integers
    """The value number of each record."""
    size: int
    """The number of different values."""

    @cached_property
    def counts(self) -> Integers:
        """Number of records of each value."""
        return np.bincount(self.of, minlength=self.size)

    def __and__(self, other: Codes) -> Codes:
        """Return the column of pairs of values of two columns, numbered from 0.

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
        """Return the column for the first ``records`` records only."""
        return self if records >= len(self.of) else Codes(self.of[:records], self.size)


@dataclass(frozen=True)
class Determination:
    """To what extent some columns determine another one."""

    share: float
    """Share of all records whose value is determined."""
    log_chance: float
    """Logarithm of an upper bound of the probability that as many groups agree by chance."""

    @property
    def evident(self) -> bool:
        """Whether chance is ruled out as the explanation."""
        return self.log_chance < math.log(FALSE_ALARM)


def require_certainty(certainty: float) -> None:
    """Raise ``InvalidParameter`` unless ``certainty`` is above one half: two values cannot both be certain.

    >>> require_certainty(0.95)
    """
    if not 0.5 < certainty <= 1:
        raise InvalidParameter(
            f"certainty must lie above 0.5 and be at most 1, got {certainty!r}",
            hint="0.95 is usual: a posterior of 95% counts as certain",
        )


def least_count(sizes: ArrayLike, share: ArrayLike, certainty: float) -> Vector:
    """Return how many records of a group must have a value for the group to determine it.

    ``share`` is the share of the value in the table.

    >>> least_count([2, 100], 0.5, 0.95)
    array([ 2., 95.])
    """
    n, p = np.asarray(sizes, np.float64), np.asarray(share, np.float64)
    # A rounding error must not ask for one record more.
    return np.ceil(n * np.maximum(certainty, ODDS * p / (1 - p + ODDS * p)) - 1e-9)


def chance(sizes: ArrayLike, counts: ArrayLike, certainty: float) -> Vector:
    """Return the probability that a group of each size is determined by chance.

    ``counts`` has the number of records of each value in the table.

    With two equally frequent values, half of all pairs of records agree:

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
    """Count the groups of records that are equal in ``given``, and those that determine ``reported``.

    ``counts`` has the number of records of each value of ``reported`` in the whole table, or in the sample.

    >>> town, disease = Codes(np.array([0, 0, 1, 1]), 2), Codes(np.array([0, 0, 0, 1]), 20)
    >>> groups_of(town, disease, np.full(20, 5), certainty=0.95)
    Groups(sizes=array([2]), groups=array([2]), determined=array([1]))
    """
    # Records with a unique value are in no group.
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
    """Return the share of ``records`` whose value of another column is determined by their group.

    ``counts`` has the number of records of each value of the other column.

    There are two equally frequent values. If a thousand pairs of records all agree, chance is ruled out:

    >>> pairs = Groups(np.array([2]), np.array([1000]), np.array([1000]))
    >>> found = determination(pairs, [1000, 1000], 2000, certainty=0.95)
    >>> found.share, found.evident
    (1.0, True)

    If about half of them agree, it is not:

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
