"""A temporary table that is made portion by portion, of records that stand in memory one portion at a time."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

PORTION_READ = "_priv_portion"


class GrowingTable:
    """A temporary table to which portions are added.

    DuckDB holds until the transaction ends whatever was registered in it, so this is registered, once for all portions.

    >>> with duckdb.connect() as connection:
    ...     table = GrowingTable(connection, "temp.main.numbers")
    ...     table.add(pa.table({"n": [1, 2]}))
    ...     table.add(pa.table({"n": [3]}))
    ...     connection.execute("SELECT sum(n) FROM numbers").fetchall()
    [(6,)]
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection, name: str) -> None:
        self.cursor, self.name = cursor, name
        self.portion: pa.Table | None = None

    def add(self, records: pa.Table) -> None:
        """Add records; those of the first portion make the table, in the place of one that has its name."""
        first, self.portion = self.portion is None, records
        if first:
            self.cursor.register(PORTION_READ, self)
        into = (
            f"CREATE OR REPLACE TEMP TABLE {self.name} AS" if first else f"INSERT INTO {self.name}"
        )
        self.cursor.execute(f"{into} FROM {PORTION_READ}")
        self.portion = records.schema.empty_table()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Let DuckDB read the portion."""
        assert self.portion is not None
        return self.portion.__arrow_c_stream__(requested_schema)
