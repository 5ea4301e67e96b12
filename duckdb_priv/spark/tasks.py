"""Runs kernels inside the tasks of Spark, with a DuckDB of one thread that reads the records as a stream.

A kernel contains the derived keys of its release; the secret never leaves the driver. Error messages contain no value,
since Spark writes them to its logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from duckdb_priv.engine.kernel import STREAM, Kernel, merged
from duckdb_priv.engine.udfs import register
from duckdb_priv.errors import PublicationFailed
from duckdb_priv.sqltext.quoting import in_types, literal
from duckdb_priv.sqltext.reading import select
from duckdb_priv.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Batches = Iterator[pa.RecordBatch]

OPTIMIZERS = "join_order,build_side_probe_side"
"""Optimizers that are disabled: DuckDB does not know the length of a stream, and might keep the stream in memory."""


@dataclass(frozen=True)
class Setting:
    """The time zone and versions of the driver, which every task must have, too."""

    timezone: str
    duckdb: str = duckdb.__version__
    library: str = __version__

    def check(self) -> None:
        """Raise PublicationFailed if a task has other versions."""
        for name, wanted, found in (
            ("duckdb", self.duckdb, duckdb.__version__),
            ("duckdb_priv", self.library, __version__),
        ):
            if wanted != found:
                raise PublicationFailed(
                    f"Spark's tasks have {name} {found}, and the driver has {wanted}",
                    hint=f"install {name}=={wanted} everywhere",
                )


@contextmanager
def opened(setting: Setting) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB connection for a task. DuckDB's error messages, which may quote values, are replaced."""
    setting.check()
    try:
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute(f"SET TimeZone = {literal(setting.timezone)}")
            connection.execute(f"SET disabled_optimizers = {literal(OPTIMIZERS)}")
            yield connection
    except duckdb.Error as error:
        raise PublicationFailed(
            f"DuckDB raised a {type(error).__name__} in a Spark task; its text may quote a value",
            hint="nothing was recorded; check that every value fits the type of its column",
        ) from None


def _reader(batches: Batches) -> pa.RecordBatchReader | None:
    """Return the batches of a task as an Arrow reader; None if there are none."""
    first = next(batches, None)
    if first is None:
        return None

    def all_of_them() -> Batches:
        yield first
        yield from batches

    return pa.RecordBatchReader.from_batches(first.schema, all_of_them())


@dataclass(frozen=True)
class Perturb:
    """Computes the published rows of a partition's records."""

    kernel: Kernel
    setting: Setting

    def __call__(self, batches: Batches) -> Batches:
        """Run the kernel over the batches."""
        if (reader := _reader(batches)) is not None:
            with opened(self.setting) as connection:
                yield from self.kernel.run(connection, reader)


@dataclass(frozen=True)
class Ask:
    """Runs a query on every piece of a partition separately; the caller adds the results."""

    kernel: Kernel
    setting: Setting

    def __call__(self, batches: Batches) -> Batches:
        """Run the query on each piece."""
        if (reader := _reader(batches)) is None:
            return
        with opened(self.setting) as connection:
            register(connection)
            with self.kernel.opened(connection, read_sql(self.kernel.reads)) as query:
                for piece in merged(reader):
                    connection.register(STREAM, piece)
                    yield from connection.sql(query).to_arrow_table().to_batches()


def in_tasks(
    records: DataFrame, work: Callable[[Batches], Batches], schema: StructType | str
) -> DataFrame:
    """Apply ``work`` to the records inside Spark's tasks; return the resulting frame.

    PySpark interprets dots, backticks and stars in column names, so the columns are renamed on the way.
    """
    plain = records.toDF(*(f"column{place}" for place in range(len(records.columns))))
    return plain.mapInArrow(_named(work, records.columns), schema)


def _named(work: Callable[[Batches], Batches], names: Sequence[str]) -> Callable[[Any], Any]:
    """Wrap ``work`` so that it receives batches with the original column names."""

    def run(batches: Any) -> Any:
        return work(batch.rename_columns(names) for batch in batches)

    return run


def in_spark_types(kernel: Kernel, described: Mapping[str, str]) -> Kernel:
    """Cast a kernel's output to types that Spark has: ENUMs to texts, unsigned to wider signed integers."""
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
    return replace(kernel, select=select([in_types(casts)], f"({kernel.select})"))


def read_sql(types: Mapping[str, str]) -> str:
    """Write the query that reads a task's stream with the types of the source."""
    return f"({select([in_types(types) or '*'], STREAM)})"
