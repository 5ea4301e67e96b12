"""One DuckDB instance: the connections that were prepared, and the secrets that callers keep.

Functions are registered once per instance and serve every connection to it, so they must not
hold on to one connection: a strong reference would keep the file open after ``con.close()``.
"""

from __future__ import annotations

import atexit
import itertools
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress

import duckdb

from duckdb_priv.errors import NotInstalled

_instances: dict[str, Instance] = {}
_numbers = itertools.count(1)


class Instance:
    """What the functions of one DuckDB instance share."""

    def __init__(self) -> None:
        self.name = f"instance {next(_numbers)}"
        self.connections: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
        self.functions: Sequence[object] = ()
        """What DuckDB calls by address: kept alive, for whoever registered them may close before others do."""
        self.secrets: dict[str, bytes] = {}
        """By database: the secrets that callers of install() keep themselves."""
        self.working: set[duckdb.DuckDBPyConnection] = set()
        """Cursors on which a procedure is at work."""
        self.turn = threading.Lock()
        """Held from the first statement of a publication to its commit."""
        _instances[self.name] = self

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Open a cursor on whichever prepared connection is still open."""
        for connection in list(self.connections):
            with suppress(duckdb.ConnectionException):
                return connection.cursor()
        raise NotInstalled(
            "the connection that duckdb_priv prepared is closed",
            hint="call duckdb_priv.install(con) on the connection you work with",
        )

    def interrupt(self) -> None:
        """Stop the procedures at work; each of them leaves nothing behind."""
        for cursor in list(self.working):
            cursor.interrupt()


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
