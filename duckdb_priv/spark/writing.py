"""Writes a release's rows as Parquet files, whose bytes do not depend on the source's partitions, order or retries.

A hash of a row's published values decides its file, and the rows of a file are sorted by all columns. So neither the
files nor their order reveal the order of the source. Small columns are packed while Spark moves and sorts the rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from duckdb_priv.engine.kernel import RECORDS, Kernel
from duckdb_priv.errors import PublicationFailed
from duckdb_priv.publisher import placing
from duckdb_priv.spark.files import Transfer
from duckdb_priv.spark.frame import SparkFrame, column, orderings
from duckdb_priv.spark.packing import Packing
from duckdb_priv.spark.settings import configured
from duckdb_priv.spark.tasks import Perturb, in_tasks
from duckdb_priv.spark.types import in_spark_types
from duckdb_priv.sqltext.reading import select
from duckdb_priv.sqltext.templates import place

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
    *others, last = zip(kernel.stages, described, strict=True)
    rows_of = frame.records(kernel.stages[0].reads)
    for stage, types in others:
        rows_of = _through(frame, rows_of, stage, types, rows)
    stage, types = last
    packing = Packing.of(types)
    moved = _through(frame, rows_of, packing.packed(stage), packing.types, rows)
    if frame.earlier is not None:
        earlier = frame.transfer.read(frame.earlier).select(*map(column, types))
        as_they_are = Kernel(types, select(["*"], place(RECORDS)))
        moved = moved.union(
            _through(frame, earlier, packing.packed(as_they_are), packing.types, rows)
        )
    ordered = _ordered(moved, 1 + rows // ROWS_OF_FILE)
    published = ordered.select(*packing.unpacked(frame.schema_of(types)))
    limits = {f"parquet.{of}.row.count.limit": ROWS_OF_GROUP for of in ("block", "page")}
    with configured(frame.rows_of.sparkSession, CONFIGURATION):
        folder = transfer.write(published, DATA, compression="zstd", **limits)
    for file in sorted(folder.iterdir()):
        if found := PART.fullmatch(file.name):
            sort_encodings(file.rename(file.with_name(f"part-{found[1]}.parquet")))
        else:
            placing.remove(file)


def _through(
    frame: SparkFrame, records: DataFrame, stage: Kernel, types: Mapping[str, str], rows: int
) -> DataFrame:
    """Run a stage in the tasks. ``types`` are the DuckDB types of its output."""
    moved = _together(records, stage, 1 + rows // ROWS_OF_TASK)
    work = Perturb(in_spark_types(stage, types), frame.setting)
    return in_tasks(moved, work, frame.schema_of(types))


def _together(records: DataFrame, stage: Kernel, tasks: int) -> DataFrame:
    """Repartition the records so that records which a stage needs together are in one task."""
    if stage.together is None:
        return records
    if not stage.together:
        return records.coalesce(1)
    columns = list(map(column, stage.together))
    met = records.repartition(tasks, *columns)
    return met.sortWithinPartitions(*columns) if stage.alone else met


def _ordered(moved: DataFrame, files: int) -> DataFrame:
    names = [column(name) for name in moved.columns]
    return moved.repartition(files, *names).sortWithinPartitions(*orderings(moved.schema))


MAGIC = b"PAR1"
ENCODINGS = (4, 1, 3, 2)
"""The path of fields to a column's encodings: row groups, columns, metadata, encodings."""
WIDTHS = {1: 0, 2: 0, 3: 1, 7: 8, 13: 16}
"""Bytes of fixed-width fields by their Thrift type: true and false, byte, double, UUID."""
NUMBERS = (4, 5, 6)
BINARY, LIST, SET, MAP, STRUCT = 8, 9, 10, 11, 12
LONG = 15
"""The value of the length's four bits if a list is too long for them."""


def sort_encodings(file: Path) -> None:
    """Sort the encodings of every column in a Parquet file's footer, so that equal rows give equal files.

    Spark's writer keeps the encodings of a column in a Java set, whose order differs between processes. So files of the
    same rows and pages differ in three bytes per column if different executors write them. The encodings are sorted in
    place, and no other byte changes.
    Source: https://parquet.apache.org/docs/file-format/metadata/, and the compact protocol of Apache Thrift.
    """
    with file.open("r+b") as opened:
        opened.seek(-8, os.SEEK_END)
        size, magic = int.from_bytes(opened.read(4), "little"), opened.read(4)
        if magic != MAGIC:
            raise PublicationFailed(
                "Spark wrote files that have encrypted footers or are not Parquet files",
                hint="nothing was recorded; switch off the encryption of Parquet files for this session",
            )
        opened.seek(-8 - size, os.SEEK_END)
        footer = Footer(bytearray(opened.read(size)))
        footer.visit(STRUCT)
        opened.seek(-8 - size, os.SEEK_END)
        opened.write(footer.data)


class Footer:
    """A footer in Thrift's compact protocol, parsed from its beginning to its end.

    >>> footer = Footer(bytearray.fromhex("491c191c3c293508040600000000"))
    >>> footer.visit(STRUCT)
    >>> footer.data.hex()
    '491c191c3c293504060800000000'
    """

    def __init__(self, data: bytearray) -> None:
        self.data, self.place = data, 0

    def visit(self, kind: int, path: tuple[int, ...] = ()) -> None:
        """Skip the value at the path of field numbers ``path``, and sort the encodings in it."""
        if kind == STRUCT:
            field = 0
            while header := self._byte():
                field = field + (header >> 4) if header >> 4 else self._number() >> 1
                self.visit(header & 15, (*path, field))
        elif kind in (LIST, SET):
            header = self._byte()
            self._visit_all(
                self._number() if header >> 4 == LONG else header >> 4, [header & 15], path
            )
        elif kind == MAP:
            if size := self._number():
                kinds = self._byte()
                self._visit_all(size, [kinds >> 4, kinds & 15], path)
        elif kind in NUMBERS:
            self._number()
        else:
            width = self._number() if kind == BINARY else WIDTHS[kind]
            self.place += width

    def _visit_all(self, size: int, kinds: list[int], path: tuple[int, ...]) -> None:
        begin = self.place
        for _ in range(size):
            for kind in kinds:
                # A boolean is in the header of a field, but takes one byte in a list.
                self.visit(max(kind, 3), path)
        if path == ENCODINGS:
            # Each encoding takes one byte.
            self.data[begin : self.place] = bytes(sorted(self.data[begin : self.place]))

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _number(self) -> int:
        found = shift = 0
        while (byte := self._byte()) & 128:
            found |= (byte & 127) << shift
            shift += 7
        return found | byte << shift
