"""Cache look-ups of a connection until its catalog changes, and run statements as the caller.

The cache holds only facts of files that are opened read-only, which cannot change. Before every statement, one query
reads the attached databases, the temporary tables and the search path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import duckdb

# DuckDB's own functions have qualified names here: a file may define others with the same names.
STATE = """
    SELECT system.main.current_database(), system.main.current_schema(), system.main.current_setting('search_path'),
        database_name, NULL, NULL, readonly, database_oid
    FROM system.main.duckdb_databases() WHERE NOT internal
    UNION ALL SELECT NULL, NULL, NULL, database_name, schema_name, table_name, temporary, NULL
        FROM system.main.duckdb_tables() WHERE schema_name = 'priv' OR temporary
    UNION ALL SELECT NULL, NULL, NULL, database_name, schema_name, view_name, true, NULL
        FROM system.main.duckdb_views() WHERE temporary AND NOT internal
"""
MOST = 500
"""Maximum number of cached queries and statements of a connection."""


class Kept:
    """The cache of one state of a connection, on which the meaning of names depends."""

    def __init__(self, state: list[tuple[Any, ...]]) -> None:
        self.state = state
        databases = [row for row in state if row[0] is not None]
        self.database, self.schema, self.path = databases[0][:3]
        self.databases = [row[3] for row in databases]
        self.tables: list[tuple[str, str, str, bool]] = [
            row[3:7] for row in state if row[0] is None
        ]
        """Database, schema and name of tables in schemas named priv, and of temporary tables and views."""
        changing = {row[3] for row in databases if not row[6]}
        self._lasts = not any(each[1] == "priv" and each[0] in changing for each in self.tables)
        self.found: dict[Any, Any] = {}

    def once(self, key: Any, find: Callable[[], Any]) -> Any:
        """Return the cached value of a key, or find it, and cache it if no release can change in this state."""
        if key in self.found:
            return self.found[key]
        value = find()
        if self._lasts:
            if len(self.found) >= MOST:
                self.found.clear()
            self.found[key] = value
        return value


_KEPT: WeakKeyDictionary[duckdb.DuckDBPyConnection, Kept] = WeakKeyDictionary()


def kept_of(connection: duckdb.DuckDBPyConnection) -> Kept:
    """Return the cache of a connection's current state; it is empty if the state has changed."""
    state, kept = connection.execute(STATE).fetchall(), _KEPT.get(connection)
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
