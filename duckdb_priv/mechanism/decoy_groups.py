"""Decoy groups: cut a table into secret groups of gamma records with distinct values.

The plan is made from the histogram of the sensitive attribute and a keyed stream of random words
alone: for every (value, rank of the record within its value) the group, and for every group its
gamma values. Which record of a value has which rank is decided outside, by keyed hash order.
Derivation, the ways that were measured, and what fixed orders cost: ``decoy_groups.md``.
Source: Fu, Wang and others, "Small sum privacy and large sum utility in data publishing", for
the groups and the order it takes from Anatomy; Ryser (1957) for the swaps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.eligibility import require_eligible
from duckdb_priv.mechanism.record_order import Each

WordStreams = Callable[[int, int], NDArray[np.uint64]]
"""``words(stream, count)``: the first ``count`` uniform 64-bit words of keyed stream ``stream``.

A pure function of the key and its two arguments; different streams are independent.
"""

ROUNDS = 32
"""Rounds of swaps. 16 reach the limit law on ordinary histograms, 32 on every one measured."""

TILE = 1 << 16
"""Most groups that are mixed with each other: large enough to mix, small enough for the cache."""

BLOCK = 16
"""Tiles that are made at a time: five million records where gamma is 5, in 26 MB."""

_LEFT_OUT, _START, _TILES = 0, 1, 2


@dataclass(frozen=True)
class DecoyGroups:
    """Which group each record is in, and which values each group holds. Secret.

    The record of value ``v`` with rank ``r`` within that value (0, 1, … in keyed hash order) is in
    group ``group_of[first[v] + r]``, and the values of group ``g`` are ``members[g]``.
    """

    members: NDArray[np.unsignedinteger]
    """(groups, gamma) value codes; the values of one group are distinct."""
    first: NDArray[np.int64]
    """(values + 1,) where the ranks of each value begin in ``group_of``."""
    group_of: NDArray[np.uint32]
    """(rows,) the group of each record, by value and rank within the value."""

    def publish(
        self, value: NDArray[np.integer], rank: NDArray[np.integer], word: NDArray[np.uint64]
    ) -> NDArray[np.unsignedinteger]:
        """Return the value code to publish for each record, uniform over its group's values.

        ``word`` is one uniform 64-bit word per record; the result is a function of the arguments
        alone, record by record. Raises ``InvalidParameter`` for a rank that the plan does not have,
        as that of a record left out.

        >>> pair = DecoyGroups(np.array([[0, 1]], np.uint8), np.array([0, 1, 2]), np.zeros(2, "u4"))
        >>> code, rank = np.array([0, 0, 1]), np.array([0, 0, 0])
        >>> pair.publish(code, rank, np.array([0, 2**63, 2**63 - 1], np.uint64))
        array([0, 1, 0], dtype=uint8)
        """
        place = self.first[value] + rank
        if (place >= self.first[1:][value]).any():
            raise InvalidParameter(
                "the plan has no group for a record of this rank",
                hint="drop the records that are left out before publishing",
            )
        group = self.group_of[place]
        member = below(self.members.shape[1], word)
        published: NDArray[np.unsignedinteger] = self.members[group, member]
        return published


def below(bound: int, word: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Turn uniform 64-bit words into integers 0 … bound - 1: the high half of word * bound.

    No integer is likelier than another by more than 2**-64; ``bound`` at most 2**32.

    >>> below(10, np.array([0, 2**63, 2**64 - 1], np.uint64))
    array([0, 5, 9])
    """
    half, factor = np.uint64(32), np.uint64(bound)
    carry = ((word & np.uint64(0xFFFFFFFF)) * factor) >> half
    return (((word >> half) * factor + carry) >> half).astype(np.intp)


def leave_out(counts: ArrayLike, gamma: int, words: WordStreams) -> NDArray[np.int64]:
    """Return the histogram without the rows % gamma records that fill no group.

    Every record is equally likely to be left out; within a value those of the highest ranks are.
    An eligible histogram stays eligible: no count exceeds rows // gamma, the number of groups.

    >>> leave_out([3, 2, 2, 1], 2, lambda stream, count: np.zeros(count, np.uint64))
    array([3, 2, 2, 1])
    >>> leave_out([3, 3, 2, 1], 2, lambda stream, count: np.zeros(count, np.uint64))
    array([2, 3, 2, 1])
    """
    require_eligible(counts, gamma)
    kept = np.array(counts, np.int64)
    rows = int(kept.sum())
    chosen: set[int] = set()
    # Floyd's sampling without replacement: one word per record, no rejection.
    for last, word in zip(
        range(rows - rows % gamma, rows), words(_LEFT_OUT, rows % gamma), strict=True
    ):
        place = (int(word) * (last + 1)) >> 64
        chosen.add(last if place in chosen else place)
    values = np.searchsorted(np.cumsum(kept), sorted(chosen), side="right")
    np.subtract.at(kept, values, 1)
    return kept


@dataclass(frozen=True, eq=False)
class GroupPlan:
    """How a histogram is cut into decoy groups, as data: blocks of groups are made where they are needed. Secret."""

    histogram: NDArray[np.int64]
    """Records of each value; their sum is a multiple of gamma (``leave_out``)."""
    gamma: int
    words: WordStreams = field(repr=False)
    whole: bool = False
    """Whether all groups are one block."""

    def same(self, other: GroupPlan) -> bool:
        """Return whether another plan makes the same groups, block by block."""
        mine, theirs = ((type(each), each.gamma, each.words, each.whole) for each in (self, other))
        return mine == theirs and np.array_equal(self.histogram, other.histogram)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.histogram.sum()) // self.gamma

    @property
    def blocks(self) -> int:
        """In how many blocks they are made."""
        return 1

    def before(self, block: int) -> NDArray[np.int64]:
        """Count the records of each value that are in blocks before this one: its ranks begin there."""
        return self.histogram * block

    def block(self, number: int, each: Each = map) -> DecoyGroups:
        """Make the groups of a block; a rank counts from the first that the block has of a value.

        What is made apart from one another may be made in threads, by ``each``.
        """
        raise NotImplementedError


class MixedGroups(GroupPlan):
    """Well mixed groups, made in time linear in the rows, in memory that a block needs.

    A systematic start (the records lined up by value, record i in group i mod groups) is mixed by
    ``ROUNDS`` rounds of keyed random swaps whose limit law is uniform over all ways to fill the
    groups. Every T-th group belongs to one tile; tiles are mixed apart, and how many records of a
    value a tile has is known beforehand, so that each can be made without the others.
    """

    @property
    def tiles(self) -> int:
        """How many tiles the groups form."""
        return -(-self.groups // TILE)

    @property
    def blocks(self) -> int:
        """In how many blocks of tiles they are made."""
        return -(-self.tiles // self._tiles_of_block)

    def before(self, block: int) -> NDArray[np.int64]:
        """Count the records of each value in the tiles of earlier blocks."""
        return self.before_tile(min(block * self._tiles_of_block, self.tiles))

    @property
    def _tiles_of_block(self) -> int:
        return self.tiles if self.whole else BLOCK

    def before_tile(self, tile: int) -> NDArray[np.int64]:
        """Count the records of each value in the tiles before one.

        Position p of the line is in group p mod groups, which is in tile (p mod groups) mod tiles.
        """
        bounds, groups, tiles = self._bounds, self.groups, self.tiles

        def upto(position: NDArray[np.int64] | int) -> NDArray[np.int64]:
            return position // tiles * tile + np.minimum(position % tiles, tile)

        counted = bounds // groups * upto(groups) + upto(bounds % groups)
        before = np.empty_like(self.histogram)
        before[self._order] = np.diff(counted)
        return before

    def block(self, number: int, each: Each = map) -> DecoyGroups:
        """Mix the tiles of a block."""
        low = number * self._tiles_of_block
        return self.between(low, min(low + self._tiles_of_block, self.tiles), each)

    def between(self, low: int, high: int, each: Each = map) -> DecoyGroups:
        """Mix the tiles from ``low`` to before ``high``."""
        members = np.concatenate(list(each(self._tile, range(low, high))))
        return with_ranks(members, self.before_tile(high) - self.before_tile(low), each)

    def _tile(self, tile: int) -> NDArray[np.unsignedinteger]:
        """Return the values of the groups of a tile, (groups, gamma)."""
        # Row r holds positions r * groups … : a column has positions a multiple of groups apart, and
        # a value, whose positions are consecutive and at most groups many, meets it at most once.
        first = np.arange(self.gamma)[:, np.newaxis] * self.groups + tile
        width = len(range(tile, self.groups, self.tiles))
        ends = np.clip(-((first - self._bounds) // self.tiles), 0, width)
        codes = np.tile(self._order.astype(code_type(self.histogram.size)), self.gamma)
        part = np.repeat(codes, np.diff(ends).ravel()).reshape(self.gamma, width)
        _mix(part, self.words, _TILES + tile)
        return part.T

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The order in which the values line up."""
        return np.argsort(self.words(_START, self.histogram.size))

    @cached_property
    def _bounds(self) -> NDArray[np.int64]:
        """Where each value in that order begins, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(self.histogram[self._order])])


def _mix(part: NDArray[np.unsignedinteger], words: WordStreams, stream: int) -> None:
    """Mix the (gamma, groups) value codes in place by ``ROUNDS`` rounds of random swaps.

    One random order of the groups, then a perfect-shuffle network: each round pairs group i with
    group i + half and deals the pairs out interleaved, so that the next round pairs others.
    """
    gamma, groups = part.shape
    half, odd = groups // 2, groups % 2
    per_round = -(-gamma * half // 64)
    order, shifts, bits = np.split(
        words(stream, groups + ROUNDS + ROUNDS * per_round), [groups, groups + ROUNDS]
    )
    part[:] = part[:, np.argsort(order)]
    for shift, round_bits in zip(
        below(gamma, shifts), bits.reshape(ROUNDS, per_round), strict=True
    ):
        flips = np.unpackbits(round_bits.view(np.uint8), count=gamma * half).view(np.bool_)
        left, right = part[:, :half].copy(), part[:, half : 2 * half].copy()
        _swap(left, right, flips.reshape(gamma, half), int(shift))
        if odd:
            part[:, 0] = part[:, -1]
        part[:, odd::2], part[:, odd + 1 :: 2] = left, right


def _swap(
    left: NDArray[np.unsignedinteger],
    right: NDArray[np.unsignedinteger],
    flips: NDArray[np.bool_],
    shift: int,
) -> None:
    """Exchange left[i] and right[i + shift] where the coin says so and both groups stay distinct.

    Each exchange is undone by itself, hence a symmetric step: the uniform law stays uniform.
    """
    gamma = len(left)
    for i in range(gamma):
        one, other = left[i], right[(i + shift) % gamma]
        # Where one equals other this reports a clash too, and there is nothing to exchange.
        clash = (right == one).any(axis=0) | (left == other).any(axis=0)
        change = (one ^ other) * (flips[i] & ~clash)
        one ^= change
        other ^= change


def with_ranks(
    members: NDArray[np.unsignedinteger], histogram: NDArray[np.int64], each: Each = map
) -> DecoyGroups:
    """Give rank r of each value the r-th group that holds the value, a stretch of groups a time."""
    groups, gamma = members.shape
    first = np.concatenate([[0], np.cumsum(histogram)])
    group_of = np.empty(groups * gamma, np.uint32)
    stretches = range(0, groups, TILE)

    def codes(low: int) -> NDArray[np.unsignedinteger]:
        return members[low : low + TILE].ravel()

    def count(low: int) -> NDArray[np.int64]:
        return np.bincount(codes(low), minlength=histogram.size)

    counts = np.array(list(each(count, stretches)))
    # The position of the next rank of each value when a stretch begins.
    places = first[:-1] + np.cumsum(counts, axis=0) - counts

    def rank(stretch: int) -> None:
        low, here = stretches[stretch], counts[stretch]
        by_value = np.argsort(codes(low), kind="stable")
        shift = places[stretch] - (np.cumsum(here) - here)
        group_of[np.arange(by_value.size) + np.repeat(shift, here)] = low + by_value // gamma

    for _ in each(rank, range(len(stretches))):
        pass
    return DecoyGroups(members, first, group_of)


def code_type(values: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest type that numbers so many values.

    >>> code_type(256), code_type(257)
    (dtype('uint8'), dtype('uint16'))
    """
    return np.min_scalar_type(values - 1)
