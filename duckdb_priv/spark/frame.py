"""A data frame of Spark as a source: its columns in the types of DuckDB, and what is wrong with it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
from duckdb_priv.errors import InvalidParameter, UnknownName
from duckdb_priv.release.request import Request, Roles
from duckdb_priv.spark.plans import source_version
from duckdb_priv.spark.tasks import Perturb, Setting, in_spark_types, in_tasks
from duckdb_priv.spark.transfer import Transfer
from duckdb_priv.spark.types import carried_type, duckdb_type, given_type, has_floats
from duckdb_priv.sqltext.quoting import literal

READ = ("DataFrame", "SparkSession")
"""What is published: a frame, or a table of the catalog of a session."""
SUMMED = 28
"""Bits of hashes that are added up: no sum of so many overflows."""


def column(name: str) -> Column:
    """Return a column by its name, whatever characters it has."""
    return f.col("`" + name.replace("`", "``") + "`")


@dataclass
class SparkFrame:
    """A frame whose rows are asked for as often as need be."""

    rows_of: DataFrame
    """The frame, with one way to write each number."""
    types: Mapping[str, str]
    """What DuckDB calls the types of its columns."""
    version: str | None
    """Which version of its tables the frame reads."""
    setting: Setting
    transfer: Transfer
    """A folder for what Spark and DuckDB hand each other as files, since it grows with the records."""
    answers: dict[tuple[object, ...], pa.Table] = field(default_factory=dict)
    """What Spark has answered, by question: it is asked once, though a publication is decided twice."""
    written: dict[tuple[object, ...], Path] = field(default_factory=dict)
    """The folders of the answers that are files."""
    drawn: dict[str, Any] = field(default_factory=dict, repr=False)
    """What was drawn for this publication alone; it goes with this object."""
    entering: DataFrame | None = None
    """The records that are published, where others are known already."""
    known: str = ""
    """What identifies which are known."""
    earlier: Path | None = None
    """The rows that are published already, beside those of the frame."""
    parts: dict[tuple[object, ...], SparkFrame] = field(default_factory=dict)
    """Frames of some of the records, by what was left out."""

    def enter_all(self) -> None:
        """Begin again to decide which records are published."""
        self.entering, self.known, self.earlier = None, "", None

    def records(self, columns: Iterable[str]) -> DataFrame:
        """Return columns of the records that enter."""
        of = self.rows_of if self.entering is None else self.entering
        return of.select(*map(column, columns))

    def without(self, key: tuple[object, ...], ids: Sequence[str], leaving: Path) -> SparkFrame:
        """Return the frame of the records whose ids are not in the files of a folder, which are what a key says."""
        if key not in self.parts:
            transfer = self.transfer.inside(f"part{len(self.parts)}")
            transfer.make()
            names = [f"_priv_leaves{n}" for n in range(len(ids))]
            others = self.transfer.read(leaving).toDF(*names)
            same = [column(name) == f.col(other) for name, other in zip(ids, names, strict=True)]
            rows_of = self.rows_of.join(others, same, "left_anti")
            self.parts[key] = SparkFrame(rows_of, self.types, self.version, self.setting, transfer)
        return self.parts[key]

    def beside(self, kernel: Kernel, number: str) -> DataFrame:
        """Return what a kernel gives of each record: the columns that it reads, and a number."""
        records = self.records(kernel.reads)
        work = Perturb(in_spark_types(kernel, {**kernel.reads, number: "BIGINT"}), self.setting)
        fields = [*self.carried(kernel.reads).fields, spark.StructField(number, spark.LongType())]
        return in_tasks(records, work, spark.StructType(fields))

    def carried(self, columns: Iterable[str]) -> spark.StructType:
        """Return the types of columns of the records as tasks give them."""
        known = self.rows_of.schema
        return spark.StructType(
            [
                spark.StructField(name, carried_type(self.types[name], known[name].dataType))
                for name in columns
            ]
        )

    def ask(self, key: tuple[object, ...], question: Callable[[], DataFrame]) -> pa.Table:
        """Fetch the answer to a question, which is of limited size."""
        if key not in self.answers:
            self.answers[key] = question().toArrow()
        return self.answers[key]

    def write(self, key: tuple[object, ...], question: Callable[[], DataFrame]) -> Path:
        """Let Spark write the answer to a question into files; return their folder."""
        if key not in self.written:
            self.written[key] = self.transfer.write(question(), f"answer{len(self.written)}")
        return self.written[key]

    def stored_rows(self, workspace: Workspace, rows: str) -> tuple[Path, str]:
        """Let DuckDB write the rows of a query into a file of a folder; return it, and what tells other rows apart."""
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

    def digest(self, columns: Sequence[str], *counts: Column) -> tuple[str, tuple[int, ...]]:
        """Count the rows, and add up what they hold, in no order: the sum differs for frames that differ in any row.

        What else is to be counted comes beside it.
        """
        held = f.xxhash64(*map(column, columns))
        # The sum of whole hashes would be one of decimals, which takes twice as long.
        ends = held.bitwiseAND((1 << SUMMED) - 1), f.shiftrightunsigned(held, 64 - SUMMED)
        (row,) = self.rows_of.agg(
            f.count(f.lit(1)), f.bit_xor(held), *map(f.sum, ends), *counts
        ).collect()
        return "/".join(map(str, row[:4])), (row[0], *row[4:])

    def digests(self, source: Source) -> tuple[str, str]:
        """Return what the rows added up to when they were counted, and what they do when read again."""
        read = read_columns(source)
        return self.content(source), self.digest(read)[0]

    def content(self, source: Source) -> str:
        """Return what the rows added up to when they were first counted."""
        read = read_columns(source)
        key = ("digest", *read)
        if key not in self.answers:
            self.answers[key] = pa.table({"digest": [self.digest(read)[0]]})
        return str(self.answers[key]["digest"][0])


def read_columns(roles: Roles | Source) -> list[str]:
    """List the columns that are read of a record."""
    named = (*roles.record_id, *roles.person, *roles.sensitive, *(roles.public or ()))
    return list(dict.fromkeys(named))


def open_frame(
    frame: DataFrame,
    request: Request,
    types: Mapping[str, Any],
    setting: Setting,
    transfer: Transfer,
) -> SparkFrame:
    """Check the columns of a frame, and read their numbers so that equal ones are written the same.

    Raises InvalidSource for a type that Spark and DuckDB write differently.
    """
    roles = request.roles
    kinds = {each.name: each.dataType for each in frame.schema.fields}
    spelling = {name.lower(): name for name in kinds}
    for name in types:
        if name.lower() not in spelling:
            raise UnknownName.among("column", name, kinds, of=request.source)
    given = {spelling[name.lower()]: kind for name, kind in types.items()}
    names = list(frame.columns)
    # What is left out may be of any type.
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
    columns_of_roles(request.source, names, {name: described[name] for name in kinds}, roles)
    return SparkFrame(
        frame.select(*(_written_equally(column(name), kinds[name]).alias(name) for name in found)),
        found,
        source_version(frame),
        setting,
        transfer,
    )


def _written_equally(value: Column, kind: Any) -> Column:
    """Read a value so that there is one nan, and one zero, also within lists and structs."""
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
    """Raise InvalidParameter for what is neither a data frame nor a session of Spark."""
    kind = type(frame)
    if not kind.__module__.startswith("pyspark.sql") or kind.__name__ not in READ:
        raise InvalidParameter(
            f"frame is a {kind.__name__} of {kind.__module__.split('.')[0]}, and no data frame of Spark",
            hint="write spark.table('visits'); what DuckDB can read, FROM priv.publish_…(…) publishes",
        )


def orderings(schema: Any) -> list[Column]:
    """Write an order of rows by all columns, which leaves only identical rows in the order that they had."""
    by_value = [column(each.name).asc_nulls_last() for each in schema.fields]
    by_text = [
        column(each.name).cast("string").asc_nulls_last()
        for each in schema.fields
        if has_floats(each.dataType)
    ]
    return by_value + by_text
