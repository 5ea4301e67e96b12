"""Exchanges files between Spark and the driver: in a folder that both see, or in a store with a local copy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from duckdb_priv.spark.files import OURS, counting, escaped, require_seen
from duckdb_priv.spark.hadoop import Store


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
        with counting(frame) as (counted, handed_over):
            counted.write.options(**options).parquet(self._in_spark(name))
        folder = self.here / name
        if self.store is not None:
            self.store.fetch(name, folder)
        require_seen(folder, handed_over(), str(self.store.uri if self.store else self.here))
        return folder

    def read(self, folder: Path) -> DataFrame:
        """Read Parquet files of this package with Spark, independent of the session's settings for other files."""
        name = str(folder.relative_to(self.here))
        if self.store is not None and not self.store.exists(name):
            self.store.send(folder, name)
        return self.session.read.options(**OURS).parquet(escaped(self._in_spark(name)))

    def _in_spark(self, name: str) -> str:
        return f"file://{self.here / name}" if self.store is None else self.store.uri_of(name)
