"""Which version of a release is published, and what it has in common with the one before.

What is stated of both is a function of the two published tables, so that it tells nobody anything who has them.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import duckdb

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.publisher.comments import SCHEMA
from duckdb_priv.release.catalog import EarlierVersion, Version
from duckdb_priv.release.model import to_json
from duckdb_priv.sqltext.quoting import identifier, identifiers

FOLLOWED = 400
"""So many earlier versions are kept in mind, with how far the last one is from each: a year of days."""
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
    rows_placed: int | None = None
    """The same with those of records that have other public values."""
    earlier: tuple[EarlierVersion, ...] = ()
    """The versions that it follows itself."""

    def followed(self) -> list[EarlierVersion]:
        """Add up how far each earlier version is from the next one: who moved twice counts twice."""
        moved, placed = self.rows_moved, self.rows_placed
        if moved is None:
            return []
        return [
            EarlierVersion(self.at, moved, placed),
            *(
                EarlierVersion(
                    each.published_at,
                    each.rows_moved + moved,
                    None
                    if placed is None or each.rows_placed is None
                    else each.rows_placed + placed,
                )
                for each in self.earlier[: FOLLOWED - 1]
            ),
        ]


def previous(workspace: Workspace, release: str) -> Previous | None:
    """Read the version in the database, and keep hashes of its rows."""
    found = workspace.rows(
        "SELECT release, created_at, rows_published, mechanism, parameters, coalesce(earlier, []) FROM priv.release"
        " WHERE lower(release) = lower(?)",
        [release],
    )
    if not found:
        return None
    name, at, rows, mechanism, parameters, listed = found[0]
    earlier = tuple(EarlierVersion(**each) for each in listed)
    if standing(workspace.cursor, workspace.database, name) is None:
        return Previous(at, rows, (mechanism, parameters), {}, earlier=earlier)
    table = f"{identifier(workspace.database)}.{SCHEMA}.{identifier(name)}"
    types = {row[0]: row[1] for row in workspace.rows(f"DESCRIBE FROM {table}")}
    workspace.cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE {ROWS.split('.')[-1]} AS {_counted(table, types)}"
    )
    return Previous(at, rows, (mechanism, parameters), types, earlier=earlier)


def standing(cursor: duckdb.DuckDBPyConnection, database: str, name: str) -> str | None:
    """Return what has a name, TABLE or VIEW: the publisher may have dropped a release by hand."""
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
    return Version(earlier + 1, before.at, before.rows, kept, before.rows_moved, before.followed())


def _counted(table: str, types: dict[str, str]) -> str:
    return f"SELECT hash({identifiers(types)}) AS row, count(*) AS rows FROM {table} GROUP BY ALL"
