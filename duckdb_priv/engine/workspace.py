"""Where a procedure is called from, and what it works with: a cursor, the caller's schemas, and the secret."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from duckdb_priv.engine import drawing, randomness
from duckdb_priv.engine.instance import Instance, instance_of
from duckdb_priv.engine.secrets import current_secret
from duckdb_priv.engine.spilled import SpilledRecords
from duckdb_priv.engine.threads import A, B, each, threads_of
from duckdb_priv.errors import NotInstalled
from duckdb_priv.mechanism.arrays import Integers
from duckdb_priv.sqltext.quoting import identifier

SCHEMA = "main"
"""The schema of releases: every search path includes it, and a release file has no other."""
STAGED = 1 / 8
"""Largest share of the memory for a table of all records."""
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass
class Caller:
    """What a procedure takes over from the connection that calls it."""

    instance: Instance = field(repr=False)
    database: str
    """The database whose priv.* was called."""
    schemas: tuple[str, ...] = ("main",)
    """The schemas in which names without a schema are looked up, in order."""
    zone: str | None = None
    """The caller's time zone; None if it is the database's."""

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection) -> Caller:
        """Return a connection as caller; raises NotInstalled unless it is prepared for publishing."""
        if (instance := instance_of(connection)) is None:
            raise NotInstalled(
                "the connection is not prepared for publishing",
                hint="call duckdb_priv.install(connection), or open it with duckdb_priv.connect(…)",
            )
        ((database, schemas),) = connection.execute(
            "SELECT current_database(), current_schemas(false)"
        ).fetchall()
        return cls(instance, database, tuple(schemas))


@dataclass
class Workspace(Caller):
    """What a procedure uses besides its arguments."""

    cursor: duckdb.DuckDBPyConnection = field(kw_only=True)
    """A cursor with the caller's database, in its own transaction."""
    sizes: dict[tuple[str, ...], dict[int, int]] = field(default_factory=dict)
    """Cache: the number of groups of each size, by table and columns."""
    groups: dict[tuple[str, ...], int] = field(default_factory=dict)
    """Cache: about how many groups there are, by table and columns."""
    on_commit: list[Callable[[], None]] = field(default_factory=list)
    on_rollback: list[Callable[[], None]] = field(default_factory=list)

    def stage(self, words: str) -> None:
        """Record the current step, to show it to someone who waits."""
        self.instance.stage = words

    def rows(self, sql: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Run one statement and return all its rows."""
        return self.cursor.execute(sql, parameters or []).fetchall()

    def integers(self, sql: str) -> dict[str, Integers]:
        """Run one statement and return its columns, all of whole numbers."""
        columns = self.cursor.execute(sql).fetchnumpy()
        return {name: np.asarray(values).astype(np.int64) for name, values in columns.items()}

    def table(self, name: str) -> str:
        """Return the quoted, qualified name of a table in the schema of releases."""
        return f"{identifier(self.database)}.{SCHEMA}.{identifier(name)}"

    def fits_in_memory(self, needed: float) -> bool:
        """Return whether this number of bytes is a small part of DuckDB's memory limit."""
        ((text,),) = self.rows("SELECT current_setting('memory_limit')")
        number, unit = text.split()
        return needed < STAGED * float(number) * float(1024 ** UNITS.index(unit))

    def room(self, records: int) -> drawing.Room | None:
        """Return the check whether so many records fit in memory, by the bytes of one; None for few records."""
        return (
            (lambda bytes_: self.fits_in_memory(records * bytes_))
            if records > drawing.FEW
            else None
        )

    def each(self, function: Callable[[A], B], over: Iterable[A]) -> list[B]:
        """Apply a function to each item, in as many threads as DuckDB has."""
        return each(threads_of(self.cursor), function, over)

    def spilled(self, bits: int) -> SpilledRecords:
        """Open a file for records, in ``2**bits`` ranges of their order, until the work ends, even by an error."""
        ((folder,),) = self.rows("SELECT current_setting('temp_directory')")
        spilled = SpilledRecords(Path(folder), bits)
        self.on_commit.append(spilled.close)
        self.on_rollback.append(spilled.close)
        return spilled

    def another_cursor(self) -> duckdb.DuckDBPyConnection:
        """Open a cursor on which an error does not abort the transaction of this one."""
        return self.instance.cursor()

    def secret(self) -> bytes:
        """Return the secret that the database publishes with."""
        return current_secret(self.cursor, self.instance.secrets.get(self.database))

    def open_stream(self, bits: randomness.KeyedBits | randomness.FreshBits) -> int:
        """Register a source of bits until the work ends, even by an error; return its number for SQL."""
        stream = randomness.open_stream(bits)
        self.on_commit.append(lambda: randomness.close_stream(stream))
        self.on_rollback.append(lambda: randomness.close_stream(stream))
        return stream
