"""Find the decoy group of a record by ranges of its order bits, without sorting all records.

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
    """A group plan, with the number of records per value and range of order bits, from which ranks are computed.

    A cell number is the code of a value, followed by ``bits`` bits that number the range.
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
