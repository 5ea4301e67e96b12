"""The shown values of records that do not all fit in memory, one range of their keyed order after the other.

A range of the order contains the next ranks of every value, which are in one or two blocks of groups. So only one range
and these blocks are in memory. The table is that of ``decoys_at_once``, without the marks.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from duckdb_priv.engine.aggregates import order_sql
from duckdb_priv.engine.drawing import PIECE, pieces
from duckdb_priv.engine.growing import GrowingTable
from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Counts
from duckdb_priv.mechanism.decoy_groups import DecoyGroups, GroupPlan, code_type
from duckdb_priv.mechanism.record_order import Keys, in_order
from duckdb_priv.methods.common.assigning import BITS, Assigned, in_ranges, keys_of
from duckdb_priv.methods.common.decoys import SHOWN
from duckdb_priv.methods.common.decoys_at_once import drawn_members, without
from duckdb_priv.sqltext.templates import section


def show_in_ranges(
    workspace: Workspace, assigned: Assigned, kernel: Kernel, public: int
) -> tuple[str, ...]:
    """Materialize table SHOWN, with ``assigned`` cut into ranges. Return the kernel steps whose tables now exist.

    ``public`` is the number of public columns.
    """
    cursor = workspace.cursor
    plans = [groups.plan for groups in kernel.groups.values()]
    bits = assigned.portions.bit_length() - 1
    read, left = assigned.table, [f"_public{n}" for n in range(public)]
    for n, plan in enumerate(plans):
        rest = [f"{what}{m}" for m in range(n + 1, len(plans)) for what in ("_code", *BITS)]
        columns = ", ".join([*left, f"_code{n}", *(f"{name}{n}" for name in BITS), *rest])
        made = f"temp.main._priv_shown{n}" if rest else SHOWN
        grown = GrowingTable(cursor, made)
        groups = RangeByRange(plan, workspace)
        for number in range(assigned.portions):
            ends = number << (64 - bits), ((number + 1) << (64 - bits)) - 1
            fillings = {"columns": columns, "assigned": read, "order": order_sql(n)}
            fillings |= {"first": str(ends[0]), "last": str(ends[1])}
            query = cursor.sql(section("kernels", "range", **fillings))
            records = query.to_arrow_table(PIECE)
            if not len(records):
                continue
            shown, grouped = groups.show([keys_of(piece, n) for piece in pieces(records)])
            table = records.select([*left, *rest]).append_column(f"_shown{n}", pa.array(shown))
            table = without(table, np.flatnonzero(~grouped).tolist())
            grown.add(in_ranges(table, n + 1, bits) if rest else table)
        cursor.execute(section("kernels", "drop", table=read))
        read, left = made, [*left, f"_shown{n}"]
    return (*assigned.staged, SHOWN)


class RangeByRange:
    """Decoy groups that are made for the first range that needs them, and dropped after the last."""

    def __init__(self, plan: GroupPlan, workspace: Workspace) -> None:
        self.plan, self.each = plan, workspace.each
        self.ranked: Counts = np.zeros(plan.histogram.size, np.int64)
        """Number of records of each value in earlier ranges."""
        self._made: dict[int, DecoyGroups] = {}

    def show(self, runs: list[Keys]) -> tuple[NDArray[np.unsignedinteger], NDArray[np.bool_]]:
        """Return the shown values of the next range's records, and which of these records are in a group."""
        plan, before = self.plan, self.ranked
        listed = in_order(runs, plan.histogram.size, self.each)
        member = drawn_members(runs, plan.gamma, self.each)
        codes = [np.bincount(run.code, minlength=plan.histogram.size) for run in runs]
        counts: Counts = np.sum(codes, axis=0)
        first = np.cumsum(counts) - counts
        shown = np.zeros(len(listed), code_type(plan.histogram.size))
        grouped = np.zeros(len(listed), np.bool_)
        self.ranked = before + counts
        for block in range(plan.blocks):
            ranks = plan.before(block), plan.before(block + 1)
            low, high = (np.clip(rank, before, self.ranked) for rank in ranks)
            if (low == high).all():
                continue
            if block not in self._made:
                self._made[block] = plan.block(block, self.each)
            groups = self._made[block]
            record = listed[_ranges(first + low - before, high - low)]
            place = _ranges(groups.first[:-1] + low - ranks[0], high - low)
            shown[record] = groups.members[groups.group_of[place], member[record]]
            grouped[record] = True
        self._made = {
            block: groups
            for block, groups in self._made.items()
            if (plan.before(block + 1) > self.ranked).any()
        }
        return shown, grouped


def _ranges(starts: Counts, lengths: Counts) -> NDArray[np.int64]:
    """Return the numbers from each start on, as many as its length, concatenated.

    >>> _ranges(np.array([5, 0, 8]), np.array([2, 0, 3]))
    array([ 5,  6,  8,  9, 10])
    """
    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1])
