"""Decoy groups: cut a table into secret groups of gamma records with distinct values.

The plan is made from the histogram of the sensitive attribute and a keyed stream of random words
alone: for every (value, rank of the record within its value) the group, and for every group its
gamma values. Which record of a value has which rank is decided outside, by keyed hash order.
Derivation, the ways that were measured, and what fixed orders cost: ``decoy_groups.md``.
Source: Fu, Wang and others, "Small sum privacy and large sum utility in data publishing", for
the groups and the order it takes from Anatomy; Ryser (1957) for the swaps.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.eligibility import require_eligible

WordStreams = Callable[[int, int], NDArray[np.uint64]]
"""``words(stream, count)``: the first ``count`` uniform 64-bit words of keyed stream ``stream``.

A pure function of the key and its two arguments; different streams are independent.
"""

ROUNDS = 32
"""Rounds of swaps. 16 reach the limit law on ordinary histograms, 32 on every one measured."""

TILE = 1 << 16
"""Most groups that are mixed with each other: large enough to mix, small enough for the cache."""

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


def mixed_groups(counts: ArrayLike, gamma: int, words: WordStreams) -> DecoyGroups:
    """Cut an eligible histogram into well mixed groups, in time linear in the rows.

    A systematic start (the records lined up by value, record i in group i mod groups) is mixed by
    ``ROUNDS`` rounds of keyed random swaps whose limit law is uniform over all ways to fill the
    groups. ``counts`` must sum to a multiple of gamma (``leave_out``).

    Memory: two value codes and one 32-bit group per row.
    """
    histogram = _whole_groups(counts, gamma)
    groups, values = int(histogram.sum()) // gamma, histogram.size
    order = np.argsort(words(_START, values))
    lined_up = np.repeat(order.astype(_code_type(values)), histogram[order])
    # Row j holds positions j * groups … : a column has positions a multiple of groups apart, and
    # a value, whose positions are consecutive and at most groups many, meets it at most once.
    start = lined_up.reshape(gamma, groups)
    members = np.empty((groups, gamma), start.dtype)
    tiles = -(-groups // TILE)
    low = 0
    for tile in range(tiles):
        part = np.ascontiguousarray(start[:, tile::tiles])
        _mix(part, words, _TILES + tile)
        members[low : low + part.shape[1]] = part.T
        low += part.shape[1]
    return _with_ranks(members, histogram)


def largest_first_groups(counts: ArrayLike, gamma: int, words: WordStreams) -> DecoyGroups:
    """Group as the paper does (after Anatomy): one record of each of the gamma largest values.

    Ties are broken at random. For comparison only: values of like frequency meet each other over
    and over, so that reconstruction is biased (``decoy_groups.md``). A Python loop over the rows.
    """
    histogram = _whole_groups(counts, gamma)
    return _with_ranks(largest_first(histogram, gamma, words), histogram)


def largest_first(
    histogram: NDArray[np.int64], gamma: int, words: WordStreams
) -> NDArray[np.unsignedinteger]:
    """Draw rows // gamma groups, (groups, gamma) value codes, each of the gamma values that have most left.

    Of an eligible histogram at most one record of a value is left over in the end, and fewer than gamma
    in all: property 1 of Xiao and Tao, "Anatomy: simple and effective privacy preservation" (2006).

    >>> largest_first(np.array([2, 1, 2]), 2, lambda stream, count: np.zeros(count, np.uint64))
    array([[0, 2],
           [0, 1]], dtype=uint8)
    """
    ties = iter(words(_START, histogram.size + int(histogram.sum())).tolist())
    heap = [(-int(left), next(ties), value) for value, left in enumerate(histogram) if left]
    heapq.heapify(heap)
    members = np.empty((int(histogram.sum()) // gamma, gamma), _code_type(histogram.size))
    for group in members:
        largest = [heapq.heappop(heap) for _ in range(gamma)]
        group[:] = [value for _, _, value in largest]
        for left, _, value in largest:
            if left < -1:
                heapq.heappush(heap, (left + 1, next(ties), value))
    return members


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
        coins = np.unpackbits(round_bits.view(np.uint8), count=gamma * half).view(np.bool_)
        left, right = part[:, :half].copy(), part[:, half : 2 * half].copy()
        _swap(left, right, coins.reshape(gamma, half), int(shift))
        if odd:
            part[:, 0] = part[:, -1]
        part[:, odd::2], part[:, odd + 1 :: 2] = left, right


def _swap(
    left: NDArray[np.unsignedinteger],
    right: NDArray[np.unsignedinteger],
    coins: NDArray[np.bool_],
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
        change = (one ^ other) * (coins[i] & ~clash)
        one ^= change
        other ^= change


def _with_ranks(members: NDArray[np.unsignedinteger], histogram: NDArray[np.int64]) -> DecoyGroups:
    """Give rank r of each value the r-th group that holds the value, a stretch of groups a time."""
    groups, gamma = members.shape
    first = np.concatenate([[0], np.cumsum(histogram)])
    group_of = np.empty(groups * gamma, np.uint32)
    place = first[:-1].copy()
    for low in range(0, groups, TILE):
        codes = members[low : low + TILE].ravel()
        by_value = np.argsort(codes, kind="stable")
        here = np.bincount(codes, minlength=histogram.size)
        shift = place - (np.cumsum(here) - here)
        group_of[np.arange(codes.size) + np.repeat(shift, here)] = low + by_value // gamma
        place += here
    return DecoyGroups(members, first, group_of)


def _whole_groups(counts: ArrayLike, gamma: int) -> NDArray[np.int64]:
    require_eligible(counts, gamma)
    histogram = np.asarray(counts, np.int64)
    rows = int(histogram.sum())
    if rows % gamma:
        raise InvalidParameter(
            f"{rows} rows do not fill groups of {gamma}",
            hint=f"leave {rows % gamma} of them out first (leave_out)",
        )
    return histogram


def _code_type(values: int) -> np.dtype[np.unsignedinteger]:
    return np.min_scalar_type(values - 1)
