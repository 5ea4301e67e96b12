"""Folders of Parquet files as each engine reads them, whatever characters their names have."""

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
"""Dates are of the Gregorian calendar, and an executor that does not see a file must not take it for empty."""


def in_duckdb(folder: Path, files: str = PARQUET) -> str:
    """Write how the files of a folder are read by DuckDB, which would take the folder for a pattern.

    >>> in_duckdb(Path("/a*b"))
    "read_parquet('/a[*]b/*.parquet')"
    """
    escaped = re.sub(r"([*?\[])", r"[\1]", str(folder))
    return f"read_parquet({literal(f'{escaped}/{files}')})"


def escaped(path: str) -> str:
    """Write how Spark reads a file or a folder, which it would take for a pattern, too.

    >>> escaped("file:///a*b")
    'file:///a\\\\*b'
    """
    return re.sub(r"([*?{}\[\],\\])", r"\\\1", path)


@contextmanager
def counting(frame: DataFrame) -> Iterator[tuple[DataFrame, Callable[[], int]]]:
    """Give a frame whose rows are counted while they are written, and what returns their number afterwards.

    Tasks that fail, or are begun twice, count once: Spark takes the count of the one that it accepts.
    """
    observed = Observation()
    yield frame.observe(observed, f.count(f.lit(1)).alias("rows")), lambda: observed.get["rows"]


def require_seen(folder: Path, handed_over: int, place: str) -> None:
    """Raise PublicationFailed where executors wrote rows into folders that the driver does not see."""
    files = list(folder.glob(PARQUET))
    seen = sum(pq.read_metadata(each).num_rows for each in files)
    if not files or seen != handed_over:
        raise PublicationFailed(
            f"the driver sees {seen:,} of the {handed_over:,} rows that the executors wrote into"
            f" {echoed(place)}",
            hint="nothing was recorded; give a path in a folder that the driver and all executors share",
        )
