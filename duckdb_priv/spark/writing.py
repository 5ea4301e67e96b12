"""The rows of a release as Parquet files: the same bytes, however the source was divided, ordered and retried.

A row goes into a file by a hash of what is published of it, and the rows of a file are ordered by all their columns. So
neither the files nor their order say anything of the source's.
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
"""The folder of the files."""
FILES = f"{DATA}/*.parquet"
ROWS_OF_FILE = 2_000_000
"""Rows of a file, on average: so the number of files depends on the number of rows only."""
ROWS_OF_GROUP = 122_880
"""Rows of a row group at most: by bytes they are fewer where several files are written at a time in little memory.
Pages of its columns end with it: DuckDB reads rows on both sides of the end of a page without their dictionary."""
ROWS_OF_TASK = 500_000
"""Records that meet in a task which needs them together, on average."""
CONFIGURATION = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.files.maxRecordsPerFile": "0",
    # Dates before 1582 as they are: legacy files hold others, ten days away.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}
"""What decides how Spark writes values into Parquet files."""
PART = re.compile(r"part-(\d+)-.*\.parquet")


def published_types(described: Mapping[str, str], frame: SparkFrame) -> spark.StructType:
    """Return the schema of the rows that a kernel gives: lists and structs of the source keep Spark's type of them."""
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
    """Write the published rows of a frame into files of a folder that the driver sees.

    ``described`` are the types of what each stage of the kernel gives. Rows that exist already come beside them.
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
    """Let the records meet in one task that a stage needs together."""
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
