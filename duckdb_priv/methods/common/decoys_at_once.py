"""The shown values of all records at once: the same table that the kernel of ``decoys.show`` makes record by record.

Records that are sorted by value and keyed order are in the order of the plan of groups, so no lookup is needed. This
takes a fraction of the time but more memory. So it is used only if the records are in memory anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from duckdb_priv.engine.drawing import PIECE, pieces
from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.decoy_groups import GroupPlan, below, code_type
from duckdb_priv.mechanism.record_order import Each, Keys, in_order
from duckdb_priv.methods.common.assigning import BITS, Assigned, keys_of, let_read
from duckdb_priv.methods.common.decoys import SHOWN
from duckdb_priv.sqltext.reading import make_table
from duckdb_priv.sqltext.templates import section


def show_at_once(
    workspace: Workspace, assigned: Assigned, kernel: Kernel, public: int
) -> tuple[str, ...]:
    """Materialize each record's published value as table SHOWN. Return the kernel steps whose tables now exist.

    ``assigned`` is the table expression of the records, and ``public`` is the number of public columns.
    """
    plans = [groups.plan for groups in kernel.groups.values()]
    codes = [f"_code{n}" for n in range(len(plans))]
    records = assigned.drawn
    if records is None:
        bits = [f"{name}{n}" for n in range(len(plans)) for name in BITS]
        fillings = {"columns": ", ".join([*codes, *bits]), "assigned": assigned.table}
        query = section("kernels", "random_bits_in_order", **fillings)
        records = workspace.cursor.sql(query).to_arrow_table(PIECE)
    kept = np.ones(len(records), np.bool_)
    reported = {
        f"_shown{n}": _shown(workspace, plan, records, n, kept) for n, plan in enumerate(plans)
    }
    columns = [*(f"_public{n}" for n in range(public)), *codes, "_mark"]
    if assigned.drawn is None:
        reported = {name: pa.array(shown, mask=~kept) for name, shown in reported.items()}
        workspace.cursor.register("_priv_at_once", pa.table(reported))
        listed = ", ".join([*columns, *reported])
        fillings = {"columns": listed, "assigned": assigned.table}
        make_table(
            workspace.cursor,
            SHOWN,
            section("kernels", "shown_at_once", **fillings),
        )
        workspace.cursor.unregister("_priv_at_once")
    else:
        table = pa.table({**{name: records[name] for name in columns}, **reported})
        let_read(workspace, SHOWN, without(table, np.flatnonzero(~kept).tolist()))
    return (*assigned.staged, SHOWN)


def _shown(
    workspace: Workspace, plan: GroupPlan, records: pa.Table, n: int, kept: NDArray[np.bool_]
) -> NDArray[np.unsignedinteger]:
    """Return the records' shown values of an attribute; the first attribute decides which records are kept."""
    runs = workspace.each(partial(keys_of, n=n), pieces(records))
    listed = in_order(runs, plan.histogram.size, workspace.each)
    if n == 0:
        counts = sum(np.bincount(run.code, minlength=plan.histogram.size) for run in runs)
        surplus, ends = counts - plan.histogram, np.cumsum(counts)
        for value in np.flatnonzero(surplus).tolist():
            kept[listed[ends[value] - surplus[value] : ends[value]]] = False
    if not kept.all():
        listed = listed[kept[listed]]
    groups = plan.block(0, workspace.each)
    member = drawn_members(runs, plan.gamma, workspace.each)
    shown = np.zeros(len(member), code_type(plan.histogram.size))

    def show(start: int) -> None:
        piece = slice(start, start + PIECE)
        record = listed[piece]
        shown[record] = groups.members[groups.group_of[piece], member[record]]

    workspace.each(show, range(0, len(member), PIECE))
    return shown


def drawn_members(runs: Sequence[Keys], gamma: int, each: Each) -> NDArray[np.unsignedinteger]:
    """Draw the group member that each record shows, reading the large array of words in sequence."""

    def draw(run: Keys) -> NDArray[np.unsignedinteger]:
        return below(gamma, run.word).astype(code_type(gamma))

    return np.concatenate(list(each(draw, runs)))


def without(table: pa.Table, records: Sequence[int]) -> pa.Table:
    """Remove a few records without copying the others."""
    edges = [-1, *records, len(table)]
    return pa.concat_tables(table.slice(a + 1, b - a - 1) for a, b in pairwise(edges))
