"""Bits that are drawn for all records at once, and in a query: the same ones."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from duckdb_priv.engine import drawing, randomness, udfs
from duckdb_priv.engine.drawing import Drawing
from duckdb_priv.sqltext.templates import fill

IDS = {
    "integers": ("_priv_integer_bits", "range::BIGINT AS _number, NULL::VARCHAR AS _text"),
    "texts": ("_priv_bits", "NULL::BIGINT AS _number, 'person number ' || range AS _text"),
}


@pytest.mark.parametrize("ids", IDS)
def test_the_same_bits_in_a_query_and_at_once(ids, monkeypatch):
    function, columns = IDS[ids]
    records = (
        f"SELECT {columns}, (range % 3)::UINTEGER AS _code0, range / 7 AS weight FROM range(5000)"
    )
    asked = Drawing(records, function, {"random0": "_code0", "random1": "0::UINTEGER"})
    random_bits = {
        f"random{n}": randomness.KeyedBits.derive(bytes(32), f"demonstration {n}") for n in range(2)
    }
    monkeypatch.setattr(drawing, "PIECE", 1000)
    with duckdb.connect() as con:
        udfs.register(con)
        table = asked.at_once(con, records, random_bits, lambda each: each < 300)
        assert table is not None
        numbers = {name: str(randomness.open_stream(bits)) for name, bits in random_bits.items()}
        con.execute(f"CREATE TABLE in_query AS {fill(asked.sql, numbers)}")
        for number in numbers.values():
            randomness.close_stream(int(number))
        names = [name for name in con.table("in_query").columns if name != "_text"]
        parts = list(asked.in_pieces(con, records, random_bits, lambda piece: piece.select(names)))
        assert len(parts) == 5
        con.register("in_pieces", pa.concat_tables(parts))
        assert (
            con.sql("SELECT * EXCLUDE (_text) FROM in_query EXCEPT ALL FROM in_pieces").fetchall()
            == []
        )
        with duckdb.connect() as another:
            another.register("stream", asked.stream(con, records, random_bits, []))
            streamed = another.sql("FROM stream").to_arrow_table()
        con.register("streamed", streamed.select(con.table("in_query").columns))
        assert con.sql("FROM in_query EXCEPT ALL FROM streamed").fetchall() == []
        con.register("at_once", table.select(con.table("in_query").columns))
        assert con.sql("FROM in_query EXCEPT ALL FROM at_once").fetchall() == []
        assert con.sql("SELECT count(DISTINCT (_bits0, _bits1)) FROM at_once").fetchall() == [
            (5000,)
        ]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("DECIMAL(38,10)", ["1234567890123456789012345678.0123456789", "-.0000000001", None]),
        ("DECIMAL(4,1)", ["999.9", "-0.1", None]),
        ("TIMESTAMPTZ", ["infinity", "-infinity", "0001-01-01 00:00:00+00", "2026-10-25 00:30:00+00", None]),
        ("TIMESTAMP", ["infinity", "290000-01-01 00:00:00.000001", None]),
        ("DATE", ["infinity", "0001-01-01", None]),
        ("DOUBLE", ["nan", "-0", "inf", None]),
    ],
)  # fmt: skip
def test_arrow_keeps_values_and_their_types(kind, values):
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'Asia/Kolkata'")
        con.execute("CREATE TABLE held (text VARCHAR)")
        con.executemany("INSERT INTO held VALUES (?)", [[value] for value in values])
        records = f"SELECT 7 AS _number, NULL::VARCHAR AS _text, 0::UINTEGER AS _code0, text::{kind} AS value FROM held"
        random_bits = {"random": randomness.KeyedBits.derive(bytes(32), "demonstration")}
        asked = Drawing(records, "_priv_integer_bits", {"random": "_code0"})
        con.register("at_once", asked.at_once(con, records, random_bits, lambda each: True))
        found = con.sql("SELECT value::VARCHAR, typeof(value) FROM at_once")
        expected = con.sql(f"SELECT value::VARCHAR, typeof(value) FROM ({records})")
        assert sorted(map(repr, found.fetchall())) == sorted(map(repr, expected.fetchall()))


@pytest.mark.parametrize(
    "kind", ["HUGEINT", "ENUM('a')", "INTEGER[]", "TIMESTAMP_NS", "DECIMAL(4,1)[]"]
)
def test_what_arrow_may_not_keep_is_drawn_for_in_the_query(kind):
    records = (
        f"SELECT 7 AS _number, NULL::VARCHAR AS _text, 0::UINTEGER AS _code0, NULL::{kind} AS held"
    )
    with duckdb.connect() as con:
        asked = Drawing(records, "_priv_bits", {"random": "_code0"})
        assert asked.at_once(con, records, {}, lambda each: True) is None


def test_long_texts_do_not_fit():
    records = "SELECT 7 AS _number, repeat('a', 1000) AS _text, 0::UINTEGER AS _code0"
    with duckdb.connect() as con:
        asked = Drawing(records, "_priv_bits", {"random": "_code0"})
        assert asked.at_once(con, records, {}, lambda each: each < 1000) is None
