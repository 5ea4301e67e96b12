"""Changes settings of a Spark session during a publication, and restores them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark

RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
UNCOUNTED = 2**31 - 1
"""A limit of a batch's bytes that is so high that Spark does not count them."""
BATCH = 2**26
"""The largest size of a batch in bytes: Spark's default."""
NUMBER = 16
"""The most bytes of a field in a record, without the bytes of its text."""
NESTED = (spark.ArrayType, spark.StructType, spark.MapType)


@contextmanager
def configured(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session, and restore them at the end."""
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


def by_records(records: DataFrame, longest: int) -> dict[str, str]:
    """Return settings that limit batches by their number of records instead of their bytes.

    ``longest`` is the most bytes of a record's texts.

    Spark's own limit sums the bytes of all columns again for every record. That is the slowest part of passing records
    to the tasks. The number of records is chosen such that no batch exceeds BATCH bytes. For lists and structs, Spark's
    own limit stays in force.
    """
    fields = records.schema.fields
    if any(isinstance(each.dataType, NESTED) for each in fields):
        return {}
    most = BATCH // (longest + NUMBER * len(fields))
    allowed = int(records.sparkSession.conf.get(RECORDS) or 0)
    return {
        RECORDS: str(max(1, min(most, allowed) if allowed > 0 else most)),
        BYTES: str(UNCOUNTED),
    }
