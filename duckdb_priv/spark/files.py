"""Reads and writes folders of Parquet files in DuckDB and Spark. Their names may contain any characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as f

from duckdb_priv.errors import PublicationFailed, echoed
from duckdb_priv.sqltext.quoting import literal

PARQUET = "*.parquet"
OURS = {
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
}
"""Spark's options for our files: dates are Gregorian, and a missing or damaged file is an error."""


def in_duckdb(folder: Path, files: str = PARQUET) -> str:
    """Write DuckDB's read_parquet() call for the files of a folder, with the folder's pattern characters escaped.

    >>> in_duckdb(Path("/a*b"))
    "read_parquet('/a[*]b/*.parquet')"
    """
    escaped = re.sub(r"([*?\[])", r"[\1]", str(folder))
    return f"read_parquet({literal(f'{escaped}/{files}')})"


def escaped(path: str) -> str:
    """Escape the pattern characters of a path for Spark.

    >>> escaped("file:///a*b")
    'file:///a\\\\*b'
    """
    return re.sub(r"([*?{}\[\],\\])", r"\\\1", path)


@contextmanager
def counting(frame: DataFrame) -> Iterator[tuple[DataFrame, Callable[[], int]]]:
    """Return a frame whose rows are counted while they are written, and a function that returns the count afterwards.

    If a task fails or runs twice, only the accepted run counts.
    """
    observed = Observation()
    yield frame.observe(observed, f.count(f.lit(1)).alias("rows")), lambda: observed.get["rows"]


def require_seen(folder: Path, handed_over: int, place: str) -> None:
    """Raise PublicationFailed if the driver cannot see all rows that the executors wrote."""
    files = list(folder.glob(PARQUET))
    seen = sum(pq.read_metadata(each).num_rows for each in files)
    if not files or seen != handed_over:
        raise PublicationFailed(
            f"the driver sees {seen:,} of the {handed_over:,} rows that the executors wrote into"
            f" {echoed(place)}",
            hint="nothing was recorded; give a path in a folder that the driver and all executors share",
        )
