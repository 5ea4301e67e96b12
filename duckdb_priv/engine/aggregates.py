"""Counts and samples of the source that planning needs; any engine that holds the records can compute them.

``Aggregates`` has one method for each count or sample and computes it in SQL. ``aggregates_of`` chooses the
implementation for a source. A plan uses these counts and does not read the source again. Samples have a limited size;
they serve the checks before publishing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

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

ROWS = "temp.main._priv_drawn_rows"
"""The rows of a kernel that several queries read; a temporary table of this connection."""
SURPLUS = "temp.main._priv_surplus"
"""The ids of the records that ``max_rows`` leaves out; a temporary table of this connection."""
LIMIT = 2**64 - 1
"""The largest hash."""
BLANK, LEADING_ZEROS = r"\s", "(^|[^0-9])0+([0-9])"
"""Patterns of the characters that are ignored when ids are compared, in DuckDB and in Spark."""


@dataclass(frozen=True)
class GroupCounts:
    """How often each combination of group size, value count and "is the most frequent value" occurs."""

    size: NDArray[np.int64]
    """Records in the group."""
    count: NDArray[np.int64]
    """Records of the group with the value."""
    top: NDArray[np.bool_]
    """Whether no value of the group is more frequent; ties are broken, so each group has one such value."""
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
        """Return the chosen entries."""
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
    """Return the query of ``OnAxis`` over a table expression; ``count`` is the aggregate that counts its records."""
    wrong = (
        "_priv_at IS NULL",
        "NOT isfinite(_priv_at)",
        f"isfinite(_priv_at) AND NOT _priv_at BETWEEN {literal(low)} AND {literal(high)}",
    )
    counts = ", ".join(f"coalesce({count} FILTER ({each}), 0)" for each in wrong)
    number = at(f"s.{identifier(attribute)}")
    return f"SELECT {counts} FROM (SELECT s.*, {number} AS _priv_at FROM {table} AS s)"


def steady_sql(names: Sequence[str], types: Mapping[str, str]) -> str:
    """Return SQL for one text of a record ``s``'s values in some columns; it does not depend on the time zone.

    >>> print(steady_sql(["age"], {"age": "INTEGER"}))
    to_json([s."age"::VARCHAR]::VARCHAR[])::VARCHAR
    >>> print(steady_sql(["at"], {"at": "TIMESTAMP WITH TIME ZONE"}))
    to_json([CASE WHEN isfinite(s."at") THEN epoch_us(s."at")::VARCHAR ELSE s."at"::VARCHAR END]::VARCHAR[])::VARCHAR
    """
    texts = [steady_text(f"s.{identifier(name)}", types[name]) for name in names]
    return f"to_json([{', '.join(texts)}]::VARCHAR[])::VARCHAR"


def value_texts(columns: Sequence[str]) -> str:
    """Return a SELECT list of the columns as texts, with private aliases.

    >>> value_texts(["age"])
    '"age"::VARCHAR AS _priv_value0'
    """
    return ", ".join(
        f"{identifier(name)}::VARCHAR AS _priv_value{n}" for n, name in enumerate(columns)
    )


def aliased(public: Sequence[str]) -> str:
    """Return a SELECT list of the public columns with private aliases, each followed by a comma.

    >>> aliased(["age"])
    's."age" AS _priv_public0, '
    """
    return "".join(f"s.{identifier(name)} AS _priv_public{n}, " for n, name in enumerate(public))


def count_groups(
    workspace: Workspace, table: str, public: Sequence[str], sensitive: str
) -> GroupCounts:
    """Count the values in every micro group of a table; ``sensitive`` is an SQL expression over its alias ``s``."""
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
    """How many records have no number, a number that is not finite, or a number outside a range."""

    missing: int
    infinite: int
    outside: int


@dataclass(frozen=True)
class Aggregates:
    """The counts and samples of a source that a publication needs before planning."""

    rereads: ClassVar[bool] = False
    """Whether a record may be read twice during publishing, as when a cluster repeats the work of a lost machine."""

    workspace: Workspace
    source: Source

    def sql(self, folder: str, fragment: str, **fillings: str) -> str:
        """Return a query from a folder of publisher SQL, filled in for this source."""
        return fill(
            body(read(f"publisher/{folder}", fragment)), {"source": self.source.table, **fillings}
        )

    def histogram(self, attribute: str) -> list[tuple[str | None, int]]:
        """Return the text and the number of records of each value of an attribute, ordered by the attribute's type."""
        column = key_expression(attribute, self.source.types[attribute])
        return self.workspace.rows(
            f"SELECT value::VARCHAR, rows FROM (SELECT {column} AS value, count(*) AS rows"
            f" FROM {self.source.table} GROUP BY ALL) ORDER BY value NULLS LAST"
        )

    def on_axis(self, attribute: str, at: Callable[[str], str], low: float, high: float) -> OnAxis:
        """Count the records whose number is missing, not finite or out of range; ``at`` writes it from a column."""
        query = on_axis_sql(attribute, at, low, high, self.source.table)
        return OnAxis(*self.workspace.rows(query)[0])

    def group_counts(self, attribute: str) -> GroupCounts:
        """Count the values of an attribute in every micro group."""
        source = self.source
        sensitive = f"s.{key_expression(attribute, source.types[attribute])}"
        return count_groups(self.workspace, source.table, source.public, sensitive)

    def large_groups(self, step: Step, size: int) -> tuple[int, int]:
        """Count the micro groups with more records than ``size`` in the table of a step, and their records.

        This makes the step's table, which then stays on the publisher's cursor.
        """
        Kernel(reads={}, select="", steps=(step,)).stage(self.workspace.cursor, self.source.table)
        ((groups, records),) = self.workspace.rows(
            f"SELECT count(*), coalesce(sum(_priv_size), 0)::BIGINT FROM {step.table}"
        )
        return groups, records

    def sizes_of_groups(self, step: Step) -> dict[int, int]:
        """Count the groups of each size in the table of a step, the smallest size first.

        This makes the step's table, which then stays on the publisher's cursor.
        """
        Kernel(reads={}, select="", steps=(step,)).stage(self.workspace.cursor, self.source.table)
        sizes = dict(
            self.workspace.rows(
                f"SELECT _priv_size, count(*) FROM {step.table} GROUP BY ALL ORDER BY ALL"
            )
        )
        columns = self.source.table, *self.source.public
        self.workspace.sizes[columns] = sizes
        self.workspace.groups[columns] = sum(sizes.values())
        return sizes

    def digest(self, bits: KeyedBits, names: Sequence[str]) -> str:
        """Return the number of records and the sum of keyed bits of their values in some columns."""
        stream = str(self.workspace.open_stream(bits))
        record = steady_sql(names, self.source.types)
        query = self.sql("fragments", "digest", record=record, stream=stream)
        ((digest,),) = self.workspace.rows(query)
        return str(digest)

    def persons(self) -> tuple[int, int, int]:
        """Count the records without a person id, the people, and the most records of one person."""
        names = self.source.person
        missing = " OR ".join(f"{identifier(name)} IS NULL" for name in names)
        query = self.sql("check", "persons", columns=identifiers(names), missing=missing)
        missing_records, persons, most = self.workspace.rows(query)[0]
        return missing_records, persons, most

    def limited(self, order: KeyedBits, max_rows: int) -> Source:
        """Return the source with at most ``max_rows`` records of each person: the first in the order of the bits."""
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
        """Return the source without the records whose kernel row ``s`` satisfies the condition ``leaves``."""
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

    @contextmanager
    def opened(self, kernel: Kernel, types: Mapping[str, str]) -> Iterator[str]:
        """Yield a query of the kernel's rows for all records, which may run several times.

        A kernel that gathers may return a row for each batch. ``types`` gives its columns and their types.
        """
        cursor, room = self.workspace.cursor, self.workspace.room(self.source.rows)
        with kernel.opened(cursor, self.source.table, (), room, ROWS) as rows:
            yield f"SELECT {in_types(types)} FROM ({rows})"

    def sample(self, columns: Sequence[str], share: float) -> str:
        """Return a table expression for a sample of the columns, of about this share of the records."""
        if share == 1:
            return self.source.table
        read = identifiers(columns)
        self.workspace.cursor.execute(
            self.sql("check", "sample", columns=read, percent=repr(100 * share))
        )
        return "temp.main._priv_sample"

    def profiles(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """Return for each column its number of non-null records and its approximate number of distinct values."""
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
        """Count distinct values of the columns, their records, the values that occur once, and the most frequent one.

        NULLs of a single column are not counted. If there are very many values, only one in ``rate`` is examined.
        """
        sizes = self.workspace.sizes.get((self.source.table, *columns))
        if sizes and rate == 1 and len(columns) > 1:
            # Planning has computed the same profiles.
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
        self.workspace.groups[self.source.table, *columns] = values * rate
        return values, records, alone, most

    def similar_ids(self, ids: Sequence[str], texts: Sequence[str], rate: int) -> int:
        """Count the ids that equal another id when case, blanks and the leading zeros of its ``texts`` are ignored.

        If there are very many, only ids in one of ``rate`` hash classes are examined; the class ignores blanks and
        zeros.
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
        """Return the query that counts ``rows`` by the hashed ``key`` of columns and hashed ``value`` of another one.

        If there are very many keys, only one in ``rate`` is examined.
        """
        return self.sql(
            "check",
            "source_groups",
            columns=identifiers(columns),
            other=identifier(other),
            rate=str(rate),
        )

    def combinations(self, columns: Sequence[str]) -> str:
        """Return a table expression of the combinations of values that occur, as texts, with their ``_priv_rows``."""
        return f"(SELECT {value_texts(columns)}, count(*) AS _priv_rows FROM {self.source.table} GROUP BY ALL)"

    def once(self, what: str, draw: Callable[[], T]) -> T:
        """Return the result of ``draw``, which is called at most once per publication."""
        return draw()

    def values(self, column: str) -> str:
        """Return the query that counts the ``rows`` of each hashed ``value`` of a column."""
        return self.sql("check", "source_values", other=identifier(column))

    def assigned(self, assigning: Kernel, bits: Sequence[int]) -> AssignedAggregates | None:
        """Return an object that draws the records' random bits outside DuckDB; None if DuckDB draws them.

        ``assigning`` is the kernel whose rows AssignedAggregates counts. ``bits`` says for each attribute how many
        leading bits of the records' order are counted.
        """
        return None

    def set_aside(self, rows: str) -> str:
        """Return a query of the same rows that stays valid when their table is written again."""
        return f"FROM ({rows})"


def _rest(text: str) -> str:
    """Return SQL for an id without case, blanks and the leading zeros of its numbers."""
    bare = f"regexp_replace(lower({text}), {literal(BLANK)}, '', 'g')"
    return rf"regexp_replace({bare}, {literal(LEADING_ZEROS)}, '\1\2', 'g')"


def aggregates_of(workspace: Workspace, source: Source) -> Aggregates:
    """Return the object that computes the aggregates of a source."""
    answers = source.answers or Aggregates
    return answers(workspace, source)


@dataclass(frozen=True)
class AssignedAggregates:
    """Counts of records by their random bits, one attribute at a time.

    The records are rows of a table that a kernel step makes. ``_code{n}`` is the position of the true value of
    attribute ``n`` in its domain. The bits ``_order{n}`` order the records of a value, and ``_word{n}`` draw the value
    that a record shows. ``_mark`` identifies the record later.
    """

    workspace: Workspace
    table: str

    def digest(self, n: int) -> str:
        """Return the record count and the sum of the order bits; a change in any record changes the sum."""
        order = order_sql(n)
        ((digest,),) = self.workspace.rows(
            f"SELECT count(*) || '/' || bit_xor({order}) || '/' || sum({order}::HUGEINT) FROM {self.table}"
        )
        return str(digest)

    def counts(self, n: int, values: int, bits: int) -> NDArray[np.int64]:
        """Count the records of each value by the leading bits of their order: shape (values, 2**bits)."""
        counts = np.zeros((values, 1 << bits), np.int64)
        rows = self.workspace.rows(
            f"SELECT {cell_sql(n, bits)}, count(*) FROM {self.table} GROUP BY ALL"
        )
        if rows:
            cell, records = np.array(rows, np.int64).T
            counts.reshape(-1)[cell] = records
        return counts

    def marks(self, kept: str = "true") -> str:
        """Return a table expression with the ``mark`` of each record that satisfies a condition."""
        return f"(SELECT _mark AS mark FROM {self.table} WHERE {kept})"

    def leave_out(self, known: str) -> int:
        """Remove the records whose marks a query lists, and return the number of the others."""
        self.workspace.cursor.execute(f"DELETE FROM {self.table} WHERE _mark IN ({known})")
        left = count_of(self.workspace.cursor, self.table)
        return int(left)

    def last(
        self, last: Mapping[int, tuple[int, int]], attributes: int, bits: int
    ) -> list[tuple[tuple[int, int, int], ...]]:
        """Return the last records of some values of the first attribute, in the order of their random bits.

        ``last`` gives for each value the number of records wanted, and the first range of the order that can contain
        them. The result has the code and both halves of the bits, for each record and attribute.
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
    """Return a condition that holds for at least the ``last`` records of some values (``AssignedAggregates.last``)."""
    return " OR ".join(
        f"(_code0 = {code} AND {cell_sql(0, bits)} >= {(code << bits) + first})"
        for code, (_, first) in last.items()
    )


def order_sql(n: int) -> str:
    """Return SQL for the bits that order the records of a value."""
    return f"_order{n}"


def word_sql(n: int) -> str:
    """Return SQL for the bits that choose a record's published value and break ties of the order."""
    return f"_word{n}"


def cell_sql(n: int, bits: int) -> str:
    """Return SQL for the number of a record's cell: its value and one of ``2**bits`` ranges of the order.

    The cell is one number because a window over one key takes half the time of a window over two.

    >>> cell_sql(0, 3), cell_sql(0, 0)
    ('(_code0 << 3) + (_order0 >> 61::UBIGINT)::UINTEGER', '_code0')
    """
    if not bits:
        return f"_code{n}"
    return f"(_code{n} << {bits}) + ({order_sql(n)} >> {64 - bits}::UBIGINT)::UINTEGER"
