"""Runs kernels inside the tasks of Spark, with a DuckDB of one thread that reads the records as a stream.

A kernel contains the derived keys of its release; the secret never leaves the driver. Error messages contain no value,
since Spark writes them to its logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from duckdb_priv.engine.kernel import Kernel, Table
from duckdb_priv.errors import PublicationFailed
from duckdb_priv.sqltext.quoting import literal
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
            # Kernels run on cursors, which take over settings of the database only.
            connection.execute(f"SET GLOBAL TimeZone = {literal(setting.timezone)}")
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
    """Runs a kernel over a partition's records.

    A kernel that gathers counts each piece of a partition separately; the caller adds the results.
    """

    kernel: Kernel
    setting: Setting

    def __call__(self, batches: Batches) -> Batches:
        """Run the kernel over the batches."""
        if (reader := _reader(batches)) is not None:
            with opened(self.setting) as connection:
                yield from self.kernel.run(connection, reader)


SUMMED = 28
"""Bits of a hash that are added up: few enough that the sum of a table does not overflow."""


@dataclass
class Digest:
    """The digest of rows by their 64-bit hashes, which does not depend on the order of the rows.

    >>> digest = Digest()
    >>> digest.add(np.array([5, -1]))
    >>> str(digest)
    '2/-6/268435460/268435455'
    """

    rows: int = 0
    parity: int = 0
    """The XOR of the hashes."""
    low: int = 0
    """The sum of their last SUMMED bits."""
    high: int = 0
    """The sum of their first SUMMED bits."""

    def add(self, hashes: NDArray[np.int64]) -> None:
        """Add rows."""
        self.rows += len(hashes)
        self.parity ^= int(np.bitwise_xor.reduce(hashes, initial=0))
        self.low += int((hashes & ((1 << SUMMED) - 1)).sum())
        self.high += int((hashes.view(np.uint64) >> np.uint64(64 - SUMMED)).sum())

    def __str__(self) -> str:
        return f"{self.rows}/{self.parity}/{self.low}/{self.high}"


ENCLOSED = "answer binary, rows bigint, parity bigint, low bigint, high bigint"
"""The columns of enclosed results."""


@dataclass(frozen=True)
class Enclose:
    """Returns each batch of a kernel's rows as one value, so that Spark converts no rows.

    The last column of the records is the hash of the whole record. The digest of a partition is in the last row.
    """

    perturb: Perturb

    def __call__(self, batches: Batches) -> Batches:
        """Run the kernel over the batches."""
        digest = Digest()

        def counted() -> Batches:
            for batch in batches:
                digest.add(batch.column(batch.num_columns - 1).to_numpy())
                yield batch.select(range(batch.num_columns - 1))

        for answer in self.perturb(counted()):
            packed = Table.of(dict(zip(answer.schema.names, answer.columns, strict=True)))
            yield _enclosed(packed.data, Digest())
        yield _enclosed(None, digest)


def _enclosed(answer: bytes | None, digest: Digest) -> pa.RecordBatch:
    numbers = {name: [number] for name, number in vars(digest).items()}
    return pa.record_batch({"answer": pa.array([answer], pa.binary()), **numbers})


def disclosed(found: pa.Table) -> tuple[pa.Table, str]:
    """Return the rows of enclosed results, and the digest of the records."""
    tables = [Table(answer).read() for answer in found["answer"].drop_null().to_pylist()]
    parity = int(np.bitwise_xor.reduce(found["parity"].to_numpy(), initial=0))
    rows, low, high = (sum(found[name].to_pylist()) for name in ("rows", "low", "high"))
    return pa.concat_tables(tables), str(Digest(rows, parity, low, high))


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
