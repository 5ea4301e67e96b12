"""The rows of a release as Parquet files: the same bytes, however the source was divided, ordered and retried.

A row goes into a file by a hash of what is published of it, and the rows of a file are ordered by all their columns. So
neither the files nor their order say anything of the source's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.errors import PublicationFailed, echoed
from duckdb_priv.spark.aggregates import column
from duckdb_priv.spark.frame import SparkFrame, orderings
from duckdb_priv.spark.tasks import Perturb, task
from duckdb_priv.spark.types import spark_type
from duckdb_priv.sqltext.quoting import in_types

DATA = "data"
"""The folder of the files."""
FILES = f"{DATA}/*.parquet"
ROWS_OF_FILE = 2_000_000
"""Rows of a file, on average: a number of files that hangs on nothing else than the number of rows."""
CONFIGURATION = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.files.maxRecordsPerFile": "0",
}
"""What decides how Spark writes values into Parquet files."""
PART = re.compile(r"part-(\d+)-.*\.parquet")


def published_types(
    kernel: Kernel, described: Mapping[str, str], frame: SparkFrame
) -> spark.StructType:
    """Return the schema of the rows that a kernel gives: columns of the source keep Spark's type of them."""
    known = {each.name: each.dataType for each in frame.rows_of.schema.fields}
    return spark.StructType(
        [
            spark.StructField(
                name,
                known[name] if name in known and frame.types[name] == kind else spark_type(kind),
            )
            for name, kind in described.items()
        ]
    )


def in_spark_types(kernel: Kernel, described: Mapping[str, str]) -> Kernel:
    """Give texts where DuckDB has dictionaries, and wider numbers where Spark has no narrow ones."""
    wider = {"UTINYINT": "SMALLINT", "USMALLINT": "INTEGER", "UINTEGER": "BIGINT"}
    casts = {
        name: "VARCHAR"
        if kind.startswith("ENUM")
        else "DECIMAL(20,0)"
        if kind == "UBIGINT"
        else "TIMESTAMP"
        if kind in ("TIMESTAMP_S", "TIMESTAMP_MS")
        else wider.get(kind, kind)
        for name, kind in described.items()
    }
    return replace(kernel, select=f"SELECT {in_types(casts)} FROM ({kernel.select})")


def write_rows(
    frame: SparkFrame, kernel: Kernel, described: Mapping[str, str], rows: int, folder: Path
) -> None:
    """Write the published rows of a frame into files of a folder, which the executors must see as the driver does."""
    work = Perturb(in_spark_types(kernel, described), frame.setting)
    schema = published_types(kernel, described, frame)
    records = frame.rows_of.select(*map(column, kernel.reads))
    if not kernel.alone:
        # Records that a row depends on must meet in one task.
        together = list(map(column, kernel.together or ()))
        records = records.repartition(*together) if together else records.coalesce(1)
    published = records.mapInArrow(task(work), schema)
    with _configured(frame.rows_of.sparkSession):
        _ordered(published, 1 + rows // ROWS_OF_FILE).write.option("compression", "zstd").parquet(
            f"file://{folder / DATA}"
        )
    parts = sorted((folder / DATA).iterdir()) if (folder / DATA).is_dir() else []
    for file in parts:
        if found := PART.fullmatch(file.name):
            file.rename(file.with_name(f"part-{found[1]}.parquet"))
        else:
            file.unlink()
    if not any(map(PART.fullmatch, (file.name for file in parts))):
        raise PublicationFailed(
            f"the driver does not see what the executors wrote into {echoed(str(folder))}",
            hint="nothing was recorded; give a path in a folder that all of them share",
        )


def _ordered(published: DataFrame, files: int) -> DataFrame:
    names = [column(name) for name in published.columns]
    return published.repartition(files, *names).sortWithinPartitions(*orderings(published.schema))


@contextmanager
def _configured(session: SparkSession) -> Iterator[None]:
    """Set how values are written, and set it back."""
    before = {name: session.conf.get(name, None) for name in CONFIGURATION}
    try:
        for name, value in CONFIGURATION.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, earlier)
