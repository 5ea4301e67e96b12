"""A Spark data frame as a source: its columns in DuckDB's types, and the results of Spark's jobs on it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as spark

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.source import (
    Source,
    columns_of_roles,
)
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, PublicationFailed, UnknownName
from duckdb_priv.release.request import Request, Roles
from duckdb_priv.spark.files import Transfer
from duckdb_priv.spark.plans import source_version
from duckdb_priv.spark.tasks import SUMMED, Digest, Perturb, Setting, in_tasks
from duckdb_priv.spark.types import (
    carried_type,
    duckdb_type,
    given_type,
    has_floats,
    in_spark_types,
    spark_type,
)
from duckdb_priv.sqltext.quoting import literal

T = TypeVar("T")
READ = ("DataFrame", "SparkSession")
"""The classes of sources: a frame, or a session whose catalog has the table."""
HASH = "_priv_hash"
"""The column of the hashes of whole records."""


def column(name: str) -> Column:
    """Return a column by its name, which may contain any characters."""
    return f.col("`" + name.replace("`", "``") + "`")


@dataclass(frozen=True)
class FirstReading:
    """What the first reading of the records counts."""

    rows: int
    with_id: int
    longest: int
    """The most bytes of a record's texts."""
    nans: Mapping[str, int]
    """The records that are nan, by sensitive column of floating-point numbers."""
    ends: tuple[int | None, ...]
    """The lowest and the highest id, if an id is a single whole number."""


@dataclass
class SparkFrame:
    """A Spark frame with the results of its jobs, which run once although a publication is planned twice."""

    rows_of: DataFrame
    """The frame, in which nan and zero each have only one representation."""
    types: Mapping[str, str]
    """The DuckDB types of the columns."""
    roles: Roles
    """The columns of each role."""
    version: str | None
    """The version of the tables that the frame reads."""
    setting: Setting
    transfer: Transfer
    """A folder for files that Spark and DuckDB exchange, since their size grows with the records."""
    results: dict[tuple[object, ...], Any] = field(default_factory=dict, repr=False)
    """What ``once`` returned, by key."""
    contents: dict[tuple[str, ...], str] = field(default_factory=dict)
    """The digest of the rows from their first reading, by the columns that are read."""
    read_again: bool = False
    """Whether all rows were read again and were the same."""
    entering: DataFrame | None = None
    """The records to publish, if the release already has other records."""
    known: str = ""
    """A digest of the records that the release already has."""
    earlier: Path | None = None
    """The folder of the rows that the release already has."""

    def enter_all(self) -> None:
        """Reset the choice of records: all records of the frame are published."""
        self.entering, self.known, self.earlier = None, "", None

    def records(self, columns: Iterable[str]) -> DataFrame:
        """Return these columns of the records to publish."""
        of = self.rows_of if self.entering is None else self.entering
        return of.select(*map(column, columns))

    def without(self, key: tuple[object, ...], ids: Sequence[str], leaving: Path) -> SparkFrame:
        """Return the frame without the records whose ids are in the files of ``leaving``; ``key`` identifies them."""

        def part() -> SparkFrame:
            transfer = self.transfer.inside(f"part{len(self.results)}")
            transfer.make()
            names = [f"_priv_leaves{n}" for n in range(len(ids))]
            others = self.transfer.read(leaving).toDF(*names)
            same = [column(name) == f.col(other) for name, other in zip(ids, names, strict=True)]
            rows_of = self.rows_of.join(others, same, "left_anti")
            return SparkFrame(rows_of, self.types, self.roles, self.version, self.setting, transfer)

        return self.once(("part", *key), part)

    def beside(self, kernel: Kernel, number: str) -> DataFrame:
        """Run a kernel on each record; return the columns that it reads, and the column ``number`` that it computes."""
        records = self.records(kernel.reads)
        work = Perturb(in_spark_types(kernel, {**kernel.reads, number: "BIGINT"}), self.setting)
        return in_tasks(records, work, self.schema_of({**kernel.reads, number: "BIGINT"}))

    def schema_of(self, described: Mapping[str, str]) -> spark.StructType:
        """Return Spark's schema of rows with these DuckDB types. Lists and structs of the frame keep their type."""
        known = self.rows_of.schema
        return spark.StructType(
            [
                spark.StructField(
                    name,
                    carried_type(kind, known[name].dataType)
                    if self.types.get(name) == kind
                    else spark_type(kind),
                )
                for name, kind in described.items()
            ]
        )

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return the result of ``make`` at the first call for this key."""
        if key not in self.results:
            self.results[key] = make()
        return self.results[key]  # type: ignore[no-any-return]

    def ask(self, key: tuple[object, ...], question: Callable[[], DataFrame]) -> pa.Table:
        """Return the result of a Spark job, whose size is limited; run the job unless its key is known."""
        return self.once(key, lambda: question().toArrow())

    def write(self, key: tuple[object, ...], question: Callable[[], DataFrame]) -> Path:
        """Return the folder of a Spark job's result; run the job unless its key is known."""
        return self.once(
            ("files", *key),
            lambda: self.transfer.write(question(), f"answer{len(self.results)}"),
        )

    def stored_rows(self, workspace: Workspace, rows: str) -> tuple[Path, str]:
        """Write the rows of a DuckDB query to a file; return its folder and a digest of the rows."""
        ((found,),) = workspace.rows(
            f"SELECT count(*) || '/' || coalesce(bit_xor(hash(r)) || '/' || sum(hash(r)::HUGEINT), '')"
            f" FROM ({rows}) AS r"
        )
        folder = (
            self.transfer.here / f"rows{hashlib.sha256(f'{rows}: {found}'.encode()).hexdigest()}"
        )
        if not folder.exists():
            folder.mkdir()
            workspace.cursor.execute(
                f"COPY ({rows}) TO {literal(str(folder / 'rows.parquet'))} (FORMAT parquet)"
            )
        return folder, str(found)

    def digest(self, columns: Sequence[str], *counts: Column) -> tuple[str, tuple[Any, ...]]:
        """Return a digest of the rows that does not depend on their order, and ``counts``, which are aggregates."""
        held = hash_of(columns)
        # A sum of whole hashes needs decimals, which take twice as long.
        ends = held.bitwiseAND((1 << SUMMED) - 1), f.shiftrightunsigned(held, 64 - SUMMED)
        (row,) = self.rows_of.agg(
            f.count(f.lit(1)), f.bit_xor(held), *map(f.sum, ends), *counts
        ).collect()
        return str(Digest(*row[:4])), tuple(row[4:])

    def read_and_compare(self, source: Source) -> None:
        """Read the rows again; raise PublicationFailed if they differ from the first reading."""
        refuse_changed(self.content(source), self.digest(read_columns(source))[0])

    def content(self, source: Source) -> str:
        """Return the digest of the rows from their first reading."""
        read = tuple(read_columns(source))
        if read not in self.contents:
            self.contents[read], _ = self.digest(read)
        return self.contents[read]


def hash_of(columns: Sequence[str]) -> Column:
    """Return the 64-bit hash of the values in these columns."""
    return f.xxhash64(*map(column, columns))


def refuse_changed(before: object, after: object) -> None:
    """Raise PublicationFailed if two digests of a frame's rows differ."""
    if before != after:
        raise PublicationFailed(
            "the rows of the frame differ between two readings",
            hint="nothing was recorded; write the frame to a table, and publish the table",
        )


LONG = (spark.StringType, spark.BinaryType)


def longest(records: DataFrame) -> Column:
    """Return the aggregate of the most bytes of a record's texts."""
    texts = [each.name for each in records.schema.fields if isinstance(each.dataType, LONG)]
    return f.max(reduce(add, map(_bytes, texts))) if texts else f.max(f.lit(0))


def _bytes(name: str) -> Column:
    return f.coalesce(f.octet_length(column(name)).cast("bigint"), f.lit(0))


def read_columns(roles: Roles | Source) -> list[str]:
    """List the columns of a record that are read."""
    named = (*roles.record_id, *roles.person, *roles.sensitive, *(roles.public or ()))
    return list(dict.fromkeys(named))


def open_frame(
    frame: DataFrame,
    request: Request,
    types: Mapping[str, Any],
    setting: Setting,
    transfer: Transfer,
) -> SparkFrame:
    """Check the columns of a frame, and give equal floating-point numbers the same representation.

    Raises InvalidSource for a type whose values Spark and DuckDB write differently.
    """
    roles = request.roles
    kinds = {each.name: each.dataType for each in frame.schema.fields}
    spelling = {name.lower(): name for name in kinds}
    for name in types:
        if name.lower() not in spelling:
            raise UnknownName.among("column", name, kinds, of=request.source)
    given = {spelling[name.lower()]: kind for name, kind in types.items()}
    names = list(frame.columns)
    # Columns that are left out may have any type.
    left_out = {name.lower() for name in roles.exclude}
    if roles.public is not None:
        used = (*roles.public, *roles.sensitive, *roles.record_id, *roles.person)
        left_out |= {*spelling} - {name.lower() for name in used}
    found = {
        name: given_type(name, given[name], kind) if name in given else duckdb_type(name, kind)
        for name, kind in kinds.items()
        if name.lower() not in left_out
    }
    described = found | {name: "VARCHAR" for name in kinds if name not in found}
    columns = columns_of_roles(
        request.source, names, {name: described[name] for name in kinds}, roles
    )
    return SparkFrame(
        frame.select(*(_written_equally(column(name), kinds[name]).alias(name) for name in found)),
        found,
        columns,
        source_version(frame),
        setting,
        transfer,
    )


def _written_equally(value: Column, kind: Any) -> Column:
    """Give nan and zero a single representation each, also within lists and structs."""
    if not has_floats(kind):
        return value
    if isinstance(kind, spark.ArrayType):
        return f.transform(value, lambda each: _written_equally(each, kind.elementType))
    if isinstance(kind, spark.StructType):
        fields = (
            _written_equally(value.getField(each.name), each.dataType).alias(each.name)
            for each in kind.fields
        )
        return f.when(value.isNotNull(), f.struct(*fields))
    value = f.when(f.isnan(value), f.lit(float("nan")).cast(kind)).otherwise(value)
    return f.when(value == 0, f.lit(0.0).cast(kind)).otherwise(value)


def refuse_foreign(frame: object) -> None:
    """Raise InvalidParameter for an object that is neither a Spark data frame nor a Spark session."""
    kind = type(frame)
    if not kind.__module__.startswith("pyspark.sql") or kind.__name__ not in READ:
        raise InvalidParameter(
            f"frame is a {kind.__name__} of {kind.__module__.split('.')[0]} and not a Spark data frame",
            hint="write spark.table('visits'); publish tables that DuckDB can read by FROM priv.publish_…(…)",
        )


def orderings(schema: Any) -> list[Column]:
    """Return sort keys over all columns, in which only identical rows are tied."""
    by_value = [column(each.name).asc_nulls_last() for each in schema.fields]
    by_text = [
        column(each.name).cast("string").asc_nulls_last()
        for each in schema.fields
        if has_floats(each.dataType)
    ]
    return by_value + by_text
