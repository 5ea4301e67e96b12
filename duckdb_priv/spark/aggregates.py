"""The questions about a source, answered by Spark.

Counts are made by Spark itself; what DuckDB's hashes choose is chosen by DuckDB inside the tasks. Answers are written
to temporary tables of the driver, in DuckDB's types, so that every text, order and hash of a value is DuckDB's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

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
from duckdb_priv.spark.frame import SparkFrame, column
from duckdb_priv.spark.tasks import Ask, Perturb, in_spark_types, in_tasks
from duckdb_priv.spark.types import has_floats
from duckdb_priv.sqltext.quoting import identifier, identifiers, in_types
from duckdb_priv.sqltext.reading import count_of
from duckdb_priv.sqltext.signed import signed
from duckdb_priv.sqltext.templates import place

T = TypeVar("T")

ROWS, ORDER = "_priv_rows", "_priv_order"
CARRIED = {
    "UBIGINT": ("DECIMAL(20,0)", "decimal(20,0)"),
    "UINTEGER": ("BIGINT", "bigint"),
    "VARCHAR": ("VARCHAR", "string"),
    "VARCHAR[]": ("VARCHAR[]", "array<string>"),
}
"""By type of DuckDB: what carries its values through Spark, as both call it."""
MOST_VALUES = 1_000_000
"""Values of a sensitive column that are fetched at most."""
SEED = 1
"""Of samples in which suspects are looked for."""


def _rest(text: Column) -> Column:
    """Return what is left of an id without its case, its blanks and the leading zeros of its numbers."""
    return f.regexp_replace(f.regexp_replace(f.lower(text), BLANK, ""), LEADING_ZEROS, "$1$2")


@dataclass(frozen=True)
class AnswersOf:
    """Answers questions about a source by asking its frame."""

    frame: SparkFrame

    def __call__(self, workspace: Workspace, source: Source) -> SparkAggregates:
        """Return the answers."""
        return SparkAggregates(workspace, source, self.frame)


@dataclass(frozen=True)
class SparkAggregates(Aggregates):
    """What is asked of a frame."""

    rereads: ClassVar[bool] = True

    frame: SparkFrame

    @property
    def _records(self) -> DataFrame:
        return self.frame.rows_of

    def _count(self, columns: Sequence[str], key: str, where: Column | None = None) -> DataFrame:
        """Count the records of each combination of values."""
        records = self._records if where is None else self._records.where(where)
        return records.groupBy(*map(column, columns)).agg(f.count(f.lit(1)).alias(key))

    def _lay_out(self, name: str, columns: Sequence[str], table: pa.Table) -> str:
        """Create a temporary table of an answer, with its columns in the types of the source."""
        cursor, types = self.workspace.cursor, self.source.types
        casts = in_types({each: types[each] for each in columns})
        more = [identifier(each) for each in table.column_names if each not in columns]
        cursor.register("_priv_answer", table)
        cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {', '.join(filter(None, [casts, *more]))} FROM _priv_answer"
        )
        cursor.unregister("_priv_answer")
        return f"temp.main.{name}"

    def histogram(self, attribute: str) -> list[tuple[str | None, int]]:
        """Count the records of each value of an attribute: its text and the count, in the order of its type."""
        found = self.frame.ask(
            ("histogram", attribute),
            lambda: self._count([attribute], ROWS).limit(MOST_VALUES + 1),
        )
        if found.num_rows > MOST_VALUES:
            raise InvalidSource(
                f"sensitive column {attribute!r} has more than {MOST_VALUES:,} values",
                hint="group its values first",
            )
        table, value = (
            self._lay_out("_priv_histogram", [attribute], found),
            identifier(attribute),
        )
        return self.workspace.rows(
            f"SELECT {value}::VARCHAR, {ROWS} FROM {table} ORDER BY {value} NULLS LAST"
        )

    def on_axis(self, attribute: str, at: Callable[[str], str], low: float, high: float) -> OnAxis:
        """Count the records of which a number has no place in a range; DuckDB reads timestamps, value by value."""
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
        """Count the groups of each size, the smallest first; they stay in Spark."""
        found = self._sizes(self.source.public)
        return dict(
            sorted(zip(found["size"].to_pylist(), found["groups"].to_pylist(), strict=True))
        )

    def _sizes(self, columns: Sequence[str]) -> pa.Table:
        """Count the groups of each size."""
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
        """Count the values of an attribute in every micro group; they stay in Spark."""
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
        """Count the micro groups of more records than a size, and their records; they stay in Spark."""

        def counted() -> DataFrame:
            groups = self._count(self.source.public, ROWS).where(f.col(ROWS) > size)
            return groups.agg(f.count(f.lit(1)).alias("groups"), f.sum(ROWS).alias("records"))

        (row,) = self.frame.ask(("large", size, *self.source.public), counted).to_pylist()
        return row["groups"], row["records"] or 0

    def digest(self, bits: KeyedBits, names: Sequence[str]) -> str:
        """Add up keyed bits in the tasks, which are given this key."""
        types = {name: self.source.types[name] for name in names}
        record = steady_sql(names, types)
        query = (
            f"SELECT count(*) AS records, bit_xor(bits)::VARCHAR AS parity, sum(bits::HUGEINT)::VARCHAR AS total"
            f" FROM (SELECT _priv_bits({place('random')}::UBIGINT, NULL::BIGINT, {record}, 0::UINTEGER)"
            f" AS bits FROM {place(RECORDS)} AS s)"
        )
        work = Ask(Kernel(types, query, {"random": bits}), self.frame.setting)
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
        """Count the records without a person, the people, and the largest number of records of one."""
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
        """Write the ids of the others into files, and leave their records out of the frame."""
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

        def others() -> DataFrame:
            drawn = self.frame.beside(kernel, ORDER)
            ranked = drawn.withColumn(ORDER, f.row_number().over(of_person))
            return ranked.where(f.col(ORDER) > max_rows).select(*ids)

        return self._left(("beyond", max_rows, order.key), others)

    def without(self, kernel: Kernel, leaves: str) -> Source:
        """Write the ids of those into files, and leave their records out of the frame."""
        types = {name: self.source.types[name] for name in self.source.record_id}
        select = f"SELECT {identifiers(types)} FROM ({kernel.select}) AS s WHERE {leaves}"
        leaving = in_spark_types(replace(kernel, select=select, gathers=True), types)
        records = self.frame.records(kernel.reads)
        schema = self.frame.carried(types)

        def those() -> DataFrame:
            return in_tasks(records, Perturb(leaving, self.frame.setting), schema)

        held = [table.data for table in kernel.tables.values()]
        return self._left(("without", select, *held), those)

    def _left(self, key: tuple[object, ...], ids: Callable[[], DataFrame]) -> Source:
        """Return the source without the records of some ids."""
        folder, source = self.frame.write(key, ids), self.source
        rows = count_of(self.workspace.cursor, in_duckdb(folder))
        if not rows:
            return source
        frame = self.frame.without(key, source.record_id, folder)
        return replace(source, rows=source.rows - rows, answers=AnswersOf(frame))

    def make(self, table: str, kernel: Kernel, types: Mapping[str, str]) -> None:
        """Let the tasks run a kernel, and lay out what it gives."""
        cursor = self.workspace.cursor
        cursor.register("_priv_answer", self._run(kernel, types))
        cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT {in_types(types)} FROM _priv_answer"
        )
        cursor.unregister("_priv_answer")

    def asked(self, kernel: Kernel, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Let the tasks run a kernel on their pieces."""
        found = self._run(kernel, dict.fromkeys(names, "VARCHAR"))
        return [tuple(row[name] for name in names) for row in found.to_pylist()]

    def _run(self, kernel: Kernel, types: Mapping[str, str]) -> pa.Table:
        """Let the tasks run a kernel whose columns are few words; keys of noise are not in it."""
        kinds = {name: CARRIED[kind] for name, kind in types.items()}
        select = f"SELECT {in_types({name: kind for name, (kind, _) in kinds.items()})} FROM ({kernel.select})"
        work = Ask(replace(kernel, select=select), self.frame.setting)
        schema = ", ".join(f"{name} {kind}" for name, (_, kind) in kinds.items())
        return self.frame.ask(
            ("kernel", kernel.select, *kernel.reads),
            lambda: in_tasks(self._records.select(*map(column, kernel.reads)), work, schema),
        )

    def sample(self, columns: Sequence[str], share: float) -> str:
        """Fetch a sample of about this share of the records."""
        records = self._records.select(*map(column, columns))
        found = self.frame.ask(
            ("sample", share, *columns),
            lambda: records.sample(fraction=share, seed=SEED) if share < 1 else records,
        )
        return self._lay_out("_priv_sample", columns, found)

    def profiles(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """Count, by column, the records that have a value, and about how many values there are."""
        names = list(map(column, columns))
        counts = [f.count(each).alias(f"present{n}") for n, each in enumerate(names)] + [
            f.approx_count_distinct(each).alias(f"distinct{n}") for n, each in enumerate(names)
        ]
        found = self.frame.ask(("profiles", *columns), lambda: self._records.agg(*counts))
        (row,) = found.to_pylist()
        return [(row[f"present{n}"], row[f"distinct{n}"]) for n in range(len(names))]

    def distinctness(self, columns: Sequence[str], rate: int) -> tuple[int, int, int, int]:
        """Count the values of columns, their records, those that are unique in theirs, and the most of one value."""
        if len(columns) > 1 and not any(map(self._has_floats, columns)):
            # Planning asks for these sizes, too.
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
        """Count the ids that equal another one without the case, blanks and leading zeros of its ``texts``."""
        bare = [f.translate(f.lower(column(name)), " 0", "") for name in texts]
        held = f.pmod(f.xxhash64(*bare), f.lit(rate)) == 0
        rests = [_rest(column(name)) if name in texts else column(name) for name in ids]

        def counted() -> DataFrame:
            records = self._records.where(held) if rate > 1 else self._records
            return records.agg(
                f.count(f.lit(1)).alias("ids"), f.count_distinct(*rests).alias("rests")
            )

        (row,) = self.frame.ask(("similar ids", rate, *ids), counted).to_pylist()
        # Ids are different ones: the source was refused otherwise.
        return int(row["ids"] - row["rests"])

    def cells(self, columns: Sequence[str], other: str, rate: int) -> str:
        """Fetch the counts of a limited number of keys."""
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
        """Fetch the counts of the values of a column."""
        found = self.frame.ask(("values", column), lambda: self._count([column], ROWS))
        table = self._lay_out("_priv_values", [column], found)
        return (
            f"SELECT 0 AS target, hash({identifier(column)}) AS value, {ROWS} AS rows FROM {table}"
        )

    def combinations(self, columns: Sequence[str]) -> str:
        """Fetch the counts of a limited number of combinations, whose texts are DuckDB's."""
        found = self.frame.ask(
            ("combinations", *columns),
            lambda: self._count(columns, ROWS).limit(MOST_VALUES + 1),
        )
        if found.num_rows > MOST_VALUES:
            raise InvalidSource(
                f"{', '.join(map(repr, columns))} have more than {MOST_VALUES:,} combinations of values",
                hint="exclude some of them, or round their values first",
            )
        table = self._lay_out("_priv_combinations", columns, found)
        return f"(SELECT {value_texts(columns)}, {ROWS} FROM {table})"

    def once(self, what: str, draw: Callable[[], T]) -> T:
        """Draw when first asked."""
        if what not in self.frame.drawn:
            self.frame.drawn[what] = draw()
        return self.frame.drawn[what]  # type: ignore[no-any-return]

    def assigned(self, assigning: Kernel, bits: Sequence[int]) -> SparkAssigned:
        """Assign all records of the frame, whenever something is asked of them."""
        self.frame.enter_all()
        return SparkAssigned(
            self.workspace, self.source.table, self.source, self.frame, assigning, tuple(bits)
        )

    def set_aside(self, rows: str) -> str:
        """Write the rows into a file, which Spark reads beside those of the frame."""
        self.frame.earlier, _ = self.frame.stored_rows(self.workspace, rows)
        return f"FROM {in_duckdb(self.frame.earlier)}"
