"""The paper's groups: one record of each of the gamma values of which most are left.

For comparison only: values of like frequency meet each other over and over, so that reconstruction is
biased (``decoy_groups.md``). A Python loop over the groups.
Source: Xiao and Tao (2006), "Anatomy: simple and effective privacy preservation"; taken over by Fu, Wang and
others, "Small sum privacy and large sum utility in data publishing".
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.mechanism.decoy_groups import (
    DecoyGroups,
    GroupPlan,
    WordStreams,
    code_type,
    with_ranks,
)
from duckdb_priv.mechanism.record_order import Each

_TIES = 1
"""The stream of words that breaks ties."""


class LargestFirstGroups(GroupPlan):
    """The groups of the paper: one block."""

    def block(self, number: int, each: Each = map) -> DecoyGroups:
        """Make all groups, one after the other."""
        return with_ranks(largest_first(self.histogram, self.gamma, self.words), self.histogram)


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
