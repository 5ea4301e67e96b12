"""Different ids are counted exactly, wherever equal ones are and whatever they hash to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

import duckdb_priv.spark
from duckdb_priv.publisher.check import examination
from duckdb_priv.spark import source

pytestmark = pytest.mark.usefixtures("plain")

IDS = {
    "numbers beside each other": ["id - 1500"],
    "numbers far from each other": ["id * 1000003 - 4e18::bigint"],
    "texts": ["ward"],
    "two columns": ["score", "id"],
}


@pytest.mark.parametrize("name", IDS)
def test_every_id_that_occurs_twice_is_found(
    name: str, persons: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = [f.col(f"key{n}") for n in range(len(IDS[name]))]
    keys = persons.selectExpr("id", *(f"{each} AS key{n}" for n, each in enumerate(IDS[name])))
    monkeypatch.setattr(source, "IDS_OF_BLOCK", 100)
    monkeypatch.setattr(source, "IDS_OF_TASK", 500)
    with_id = keys.union(keys.limit(2).withColumn("key0", f.lit(None)))
    ends = (
        ()
        if len(columns) > 1 or name == "texts"
        else with_id.agg(f.min("key0"), f.max("key0")).first()
    )
    assert source.count_distinct(with_id, columns, 3000, ends) == 3000
    again = with_id.union(keys.where("id IN (7, 2999)"))
    assert source.count_distinct(again, columns, 3002, ends) == 3000
    assert source.count_distinct(with_id.where("id < 0"), columns, 0, ends and (None, None)) == 0


def test_ids_with_equal_hashes_are_distinguished(
    persons: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def colliding(columns: Sequence[Column]) -> Column:
        return f.pmod(f.xxhash64(*columns), f.lit(1000))

    monkeypatch.setattr(source, "hashed", colliding)
    assert source.count_distinct(persons, [f.col("ward")], 3000, ()) == 3000


SPELLINGS = """
    SELECT form || n AS code, n % 2 AS part, 'd' || n % 3 AS disease FROM range(30) AS r(n),
        (VALUES ('P7-'), ('p7-'), (' P7-'), ('P007-'), ('P70-'), ('O7-'), ('P-7'), ('P7' || chr(9) || '-')) AS f(form)
"""


@pytest.mark.parametrize("classes", [1, 3])
def test_ids_that_differ_in_case_blanks_or_zeros_are_warned_of(
    classes: int,
    spark: SparkSession,
    publisher: duckdb.DuckDBPyConnection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both engines find the same; of very many ids they look at others, and find about as many."""
    publisher.execute(f"CREATE TABLE codes AS {SPELLINGS}")
    publisher.execute(f"COPY codes TO '{tmp_path}/codes.parquet'")
    monkeypatch.setattr(examination, "CLASSES", 240 // classes)
    arguments = {"sensitive": "disease", "record_id": ["code", "part"], "epsilon": 1.0}
    frame = spark.read.parquet(f"{tmp_path}/codes.parquet")
    receipt = duckdb_priv.spark.publish(
        publisher, frame, "uniform", source="codes", release="r", path=tmp_path / "r", **arguments
    )
    ((reported,),) = publisher.execute(
        "SELECT warnings FROM priv.publish_uniform('codes', 's', sensitive := 'disease',"
        " record_id := ['code', 'part'], epsilon := 1.0)"
    ).fetchall()
    number = {1: "120", 3: "about "}[classes]
    for warnings in (receipt["warnings"], reported):
        (warning,) = (each for each in warnings if "upper and lower case" in each)
        assert warning.startswith(number)
    assert classes > 1 or receipt["warnings"] == reported
