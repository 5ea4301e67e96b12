"""One DuckDB instance: its prepared connections, and the secrets that callers keep.

Functions are registered once per instance and serve every connection to it, so they must not
hold on to one connection: a strong reference would keep the file open after ``con.close()``.
"""

from __future__ import annotations

import atexit
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import duckdb

from duckdb_priv.errors import NotInstalled, PublicationFailed
from duckdb_priv.sqltext.quoting import literal

BUSY: tuple[type[duckdb.Error], ...] = tuple(
    filter(None, [getattr(duckdb, "ResourceInUseException", None)])
)
"""The error of DuckDB 2 when two threads use one connection at once; DuckDB 1 has no such error."""
BUSY_WAIT = 10.0
"""Seconds to wait for a connection that is in use; such a use takes microseconds."""

STANDARD: dict[str, str | bool] = {
    "default_collation": "",
    "default_null_order": "NULLS_LAST",
    "default_order": "ASC",
    "integer_division": False,
}
"""Settings that change the meaning of a statement, with the values that our statements need.

Under other values, rows would have another order, different texts would be equal, and shares would be zero.
"""

_instances: dict[str, Instance] = {}
_numbers = itertools.count(1)


class Instance:
    """The state that the functions of one DuckDB instance share."""

    def __init__(self, find: Callable[[str], Callable[..., list[dict[str, Any]]]]) -> None:
        self.find = find
        """Returns the procedure of a name, and loads the modules that it needs."""
        self.name = f"instance {next(_numbers)}"
        self.connections: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
        self.functions: Sequence[object] = ()
        """Objects that DuckDB calls by address; they stay alive here after their connection closes."""
        self.secrets: dict[str, bytes] = {}
        """By database: the secrets that callers of install() keep."""
        self.working: set[duckdb.DuckDBPyConnection] = set()
        """Cursors on which a procedure is running."""
        self.stage = ""
        """The current step of the running procedure, in one or two words for the progress display."""
        self.watched = False
        """Whether someone reads the progress of statements; DuckDB then records it."""
        self.turn = threading.Lock()
        """Held from the first statement of a publication to its commit."""

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Open a cursor with standard settings on a prepared connection that is still open.

        Raises PublicationFailed where settings are locked.
        """
        deadline = time.monotonic() + BUSY_WAIT
        busy = True
        while busy and time.monotonic() < deadline:
            busy = False
            for connection in list(self.connections):
                try:
                    return standardized(connection.cursor())
                except duckdb.ConnectionException:
                    continue
                except BUSY:
                    # Another thread is using this connection now; DuckDB 2 raises an error where DuckDB 1 waits.
                    busy = True
            time.sleep(0.001)
        raise NotInstalled(
            f"the connection that duckdb_priv prepared is {'in use by another thread' if busy else 'closed'}",
            hint="call duckdb_priv.install(con) on the connection you work with",
        )

    def interrupt(self) -> None:
        """Stop the running procedures; each of them rolls its changes back."""
        for cursor in list(self.working):
            cursor.interrupt()

    def progress(self) -> float | None:
        """Return the progress in percent of the statement that a procedure runs, if DuckDB knows it."""
        for cursor in list(self.working):
            with suppress(duckdb.Error):
                percent = cursor.query_progress()
                if percent > 0:
                    return percent
        return None


def standardized(cursor: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Give a cursor the standard settings, whatever the settings of its database.

    Raises PublicationFailed where settings are locked.

    >>> with duckdb.connect() as connection:
    ...     _ = connection.execute("SET GLOBAL integer_division = true")
    ...     with standardized(connection.cursor()) as cursor:
    ...         cursor.execute("SELECT 1 / 2").fetchall()
    [(0.5,)]
    """
    try:
        cursor.execute(
            "; ".join(f"SET SESSION {each} = {literal(STANDARD[each])}" for each in STANDARD)
        )
    except duckdb.InvalidInputException:
        raise PublicationFailed(
            "settings are locked, and procedures need some of their own",
            hint="open the database without SET lock_configuration = true",
        ) from None
    return cursor


def keep(instance: Instance) -> None:
    """Store an instance whose functions are registered."""
    _instances[instance.name] = instance


def is_prepared(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether this connection has an instance's functions; other connections to its database may have them."""
    return any(connection in instance.connections for instance in _instances.values())


def instance_of(connection: duckdb.DuckDBPyConnection) -> Instance | None:
    """Return the instance that runs a connection's procedures; None if duckdb_priv has not prepared it."""
    try:
        ((name,),) = connection.execute("SELECT _priv_instance(1)").fetchall()
    except duckdb.Error:
        return None
    return _instances.get(str(name))


@atexit.register
def _close_all() -> None:
    """Close the open connections: at exit, DuckDB 2 reports connections with functions as leaks."""
    for instance in _instances.values():
        for connection in list(instance.connections):
            with suppress(duckdb.Error):
                connection.close()
