"""What was looked up on a connection, kept until its catalog changes, and statements that run as the caller's.

Only what files say that are opened for reading is kept: nobody can change them. Which ones are attached, under which
names, which tables are temporary and where names are looked up is one query, asked before every statement.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import duckdb

# DuckDB's own functions by their whole names: a file may have others of the same names.
STATE = """
    SELECT 'now', system.main.current_database(), system.main.current_schema(),
        system.main.current_setting('search_path'), NULL::BIGINT, NULL::BOOLEAN
    UNION ALL SELECT 'database', database_name, NULL, NULL, database_oid, readonly
        FROM system.main.duckdb_databases() WHERE NOT internal
    UNION ALL SELECT 'table', database_name, schema_name, table_name, NULL, temporary
        FROM system.main.duckdb_tables() WHERE schema_name = 'priv' OR temporary
    UNION ALL SELECT 'table', database_name, schema_name, view_name, NULL, true
        FROM system.main.duckdb_views() WHERE temporary AND NOT internal
"""
MOST = 500
"""How many queries and statements are kept for one connection."""


@dataclass(frozen=True)
class State:
    """What names mean on a connection."""

    database: str
    schema: str
    path: str
    databases: tuple[tuple[str, int, bool], ...]
    """Their names, their numbers, which no other database of the process has, and whether they are only read."""
    tables: tuple[tuple[str, str, str, bool], ...]
    """Database, schema and name of tables of schemas called priv, and of temporary tables and views."""

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection) -> State:
        """Return what is kept of a connection."""
        rows: list[tuple[Any, ...]] = connection.execute(STATE).fetchall()
        ((database, schema, path),) = (row[1:4] for row in rows if row[0] == "now")
        return cls(
            database,
            schema,
            path,
            tuple((row[1], *row[4:]) for row in rows if row[0] == "database"),
            tuple((*row[1:4], row[5]) for row in rows if row[0] == "table"),
        )

    @property
    def lasts(self) -> bool:
        """Whether no release of it can change while it is the same."""
        changing = {name for name, _, readonly in self.databases if not readonly}
        return not any(schema == "priv" and name in changing for name, schema, *_ in self.tables)


@dataclass
class Kept:
    """What is kept for one state of a connection."""

    state: State
    found: dict[Any, Any] = field(default_factory=dict)

    def keep(self, key: Any, value: Any) -> None:
        """Keep something, where it lasts."""
        if self.state.lasts:
            if len(self.found) >= MOST:
                self.found.clear()
            self.found[key] = value


_KEPT: WeakKeyDictionary[duckdb.DuckDBPyConnection, Kept] = WeakKeyDictionary()


def kept_of(connection: duckdb.DuckDBPyConnection) -> Kept:
    """Return what is kept for the state that a connection is in: nothing yet, where it is another one than before."""
    state, kept = State.of(connection), _KEPT.get(connection)
    if kept is None or kept.state != state:
        kept = _KEPT[connection] = Kept(state)
    return kept


def run(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
) -> duckdb.DuckDBPyConnection:
    """Execute a statement as if the caller of this package did: DuckDB finds its data frames by their variables."""
    caller = sys._getframe()
    while caller.f_back is not None and _is_ours(caller.f_globals.get("__name__", "")):
        caller = caller.f_back
    ours = {"_priv_run": connection.execute, "_priv_sql": sql, "_priv_parameters": parameters}
    found: duckdb.DuckDBPyConnection = eval(
        "_priv_run(_priv_sql, _priv_parameters)", caller.f_globals, {**caller.f_locals, **ours}
    )
    return found


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "duckdb_priv"
