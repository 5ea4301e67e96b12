"""Digests of the contents of a release, which do not depend on the file format or the DuckDB version.

No code of the release is run: rows are read from plain tables, and macros and views as texts.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from duckdb_priv.release import catalog
from duckdb_priv.release.normal_form import normal_statements
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.reading import select, types_of
from duckdb_priv.sqltext.templates import section

BATCH_ROWS = 100_000
AS_THEY_ARE = re.compile(r"U?(TINY|SMALL|BIG)INT|U?INTEGER|BOOLEAN|FLOAT|DOUBLE|DATE|VARCHAR")
"""Types with one Arrow representation; values of other types are read as text."""
MICROSECONDS = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
"""Types whose text depends on a time zone or a format; their values are read as numbers."""
COMMENTED = {
    "schema": ("duckdb_schemas", "''"),
    "table": ("duckdb_tables", "table_name"),
    "column": ("duckdb_columns", "table_name || '.' || column_name"),
    "view": ("duckdb_views", "view_name"),
    "function": ("duckdb_functions", "function_name"),
    "type": ("duckdb_types", "type_name"),
    "index": ("duckdb_indexes", "index_name"),
    "sequence": ("duckdb_sequences", "sequence_name"),
}
"""By kind of object: the function that lists the objects, and SQL for the name of one in its schema."""


def definitions(connection: duckdb.DuckDBPyConnection, database: str, folder: Path) -> list[str]:
    """Return the statements that create the objects of a database, in normal form, sorted.

    DuckDB exports them, with the rows, into the folder. Only an export shows the defaults of macro parameters.
    """
    place = folder / uuid.uuid4().hex
    connection.execute(
        section(
            "publishing",
            "export_database",
            database=identifier(database),
            folder=literal(str(place)),
        )
    )
    return sorted(normal_statements((place / "schema.sql").read_text("utf-8")))


def comments(
    connection: duckdb.DuckDBPyConnection, databases: Sequence[str]
) -> list[set[tuple[str, ...]]]:
    """Return for each database the comments on its objects, each with its object.

    DuckDB lists the functions of all databases to find those of one.
    """
    found: dict[str, set[tuple[str, ...]]] = {database: set() for database in databases}
    for kind, (objects, name) in COMMENTED.items():
        query = section("publishing", "commented", objects=objects, name=name)
        for database, *row in connection.execute(query, [databases]).fetchall():
            found[database].add((kind, *map(str, row)))
    return [found[database] for database in databases]


def digest_of_texts(texts: Iterable[str]) -> str:
    """Return the SHA-256 digest of a list of texts."""
    return hashlib.sha256(
        json.dumps(list(texts), ensure_ascii=False).encode("utf-8", "surrogatepass")
    ).hexdigest()


def catalog_digest(connection: duckdb.DuckDBPyConnection, database: str) -> str:
    """Return the digest of the catalog rows."""
    texts = []
    for table in catalog.PUBLIC:
        answer = connection.execute(select("*", f"{identifier(database)}.priv.{table}"))
        names = [column[0] for column in answer.description]
        rows = [json.dumps([table, names, row], default=str) for row in answer.fetchall()]
        texts += sorted(rows)
    return digest_of_texts(texts)


def rows_digest(connection: duckdb.DuckDBPyConnection, database: str, release: str) -> str:
    """Return the digest of the published rows, in their order, with the names and types of the columns."""
    table = f"{identifier(database)}.main.{identifier(release)}"
    columns = [*types_of(connection, table).items()]
    kinds = [kind.partition("(")[0] for _, kind in columns]
    selected = ", ".join(
        f"{_read(identifier(name), kind)} AS c{number}"
        for number, ((name, _), kind) in enumerate(zip(columns, kinds, strict=True))
    )
    hashes = [hashlib.sha256() for _ in columns]
    with connection.sql(select([selected], table)).to_arrow_reader(BATCH_ROWS) as reader:
        for batch in reader:
            for each, column in zip(hashes, batch.columns, strict=True):
                for piece in _bytes(column):
                    each.update(piece)
    return digest_of_texts(
        text
        for (name, _), kind, each in zip(columns, kinds, hashes, strict=True)
        for text in (name, kind, each.hexdigest())
    )


def _read(column: str, kind: str) -> str:
    if AS_THEY_ARE.fullmatch(kind):
        return column
    return (
        f"system.main.epoch_us({column})" if kind in MICROSECONDS else f"CAST({column} AS VARCHAR)"
    )


def _bytes(column: pa.Array) -> Iterator[memoryview | bytes]:
    """Yield the bytes of an array, independent of batches: the validity of each value, and the values."""
    yield memoryview(column.is_null().cast(pa.uint8()).buffers()[1])[: len(column)]
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        yield from _text_bytes(column.cast(pa.large_string()).fill_null(""))
        return
    numbers = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
    filled = numbers.fill_null(pa.scalar(0, pa.int32()).cast(numbers.type))
    width = filled.type.bit_width // 8
    yield memoryview(filled.buffers()[1])[filled.offset * width :][: len(filled) * width]


def _text_bytes(texts: pa.Array) -> Iterator[memoryview | bytes]:
    _, places, data = texts.buffers()
    ends = np.frombuffer(places, np.int64)[texts.offset :][: len(texts) + 1]
    # Lengths distinguish ('ab', 'c') from ('a', 'bc').
    yield np.diff(ends).tobytes()
    if data is not None and len(ends):
        yield memoryview(data)[ends[0] : ends[-1]]
