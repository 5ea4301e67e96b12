"""Every type that both engines write the same is published the same, whatever the time zones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

import duckdb_priv.spark
from duckdb_priv.engine import marking
from duckdb_priv.errors import PrivError
from duckdb_priv.spark.types import OF_DUCKDB, duckdb_type, given_type

pytestmark = pytest.mark.usefixtures("plain")

STAYS = """
    CREATE TABLE stays AS
    SELECT TIMESTAMPTZ '2026-03-29 00:00:00+00' + INTERVAL (i // 2) HOUR AS arrived, 'bed ' || i % 2 AS bed,
        'p' || i % 700 AS patient,
        i % 3 = 0 AS truth, (i % 5 - 2)::TINYINT AS tiny, (i % 7 * 100)::SMALLINT AS small,
        (i % 4 * 100000)::INTEGER AS whole, (i % 3 * 10000000000) AS large, (250 + i % 6)::UTINYINT AS byte,
        (['0', '-0', '1.5', NULL])[1 + i % 4]::FLOAT AS single,
        (['0', '-0', '0.1', '1e300'])[1 + i % 4]::DOUBLE AS double,
        (i % 6 / 4)::DECIMAL(9, 2) AS money, (['é', 'Ω', '', '日本', NULL])[1 + i % 5] AS word,
        DATE '0001-01-01' + (i % 3)::INTEGER * 1000000 AS day,
        TIMESTAMP '1969-12-31 23:59:59.999999' + INTERVAL (i % 3) MONTH AS moment,
        (['0', '-0', 'nan', 'inf', '-inf', NULL])[1 + i % 6]::DOUBLE AS measure,
        (18446744073709551610 + i % 5)::UBIGINT AS huge, (i % 4)::DECIMAL(38, 10) AS exact,
        TIMESTAMPTZ '2026-10-25 00:30:00+00' + INTERVAL (i % 3) HOUR AS since,
        [TIMESTAMPTZ '2026-10-25 00:30:00+00' + INTERVAL (i % 2) HOUR, NULL] AS times,
        ('\\x00' || chr(65 + (i % 3)::INTEGER))::BLOB AS raw,
        ([[1, NULL], [], NULL, [NULL]])[1 + i % 4]::INTEGER[] AS list,
        {'a': i % 2, 'b': CASE WHEN i % 3 > 0 THEN 'x' || i % 3 END} AS pair
    FROM range(1200) AS t(i)
"""
SENSITIVE = [
    "truth",
    "tiny",
    "small",
    "whole",
    "large",
    "byte",
    "single",
    "double",
    "money",
    "word",
    "day",
    "moment",
]
PUBLIC = ["measure", "huge", "exact", "since", "times", "raw", "list", "pair"]
KNOWN = {"record_id": ["arrived", "bed"], "person": "patient", "retention": 0.5}
SPARKS = {"byte": "UTINYINT", "huge": "UBIGINT"}


def contents(connection: duckdb.DuckDBPyConnection, table: str, columns: str = "*") -> list[str]:
    connection.execute("SET TimeZone = 'UTC'")
    return sorted(map(repr, connection.sql(f"SELECT {columns} FROM {table}").fetchall()))


@pytest.mark.parametrize(
    ("sensitive", "public"), [(SENSITIVE, PUBLIC[:1]), (SENSITIVE[:1], PUBLIC)]
)
def test_all_types_in_three_time_zones(
    sensitive: list[str],
    public: list[str],
    spark: SparkSession,
    prepared: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also of a table so large that its records are known by a sample: Spark counts each two columns by themselves."""
    arguments = {"sensitive": sensitive, "public": public, **KNOWN}
    monkeypatch.setattr(marking, "level_of", lambda rows, size=0: 1)
    with prepared() as theirs, prepared() as publisher:
        theirs.execute(STAYS)
        theirs.execute(f"COPY stays TO '{tmp_path}/stays.parquet'")
        theirs.execute("SET TimeZone = 'America/New_York'")
        publisher.execute("SET TimeZone = 'Asia/Kolkata'")
        frame = spark.read.parquet(f"{tmp_path}/stays.parquet")
        duckdb_priv.spark.publish(
            publisher, frame.repartition(3), "uniform", source="stays", release="r", path=tmp_path / "r",
            types=SPARKS, **arguments,
        )  # fmt: skip
        call = ", ".join(f"{name} := {value!r}" for name, value in arguments.items())
        theirs.sql(f"FROM priv.publish_uniform('stays', 'r', {call})").fetchall()
        for table, columns in {
            "priv.attribute": "*",
            "priv.coefficient": "*",
            "priv.guarantee": "*",
            "priv.ledger": "* EXCLUDE (published_at, digest, source_version)",
            "r": "*",
        }.items():
            assert contents(publisher, table, columns) == contents(theirs, table, columns), table
        described = (
            "SELECT column_name, data_type FROM duckdb_columns()"
            " WHERE table_name = 'r' AND schema_name = 'main'"
        )
        assert publisher.sql(described).fetchall() == theirs.sql(described).fetchall()


@pytest.mark.parametrize(
    "kind", ["interval day to second", "map<int,int>", "void", "variant", "string collate UTF8_LCASE"]
)  # fmt: skip
def test_types_that_are_refused(spark: SparkSession, kind: str) -> None:
    schema = spark.sql(f"SELECT CAST(NULL AS {kind}) AS x").schema if kind != "void" else None
    found = schema["x"].dataType if schema else spark.sql("SELECT NULL AS x").schema["x"].dataType
    with pytest.raises(PrivError, match="Spark and DuckDB write differently"):
        duckdb_type("x", found)


def test_types_that_are_given() -> None:
    for name, kind in OF_DUCKDB.items():
        assert given_type("x", name.lower(), kind) == name
    for name in ("HUGEINT", "TIME", "UUID", "TIMESTAMP_NS", "INTERVAL", "no type"):
        with pytest.raises(PrivError):
            given_type("x", name, OF_DUCKDB["BIGINT"])
