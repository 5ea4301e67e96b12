"""The paper's grouping algorithm: each group takes one record of each of the gamma values with most records left.

It is used by Anatomy and for comparison. Values of similar frequency often share a group, so reconstruction from
such decoy groups is biased (``decoy_groups.md``). It is slow, because it loops over the groups in Python.
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
"""Number of the word stream that breaks ties between values."""


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
