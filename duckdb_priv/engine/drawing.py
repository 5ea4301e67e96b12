"""The bits that records are perturbed by: drawn in a query, 2,048 records at a time, or for all of them at once.

DuckDB's threads wait in turn for Python, which costs them as much as the bits. For all records at once it is called
with many at a time, while their columns are in memory as Arrow has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import duckdb
import pyarrow as pa

from duckdb_priv.engine.randomness import FreshBits, KeyedBits
from duckdb_priv.engine.threads import A, each
from duckdb_priv.engine.udfs import NO_TEXTS, drawn
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.templates import place

PIECE = 1 << 17
"""Records that Python draws for at a time."""
FEW = 100_000
"""So few records are drawn for in the query."""
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
KEPT_BY_ARROW = {*WHOLE, "BOOLEAN", "FLOAT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP"}
"""Types of which Arrow gives back every value as it was."""
BYTES_OF_RECORD, BYTES_OF_COLUMN = 32, 10
"""What a record takes meanwhile, and each of its columns, texts aside: twice as much as was measured."""


Room = Callable[[float], bool]
"""Says whether all records fit in memory, by the bytes of one."""


@dataclass(frozen=True)
class Drawing:
    """Records, and what their bits are keyed by.

    >>> records = "SELECT 7 AS _number, NULL::VARCHAR AS _text, 1::UINTEGER AS code"
    >>> drawing = Drawing(records, "_priv_integer_bits", {"random": "code"})
    >>> random_bits = {"random": KeyedBits.derive(bytes(32), "demonstration")}
    >>> with duckdb.connect() as connection:
    ...     drawing.at_once(connection, records, random_bits, lambda bytes: True).num_rows
    1
    """

    records: str = field(repr=False)
    """The query of the records: their ids, ``_number`` and ``_text``, and whatever columns they have."""
    function: str
    """What draws in a query: ``_priv_bits``, or ``_priv_integer_bits`` where all ids are integers."""
    keyed: Mapping[str, str]
    """What the bits ``_bits0``, ``_bits1`` … are keyed by beside the record, by the placeholders of their bits."""

    @property
    def integers(self) -> bool:
        """Whether all ids are integers."""
        return self.function == "_priv_integer_bits"

    @property
    def sql(self) -> str:
        """Write the query of the records with their bits, which are drawn in it."""
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
        """Draw the bits of all records; None where Arrow does not keep what a column holds, or they do not fit.

        ``records`` is the query of the records, without places.
        """
        table = in_memory(cursor, self._keyed(records), room, integers=self.integers)
        if table is None:
            return None
        drawn = each(cursor, partial(self._with_bits, random_bits), pieces(table))
        return pa.concat_tables(drawn) if drawn else self._with_bits(random_bits, table)

    def in_pieces(
        self,
        cursor: duckdb.DuckDBPyConnection,
        records: str,
        random_bits: Mapping[str, KeyedBits | FreshBits],
        make: Callable[[pa.Table], A],
    ) -> list[A]:
        """Draw the bits of all records while they are read, and return what is made of each piece of them.

        Where all ids are integers, the pieces have no column ``_text``.
        """
        text = " EXCLUDE (_text)" if self.integers else ""

        def read() -> Iterator[pa.Table]:
            query = cursor.sql(f"SELECT *{text} FROM ({self._keyed(records)})")
            for batch in query.to_arrow_reader(PIECE):
                yield pa.Table.from_batches([batch])

        return each(cursor, lambda piece: make(self._with_bits(random_bits, piece)), read())

    def _keyed(self, records: str) -> str:
        """Write the query of the records with what their bits are keyed by."""
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
    """Name the column of what bits are keyed by, which is one of the records' or made from them."""
    return key if key.isidentifier() else f"_key{n}"


def in_memory(
    cursor: duckdb.DuckDBPyConnection, records: str, room: Room, *, integers: bool
) -> pa.Table | None:
    """Read records into memory; None where Arrow does not keep what a column holds, or they do not fit.

    Where all ids are ``integers``, the column ``_text`` is empty, and takes no time.
    """
    query = cursor.sql(records)
    types = {name: str(kind) for name, kind in zip(query.columns, query.types, strict=True)}
    if not {*types.values()} <= KEPT_BY_ARROW:
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


def pieces(table: pa.Table) -> Iterator[pa.Table]:
    """Cut a table into pieces that Python draws for."""
    for start in range(0, len(table), PIECE):
        yield table.slice(start, PIECE)


def _length(cursor: duckdb.DuckDBPyConnection, records: str, texts: Sequence[str]) -> float:
    """Return how many bytes the texts of a record have on average."""
    if not texts:
        return 0.0
    total = " + ".join(f"coalesce(strlen({text}), 0)" for text in texts)
    ((length,),) = cursor.execute(f"SELECT avg({total}) FROM ({records})").fetchall()
    return float(length or 0)
