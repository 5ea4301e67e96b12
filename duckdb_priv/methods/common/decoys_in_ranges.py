"""The shown values of records that do not all fit in memory, one range of their keyed order after the other.

A range of the order contains the next ranks of every value, which are in one or two blocks of groups. So only one range
and these blocks are in memory. The table is that of ``decoys_at_once``, without the marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from duckdb_priv.engine.drawing import pieces
from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.spilled import Rows, SpilledRecords
from duckdb_priv.engine.threads import each, threads_of
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Counts
from duckdb_priv.mechanism.decoy_groups import DecoyGroups, GroupPlan, code_type
from duckdb_priv.mechanism.record_order import Each, Keys, in_order
from duckdb_priv.methods.common.assigning import BITS, keys_of, let_read
from duckdb_priv.methods.common.decoys import SHOWN
from duckdb_priv.methods.common.decoys_at_once import drawn_members, without


def show_in_ranges(
    workspace: Workspace, spilled: SpilledRecords, kernel: Kernel, public: int
) -> None:
    """Let DuckDB read the shown values of records in a file as table SHOWN; they are made while it reads them.

    ``public`` is the number of public columns.
    """
    # The cursor cannot be asked for the number of threads while it reads.
    every: Each = partial(each, threads_of(workspace.cursor))
    plans = [groups.plan for groups in kernel.groups.values()]
    left = [f"_public{n}" for n in range(public)]
    for n, plan in enumerate(plans):
        rest = [f"{what}{m}" for m in range(n + 1, len(plans)) for what in ("_code", *BITS)]
        fields = [spilled.schema.field(name) for name in (*left, *rest)]
        code = pa.from_numpy_dtype(code_type(plan.histogram.size))
        shown = Rows(
            pa.schema([*fields, pa.field(f"_shown{n}", code)]),
            partial(_show, spilled, plan, n, [*left, *rest], every),
        )
        if rest:
            left.append(f"_shown{n}")
            spilled = workspace.spilled(spilled.bits)
            for records in shown.tables():
                spilled.add(records, records[f"_order{n + 1}"].to_numpy())
    let_read(workspace, SHOWN, shown)


def _show(
    spilled: SpilledRecords, plan: GroupPlan, n: int, carried: Sequence[str], each: Each
) -> Iterator[pa.Table]:
    """Yield the shown values of an attribute, range by range, with some columns."""
    groups = RangeByRange(plan, each)
    for records in spilled.parts():
        shown, grouped = groups.show([keys_of(piece, n) for piece in pieces(records)])
        table = records.select(carried).append_column(f"_shown{n}", pa.array(shown))
        yield without(table, np.flatnonzero(~grouped).tolist())


class RangeByRange:
    """Decoy groups that are made for the first range that needs them, and dropped after the last."""

    def __init__(self, plan: GroupPlan, each: Each) -> None:
        self.plan, self.each = plan, each
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
