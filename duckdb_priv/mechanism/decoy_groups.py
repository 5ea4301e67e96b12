"""Decoy groups: divide a table into secret groups of gamma records with distinct values.

A plan is computed from the histogram of the sensitive attribute and a keyed stream of random words. It assigns a group
to every (value, rank of the record within its value), and gamma values to every group. The caller ranks the records of
a value, by keyed hash order. Derivation and measurements of other algorithms: ``decoy_groups.md``.
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
"""``words(stream, count)`` returns the first ``count`` uniform 64-bit words of keyed stream ``stream``.

It is a pure function of the key and its two arguments. Different streams are independent.
"""

ROUNDS = 32
"""Rounds of swaps. 16 reach the limit distribution on ordinary histograms, 32 on every measured histogram."""

TILE = 1 << 16
"""Largest number of groups that are mixed with each other. A tile fits in the processor's cache."""

BLOCK = 16
"""Number of tiles in memory at a time: with gamma = 5, five million records in 26 MB."""

_LEFT_OUT, _START, _TILES = 0, 1, 2


@dataclass(frozen=True)
class DecoyGroups:
    """The group of each record, and the values of each group. Both are secret.

    The record of value ``v`` with rank ``r`` within that value (0, 1, … in keyed hash order) is in
    group ``group_of[first[v] + r]``, and the values of group ``g`` are ``members[g]``.
    """

    members: NDArray[np.unsignedinteger]
    """(groups, gamma) value codes; the values of one group are distinct."""
    first: NDArray[np.int64]
    """(values + 1,) the position in ``group_of`` of the first record of each value."""
    group_of: NDArray[np.uint32]
    """(rows,) the group of each record, by value and rank within the value."""

    def publish(
        self, value: NDArray[np.integer], rank: NDArray[np.integer], word: NDArray[np.uint64]
    ) -> NDArray[np.unsignedinteger]:
        """Return the value code to publish for each record, drawn uniformly from the values of its group.

        ``word`` has one uniform 64-bit word per record. Each result depends only on the record's own value, rank and
        word. Raises ``InvalidParameter`` for a rank that has no group, as that of a record that was left out.

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
    """Return an integer in 0 … bound - 1 for each uniform 64-bit word: the high half of word * bound.

    The probabilities of two integers differ by 2**-64 at most. ``bound`` is at most 2**32.

    >>> below(10, np.array([0, 2**63, 2**64 - 1], np.uint64))
    array([0, 5, 9])
    """
    half, factor = np.uint64(32), np.uint64(bound)
    carry = ((word & np.uint64(0xFFFFFFFF)) * factor) >> half
    return (((word >> half) * factor + carry) >> half).astype(np.intp)


def leave_out(counts: ArrayLike, gamma: int, words: WordStreams) -> NDArray[np.int64]:
    """Return the histogram without the rows % gamma records that do not fill a group.

    Every record is equally likely to be left out. Within a value, the records with the highest ranks are left out. An
    eligible histogram stays eligible: no count exceeds rows // gamma, the number of groups.

    >>> leave_out([3, 2, 2, 1], 2, lambda stream, count: np.zeros(count, np.uint64))
    array([3, 2, 2, 1])
    >>> leave_out([3, 3, 2, 1], 2, lambda stream, count: np.zeros(count, np.uint64))
    array([2, 3, 2, 1])
    """
    require_eligible(counts, gamma)
    kept = np.array(counts, np.int64)
    rows = int(kept.sum())
    chosen: set[int] = set()
    # Floyd's algorithm for sampling without replacement uses one word per record and no rejection.
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
    """The data from which decoy groups are computed, block by block. Secret."""

    histogram: NDArray[np.int64]
    """Number of records of each value; the sum is a multiple of gamma (``leave_out``)."""
    gamma: int
    words: WordStreams = field(repr=False)
    whole: bool = False
    """Whether all groups are one block."""

    def same(self, other: GroupPlan) -> bool:
        """Return whether another plan has the same groups."""
        mine, theirs = ((type(each), each.gamma, each.words, each.whole) for each in (self, other))
        return mine == theirs and np.array_equal(self.histogram, other.histogram)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return int(self.histogram.sum()) // self.gamma

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return 1

    def before(self, block: int) -> NDArray[np.int64]:
        """Return the number of records of each value in earlier blocks: the first rank of each value in this block."""
        return self.histogram * block

    def block(self, number: int, each: Each = map) -> DecoyGroups:
        """Return the groups of a block. Ranks start at 0 with the block's first record of each value.

        ``each`` may compute independent parts in several threads.
        """
        raise NotImplementedError


class MixedGroups(GroupPlan):
    """A plan for well mixed groups, which takes time linear in the rows and the memory of one block.

    The start is systematic: records are in order of value, and record i is in group i mod groups. ``ROUNDS`` rounds of
    keyed random swaps then mix the groups. The limit distribution of the swaps is uniform over all ways to fill the
    groups. With T tiles, every T-th group belongs to the same tile, and each tile is mixed separately. The number of
    records of a value in a tile is known beforehand, so each tile can be computed without the others.
    """

    @property
    def tiles(self) -> int:
        """The number of tiles."""
        return -(-self.groups // TILE)

    @property
    def blocks(self) -> int:
        """The number of blocks of tiles."""
        return -(-self.tiles // self._tiles_of_block)

    def before(self, block: int) -> NDArray[np.int64]:
        """Return the number of records of each value in the tiles of earlier blocks."""
        return self.before_tile(min(block * self._tiles_of_block, self.tiles))

    @property
    def _tiles_of_block(self) -> int:
        return self.tiles if self.whole else BLOCK

    def before_tile(self, tile: int) -> NDArray[np.int64]:
        """Return the number of records of each value in the tiles before ``tile``.

        The record at position p is in group p mod groups, which is in tile (p mod groups) mod tiles.
        """
        bounds, groups, tiles = self._bounds, self.groups, self.tiles

        def upto(position: NDArray[np.int64] | int) -> NDArray[np.int64]:
            return position // tiles * tile + np.minimum(position % tiles, tile)

        counted = bounds // groups * upto(groups) + upto(bounds % groups)
        before = np.empty_like(self.histogram)
        before[self._order] = np.diff(counted)
        return before

    def block(self, number: int, each: Each = map) -> DecoyGroups:
        """Return the mixed groups of a block of tiles."""
        low = number * self._tiles_of_block
        return self.between(low, min(low + self._tiles_of_block, self.tiles), each)

    def between(self, low: int, high: int, each: Each = map) -> DecoyGroups:
        """Return the mixed groups of the tiles ``low`` to ``high - 1``."""
        members = np.concatenate(list(each(self._tile, range(low, high))))
        return with_ranks(members, self.before_tile(high) - self.before_tile(low), each)

    def _tile(self, tile: int) -> NDArray[np.unsignedinteger]:
        """Return the values of the groups of a tile, (groups, gamma)."""
        # Row r has the positions from r * groups on. Positions in one column differ by multiples of ``groups``. A value
        # has at most ``groups`` consecutive positions, so it is in a column at most once.
        first = np.arange(self.gamma)[:, np.newaxis] * self.groups + tile
        width = len(range(tile, self.groups, self.tiles))
        ends = np.clip(-((first - self._bounds) // self.tiles), 0, width)
        codes = np.tile(self._order.astype(code_type(self.histogram.size)), self.gamma)
        part = np.repeat(codes, np.diff(ends).ravel()).reshape(self.gamma, width)
        _mix(part, self.words, _TILES + tile)
        return part.T

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The keyed random order of the values in the systematic start."""
        return np.argsort(self.words(_START, self.histogram.size))

    @cached_property
    def _bounds(self) -> NDArray[np.int64]:
        """The position of the first record of each value in that order, and the end of the last value."""
        return np.concatenate([[0], np.cumsum(self.histogram[self._order])])


def _mix(part: NDArray[np.unsignedinteger], words: WordStreams, stream: int) -> None:
    """Mix the (gamma, groups) value codes in place by ``ROUNDS`` rounds of random swaps.

    The groups are put in a random order. Then follows a perfect-shuffle network: each round pairs group i with group
    i + half and interleaves the pairs, so that the next round has other pairs.
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
    """Exchange left[i] and right[i + shift] if ``flips`` is True and the values of both groups stay distinct.

    Each exchange is its own inverse, so a uniform distribution of the groups stays uniform.
    """
    gamma = len(left)
    for i in range(gamma):
        one, other = left[i], right[(i + shift) % gamma]
        # Equal members also count as a clash; there is nothing to exchange.
        clash = (right == one).any(axis=0) | (left == other).any(axis=0)
        change = (one ^ other) * (flips[i] & ~clash)
        one ^= change
        other ^= change


def with_ranks(
    members: NDArray[np.unsignedinteger], histogram: NDArray[np.int64], each: Each = map
) -> DecoyGroups:
    """Return the groups with their records: rank r of each value is in the r-th group that holds the value."""
    groups, gamma = members.shape
    first = np.concatenate([[0], np.cumsum(histogram)])
    group_of = np.empty(groups * gamma, np.uint32)
    stretches = range(0, groups, TILE)

    def codes(low: int) -> NDArray[np.unsignedinteger]:
        return members[low : low + TILE].ravel()

    def count(low: int) -> NDArray[np.int64]:
        return np.bincount(codes(low), minlength=histogram.size)

    counts = np.array(list(each(count, stretches)))
    # The position of each value's next rank at the begin of each stretch of groups.
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
    """Return the smallest unsigned integer type for codes of this many values.

    >>> code_type(256), code_type(257)
    (dtype('uint8'), dtype('uint16'))
    """
    return np.min_scalar_type(values - 1)


@dataclass(frozen=True, eq=False)
class RangedGroups:
    """A group plan, with the number of records per value and range of order bits, from which ranks are computed.

    So the group of a record is found without sorting all records. A cell number is the code of a value, followed by
    ``bits`` bits that number the range.
    """

    plan: GroupPlan
    bits: int
    lower: NDArray[np.int64]
    """For each cell, how many records of its value are in lower ranges."""

    def __eq__(self, other: object) -> bool:
        """Return whether both plans assign every record to the same group."""
        return (
            isinstance(other, RangedGroups)
            and self.plan.same(other.plan)
            and self.bits == other.bits
            and np.array_equal(self.lower, other.lower)
        )

    @classmethod
    def of(cls, plan: GroupPlan, counts: NDArray[np.int64]) -> RangedGroups:
        """Make the ranged groups from ``counts``, the records of each value in each range: (values, ranges).

        >>> RangedGroups.of(GroupPlan(np.array([3]), 1, None), np.array([[2, 1]])).lower
        array([0, 2])
        """
        lower = np.cumsum(counts, axis=1) - counts
        return cls(plan, counts.shape[1].bit_length() - 1, lower.ravel())

    def value(self, cell: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the value code of each cell."""
        return cell >> np.uint32(self.bits)

    def rank(self, cell: NDArray[np.uint32], local: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return each record's rank within its value, given its rank ``local`` within its cell."""
        found: NDArray[np.int64] = self.lower[cell] + local
        return found

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """The position of each value's first record, in order of value and rank."""
        return np.cumsum(self.plan.histogram) - self.plan.histogram

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """The position of the first record of each value in each block, in the same order."""
        before = [self.plan.before(block) for block in range(self.plan.blocks)]
        return (self._first[:, np.newaxis] + np.array(before).T).ravel()

    def block_of(self, cell: NDArray[np.uint32], local: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return each record's block, given its rank ``local`` within its cell."""
        value = self.value(cell)
        place = self._first[value] + self.rank(cell, local)
        found = np.searchsorted(self._starts, place, side="right") - 1
        block: NDArray[np.uint32] = (found - value.astype(np.int64) * self.plan.blocks).astype("u4")
        return block
