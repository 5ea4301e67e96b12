"""One DuckDB instance: the connections that were prepared, and the secrets that callers keep.

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
"""What DuckDB 2 raises where two threads use one connection at once; DuckDB 1 has no such error."""
BUSY_WAIT = 10.0
"""Seconds to wait for a connection that is in use; what uses it takes microseconds."""

STANDARD: dict[str, str | bool] = {
    "default_collation": "",
    "default_null_order": "NULLS_LAST",
    "default_order": "ASC",
    "integer_division": False,
}
"""Settings by which one statement means several things, and what they are where ours run.

Under others, rows would be stored in another order, texts would be equal that are not the same, and shares be zero.
"""

_instances: dict[str, Instance] = {}
_numbers = itertools.count(1)


class Instance:
    """What the functions of one DuckDB instance share."""

    def __init__(self, find: Callable[[str], Callable[..., list[dict[str, Any]]]]) -> None:
        self.find = find
        """Returns a procedure by its name, and loads what it needs."""
        self.name = f"instance {next(_numbers)}"
        self.connections: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
        self.functions: Sequence[object] = ()
        """What DuckDB calls by address: kept alive, as the connection that registered them may close before others."""
        self.secrets: dict[str, bytes] = {}
        """By database: the secrets that callers of install() keep themselves."""
        self.working: set[duckdb.DuckDBPyConnection] = set()
        """Cursors on which a procedure is at work."""
        self.stage = ""
        """What the procedure at work is doing, in a word or two for someone who waits."""
        self.watched = False
        """Whether someone reads the progress of the statements of procedures, which DuckDB then records."""
        self.turn = threading.Lock()
        """Held from the first statement of a publication to its commit."""

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Open a cursor on a prepared connection that is still open, where statements mean what they mean by default.

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
                    # Another thread is at it this very moment; DuckDB 2 refuses where DuckDB 1 waits.
                    busy = True
            time.sleep(0.001)
        raise NotInstalled(
            f"the connection that duckdb_priv prepared is {'in use by another thread' if busy else 'closed'}",
            hint="call duckdb_priv.install(con) on the connection you work with",
        )

    def interrupt(self) -> None:
        """Stop the procedures at work; each of them leaves nothing behind."""
        for cursor in list(self.working):
            cursor.interrupt()

    def progress(self) -> float | None:
        """Return how far the statement is that a procedure has running, in percent, where DuckDB knows."""
        for cursor in list(self.working):
            with suppress(duckdb.Error):
                percent = cursor.query_progress()
                if percent > 0:
                    return percent
        return None


def standardized(cursor: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Let statements on a cursor mean what they mean by default, whatever was set for its database.

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
    """Remember an instance whose functions are registered."""
    _instances[instance.name] = instance


def is_prepared(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether this very connection has the functions of an instance; another to its database may, too."""
    return any(connection in instance.connections for instance in _instances.values())


def find(name: str) -> Instance | None:
    """Return the instance of this name, if this process prepared it."""
    return _instances.get(name)


def interrupt() -> None:
    """Stop every procedure at work in this process; for front ends that handle Ctrl-C themselves."""
    for instance in list(_instances.values()):
        instance.interrupt()


@atexit.register
def _close_all() -> None:
    """Close what is still open: DuckDB 2 reports connections with functions as leaks at exit."""
    for instance in _instances.values():
        for connection in list(instance.connections):
            with suppress(duckdb.Error):
                connection.close()
