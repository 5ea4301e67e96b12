"""Computes the aggregates of a source with Spark.

Spark counts. DuckDB, inside the tasks, computes everything that depends on keyed bits. Results are written to temporary
tables of the driver in DuckDB's types, so that every text, order and hash of a value is DuckDB's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f
from pyspark.sql import types as spark

from duckdb_priv.engine.aggregates import (
    BLANK,
    LEADING_ZEROS,
    Aggregates,
    GroupCounts,
    OnAxis,
    on_axis_sql,
    steady_sql,
    value_texts,
)
from duckdb_priv.engine.kernel import RECORDS, Kernel, Step
from duckdb_priv.engine.randomness import KeyedBits
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource
from duckdb_priv.spark.assigning import SparkAssigned
from duckdb_priv.spark.files import in_duckdb
from duckdb_priv.spark.frame import HASH, SparkFrame, column, hash_of, read_columns, refuse_changed
from duckdb_priv.spark.tasks import (
    ENCLOSED,
    Enclose,
    Perturb,
    disclosed,
    in_tasks,
)
from duckdb_priv.spark.types import has_floats, in_spark_types
from duckdb_priv.sqltext.quoting import identifier, identifiers, in_types
from duckdb_priv.sqltext.reading import count_of, lay_out
from duckdb_priv.sqltext.signed import signed
from duckdb_priv.sqltext.templates import place

T = TypeVar("T")

ROWS, ORDER = "_priv_rows", "_priv_order"
MOST_VALUES = 1_000_000
"""The largest number of values, or combinations of values, that are fetched."""
SEED = 1
"""The seed of samples for the checks before publishing."""


def _rest(text: Column) -> Column:
    """Remove the case, the blanks and the leading zeros of numbers from an id."""
    return f.regexp_replace(f.regexp_replace(f.lower(text), BLANK, ""), LEADING_ZEROS, "$1$2")


@dataclass(frozen=True)
class AnswersOf:
    """Makes the aggregates of a source that is a Spark frame."""

    frame: SparkFrame

    def __call__(self, workspace: Workspace, source: Source) -> SparkAggregates:
        """Return the aggregates of a source."""
        return SparkAggregates(workspace, source, self.frame)


def frame_of(source: Source) -> SparkFrame:
    """Return the frame of the records of a source."""
    assert isinstance(source.answers, AnswersOf)
    return source.answers.frame


@dataclass(frozen=True)
class SparkAggregates(Aggregates):
    """The aggregates of a Spark frame."""

    rereads: ClassVar[bool] = True

    frame: SparkFrame

    @property
    def _records(self) -> DataFrame:
        return self.frame.rows_of

    def _count(self, columns: Sequence[str], key: str, where: Column | None = None) -> DataFrame:
        """Count the records of each combination of values."""
        records = self._records if where is None else self._records.where(where)
        return records.groupBy(*map(column, columns)).agg(f.count(f.lit(1)).alias(key))

    def _few(self, columns: Sequence[str], too_many: str, hint: str) -> pa.Table:
        """Fetch the count of each combination of values; raise InvalidSource if there are too many of them."""
        found = self.frame.ask(
            ("few", *columns), lambda: self._count(columns, ROWS).limit(MOST_VALUES + 1)
        )
        if found.num_rows > MOST_VALUES:
            raise InvalidSource(too_many, hint=hint)
        return found

    def _lay_out(self, name: str, columns: Sequence[str], table: pa.Table) -> str:
        """Create a temporary table from a job's result, with its columns in the types of the source."""
        casts = in_types({each: self.source.types[each] for each in columns})
        more = [identifier(each) for each in table.column_names if each not in columns]
        selected = ", ".join(filter(None, [casts, *more]))
        lay_out(self.workspace.cursor, name, table, selected)
        return f"temp.main.{name}"

    def histogram(self, attribute: str) -> list[tuple[str | None, int]]:
        """Return each value of an attribute as text with its count, in the order of the attribute's type."""
        found = self._few(
            [attribute],
            f"sensitive column {attribute!r} has more than {MOST_VALUES:,} values",
            "group the values of this column first",
        )
        table, value = self._lay_out("_priv_histogram", [attribute], found), identifier(attribute)
        return self.workspace.rows(
            f"SELECT {value}::VARCHAR, {ROWS} FROM {table} ORDER BY {value} NULLS LAST"
        )

    def on_axis(self, attribute: str, at: Callable[[str], str], low: float, high: float) -> OnAxis:
        """Count the records whose number is missing, infinite or outside a range. DuckDB converts timestamps."""
        kind, value = self._records.schema[attribute].dataType, column(attribute)
        if isinstance(kind, spark.DateType):
            value = f.datediff(value, f.lit("1970-01-01"))
        elif not isinstance(kind, spark.NumericType):
            return self._on_axis_by_value(attribute, at, low, high)
        place = value.cast("double")
        infinite = f.isnan(place) | (f.abs(place) == float("inf"))
        found = self.frame.ask(
            ("on axis", attribute, low, high),
            lambda: self._records.select(
                f.count_if(place.isNull()).alias("missing"),
                f.count_if(infinite).alias("infinite"),
                f.count_if(~infinite & ~place.between(low, high)).alias("outside"),
            ),
        )
        return OnAxis(**found.to_pylist()[0])

    def _on_axis_by_value(
        self, attribute: str, at: Callable[[str], str], low: float, high: float
    ) -> OnAxis:
        found = self.histogram(attribute)
        kind = self.source.types[attribute]
        texts = (
            f"unnest(?::VARCHAR[])::{kind} AS {identifier(attribute)}, unnest(?::BIGINT[]) AS _rows"
        )
        query = on_axis_sql(attribute, at, low, high, f"(SELECT {texts})", "sum(_rows)")
        values = [value for value, _ in found], [rows for _, rows in found]
        return OnAxis(*map(int, self.workspace.rows(query, list(values))[0]))

    def sizes_of_groups(self, step: Step) -> dict[int, int]:
        """Count the micro groups of each size, the smallest size first."""
        found = self._sizes(self.source.public)
        return dict(
            sorted(zip(found["size"].to_pylist(), found["groups"].to_pylist(), strict=True))
        )

    def _sizes(self, columns: Sequence[str]) -> pa.Table:
        """Count the combinations of these columns' values by their number of records."""
        names = sorted(columns)
        texts = [
            column(name).cast("string").alias(f"_priv_text_{name}")
            for name in names
            if self._has_floats(name)
        ]

        def counted() -> DataFrame:
            sizes = self._records.groupBy(*map(column, names), *texts)
            return (
                sizes.agg(f.count(f.lit(1)).alias("size"))
                .groupBy("size")
                .agg(f.count(f.lit(1)).alias("groups"))
            )

        return self.frame.ask(("sizes", *names), counted)

    def _has_floats(self, name: str) -> bool:
        return has_floats(self._records.schema[name].dataType)

    def group_counts(self, attribute: str) -> GroupCounts:
        """Count the values of an attribute in every micro group, without fetching the groups."""
        found = self.frame.ask(
            ("group counts", attribute, *self.source.public), lambda: self._group_counts(attribute)
        )
        columns = [np.asarray(each.to_numpy(), np.int64) for each in found.columns]
        size, count, top, number = columns
        return GroupCounts(size, count, top.astype(bool), number)

    def _group_counts(self, attribute: str) -> DataFrame:
        groups = Window.partitionBy(*map(column, self.source.public))
        first = f.row_number().over(groups.orderBy(f.col(ROWS).desc())) == 1
        placed = self._count([*self.source.public, attribute], ROWS).select(
            f.sum(ROWS).over(groups).alias("size"),
            f.col(ROWS).alias("count"),
            first.cast("bigint").alias("top"),
        )
        return placed.groupBy("size", "count", "top").agg(f.count(f.lit(1)).alias("number"))

    def large_groups(self, step: Step, size: int) -> tuple[int, int]:
        """Count the micro groups of more than ``size`` records, and their records."""

        def counted() -> DataFrame:
            groups = self._count(self.source.public, ROWS).where(f.col(ROWS) > size)
            return groups.agg(f.count(f.lit(1)).alias("groups"), f.sum(ROWS).alias("records"))

        (row,) = self.frame.ask(("large", size, *self.source.public), counted).to_pylist()
        return row["groups"], row["records"] or 0

    def digest(self, bits: KeyedBits, names: Sequence[str]) -> str:
        """Return a digest of the records' keyed bits, which the tasks compute with this key."""
        types = {name: self.source.types[name] for name in names}
        record = steady_sql(names, types)
        query = (
            f"SELECT count(*) AS records, bit_xor(bits)::VARCHAR AS parity, sum(bits::HUGEINT)::VARCHAR AS total"
            f" FROM (SELECT _priv_bits({place('random')}::UBIGINT, NULL::BIGINT, {record}, 0::UINTEGER)"
            f" AS bits FROM {place(RECORDS)} AS s)"
        )
        work = Perturb(Kernel(types, query, {"random": bits}, gathers=True), self.frame.setting)
        found = self.frame.ask(
            ("digest of records", bits.key, *names),
            lambda: in_tasks(
                self._records.select(*map(column, names)),
                work,
                "records bigint, parity string, total string",
            ),
        )
        table = self._lay_out("_priv_digest", [], found)
        ((digest,),) = self.workspace.rows(
            "SELECT sum(records) || '/' || bit_xor(parity::UBIGINT) || '/' || sum(total::HUGEINT)"
            f" FROM {table}"
        )
        return str(digest)

    def persons(self) -> tuple[int, int, int]:
        """Count the records without a person, the people, and the most records of one person."""
        found = self.frame.ask(("persons", *self.source.person), self._persons)
        missing, persons, most = found.to_pylist()[0].values()
        return missing or 0, persons, most or 0

    def _persons(self) -> DataFrame:
        missing = f.lit(False)
        for name in self.source.person:
            missing = missing | column(name).isNull()
        counts = self._count(self.source.person, ROWS)
        return counts.agg(
            f.sum(f.when(missing, f.col(ROWS))).alias("missing"),
            f.count_if(~missing).alias("persons"),
            f.max(f.when(~missing, f.col(ROWS))).alias("most"),
        )

    def limited(self, order: KeyedBits, max_rows: int) -> Source:
        """Return the source with at most ``max_rows`` records of each person; Spark writes the other ids to files."""
        source = self.source
        number, text = source.id_arguments
        reads = {name: source.types[name] for name in (*source.record_id, *source.person)}
        bits = f"_priv_bits({place('order')}::UBIGINT, {number}, {text}, 0::UINTEGER)"
        select = (
            f"SELECT {identifiers(reads)}, {signed(bits)} AS {ORDER} FROM {place(RECORDS)} AS s"
        )
        kernel = Kernel(reads, select, {"order": order})
        ids = list(map(column, source.record_id))
        of_person = Window.partitionBy(*map(column, source.person)).orderBy(ORDER, *ids)

        def beyond_limit() -> DataFrame:
            drawn = self.frame.beside(kernel, ORDER)
            ranked = drawn.withColumn(ORDER, f.row_number().over(of_person))
            return ranked.where(f.col(ORDER) > max_rows).select(*ids)

        return self._without_ids(("beyond", max_rows, order.key), beyond_limit)

    def without(self, kernel: Kernel, leaves: str) -> Source:
        """Return the source without the records for which ``leaves`` holds; Spark writes their ids to files."""
        types = {name: self.source.types[name] for name in self.source.record_id}
        select = f"SELECT {identifiers(types)} FROM ({kernel.select}) AS s WHERE {leaves}"
        leaving = in_spark_types(replace(kernel, select=select, gathers=True), types)
        records = self.frame.records(kernel.reads)
        schema = self.frame.schema_of(types)

        def leaving_ids() -> DataFrame:
            return in_tasks(records, Perturb(leaving, self.frame.setting), schema)

        held = [table.data for table in kernel.tables.values()]
        return self._without_ids(("without", select, *held), leaving_ids)

    def _without_ids(self, key: tuple[object, ...], ids: Callable[[], DataFrame]) -> Source:
        """Return the source without the records of these ids."""
        folder, source = self.frame.write(key, ids), self.source
        rows = count_of(self.workspace.cursor, in_duckdb(folder))
        if not rows:
            return source
        frame = self.frame.without(key, source.record_id, folder)
        return replace(source, rows=source.rows - rows, answers=AnswersOf(frame))

    @contextmanager
    def opened(self, kernel: Kernel, types: Mapping[str, str]) -> Iterator[str]:
        """Run a kernel in the tasks, and yield a query of its rows."""
        cursor = self.workspace.cursor
        cursor.register("_priv_marked", self._run(kernel, types))
        try:
            yield "FROM _priv_marked"
        finally:
            cursor.unregister("_priv_marked")

    def _run(self, kernel: Kernel, types: Mapping[str, str]) -> pa.Table:
        """Run a kernel in the tasks. Raise PublicationFailed if the records have changed since their first reading."""
        select = f"SELECT {in_types(types)} FROM ({kernel.select})"
        work = Enclose(Perturb(replace(kernel, select=select, gathers=True), self.frame.setting))
        read = tuple(read_columns(self.source))

        def enclosed() -> DataFrame:
            columns = [*map(column, kernel.reads), hash_of(read).alias(HASH)]
            return in_tasks(self._records.select(*columns), work, ENCLOSED)

        key = ("kernel", select, kernel.drawing and kernel.drawing.records, *kernel.reads)
        rows, digest = disclosed(self.frame.ask(key, enclosed))
        self.frame.read_again = read in self.frame.contents
        refuse_changed(self.frame.contents.setdefault(read, digest), digest)
        return rows

    def sample(self, columns: Sequence[str], share: float) -> str:
        """Fetch a sample of about ``share`` of the records; return its temporary table."""
        records = self._records.select(*map(column, columns))
        found = self.frame.ask(
            ("sample", share, *columns),
            lambda: records.sample(fraction=share, seed=SEED) if share < 1 else records,
        )
        return self._lay_out("_priv_sample", columns, found)

    def profiles(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """Count the records with a value, and estimate the number of distinct values, for each column."""
        names = list(map(column, columns))
        counts = [f.count(each).alias(f"present{n}") for n, each in enumerate(names)] + [
            f.approx_count_distinct(each).alias(f"distinct{n}") for n, each in enumerate(names)
        ]
        found = self.frame.ask(("profiles", *columns), lambda: self._records.agg(*counts))
        (row,) = found.to_pylist()
        return [(row[f"present{n}"], row[f"distinct{n}"]) for n in range(len(names))]

    def distinctness(self, columns: Sequence[str], rate: int) -> tuple[int, int, int, int]:
        """Count the values of columns, their records, the values of one record, and the most records of a value."""
        if len(columns) > 1 and not any(map(self._has_floats, columns)):
            # Planning needs the same job's result.
            found = self._sizes(columns)
            sizes, groups = (found[name].to_numpy() for name in ("size", "groups"))
            alone = groups[sizes == 1].sum()
            return int(groups.sum()), int(sizes @ groups), int(alone), int(sizes.max(initial=0))
        present = column(columns[0]).isNotNull() if len(columns) == 1 else None

        def counted() -> DataFrame:
            return self._count(columns, ROWS, present).agg(
                f.count(f.lit(1)).alias("values"),
                f.sum(ROWS).alias("records"),
                f.count_if(f.col(ROWS) == 1).alias("alone"),
                f.max(ROWS).alias("most"),
            )

        (row,) = self.frame.ask(("distinctness", *columns), counted).to_pylist()
        return row["values"], row["records"] or 0, row["alone"], row["most"] or 0

    def similar_ids(self, ids: Sequence[str], texts: Sequence[str], rate: int) -> int:
        """Count the ids that equal another id, ignoring the case, blanks and leading zeros of the columns ``texts``."""
        bare = [f.translate(f.lower(column(name)), " 0", "") for name in texts]
        held = f.pmod(f.xxhash64(*bare), f.lit(rate)) == 0
        rests = [_rest(column(name)) if name in texts else column(name) for name in ids]

        def counted() -> DataFrame:
            records = self._records.where(held) if rate > 1 else self._records
            return records.agg(
                f.count(f.lit(1)).alias("ids"), f.count_distinct(*rests).alias("rests")
            )

        (row,) = self.frame.ask(("similar ids", rate, *ids), counted).to_pylist()
        # All ids differ: a source with equal ids was refused before.
        return int(row["ids"] - row["rests"])

    def cells(self, columns: Sequence[str], other: str, rate: int) -> str:
        """Fetch the counts by key and value for a share ``1 / rate`` of the keys."""
        read = [*columns, other]
        held = f.pmod(f.xxhash64(*map(column, columns)), f.lit(rate)) == 0
        found = self.frame.ask(
            ("cells", rate, *read), lambda: self._count(read, ROWS, held if rate > 1 else None)
        )
        table = self._lay_out("_priv_cells", read, found)
        return (
            f"SELECT 0 AS given, 0 AS target, hash({identifiers(columns)}) AS key, hash({identifier(other)}) AS value,"
            f" {ROWS} AS rows FROM {table}"
        )

    def values(self, column: str) -> str:
        """Fetch the count of each value of a column."""
        found = self.frame.ask(("values", column), lambda: self._count([column], ROWS))
        table = self._lay_out("_priv_values", [column], found)
        return (
            f"SELECT 0 AS target, hash({identifier(column)}) AS value, {ROWS} AS rows FROM {table}"
        )

    def combinations(self, columns: Sequence[str]) -> str:
        """Fetch the count of each combination of values. DuckDB converts the values to text."""
        found = self._few(
            columns,
            f"{', '.join(map(repr, columns))} have more than {MOST_VALUES:,} combinations of values",
            "exclude some of these columns, or round their values first",
        )
        table = self._lay_out("_priv_combinations", columns, found)
        return f"(SELECT {value_texts(columns)}, {ROWS} FROM {table})"

    def once(self, what: str, draw: Callable[[], T]) -> T:
        """Call ``draw`` at the first call for this name; later return the same result."""
        return self.frame.once(("drawn", what), draw)

    def assigned(self, assigning: Kernel, bits: Sequence[int]) -> SparkAssigned:
        """Return the aggregates of the records' decoy groups, which Spark assigns again for each job."""
        self.frame.enter_all()
        return SparkAssigned(
            self.workspace, self.source.table, self.source, self.frame, assigning, tuple(bits)
        )

    def set_aside(self, rows: str) -> str:
        """Write existing rows of the release to a file, which Spark reads together with the new rows."""
        self.frame.earlier, _ = self.frame.stored_rows(self.workspace, rows)
        return f"FROM {in_duckdb(self.frame.earlier)}"
