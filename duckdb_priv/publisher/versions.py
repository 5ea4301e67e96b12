"""Which version of a release is published, and what it has in common with the one before.

What is stated of both is a function of the two published tables, so that it tells nobody anything who has them.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import duckdb

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.publisher.comments import SCHEMA
from duckdb_priv.release.catalog import Version
from duckdb_priv.release.model import Plan, to_json
from duckdb_priv.sqltext.quoting import identifier, identifiers

ROWS = "temp.main._priv_previous"
"""The temporary table of the rows of the version before, by hashes, and how often each occurs."""


@dataclass(frozen=True)
class Previous:
    """The version that is replaced, or extended."""

    at: dt.datetime
    rows: int
    said: tuple[str, str]
    """Mechanism and parameters."""
    types: dict[str, str]
    """Its columns."""
    rows_moved: int | None = None
    """Rows of it and of the next one whose noise is not the same, at most; None where it is not known."""


def previous(workspace: Workspace, release: str) -> Previous | None:
    """Look at the version that stands in the database, and keep hashes of its rows."""
    found = workspace.rows(
        "SELECT release, created_at, rows_published, mechanism, parameters FROM priv.release"
        " WHERE lower(release) = lower(?)",
        [release],
    )
    if not found:
        return None
    name, at, rows, mechanism, parameters = found[0]
    if standing(workspace.cursor, workspace.database, name) is None:
        return Previous(at, rows, (mechanism, parameters), {})
    table = f"{identifier(workspace.database)}.{SCHEMA}.{identifier(name)}"
    types = {row[0]: row[1] for row in workspace.rows(f"DESCRIBE FROM {table}")}
    workspace.cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE {ROWS.split('.')[-1]} AS {_counted(table, types)}"
    )
    return Previous(at, rows, (mechanism, parameters), types)


def standing(cursor: duckdb.DuckDBPyConnection, database: str, name: str) -> str | None:
    """Say what stands under a name, TABLE or VIEW: the publisher may have dropped a release by hand."""
    found = cursor.execute(
        "SELECT 'TABLE' FROM duckdb_tables()"
        " WHERE database_name = $1 AND schema_name = $2 AND lower(table_name) = lower($3)"
        " UNION ALL SELECT 'VIEW' FROM duckdb_views()"
        " WHERE database_name = $1 AND schema_name = $2 AND lower(view_name) = lower($3)",
        [database, SCHEMA, name],
    ).fetchone()
    return None if found is None else str(found[0])


def version_of(
    workspace: Workspace, release: str, table: str, plan: Plan, before: Previous | None
) -> Version:
    """Number the version that was just written, and count what it shares with the one before."""
    ((earlier,),) = workspace.rows(
        "SELECT count(DISTINCT published_at) FROM priv.ledger WHERE lower(release) = lower(?)",
        [release],
    )
    if before is None:
        return Version(earlier + 1)
    types = {row[0]: row[1] for row in workspace.rows(f"DESCRIBE FROM {table}")}
    kept = None
    if before.said == (plan.mechanism, to_json(plan.parameters)) and before.types == types:
        ((kept,),) = workspace.rows(
            "SELECT coalesce(sum(least(mine.rows, theirs.rows)), 0)::BIGINT"
            f" FROM ({_counted(table, types)}) AS mine JOIN {ROWS} AS theirs USING (row)"
        )
    workspace.cursor.execute(f"DROP TABLE IF EXISTS {ROWS}")
    return Version(earlier + 1, before.at, before.rows, kept, before.rows_moved)


def _counted(table: str, types: dict[str, str]) -> str:
    return f"SELECT hash({identifiers(types)}) AS row, count(*) AS rows FROM {table} GROUP BY ALL"
