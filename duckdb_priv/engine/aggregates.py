"""What must be known of the source: counts and samples, which any engine that holds the records can answer.

``Aggregates`` lists the questions, and answers them in SQL; ``aggregates_of`` finds who answers for a source. What is
planned is planned from counts, without looking at the source again; samples are of limited size, for the checks before
publishing and for what the records are known by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.engine.kernel import RECORDS, Kernel, Step, create_table
from duckdb_priv.engine.randomness import KeyedBits
from duckdb_priv.engine.source import Source, key_expression
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.sqltext.quoting import identifier, identifiers, in_types, literal
from duckdb_priv.sqltext.reading import count_of
from duckdb_priv.sqltext.steady import steady_text
from duckdb_priv.sqltext.templates import body, fill, read

T = TypeVar("T")

SURPLUS = "temp.main._priv_surplus"
"""The ids of the records that ``max_rows`` leaves out; a temporary table of this connection."""
LIMIT = 2**64 - 1
"""The largest hash."""
BLANK, LEADING_ZEROS = r"\s", "(^|[^0-9])0+([0-9])"
"""Patterns of what one id may be written with and without, in DuckDB and in Spark."""


@dataclass(frozen=True)
class GroupCounts:
    """One entry for each combination that occurs of size, count and whether the value is the most frequent."""

    size: NDArray[np.int64]
    """Records in the group."""
    count: NDArray[np.int64]
    """Records of the group with the value."""
    top: NDArray[np.bool_]
    """Whether no value of the group is more frequent; of several such values one is chosen."""
    number: NDArray[np.int64]
    """How often the combination occurs."""

    @property
    def of_groups(self) -> GroupCounts:
        """Return the counts of the most frequent value of each group."""
        return self.where(self.top)

    @property
    def frequency(self) -> NDArray[np.float64]:
        """The share of the group that has the value."""
        return self.count / self.size

    def where(self, chosen: NDArray[np.bool_]) -> GroupCounts:
        """Return some of the entries."""
        return GroupCounts(
            self.size[chosen], self.count[chosen], self.top[chosen], self.number[chosen]
        )


def on_axis_sql(
    attribute: str,
    at: Callable[[str], str],
    low: float,
    high: float,
    table: str,
    count: str = "count(*)",
) -> str:
    """Write the query of ``OnAxis`` over a table expression; ``count`` adds up rows that stand for several records."""
    wrong = (
        "_priv_at IS NULL",
        "NOT isfinite(_priv_at)",
        f"isfinite(_priv_at) AND NOT _priv_at BETWEEN {literal(low)} AND {literal(high)}",
    )
    counts = ", ".join(f"coalesce({count} FILTER ({each}), 0)" for each in wrong)
    number = at(f"s.{identifier(attribute)}")
    return f"SELECT {counts} FROM (SELECT s.*, {number} AS _priv_at FROM {table} AS s)"


def steady_sql(names: Sequence[str], types: Mapping[str, str]) -> str:
    """Write what a record ``s`` holds in some columns as one text, which does not depend on a time zone.

    >>> print(steady_sql(["age"], {"age": "INTEGER"}))
    to_json([s."age"::VARCHAR]::VARCHAR[])::VARCHAR
    >>> print(steady_sql(["at"], {"at": "TIMESTAMP WITH TIME ZONE"}))
    to_json([CASE WHEN isfinite(s."at") THEN epoch_us(s."at")::VARCHAR ELSE s."at"::VARCHAR END]::VARCHAR[])::VARCHAR
    """
    texts = [steady_text(f"s.{identifier(name)}", types[name]) for name in names]
    return f"to_json([{', '.join(texts)}]::VARCHAR[])::VARCHAR"


def value_texts(columns: Sequence[str]) -> str:
    """Select columns as texts, under names of our own.

    >>> value_texts(["age"])
    '"age"::VARCHAR AS _priv_value0'
    """
    return ", ".join(
        f"{identifier(name)}::VARCHAR AS _priv_value{n}" for n, name in enumerate(columns)
    )


def aliased(public: Sequence[str]) -> str:
    """Select public columns under names of our own, each followed by a comma.

    >>> aliased(["age"])
    's."age" AS _priv_public0, '
    """
    return "".join(f"s.{identifier(name)} AS _priv_public{n}, " for n, name in enumerate(public))


def count_groups(
    workspace: Workspace, table: str, public: Sequence[str], sensitive: str
) -> GroupCounts:
    """Count the values in every micro group of a table; ``sensitive`` is an expression over it, as ``s``."""
    groups = ", ".join(f"_priv_public{n}" for n in range(len(public)))
    sql = fill(
        body(read("publisher/fragments", "group_counts")),
        {
            "public": aliased(public),
            "source": f"{table} AS s",
            "sensitive": sensitive,
            "partition": f"PARTITION BY {groups}" if public else "",
        },
    )
    size, count, top, number = np.array(workspace.rows(sql), dtype=np.int64).reshape(-1, 4).T
    return GroupCounts(size, count, top.astype(bool), number)


@dataclass(frozen=True)
class OnAxis:
    """How many records have no number, one that is not finite, and one outside of a range."""

    missing: int
    infinite: int
    outside: int


@dataclass(frozen=True)
class Aggregates:
    """What is asked of a source before anything is planned."""

    rereads: ClassVar[bool] = False
    """Whether a record may be read again while it is published, as where what a lost machine did is done again."""

    workspace: Workspace
    source: Source

    def sql(self, folder: str, fragment: str, **fillings: str) -> str:
        """Return a query of a folder of the publisher's, about this source."""
        return fill(
            body(read(f"publisher/{folder}", fragment)), {"source": self.source.table, **fillings}
        )

    def histogram(self, attribute: str) -> list[tuple[str | None, int]]:
        """Count the records of each value of an attribute: its text and the count, in the order of its type."""
        column = key_expression(attribute, self.source.types[attribute])
        return self.workspace.rows(
            f"SELECT value::VARCHAR, rows FROM (SELECT {column} AS value, count(*) AS rows"
            f" FROM {self.source.table} GROUP BY ALL) ORDER BY value NULLS LAST"
        )

    def on_axis(self, attribute: str, at: Callable[[str], str], low: float, high: float) -> OnAxis:
        """Count the records of which a number that ``at`` writes, from a column, has no place in a range."""
        query = on_axis_sql(attribute, at, low, high, self.source.table)
        return OnAxis(*self.workspace.rows(query)[0])

    def group_counts(self, attribute: str) -> GroupCounts:
        """Count the values of an attribute in every micro group."""
        source = self.source
        sensitive = f"s.{key_expression(attribute, source.types[attribute])}"
        return count_groups(self.workspace, source.table, source.public, sensitive)

    def large_groups(self, step: Step, size: int) -> tuple[int, int]:
        """Count the micro groups of more records than a size, which the table of a step lists, and their records.

        The table is made for that, and is on the publisher's cursor afterwards.
        """
        Kernel(reads={}, select="", steps=(step,)).stage(self.workspace.cursor, self.source.table)
        ((groups, records),) = self.workspace.rows(
            f"SELECT count(*), coalesce(sum(_priv_size), 0)::BIGINT FROM {step.table}"
        )
        return groups, records

    def sizes_of_groups(self, step: Step) -> dict[int, int]:
        """Count the groups of each size that the table of a step lists, the smallest first.

        The table is made for that, and is on the publisher's cursor afterwards.
        """
        Kernel(reads={}, select="", steps=(step,)).stage(self.workspace.cursor, self.source.table)
        sizes = dict(
            self.workspace.rows(
                f"SELECT _priv_size, count(*) FROM {step.table} GROUP BY ALL ORDER BY ALL"
            )
        )
        self.workspace.sizes[self.source.table, *self.source.public] = sizes
        return sizes

    def digest(self, bits: KeyedBits, names: Sequence[str]) -> str:
        """Count the records, and add up keyed bits of what they hold in some columns."""
        stream = str(self.workspace.open_stream(bits))
        record = steady_sql(names, self.source.types)
        query = self.sql("fragments", "digest", record=record, stream=stream)
        ((digest,),) = self.workspace.rows(query)
        return str(digest)

    def persons(self) -> tuple[int, int, int]:
        """Count the records without a person, the people, and the largest number of records of one."""
        names = self.source.person
        missing = " OR ".join(f"{identifier(name)} IS NULL" for name in names)
        query = self.sql("check", "persons", columns=identifiers(names), missing=missing)
        missing_records, persons, most = self.workspace.rows(query)[0]
        return missing_records, persons, most

    def limited(self, order: KeyedBits, max_rows: int) -> Source:
        """Return the source without what a person has beyond so many records, the first ones in the order of bits."""
        source, names = self.source, range(len(self.source.person))
        number, text = source.id_arguments
        fillings = {
            "table": SURPLUS.split(".")[-1],
            "ids": identifiers(source.record_id),
            "person": ", ".join(
                f"s.{identifier(name)} AS _priv_person{n}" for n, name in enumerate(source.person)
            ),
            "same_person": ", ".join(f"_priv_person{n}" for n in names),
            "source": f"{source.table} AS s",
            "stream": str(self.workspace.open_stream(order)),
            "id_number": number,
            "id_text": text,
            "max_rows": str(max_rows),
        }
        self.workspace.cursor.execute(fill(body(read("publisher/fragments", "surplus")), fillings))
        surplus = count_of(self.workspace.cursor, SURPLUS)
        return replace(
            source,
            table=f"(FROM {source.table} ANTI JOIN {SURPLUS} USING ({identifiers(source.record_id)}))",
            rows=source.rows - surplus,
        )

    def without(self, kernel: Kernel, leaves: str) -> Source:
        """Return the source without the records of which a condition holds, on the rows ``s`` that a kernel gives."""
        fillings = {RECORDS: self.source.table}
        for name, bits in kernel.random_bits.items():
            fillings[name] = str(self.workspace.open_stream(bits))
        for name, held in kernel.tables.items():
            create_table(self.workspace.cursor, name, held)
        table = (
            f"(SELECT {identifiers(self.source.types)} FROM ({fill(kernel.select, fillings)}) AS s"
            f" WHERE NOT ({fill(leaves, fillings)}))"
        )
        return replace(self.source, table=table, rows=count_of(self.workspace.cursor, table))

    def make(self, table: str, kernel: Kernel, types: Mapping[str, str]) -> None:
        """Make a table of the rows that a kernel gives of all records, in columns of these types."""
        with kernel.opened(self.workspace.cursor, self.source.table) as rows:
            self.workspace.cursor.execute(
                f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT {in_types(types)} FROM ({rows})"
            )

    def asked(self, kernel: Kernel, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return the texts under these names that a kernel gives of all records: one row, or one for each piece."""
        with kernel.opened(self.workspace.cursor, self.source.table) as rows:
            return self.workspace.rows(f"SELECT {identifiers(names)} FROM ({rows})")

    def sample(self, columns: Sequence[str], share: float) -> str:
        """Write where columns of a sample are read, of about this share of the records."""
        if share == 1:
            return self.source.table
        read = identifiers(columns)
        self.workspace.cursor.execute(
            self.sql("check", "sample", columns=read, percent=repr(100 * share))
        )
        return "temp.main._priv_sample"

    def profiles(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """Count, by column, the records that have a value, and about how many values there are."""
        names = list(map(identifier, columns))
        query = self.sql(
            "check",
            "profile",
            present=", ".join(f"count({name})" for name in names),
            distinct=", ".join(f"approx_count_distinct({name})" for name in names),
        )
        ((present, distinct),) = self.workspace.rows(query)
        return list(zip(present, distinct, strict=True))

    def distinctness(self, columns: Sequence[str], rate: int) -> tuple[int, int, int, int]:
        """Count the values of columns, their records, those that are unique in theirs, and the most of one value.

        Of a single column only present values count; of very many values, one of ``rate`` is looked at.
        """
        sizes = self.workspace.sizes.get((self.source.table, *columns))
        if sizes and rate == 1 and len(columns) > 1:
            # Planning asked for them, too.
            records = sum(size * groups for size, groups in sizes.items())
            return sum(sizes.values()), records, sizes.get(1, 0), max(sizes)
        query = self.sql(
            "check",
            "distinctness",
            columns=identifiers(columns),
            present=f"{identifier(columns[0])} IS NOT NULL" if len(columns) == 1 else "true",
            among=f"key % {rate} = 0" if rate > 1 else "true",
        )
        values, records, alone, most = self.workspace.rows(query)[0]
        return values, records, alone, most

    def similar_ids(self, ids: Sequence[str], texts: Sequence[str], rate: int) -> int:
        """Count the ids that equal another one without the case, blanks and leading zeros of its ``texts``.

        Of very many, those are looked at whose texts without any blanks and zeros are in one of ``rate`` classes.
        """
        bare = [f"replace(replace(lower({identifier(name)}), ' ', ''), '0', '')" for name in texts]
        rests = [_rest(identifier(name)) if name in texts else identifier(name) for name in ids]
        query = self.sql(
            "check",
            "similar_ids",
            columns=identifiers(ids),
            rest=", ".join(rests),
            among=f"hash({', '.join(bare)}) % {rate} = 0" if rate > 1 else "true",
        )
        ((similar,),) = self.workspace.rows(query)
        return int(similar)

    def cells(self, columns: Sequence[str], other: str, rate: int) -> str:
        """Write the query that counts ``rows`` by a ``key`` of columns and the ``value`` of another one, both hashed.

        Of very many keys, one of ``rate`` is looked at.
        """
        return self.sql(
            "check",
            "source_groups",
            columns=identifiers(columns),
            other=identifier(other),
            rate=str(rate),
        )

    def combinations(self, columns: Sequence[str]) -> str:
        """Write where combinations of values are read that occur, each as a text, with how many ``_priv_rows``."""
        return f"(SELECT {value_texts(columns)}, count(*) AS _priv_rows FROM {self.source.table} GROUP BY ALL)"

    def once(self, what: str, draw: Callable[[], T]) -> T:
        """Draw what a publication draws once, however often it is decided."""
        return draw()

    def values(self, column: str) -> str:
        """Write the query that counts the ``rows`` of each ``value`` of a column, hashed."""
        return self.sql("check", "source_values", other=identifier(column))

    def assigned(self, assigning: Kernel, bits: Sequence[int]) -> AssignedAggregates | None:
        """Return an object that draws the bits of records outside DuckDB and answers for them; None if DuckDB does.

        ``assigning`` gives the rows that AssignedAggregates speaks of; ``bits`` are the first ones of the order that
        records are counted by, for each attribute.
        """
        return None

    def set_aside(self, rows: str) -> str:
        """Return where the rows of a query are read when the table that they are in is written once more."""
        return f"FROM ({rows})"


def _rest(text: str) -> str:
    """Write what is left of an id without its case, its blanks and the leading zeros of its numbers."""
    bare = f"regexp_replace(lower({text}), {literal(BLANK)}, '', 'g')"
    return rf"regexp_replace({bare}, {literal(LEADING_ZEROS)}, '\1\2', 'g')"


def aggregates_of(workspace: Workspace, source: Source) -> Aggregates:
    """Return who answers for a source."""
    answers = source.answers or Aggregates
    return answers(workspace, source)


@dataclass(frozen=True)
class AssignedAggregates:
    """Answers about records with their random bits, attribute by attribute.

    They are rows of a table that a step of a kernel makes: ``_code{n}`` is the place of the true value of attribute
    ``n`` in its domain. The first half of its random bits orders the records of a value.
    """

    workspace: Workspace
    table: str

    def digest(self, n: int) -> str:
        """Count the records, and add up their order bits: the sum differs for tables that differ in any record."""
        order = order_sql(n)
        ((digest,),) = self.workspace.rows(
            f"SELECT count(*) || '/' || bit_xor({order}) || '/' || sum({order}::HUGEINT) FROM {self.table}"
        )
        return str(digest)

    def counts(self, n: int, values: int, bits: int) -> NDArray[np.int64]:
        """Count the records of each value by the first bits of their order, (values, 2**bits)."""
        counts = np.zeros((values, 1 << bits), np.int64)
        rows = self.workspace.rows(
            f"SELECT {cell_sql(n, bits)}, count(*) FROM {self.table} GROUP BY ALL"
        )
        if rows:
            cell, records = np.array(rows, np.int64).T
            counts.reshape(-1)[cell] = records
        return counts

    def marks(self, kept: str = "true") -> str:
        """Write where the ``mark`` is read of each record of which a condition holds."""
        return f"(SELECT _random0.mark AS mark FROM {self.table} WHERE {kept})"

    def leave_out(self, known: str) -> int:
        """Leave out the records whose marks a query lists, and count those that stay."""
        self.workspace.cursor.execute(f"DELETE FROM {self.table} WHERE _random0.mark IN ({known})")
        left = count_of(self.workspace.cursor, self.table)
        return int(left)

    def last(
        self, last: Mapping[int, tuple[int, int]], attributes: int, bits: int
    ) -> list[tuple[tuple[int, int, int], ...]]:
        """List the last records of some values of the first attribute, in the order of their random bits.

        ``last`` says of each value how many, and a range before which none of them is. Of each record and attribute,
        the code and both halves of the bits are returned.
        """
        if not last:
            return []
        order = f"{order_sql(0)} DESC, {word_sql(0)} DESC"
        columns = ", ".join(f"_code{n}, {order_sql(n)}, {word_sql(n)}" for n in range(attributes))
        taken = " OR ".join(
            f"(_code0 = {code} AND _last <= {number})" for code, (number, _) in last.items()
        )
        rows = self.workspace.rows(
            f"SELECT {columns} FROM (SELECT *, row_number() OVER (PARTITION BY _code0 ORDER BY {order}) AS _last"
            f" FROM {self.table} WHERE {among_sql(last, bits)}) WHERE {taken}"
        )
        return [tuple(zip(row[::3], row[1::3], row[2::3], strict=True)) for row in rows]


def among_sql(last: Mapping[int, tuple[int, int]], bits: int) -> str:
    """Write the condition on the records among which the last ones of some values are (``AssignedAggregates.last``)."""
    return " OR ".join(
        f"(_code0 = {code} AND {cell_sql(0, bits)} >= {(code << bits) + first})"
        for code, (_, first) in last.items()
    )


def order_sql(n: int) -> str:
    """Write the bits that order the records of a value."""
    return f"_random{n}.first_half"


def word_sql(n: int) -> str:
    """Write the bits that draw what a record shows, and that break ties of the order."""
    return f"_random{n}.second_half"


def cell_sql(n: int, bits: int) -> str:
    """Write the number of the cell that a record is in: its value, and one of ``2**bits`` ranges of the order.

    It is one number, since a window over one key takes half the time of a window over two.

    >>> cell_sql(0, 3), cell_sql(0, 0)
    ('(_code0 << 3) + (_random0.first_half >> 61::UBIGINT)::UINTEGER', '_code0')
    """
    if not bits:
        return f"_code{n}"
    return f"(_code{n} << {bits}) + ({order_sql(n)} >> {64 - bits}::UBIGINT)::UINTEGER"
