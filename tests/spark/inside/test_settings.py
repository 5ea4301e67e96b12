"""Batches for tasks are as small as Spark makes them by itself, though it does not count their bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from duckdb_priv.spark import settings
from duckdb_priv.spark.frame import longest
from duckdb_priv.spark.settings import BATCH, BYTES, RECORDS, UNCOUNTED, configured
from duckdb_priv.spark.tasks import in_tasks


def by_records(records: DataFrame) -> dict[str, str]:
    ((length,),) = records.agg(longest(records)).collect()
    return settings.by_records(records, length)


def sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.record_batch({"records": [batch.num_rows], "bytes": [batch.nbytes]})


@pytest.mark.parametrize("text", ["repeat('x', 100000)", "cast(repeat('ü', 50000) as binary)"])
def test_long_records_come_in_small_batches(
    text: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "BATCH", 1_000_000)
    long = spark.range(1, 101, numPartitions=1).selectExpr("id", f"{text} AS `a.b`", "'é' AS c")
    with configured(spark, by_records(long)):
        found = in_tasks(long, sizes, "records bigint, bytes bigint").collect()
    assert {row.records for row in found[:-1]} == {9}
    assert sum(row.records for row in found) == 100
    assert max(row.bytes for row in found) <= 1_000_000


def test_short_records_come_in_as_many_as_the_session_says(
    persons: DataFrame, spark: SparkSession
) -> None:
    plain = persons.select("id", "ward")
    assert by_records(plain) == {RECORDS: "10000", BYTES: str(UNCOUNTED)}
    with configured(spark, {RECORDS: "100"}):
        assert by_records(plain)[RECORDS] == "100"
    with configured(spark, {RECORDS: "0"}):
        assert 0 < int(by_records(plain)[RECORDS]) < BATCH
    assert by_records(plain.withColumn("ward", f.lit(None).cast("string")))[RECORDS] == "10000"


def test_bytes_of_nested_columns_are_counted_as_ever(persons: DataFrame) -> None:
    assert by_records(persons.select("id", f.array("id").alias("ids"))) == {}
