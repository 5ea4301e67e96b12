"""What dealt records show, for all of them at once: the table that the kernel of ``decoys.show`` makes by record.

Sorted by value and by their keyed order, records stand as the plan of groups lists them, so that nothing is looked up.
That takes less than half the time, and more memory: it is done where the records are few enough to stand there anyway.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from duckdb_priv.engine.aggregates import order_sql, word_sql
from duckdb_priv.engine.drawing import PIECE
from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import PublicationFailed
from duckdb_priv.mechanism.decoy_groups import below
from duckdb_priv.methods.common.dealing import MARK, Dealt
from duckdb_priv.methods.common.decoys import SHOWN


def show_at_once(
    workspace: Workspace, dealt: Dealt, kernel: Kernel, kept: str, public: int
) -> tuple[str, ...]:
    """Make the table SHOWN of a kernel that was made to be told, and return the steps that stand then.

    ``dealt`` stands as a table of which no row was deleted, ``kept`` are the records that are not left out, and
    ``public`` is the number of public columns. Raises PublicationFailed where the records are not those of the plan.
    """
    plans = [groups.plan for groups in kernel.groups.values()]
    ((rows, first, last),) = workspace.rows(
        f"SELECT count(*), min(rowid), max(rowid) FROM {dealt.table}"
    )
    _require(rows, last - first + 1)
    told, left_out = {}, np.ones(rows, np.bool_)
    for n, plan in enumerate(plans):
        # Sorted like this, the records stand as the plan lists them.
        found = workspace.cursor.execute(
            f"SELECT rowid - {first} AS record, {word_sql(n)} AS word FROM {dealt.table} WHERE {kept}"
            f" ORDER BY _code{n}, {order_sql(n)}, {word_sql(n)}"
        ).fetchnumpy()
        groups = plan.block(0)
        _require(len(groups.group_of), len(found["record"]))
        shown = np.zeros(rows, np.uint32)
        for start in range(0, len(found["record"]), PIECE):
            piece = slice(start, start + PIECE)
            member = below(plan.gamma, found["word"][piece])
            shown[found["record"][piece]] = groups.members[groups.group_of[piece], member]
        left_out[found["record"]] = False
        told[f"_shown{n}"] = pa.array(shown, mask=left_out)
    columns = [
        *(f"_public{n}" for n in range(public)),
        *(f"_code{n}" for n in range(len(plans))),
        f"{MARK} AS _mark",
        *told,
    ]
    workspace.cursor.register("_priv_at_once", pa.table(told))
    workspace.cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE {SHOWN} AS SELECT {', '.join(columns)}"
        f" FROM {dealt.table} POSITIONAL JOIN _priv_at_once WHERE _shown0 IS NOT NULL"
    )
    workspace.cursor.unregister("_priv_at_once")
    return (*dealt.staged, SHOWN)


def _require(planned: int, found: int) -> None:
    if planned != found:
        raise PublicationFailed(
            f"{found} records are to be grouped, and {planned} were planned",
            hint="publish a table, not a live view that changes while it is read",
        )
