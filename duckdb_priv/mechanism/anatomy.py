"""Anatomy: groups of at least l records with different values; the values of each group are published unchanged.

The release shows the group of each record and the list of values of each group, but not which record has which value.
Derivation, and what this does not protect: ``anatomy.md`` beside this file.

Decoy groups can be made in the same way, for comparison only. Values of similar frequency often share a group, so
reconstruction from them is biased (``decoy_groups.md``). It is slow, because it loops over the groups in Python.
Sources: Xiao, Tao, "Anatomy: simple and effective privacy preservation" (VLDB 2006), section 5, figure 3; taken over by
Fu, Wang and others, "Small sum privacy and large sum utility in data publishing".
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.mechanism.decoy_groups import (
    DecoyGroups,
    GroupPlan,
    WordStreams,
    below,
    code_type,
    with_ranks,
)
from duckdb_priv.mechanism.eligibility import require_eligible
from duckdb_priv.mechanism.record_order import Each

_RESIDUE, _TIES = 0, 1
"""Numbers of the word streams that assign left-over records to groups, and break ties between values."""


@dataclass(frozen=True)
class AnatomyGroups:
    """The group of each record. Records are in order of value, and within a value in keyed hash order."""

    value: NDArray[np.uint32]
    """(rows,) the code of each record's value."""
    rank: NDArray[np.int64]
    """(rows,) the rank of each record within its value: 0, 1, …"""
    group: NDArray[np.uint32]
    """(rows,) the group of each record; the values of one group are distinct."""

    def background(self) -> NDArray[np.float64]:
        """Return, for each value, the share of records with another value whose group contains it.

        There are two groups {0, 1}. Both records with value 1 are in a group that contains value 0:

        >>> pairs = AnatomyGroups(np.array([0, 0, 1, 1], "u4"), np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1], "u4"))
        >>> pairs.background().tolist()
        [1.0, 1.0]
        """
        counts = np.bincount(self.value)
        sizes = np.bincount(self.group)
        partners = np.bincount(self.value, weights=sizes[self.group] - 1)
        share: NDArray[np.float64] = partners / (counts.sum() - counts)
        return share


def anatomy_groups(
    counts: ArrayLike, diversity: int, words: WordStreams, column: str | None = None
) -> AnatomyGroups:
    """Divide the records of a histogram into groups of at least ``diversity`` (the paper's l) different values.

    Groups are made while at least l values have records left: each takes one record of each of the l values with most
    records left. Each of the fewer than l remaining records joins a random group without its value. ``counts`` has one
    entry per value of the ``column``. Raises ``InvalidParameter`` if a value is in more than 1
    of l records, because then no such groups exist. A Python loop over the groups.

    Four of five records form two groups of two. The fifth joins the group without its value:

    >>> groups = anatomy_groups([2, 1, 2], 2, lambda stream, count: np.zeros(count, np.uint64))
    >>> groups.value.tolist(), groups.group.tolist()
    ([0, 0, 1, 2, 2], [0, 1, 1, 0, 1])
    """
    require_eligible(counts, diversity, column, name="l")
    histogram = np.asarray(counts, np.int64)
    members = largest_first(histogram, diversity, words)
    groups = len(members)
    value = np.repeat(np.arange(histogram.size, dtype=np.uint32), histogram)
    first = np.cumsum(histogram) - histogram
    codes = members.ravel()
    by_value = np.argsort(codes, kind="stable")
    left = np.flatnonzero(histogram - np.bincount(codes, minlength=histogram.size))
    last = first[left] + histogram[left] - 1
    group = np.empty(value.size, np.uint32)
    group[np.delete(np.arange(value.size), last)] = by_value // diversity
    for code, place, word in zip(left, last, words(_RESIDUE, left.size), strict=True):
        others = np.setdiff1d(np.arange(groups), group[first[code] : place])
        group[place] = others[below(others.size, word[np.newaxis])[0]]
    return AnatomyGroups(value, np.arange(value.size) - first[value], group)


class LargestFirstGroups(GroupPlan):
    """A plan for the paper's groups, which are made in one block."""

    def block(self, number: int, each: Each = map) -> DecoyGroups:
        """Make all groups, one after the other."""
        return with_ranks(largest_first(self.histogram, self.gamma, self.words), self.histogram)


def largest_first(
    histogram: NDArray[np.int64], gamma: int, words: WordStreams
) -> NDArray[np.unsignedinteger]:
    """Return the value codes of rows // gamma groups, shape (groups, gamma).

    Each group takes the gamma values that have most records left. If the histogram is eligible, at most one record of
    each value is left over, and fewer than gamma records altogether: property 1 of Xiao and Tao (2006).

    >>> largest_first(np.array([2, 1, 2]), 2, lambda stream, count: np.zeros(count, np.uint64))
    array([[0, 2],
           [0, 1]], dtype=uint8)
    """
    ties = iter(words(_TIES, histogram.size + int(histogram.sum())).tolist())
    heap = [(-int(left), next(ties), value) for value, left in enumerate(histogram) if left]
    heapq.heapify(heap)
    members = np.empty((int(histogram.sum()) // gamma, gamma), code_type(histogram.size))
    for group in members:
        largest = [heapq.heappop(heap) for _ in range(gamma)]
        group[:] = [value for _, _, value in largest]
        for left, _, value in largest:
            if left < -1:
                heapq.heappush(heap, (left + 1, next(ties), value))
    return members
