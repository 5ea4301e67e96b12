"""Tables for which a budget was stated before anything of them was published, known again by what their records hold.

What was published has fingerprints, by which a copy or a renamed table is known (``engine/recognition.py``). A budget
that comes first keeps its own: of whole records, since nobody has said yet which columns are their ids.
"""

from __future__ import annotations

from collections.abc import Mapping

from duckdb_priv.engine.fingerprints import canonical_sql, identified_origins
from duckdb_priv.engine.recognition import CONTENT, ENOUGH
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.publisher.withdrawal import mark_sql
from duckdb_priv.sqltext.quoting import identifier

KEPT = 4096
"""About so many records of a larger table are kept."""


def marks_of(workspace: Workspace, table: str) -> tuple[int, list[int]]:
    """Return keyed fingerprints of what records of a table hold, and up to which hash they were chosen."""
    types = {row[0]: row[1] for row in workspace.rows(f"DESCRIBE SELECT * FROM {table}")}
    ((rows,),) = workspace.rows(f"SELECT count(*) FROM {table}")
    limit = 2**64 // max(1, rows // KEPT) - 1
    ((marks,),) = workspace.rows(
        f"SELECT coalesce(list(DISTINCT mark), []) FROM ({_marks(types, table, limit)})"
    )
    return limit, marks


def _marks(types: Mapping[str, str], table: str, limit: int) -> str:
    """Write the query of the fingerprints of the records whose hash is small, which takes no time."""
    columns = ", ".join(f"s.{identifier(name)}" for name in sorted(types, key=str.lower))
    chosen = f" WHERE hash({columns}) <= {limit}::UBIGINT" if limit < 2**64 - 1 else ""
    return f"SELECT {_mark(types)} AS mark FROM {table} AS s{chosen}"


def _mark(types: Mapping[str, str]) -> str:
    """Write the fingerprint of all that a record ``s`` holds, whatever the order of its columns."""
    parts = [
        f"coalesce({canonical_sql(f's.{identifier(name)}', types[name])}, '')"
        for name in sorted(types, key=str.lower)
    ]
    # Lengths keep ('ab', 'c') and ('a', 'bc') apart.
    return mark_sql(" || ".join(f"length({part}) || ':' || {part}" for part in parts))


def recognize_budgets(workspace: Workspace, source: Source) -> None:
    """Let the budgets of a table under another name, or of a copy, be those of a source that is published."""
    if source.answers is not None:
        # The records are another engine's.
        return
    origins = identified_origins(workspace, source.origins)
    others = workspace.rows(
        "SELECT source, stated_at, chosen FROM priv.budget"
        " WHERE len(marks) > 0 AND NOT list_has_any(origins || linked, ?)",
        [origins],
    )
    for stated, at, limit in others:
        ((shared, seen, kept),) = workspace.rows(
            "WITH budgeted AS (SELECT unnest(marks) AS mark FROM priv.budget WHERE source = ? AND stated_at = ?),"
            f" mine AS (SELECT DISTINCT mark FROM ({_marks(source.types, source.table, limit)}))"
            " SELECT (SELECT count(*) FROM mine SEMI JOIN budgeted USING (mark)), (SELECT count(*) FROM mine),"
            " (SELECT count(*) FROM budgeted)",
            [stated, at],
        )
        if shared >= max(ENOUGH, CONTENT * min(seen, kept)):
            workspace.cursor.execute(
                "UPDATE priv.budget SET linked = list_distinct(linked || ?) WHERE source = ? AND stated_at = ?",
                [origins, stated, at],
            )
