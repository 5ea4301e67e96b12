"""Cache look-ups of a connection until its catalog changes, and run statements as the caller.

The cache holds only facts of files that are opened read-only, which cannot change. Before every statement, one query
reads the attached databases, the temporary tables and the search path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import duckdb

# DuckDB's own functions have qualified names here: a file may define others with the same names.
STATE = """
    SELECT system.main.current_database(), system.main.current_schema(), system.main.current_setting('search_path'),
        database_name, NULL, NULL, database_oid, readonly
    FROM system.main.duckdb_databases() WHERE NOT internal
    UNION ALL SELECT NULL, NULL, NULL, database_name, schema_name, table_name, NULL, temporary
        FROM system.main.duckdb_tables() WHERE schema_name = 'priv' OR temporary
    UNION ALL SELECT NULL, NULL, NULL, database_name, schema_name, view_name, NULL, true
        FROM system.main.duckdb_views() WHERE temporary AND NOT internal
"""
MOST = 500
"""Maximum number of cached queries and statements of a connection."""


@dataclass(frozen=True)
class State:
    """The state of a connection on which the meaning of names depends."""

    database: str
    schema: str
    path: str
    databases: tuple[tuple[str, int, bool], ...]
    """Name, number (unique in the process) and read-only flag of each attached database."""
    tables: tuple[tuple[str, str, str, bool], ...]
    """Database, schema and name of tables in schemas named priv, and of temporary tables and views."""

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection) -> State:
        """Return the state of a connection."""
        rows: list[tuple[Any, ...]] = connection.execute(STATE).fetchall()
        databases = [row for row in rows if row[0] is not None]
        database, schema, path = databases[0][:3]
        return cls(
            database,
            schema,
            path,
            tuple((row[3], *row[6:]) for row in databases),
            tuple((*row[3:6], row[7]) for row in rows if row[0] is None),
        )

    @property
    def lasts(self) -> bool:
        """Whether no release can change while the state is the same."""
        changing = {name for name, _, readonly in self.databases if not readonly}
        return not any(schema == "priv" and name in changing for name, schema, *_ in self.tables)


@dataclass
class Kept:
    """The cache of one state of a connection."""

    state: State
    found: dict[Any, Any] = field(default_factory=dict)

    def once(self, key: Any, find: Callable[[], Any]) -> Any:
        """Return the cached value of a key, or find it, and cache it if the state allows it."""
        if key in self.found:
            return self.found[key]
        value = find()
        if self.state.lasts:
            if len(self.found) >= MOST:
                self.found.clear()
            self.found[key] = value
        return value


_KEPT: WeakKeyDictionary[duckdb.DuckDBPyConnection, Kept] = WeakKeyDictionary()


def kept_of(connection: duckdb.DuckDBPyConnection) -> Kept:
    """Return the cache of a connection's current state; it is empty if the state has changed."""
    state, kept = State.of(connection), _KEPT.get(connection)
    if kept is None or kept.state != state:
        kept = _KEPT[connection] = Kept(state)
    return kept


def run(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
) -> duckdb.DuckDBPyConnection:
    """Execute a statement as if the caller did, so that DuckDB finds data frames in the caller's variables."""
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
