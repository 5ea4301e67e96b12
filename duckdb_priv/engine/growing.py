"""Temporary tables that are larger than memory.

DuckDB moves data that does not fit in memory to disk, except a part of every struct. So a large table stores the fields
of its structs as columns, and a view joins them into structs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from duckdb_priv.sqltext.quoting import identifier

PORTION_READ = "_priv_portion"

Structs = Mapping[str, Iterable[str]]
"""Columns that are structs, and the names of their fields."""


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

    def __init__(
        self, cursor: duckdb.DuckDBPyConnection, name: str, *, large: bool = False
    ) -> None:
        self.cursor, self.name, self.large = cursor, name, large
        self.portion: pa.Table | None = None

    def add(self, records: pa.Table) -> None:
        """Add records. The first batch creates the table and replaces one of the same name."""
        first, self.portion = self.portion is None, records.flatten() if self.large else records
        table = _apart(self.name) if self.large else self.name
        if first:
            self.cursor.register(PORTION_READ, self)
        into = f"CREATE OR REPLACE TEMP TABLE {table} AS" if first else f"INSERT INTO {table}"
        self.cursor.execute(f"{into} FROM {PORTION_READ}")
        if first and self.large:
            columns = [each for each in records.schema if pa.types.is_struct(each.type)]
            structs = {each.name: [field.name for field in each.type] for each in columns}
            put_together(self.cursor, self.name, structs)
        self.portion = self.portion.schema.empty_table()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the current batch as an Arrow stream for DuckDB."""
        assert self.portion is not None
        return self.portion.__arrow_c_stream__(requested_schema)


def taken_apart(name: str, query: str, structs: Structs) -> tuple[str, str]:
    """Return the name and the query of a large table's stored form; ``put_together`` makes the view over it.

    >>> taken_apart("large", "FROM t", {"s": ["a"]})
    ('large_apart', 'SELECT * EXCLUDE ("s"), "s"."a" AS "s.a" FROM (FROM t)')
    """
    fields = ", ".join(
        f"{identifier(struct)}.{identifier(field)} AS {_field(struct, field)}"
        for struct, names in structs.items()
        for field in names
    )
    return (
        _apart(name),
        f"SELECT * EXCLUDE ({', '.join(map(identifier, structs))}), {fields} FROM ({query})",
    )


def put_together(cursor: duckdb.DuckDBPyConnection, name: str, structs: Structs) -> None:
    """Create the view that joins a large table's columns into structs."""
    fields = [_field(struct, field) for struct, names in structs.items() for field in names]
    packed = [
        f"struct_pack({', '.join(f'{identifier(field)} := {_field(struct, field)}' for field in names)})"
        f" AS {identifier(struct)}"
        for struct, names in structs.items()
    ]
    cursor.execute(
        f"CREATE TEMP VIEW {name} AS SELECT * EXCLUDE ({', '.join(fields)}), {', '.join(packed)}"
        f" FROM {_apart(name)}"
    )


def drop_large(cursor: duckdb.DuckDBPyConnection, name: str) -> None:
    """Drop a large table and its view."""
    cursor.execute(f"DROP VIEW {name}; DROP TABLE {_apart(name)}")


def _apart(name: str) -> str:
    return f"{name}_apart"


def _field(struct: str, field: str) -> str:
    return identifier(f"{struct}.{field}")
