"""What a publication sets in a session of Spark while it runs, and sets back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from operator import add

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as spark

from duckdb_priv.spark.frame import column

RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
UNCOUNTED = 2**31 - 1
"""As many bytes of a batch as let Spark not count them."""
BATCH = 2**26
"""Bytes of a batch at most, as Spark has it by default."""
NUMBER = 16
"""Bytes that anything takes in a record besides those of a text, at most."""
LONG = (spark.StringType, spark.BinaryType)
NESTED = (spark.ArrayType, spark.StructType, spark.MapType)


@contextmanager
def configured(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set settings, and set them back."""
    before = {name: session.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, earlier)


def by_records(records: DataFrame) -> dict[str, str]:
    """Return settings that end the batches of tasks after so many records that none exceeds its bytes.

    Spark by itself adds up the bytes of all columns again for every record, which takes longer than anything else that
    it does to pass records on. Where columns hold lists or structs it goes on so.
    """
    fields = records.schema.fields
    if any(isinstance(each.dataType, NESTED) for each in fields):
        return {}
    longest = 0
    if texts := [each.name for each in fields if isinstance(each.dataType, LONG)]:
        ((found,),) = records.agg(f.max(reduce(add, map(_bytes, texts)))).collect()
        longest = found or 0
    most = BATCH // (longest + NUMBER * len(fields))
    allowed = int(records.sparkSession.conf.get(RECORDS) or 0)
    return {
        RECORDS: str(max(1, min(most, allowed) if allowed > 0 else most)),
        BYTES: str(UNCOUNTED),
    }


def _bytes(name: str) -> Column:
    return f.coalesce(f.octet_length(column(name)).cast("bigint"), f.lit(0))
