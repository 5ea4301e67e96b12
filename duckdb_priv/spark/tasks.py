"""What runs inside the tasks of Spark: a DuckDB of one thread that works on the records as they come.

Tasks are handed what they need and nothing else: the derived keys of a release are in its kernel, the secret stays
with the publisher. What goes wrong is said without any value, since Spark writes it into its logs.
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
from duckdb_priv.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Batches = Iterator[pa.RecordBatch]

OPTIMIZERS = "join_order,build_side_probe_side"
"""What DuckDB must not do in a task: it does not know how long a stream is, and might keep it in memory."""


@dataclass(frozen=True)
class Setting:
    """What every task must find as it is where the release was planned."""

    timezone: str
    duckdb: str = duckdb.__version__
    library: str = __version__

    def check(self) -> None:
        """Raise PublicationFailed where a task has other versions."""
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
    """Open the DuckDB of a task. What DuckDB says of values is not passed on."""
    setting.check()
    try:
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute(f"SET TimeZone = {literal(setting.timezone)}")
            connection.execute(f"SET disabled_optimizers = {literal(OPTIMIZERS)}")
            yield connection
    except duckdb.Error as error:
        raise PublicationFailed(
            f"a task of Spark ended in a {type(error).__name__} of DuckDB, whose text may quote a value",
            hint="nothing was recorded; look whether every value fits the type of its column",
        ) from None


def _reader(batches: Batches) -> pa.RecordBatchReader | None:
    """Give the batches of a task to DuckDB, one after the other."""
    first = next(batches, None)
    if first is None:
        return None

    def all_of_them() -> Batches:
        yield first
        yield from batches

    return pa.RecordBatchReader.from_batches(first.schema, all_of_them())


@dataclass(frozen=True)
class Perturb:
    """Give the published rows of the records of a partition."""

    kernel: Kernel
    setting: Setting

    def __call__(self, batches: Batches) -> Batches:
        """Run the kernel over the batches."""
        if (reader := _reader(batches)) is not None:
            with opened(self.setting) as connection:
                yield from self.kernel.run(connection, reader)


@dataclass(frozen=True)
class Ask:
    """Give what a query counts in every piece of a partition, to be added up."""

    kernel: Kernel
    """Its query is asked of every piece by itself."""
    setting: Setting

    def __call__(self, batches: Batches) -> Batches:
        """Ask piece by piece."""
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
    """Return what the tasks make of records, whatever their columns are called.

    PySpark hands columns over by names in which dots, backticks and stars mean something, so it is given plain ones.
    """
    plain = records.toDF(*(f"column{place}" for place in range(len(records.columns))))
    return plain.mapInArrow(_named(work, records.columns), schema)


def _named(work: Callable[[Batches], Batches], names: Sequence[str]) -> Callable[[Any], Any]:
    """Return a function as Spark takes it."""

    def run(batches: Any) -> Any:
        return work(batch.rename_columns(names) for batch in batches)

    return run


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


def read_sql(types: Mapping[str, str]) -> str:
    """Write how the stream of a task is read with the types of the source."""
    return f"(SELECT {in_types(types) or '*'} FROM {STREAM})"
