"""Find the decoy group of a record without sorting all records: by ranges of their order bits.

Derivation: ``decoy_groups.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.mechanism.decoy_groups import GroupPlan


@dataclass(frozen=True, eq=False)
class RangedGroups:
    """Groups, and what a rank is made of: the records of a value in lower ranges of the order bits.

    A cell is a value and a range: the number of the value, followed by ``bits`` bits that number the range.
    """

    plan: GroupPlan
    bits: int
    lower: NDArray[np.int64]
    """By cell: how many records of its value are in lower ranges."""

    def __eq__(self, other: object) -> bool:
        """Return whether every record has the same group in both."""
        return (
            isinstance(other, RangedGroups)
            and self.plan.same(other.plan)
            and self.bits == other.bits
            and np.array_equal(self.lower, other.lower)
        )

    @classmethod
    def of(cls, plan: GroupPlan, counts: NDArray[np.int64]) -> RangedGroups:
        """Add up the records of each value by range, (values, ranges).

        >>> RangedGroups.of(GroupPlan(np.array([3]), 1, None), np.array([[2, 1]])).lower
        array([0, 2])
        """
        lower = np.cumsum(counts, axis=1) - counts
        return cls(plan, counts.shape[1].bit_length() - 1, lower.ravel())

    def value(self, cell: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the values of cells."""
        return cell >> np.uint32(self.bits)

    def rank(self, cell: NDArray[np.uint32], local: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rank within the value of records that are ranked within their cells."""
        found: NDArray[np.int64] = self.lower[cell] + local
        return found

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """Where each value begins among the records in order of value and rank."""
        return np.cumsum(self.plan.histogram) - self.plan.histogram

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where each block begins among them, value by value."""
        before = [self.plan.before(block) for block in range(self.plan.blocks)]
        return (self._first[:, np.newaxis] + np.array(before).T).ravel()

    def block_of(self, cell: NDArray[np.uint32], local: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the blocks that records are in, which are ranked within their cells."""
        value = self.value(cell)
        place = self._first[value] + self.rank(cell, local)
        found = np.searchsorted(self._starts, place, side="right") - 1
        block: NDArray[np.uint32] = (found - value.astype(np.int64) * self.plan.blocks).astype("u4")
        return block
