"""Temporary tables that are larger than the memory.

DuckDB moves to disk what does not fit in memory, except a part of every struct. So a large table has the fields of its
structs as columns, below a view that joins them.
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
    """A temporary table to which portions are added, of records that are in memory one portion at a time.

    DuckDB holds until the transaction ends whatever was registered in it, so this is registered, once for all portions.

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
        """Add records; those of the first portion make the table, and replace one of its name."""
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
        """Let DuckDB read the portion."""
        assert self.portion is not None
        return self.portion.__arrow_c_stream__(requested_schema)


def taken_apart(name: str, query: str, structs: Structs) -> tuple[str, str]:
    """Return the table and the query that a large table is made by at once, before it is ``put_together``.

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
    """Let SQL read the structs of a large table."""
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
    """Drop a large table."""
    cursor.execute(f"DROP VIEW {name}; DROP TABLE {_apart(name)}")


def _apart(name: str) -> str:
    return f"{name}_apart"


def _field(struct: str, field: str) -> str:
    return identifier(f"{struct}.{field}")
