"""Temporary tables that may be larger than memory.

DuckDB moves to disk what does not fit, except a part of every struct. So large tables have no structs.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

PORTION_READ = "_priv_portion"


class GrowingTable:
    """A temporary table that is filled in batches, so that only one batch is in memory.

    DuckDB keeps every registered object until the transaction ends. So this object is registered once, not each batch.

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
        """Add records. The first batch creates the table and replaces one of the same name."""
        first, self.portion = self.portion is None, records
        if first:
            self.cursor.register(PORTION_READ, self)
        into = "CREATE OR REPLACE TEMP TABLE {} AS" if first else "INSERT INTO {}"
        self.cursor.execute(f"{into.format(self.name)} FROM {PORTION_READ}")
        self.portion = records.schema.empty_table()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the current batch as an Arrow stream for DuckDB."""
        assert self.portion is not None
        return self.portion.__arrow_c_stream__(requested_schema)
