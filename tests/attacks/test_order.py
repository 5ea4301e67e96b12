"""The order of a release says nothing of the order of its source, whatever SQL takes for equal."""

from __future__ import annotations

import struct

import duckdb
import numpy as np
import pyarrow as pa
import pytest

pytestmark = pytest.mark.usefixtures("unasked")

NANS = np.frombuffer(
    struct.pack("<4Q", *(0x7FF8000000000000 + payload for payload in range(4))), "f8"
)

COLUMNS = {
    "text that ignores case": ("VARCHAR COLLATE NOCASE", "['a', 'A', 'b', 'B'][1 + i % 4]"),
    "text without accents": ("VARCHAR COLLATE NOACCENT", "['e', 'é', 'è', 'ê'][1 + i % 4]"),
    "intervals": (
        "INTERVAL",
        "[INTERVAL '1 month', INTERVAL '30 days', INTERVAL '720 hours', INTERVAL '1 day'][1 + i % 4]",
    ),
    "signs of zero": ("DOUBLE", "['0.0', '-0.0', '1.5', 'nan'][1 + i % 4]::DOUBLE"),
    "signs of zero, single": ("FLOAT", "['0.0', '-0.0', '1.5', 'nan'][1 + i % 4]::FLOAT"),
    "signs in a list": ("DOUBLE[]", "[['0.0', '-0.0', '1.5', 'nan'][1 + i % 4]::DOUBLE, 7.0]"),
    "intervals in a struct": (
        "STRUCT(stay INTERVAL)",
        "{stay: [INTERVAL '1 month', INTERVAL '30 days', NULL, INTERVAL '1 day'][1 + i % 4]}",
    ),
}


def published(connection: duckdb.DuckDBPyConnection, direction: str) -> list:
    """Publish the source sorted in one direction, and read the rows in the order in which they are stored."""
    connection.execute(f"CREATE OR REPLACE TABLE visits AS FROM shelf ORDER BY id {direction}")
    public = [name for name, *_ in connection.execute("DESCRIBE shelf").fetchall()][1:-1]
    connection.execute(
        "FROM priv.publish_uniform('visits', 'shown', sensitive := 'disease', retention := 0.4,"
        " record_id := 'id', public := ?, replace := true)",
        [public],
    )
    return connection.execute("SELECT shown::VARCHAR FROM shown ORDER BY rowid").fetchall()


@pytest.mark.parametrize("name", COLUMNS)
def test_two_orders_of_a_source_give_one_order_of_a_release(con, name):
    kind, expression = COLUMNS[name]
    con.execute(f"CREATE TABLE shelf (id INTEGER, public_column {kind}, disease VARCHAR)")
    con.execute(
        f"INSERT INTO shelf SELECT i, {expression}, ['flu', 'cold'][1 + i % 2] FROM range(200) AS t(i)"
    )
    assert published(con, "ASC") == published(con, "DESC")


def test_a_collation_of_the_whole_database_does_not_keep_the_order(con):
    con.execute("SET default_collation = 'nocase'")
    con.execute("CREATE TABLE shelf (id INTEGER, ward VARCHAR, disease VARCHAR)")
    con.execute(
        "INSERT INTO shelf SELECT i, ['north', 'North', 'NORTH'][1 + i % 3], ['flu', 'cold'][1 + i % 2]"
        " FROM range(200) AS t(i)"
    )
    assert published(con, "ASC") == published(con, "DESC")


@pytest.mark.parametrize("wards", [1, 3, 900])
def test_rows_that_are_counted_are_stored_as_rows_that_are_sorted(con, monkeypatch, wards):
    con.execute(
        f"CREATE TABLE shelf AS SELECT i AS id, nullif('ward ' || i % {wards}, 'ward 2') AS ward, DATE '2020-02-29'"
        " + (i % 3)::INTEGER AS day, ['flu', 'cold'][1 + i % 2] AS disease FROM range(9000) AS t(i)"
    )
    stored = []
    for repeated in (0, 4, 10**9):
        monkeypatch.setattr("duckdb_priv.publisher.steps.REPEATED", repeated)
        stored.append((published(con, "ASC"), con.execute("DESCRIBE shown").fetchall()))
    assert stored[0] == stored[1] == stored[2]
    assert len(stored[0][0]) == 9000


def test_two_kinds_of_nan_do_not_keep_the_order(con):
    shelf = pa.table(
        {"id": range(40), "x": np.tile(NANS, 10), "disease": np.tile(["flu", "cold"], 20)}
    )
    con.register("arrow", shelf)
    con.execute("CREATE TABLE shelf AS FROM arrow")
    bits = []
    for direction in ("ASC", "DESC"):
        published(con, direction)
        bits.append(
            con.execute(
                "SELECT x::BIT::VARCHAR, noisy_disease FROM shown ORDER BY rowid"
            ).fetchall()
        )
    assert bits[0] == bits[1]


def test_a_mutant_that_orders_as_sql_does_is_caught(con, monkeypatch):
    """What these tests look for is there to be found."""
    monkeypatch.setattr("duckdb_priv.engine.byte_order.total_order", lambda _: "ALL")
    con.execute(
        "CREATE TABLE shelf AS SELECT i AS id, [INTERVAL '1 month', INTERVAL '30 days'][1 + i % 2] AS stay,"
        " ['flu', 'cold'][1 + i % 2] AS disease FROM range(200) AS t(i)"
    )
    assert published(con, "ASC") != published(con, "DESC")
