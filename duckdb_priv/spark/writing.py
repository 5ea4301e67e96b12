"""Writes a release's rows as Parquet files, whose bytes do not depend on the source's partitions, order or retries.

A hash of a row's published values decides its file, and the rows of a file are sorted by all columns. So neither the
files nor their order reveal the order of the source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import types as spark

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.publisher import placing
from duckdb_priv.spark.footers import sort_encodings
from duckdb_priv.spark.frame import SparkFrame, column, orderings
from duckdb_priv.spark.settings import configured
from duckdb_priv.spark.tasks import Perturb, in_spark_types, in_tasks
from duckdb_priv.spark.transfer import Transfer
from duckdb_priv.spark.types import carried_type, spark_type

DATA = "data"
"""The folder of the Parquet files."""
FILES = f"{DATA}/*.parquet"
ROWS_OF_FILE = 2_000_000
"""Average rows of a file. The number of files depends only on the number of rows."""
ROWS_OF_GROUP = 122_880
"""The largest number of rows of a row group and of a page. Spark's limit in bytes would depend on the free memory.
Pages end with their row group, because DuckDB reads a vector across two pages without the dictionary."""
ROWS_OF_TASK = 500_000
"""Average records of a task, for stages that need groups of records together."""
CONFIGURATION = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.files.maxRecordsPerFile": "0",
    # Dates before 1582 are not shifted to the legacy calendar, which differs by ten days.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}
"""Spark's settings that decide how values are written to Parquet files."""
PART = re.compile(r"part-(\d+)-.*\.parquet")


def published_types(described: Mapping[str, str], frame: SparkFrame) -> spark.StructType:
    """Return Spark's schema of a kernel's output. Lists and structs of the source keep their Spark type."""
    known = {each.name: each.dataType for each in frame.rows_of.schema.fields}
    return spark.StructType(
        [
            spark.StructField(
                name,
                carried_type(kind, known[name])
                if name in known and frame.types[name] == kind
                else spark_type(kind),
            )
            for name, kind in described.items()
        ]
    )


def write_rows(
    frame: SparkFrame,
    kernel: Kernel,
    described: Sequence[Mapping[str, str]],
    rows: int,
    transfer: Transfer,
) -> None:
    """Write the published rows of a frame to files of a folder that the driver can read.

    ``described`` holds the column types of each stage's output. Rows of the release that exist already are added.
    """
    published = frame.records(kernel.stages[0].reads)
    for stage, types in zip(kernel.stages, described, strict=True):
        work = Perturb(in_spark_types(stage, types), frame.setting)
        moved = _together(published, stage, 1 + rows // ROWS_OF_TASK)
        published = in_tasks(moved, work, published_types(types, frame))
    if frame.earlier is not None:
        earlier = frame.transfer.read(frame.earlier)
        published = published.unionByName(
            earlier.select(
                *(
                    column(each.name).cast(each.dataType).alias(each.name)
                    for each in published.schema
                )
            )
        )
    ordered = _ordered(published, 1 + rows // ROWS_OF_FILE)
    limits = {f"parquet.{of}.row.count.limit": ROWS_OF_GROUP for of in ("block", "page")}
    with configured(frame.rows_of.sparkSession, CONFIGURATION):
        place = transfer.write(ordered, DATA, compression="zstd", **limits)
    for file in sorted(place.iterdir()):
        if found := PART.fullmatch(file.name):
            sort_encodings(file.rename(file.with_name(f"part-{found[1]}.parquet")))
        else:
            placing.remove(file)


def _together(records: DataFrame, stage: Kernel, tasks: int) -> DataFrame:
    """Repartition the records so that records which a stage needs together are in one task."""
    if stage.together is None:
        return records
    if not stage.together:
        return records.coalesce(1)
    columns = list(map(column, stage.together))
    met = records.repartition(tasks, *columns)
    return met.sortWithinPartitions(*columns) if stage.alone else met


def _ordered(published: DataFrame, files: int) -> DataFrame:
    names = [column(name) for name in published.columns]
    return published.repartition(files, *names).sortWithinPartitions(*orderings(published.schema))
