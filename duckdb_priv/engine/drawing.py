"""The bits that records are perturbed by: drawn in a query, 2,048 records at a time, or for all of them at once.

DuckDB's threads wait in turn for Python, which costs them as much as the bits. For all records at once it is called
with many at a time, while their columns stand in memory as Arrow has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import duckdb
import pyarrow as pa

from duckdb_priv.engine.randomness import FreshBits, KeyedBits
from duckdb_priv.engine.threads import each
from duckdb_priv.engine.udfs import drawn
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
"""Says whether all records find room in memory, by the bytes of one."""


@dataclass(frozen=True)
class Drawing:
    """Records, and what their bits are keyed by.

    >>> records = "SELECT 7 AS _number, NULL::VARCHAR AS _text, 1::UINTEGER AS code"
    >>> drawing = Drawing(records, "_priv_integer_bits", {"coins": "code"})
    >>> coins = {"coins": KeyedBits.derive(bytes(32), "demonstration")}
    >>> with duckdb.connect() as connection:
    ...     drawing.at_once(connection, records, coins, lambda bytes: True).num_rows
    1
    """

    records: str = field(repr=False)
    """The query of the records: their ids, ``_number`` and ``_text``, and whatever columns they have."""
    function: str
    """What draws in a query: ``_priv_bits``, or ``_priv_integer_bits`` where all ids are integers."""
    keyed: Mapping[str, str]
    """What the bits ``_bits0``, ``_bits1`` … are keyed by beside the record, by the places of their coins."""

    @property
    def integers(self) -> bool:
        """Whether all ids are integers."""
        return self.function == "_priv_integer_bits"

    @property
    def sql(self) -> str:
        """Write the query of the records with their bits, which are drawn in it."""
        ids = "_number" if self.integers else "_number, _text"
        bits = ", ".join(
            f"{self.function}({place(coins)}::UBIGINT, {ids}, {key}) AS _bits{n}"
            for n, (coins, key) in enumerate(self.keyed.items())
        )
        return f"SELECT *, {bits} FROM ({self.records})"

    def at_once(
        self,
        cursor: duckdb.DuckDBPyConnection,
        records: str,
        coins: Mapping[str, KeyedBits | FreshBits],
        room: Room,
    ) -> pa.Table | None:
        """Draw the bits of all records; None where Arrow does not keep what a column holds, or they find no room.

        ``records`` is the query of the records, without places.
        """
        # What is a column is one already.
        keys = {
            key: key if key.isidentifier() else f"_key{n}"
            for n, key in enumerate(self.keyed.values())
        }
        more = "".join(f", {key} AS {name}" for key, name in keys.items() if key != name)
        query = f"SELECT *{more} FROM ({records})"
        table = in_memory(cursor, query, room, integers=self.integers)
        if table is None:
            return None
        for n, (name, key) in enumerate(self.keyed.items()):
            bits = each(cursor, partial(_drawn, coins[name], keys[key]), pieces(table))
            table = table.append_column(f"_bits{n}", pa.chunked_array(bits, pa.uint64()))
        return table


def _drawn(coins: KeyedBits | FreshBits, key: str, piece: pa.Table) -> pa.Array:
    return drawn(coins, piece["_number"], piece["_text"], piece[key])


def in_memory(
    cursor: duckdb.DuckDBPyConnection, records: str, room: Room, *, integers: bool
) -> pa.Table | None:
    """Read records into memory; None where Arrow does not keep what a column holds, or they find no room.

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
