"""Exchanges Parquet files between Spark and the driver: in a folder that both see, or in a store with a local copy.

The names of folders may contain any characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as f

from duckdb_priv.errors import PublicationFailed, echoed
from duckdb_priv.spark.hadoop import Store
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


@dataclass(frozen=True)
class Transfer:
    """A folder for files that Spark and the driver exchange."""

    session: Any
    here: Path
    """The folder as the driver's DuckDB sees it."""
    store: Store | None = None
    """The folder in a store that Spark uses instead; None if both use ``here``."""

    def make(self) -> None:
        """Create the folder."""
        self.here.mkdir(parents=True)
        if self.store is not None:
            self.store.make()

    def inside(self, name: str) -> Transfer:
        """Return the subfolder of this name."""
        return Transfer(self.session, self.here / name, self.store and self.store.inside(name))

    def write(self, frame: DataFrame, name: str, **options: Any) -> Path:
        """Write a frame to Parquet files with Spark; return their folder. Raises PublicationFailed for lost rows."""
        # If a task fails or runs twice, only the accepted run counts.
        observed = Observation()
        counted = frame.observe(observed, f.count(f.lit(1)).alias("rows"))
        counted.write.options(**options).parquet(self._in_spark(name))
        folder = self.here / name
        if self.store is not None:
            self.store.fetch(name, folder)
        require_seen(folder, observed.get["rows"], self.store.uri if self.store else str(self.here))
        return folder

    def read(self, folder: Path) -> DataFrame:
        """Read Parquet files of this package with Spark, independent of the session's settings for other files."""
        name = str(folder.relative_to(self.here))
        if self.store is not None and not self.store.exists(name):
            self.store.send(folder, name)
        return self.session.read.options(**OURS).parquet(escaped(self._in_spark(name)))

    def _in_spark(self, name: str) -> str:
        return f"file://{self.here / name}" if self.store is None else self.store.uri_of(name)
