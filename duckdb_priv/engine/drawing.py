"""Random bits for perturbing records, drawn inside the query, for all records at once, or for a stream of records.

In a query, DuckDB's threads wait in turn for Python, 2,048 records at a time. The waiting costs as much as the bits.
Drawing for all records at once calls Python with larger batches, and holds the records' columns in memory as Arrow. A
stream holds a few batches. Another DuckDB must read it, since a connection cannot read and write at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import duckdb
import pyarrow as pa

from duckdb_priv.engine.randomness import FreshBits, KeyedBits
from duckdb_priv.engine.threads import A, ahead, each, threads_of
from duckdb_priv.engine.udfs import NO_TEXTS, drawn
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.templates import place

PIECE = 1 << 17
"""Number of records in one batch that Python draws bits for."""
FEW = 100_000
"""Up to this number of records, bits are drawn in the query."""
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
KEPT_BY_ARROW = {
    *WHOLE, "BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip
"""Types whose values survive the conversion to Arrow and back."""
BYTES_OF_RECORD, BYTES_OF_COLUMN = 32, 10
"""Memory for a record and for each of its columns, without texts: twice the measured bytes."""


Room = Callable[[float], bool]
"""Returns whether all records fit in memory, given the bytes of one record."""


@dataclass(frozen=True)
class Drawing:
    """A query of records, and the keys of their random bits.

    >>> records = "SELECT 7 AS _number, NULL::VARCHAR AS _text, 1::UINTEGER AS code"
    >>> drawing = Drawing(records, "_priv_integer_bits", {"random": "code"})
    >>> random_bits = {"random": KeyedBits.derive(bytes(32), "demonstration")}
    >>> with duckdb.connect() as connection:
    ...     drawing.at_once(connection, records, random_bits, lambda bytes: True).num_rows
    1
    """

    records: str = field(repr=False)
    """The query of the records: their ids ``_number`` and ``_text``, and any other columns."""
    function: str
    """The SQL function that draws bits: ``_priv_bits``, or ``_priv_integer_bits`` if all ids are integers."""
    keyed: Mapping[str, str]
    """By placeholder of a bit source: what keys its bits ``_bits0``, ``_bits1`` … besides the record."""

    @property
    def integers(self) -> bool:
        """Whether all ids are integers."""
        return self.function == "_priv_integer_bits"

    @property
    def sql(self) -> str:
        """Return the query of the records that draws their bits while it runs."""
        ids = "_number" if self.integers else "_number, _text"
        bits = ", ".join(
            f"{self.function}({place(random_bits)}::UBIGINT, {ids}, {key}) AS _bits{n}"
            for n, (random_bits, key) in enumerate(self.keyed.items())
        )
        return f"SELECT *, {bits} FROM ({self.records})"

    def at_once(
        self,
        cursor: duckdb.DuckDBPyConnection,
        records: str,
        random_bits: Mapping[str, KeyedBits | FreshBits],
        room: Room,
    ) -> pa.Table | None:
        """Draw the bits of all records; None if Arrow cannot hold a column exactly, or the records do not fit in
        memory.

        ``records`` is the query of the records, with its placeholders filled.
        """
        table = in_memory(cursor, self._keyed(records), room, integers=self.integers)
        if table is None:
            return None
        drawn = each(threads_of(cursor), partial(self._with_bits, random_bits), pieces(table))
        return pa.concat_tables(drawn) if drawn else self._with_bits(random_bits, table)

    def in_pieces(
        self,
        cursor: duckdb.DuckDBPyConnection,
        records: str,
        random_bits: Mapping[str, KeyedBits | FreshBits],
        make: Callable[[pa.Table], A],
    ) -> Iterator[A]:
        """Draw bits batch by batch while the records are read, and yield the result for each batch.

        If all ids are integers, the batches have no column ``_text``.
        """
        read = read_in_pieces(cursor, self._keyed(records), integers=self.integers)
        draw = partial(self._with_bits, random_bits)
        return ahead(threads_of(cursor), lambda piece: make(draw(piece)), read)

    def stream(
        self,
        cursor: duckdb.DuckDBPyConnection,
        records: str,
        random_bits: Mapping[str, KeyedBits | FreshBits],
        failed: list[BaseException],
    ) -> pa.RecordBatchReader:
        """Return the records with their bits, which are drawn while the stream is read.

        An error is appended to ``failed``, because a reader in DuckDB passes on its text only.
        """
        nothing = cursor.sql(f"SELECT * FROM ({self._keyed(records)}) LIMIT 0").to_arrow_table()
        schema = self._with_bits(random_bits, nothing).schema

        def whole(piece: pa.Table) -> pa.Table:
            if self.integers:
                piece = piece.append_column("_text", pa.nulls(len(piece), pa.string()))
            return piece.select(schema.names)

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                for piece in self.in_pieces(cursor, records, random_bits, whole):
                    yield from piece.to_batches()
            except Exception as error:
                failed.append(error)
                raise

        return pa.RecordBatchReader.from_batches(schema, batches())

    def _keyed(self, records: str) -> str:
        """Return the query of the records with the keys of their bits."""
        more = "".join(
            f", {key} AS {_column(n, key)}"
            for n, key in enumerate(self.keyed.values())
            if key != _column(n, key)
        )
        return f"SELECT *{more} FROM ({records})"

    def _with_bits(
        self, random_bits: Mapping[str, KeyedBits | FreshBits], piece: pa.Table
    ) -> pa.Table:
        texts = NO_TEXTS if self.integers else piece["_text"]
        for n, (name, key) in enumerate(self.keyed.items()):
            bits = drawn(random_bits[name], piece["_number"], texts, piece[_column(n, key)])
            piece = piece.append_column(f"_bits{n}", bits)
        return piece


def _column(n: int, key: str) -> str:
    """Return the name of the column that keys the bits: a column of the records, or a computed one."""
    return key if key.isidentifier() else f"_key{n}"


def in_memory(
    cursor: duckdb.DuckDBPyConnection, records: str, room: Room, *, integers: bool
) -> pa.Table | None:
    """Read records into memory; None if Arrow cannot hold a column exactly, or the records do not fit.

    If all ids are ``integers``, the column ``_text`` is empty and costs no time.
    """
    query = cursor.sql(records)
    types = {name: str(kind) for name, kind in zip(query.columns, query.types, strict=True)}
    if not all(map(is_kept_by_arrow, types.values())):
        return None
    texts = [
        identifier(name)
        for name, kind in types.items()
        if kind == "VARCHAR" and not (integers and name == "_text")
    ]
    bytes_each = BYTES_OF_RECORD + BYTES_OF_COLUMN * len(types) + _length(cursor, records, texts)
    if not room(bytes_each):
        return None
    if not integers:
        return query.to_arrow_table(PIECE)
    table = cursor.sql(f"SELECT * EXCLUDE (_text) FROM ({records})").to_arrow_table(PIECE)
    lengths = [len(chunk) for chunk in table["_number"].chunks]
    empty = pa.nulls(max(lengths, default=0), pa.string())
    column = pa.chunked_array([empty.slice(0, length) for length in lengths], pa.string())
    return table.append_column("_text", column)


def read_in_pieces(
    cursor: duckdb.DuckDBPyConnection, records: str, *, integers: bool
) -> Iterator[pa.Table]:
    """Read records batch by batch; if all their ids are ``integers``, without the column ``_text``."""
    text = " EXCLUDE (_text)" if integers else ""
    try:
        for batch in cursor.sql(f"SELECT *{text} FROM ({records})").to_arrow_reader(PIECE):
            yield pa.Table.from_batches([batch])
    except OSError as error:
        # Arrow passes on the text of DuckDB's error, which may quote a value.
        raise duckdb.Error(str(error)) from None


def are_kept_by_arrow(cursor: duckdb.DuckDBPyConnection, records: str) -> bool:
    """Return whether the values of all columns of a query survive the conversion to Arrow and back."""
    return all(is_kept_by_arrow(str(kind)) for kind in cursor.sql(records).types)


def is_kept_by_arrow(kind: str) -> bool:
    """Return whether values of a type survive the conversion to Arrow and back, with its parameters.

    >>> is_kept_by_arrow("DECIMAL(9,2)"), is_kept_by_arrow("ENUM('a')")
    (True, False)
    """
    return re.sub(r"\(\d+,\d+\)$", "", kind) in KEPT_BY_ARROW


def pieces(table: pa.Table) -> Iterator[pa.Table]:
    """Split a table into the batches that Python draws bits for."""
    for start in range(0, len(table), PIECE):
        yield table.slice(start, PIECE)


def _length(cursor: duckdb.DuckDBPyConnection, records: str, texts: Sequence[str]) -> float:
    """Return the average number of bytes of a record's texts."""
    if not texts:
        return 0.0
    total = " + ".join(f"coalesce(strlen({text}), 0)" for text in texts)
    ((length,),) = cursor.execute(f"SELECT avg({total}) FROM ({records})").fetchall()
    return float(length or 0)
