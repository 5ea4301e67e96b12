"""Giving records their codes and random bits, from which decoy groups and other groups of records are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from duckdb_priv.engine import drawing, randomness, udfs
from duckdb_priv.engine.aggregates import AssignedAggregates, aggregates_of, order_sql, word_sql
from duckdb_priv.engine.kernel import RECORDS, Kernel, Step, create_table
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.spilled import Rows, SpilledRecords
from duckdb_priv.engine.threads import ahead, threads_of
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.record_order import Keys
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.perturbation import coded_sql, open_random_bits
from duckdb_priv.sqltext.reading import make_table, select
from duckdb_priv.sqltext.templates import fragment, place

ASSIGNED = "temp.main._priv_assigned"
SPILLED = "temp.main._priv_spilled"
PORTION = 1 << 21
"""Records in a batch, if not all of them fit in memory."""
IDS = ("_number", "_text")
BITS = ("_order", "_word")
"""The columns of the random bits of an attribute, which its number follows."""
RANGE = 1 << 17
"""Approximate number of records in a range of the order bits."""
CELLS = 1 << 16
"""Most counts by value and range in a plan; with more values, each has few records and needs no ranges."""
BYTES_OF_BITS, BYTES_OF_COLUMN = 32, 16
"""Approximate bytes of a record of ASSIGNED for each attribute, and for each public column."""


Sources = Mapping[str, randomness.KeyedBits | randomness.FreshBits]
"""Sources of random bits, by placeholder."""


@dataclass(frozen=True)
class Grouping:
    """The grouping of the sensitive attributes."""

    mechanism: str
    gamma: int
    name: str
    """A key of GROUPINGS."""


@dataclass(frozen=True)
class Assigned:
    """Records with their codes and random bits."""

    kernel: Kernel
    """The kernel that assigns them."""
    table: str
    """The table that planning reads: ASSIGNED, if it is on the publisher's cursor."""
    answers: AssignedAggregates
    """Computes counts of the records."""
    few: bool = False
    """Whether the records need a small part of the memory; the value that each shows is then kept."""
    drawn: pa.Table | None = None
    """The records, if they are in memory: ASSIGNED reads this table."""
    spilled: SpilledRecords | None = None
    """The records, if they are in a file, in ranges of the order of the first attribute: ASSIGNED reads it."""
    elsewhere: bool = False
    """Whether the records are outside of DuckDB; the kernel then makes their rows."""

    @property
    def staged(self) -> tuple[str, ...]:
        """The kernel steps whose tables are on the publisher's cursor."""
        return () if self.elsewhere else (ASSIGNED,)


def assign(
    workspace: Workspace,
    source: Source,
    domains: Sequence[Domain],
    grouping: Grouping,
    marks: randomness.KeyedBits | None,
    *,
    stored: bool = False,
) -> Assigned:
    """Give the records of a source their codes and random bits, attribute by attribute.

    The result is the table ASSIGNED. It is in memory if it takes a small part of it, and otherwise in a file. It is a
    temporary table of DuckDB if it must be ``stored`` so that rows can be deleted.

    ``marks`` are the bits of the marks, which are drawn with those of the first attribute. The kernel does not
    contain them, because no other process needs them.
    """
    random_bits = {
        f"random{n}": open_random_bits(
            workspace, source, context_of(domain, grouping) | {"purpose": "order and draw"}
        ).bits
        for n, domain in enumerate(domains)
    }
    query = _assign_sql(source, domains, "NULL")
    kernel = Kernel(
        reads=source.read_types,
        select="",
        random_bits=random_bits,
        tables={domain.table: domain.as_table() for domain in domains},
        alone=False,
    )
    marked = random_bits if marks is None else {**random_bits, "marks": marks}
    marked_query = query if marks is None else _assign_sql(source, domains, place("marks"))
    bits = [range_bits(source.rows, domain.size) for domain in domains]
    assigning = replace(kernel, select=marked_query, random_bits=marked, alone=True)
    if there := aggregates_of(workspace, source).assigned(assigning, bits):
        kernel = replace(kernel, select=query, alone=True)
        return Assigned(kernel, source.table, there, elsewhere=True)
    row = BYTES_OF_BITS * len(domains) + BYTES_OF_COLUMN * len(source.public)
    few = stored or workspace.fits_in_memory(source.rows * row)
    drawn, tallies = _draw(workspace, source, domains, marked, bits, few=few, stored=stored)
    table = spilled = None
    if isinstance(drawn, pa.Table):
        table = drawn
        let_read(workspace, ASSIGNED, table)
    elif drawn is None:
        steps = (Step(ASSIGNED, marked_query),)
        replace(kernel, random_bits=marked, steps=steps).stage(workspace.cursor, source.table)
    elif few:
        let_read(workspace, SPILLED, drawn.rows())
        make_table(workspace.cursor, ASSIGNED, select(["*"], SPILLED))
    else:
        spilled = drawn
        let_read(workspace, ASSIGNED, spilled.rows())
    kernel = replace(kernel, steps=(Step(ASSIGNED, query),))
    assigned = assigned_in(workspace, kernel, ASSIGNED)
    assigned = replace(assigned, few=few, drawn=table, spilled=spilled)
    if stored or not tallies:
        return assigned
    return replace(assigned, answers=TalliedAggregates(workspace, ASSIGNED, tallies))


@dataclass(frozen=True)
class Tally:
    """What is counted of the bits of one attribute. The tallies of parts of a table add up to that of the table."""

    rows: int
    parity: int
    """The parity of the order bits."""
    total: int
    """The sum of the order bits."""
    counts: NDArray[np.int64]
    """The number of records by value and by leading order bits."""

    @classmethod
    def of(cls, keys: Keys, values: int, bits: int) -> Tally:
        """Count records, by the first ``bits`` of their order.

        >>> keys = Keys(np.array([1, 1], "u4"), np.array([3, 1 << 63], "u8"), np.array([8, 0], "u8"))
        >>> Tally.of(keys, 2, 1)
        Tally(rows=2, parity=9223372036854775811, total=9223372036854775811, counts=array([0, 0, 1, 1]))
        """
        high, low = keys.order >> np.uint64(32), keys.order & np.uint64(0xFFFFFFFF)
        cell = keys.code.astype(np.int64) << bits
        if bits:
            cell |= (keys.order >> np.uint64(64 - bits)).view(np.int64)
        return cls(
            len(cell),
            int(np.bitwise_xor.reduce(keys.order)),
            (int(high.sum()) << 32) + int(low.sum()),
            np.bincount(cell, minlength=values << bits),
        )

    def __add__(self, other: Tally) -> Tally:
        """Count the records of both."""
        return Tally(
            self.rows + other.rows,
            self.parity ^ other.parity,
            self.total + other.total,
            self.counts + other.counts,
        )


@dataclass(frozen=True)
class TalliedAggregates(AssignedAggregates):
    """Counts of records that were counted when their bits were drawn, without reading them again."""

    tallies: Sequence[Tally]
    """By attribute."""

    def digest(self, n: int) -> str:
        """Return the record count and the sum of the order bits."""
        tally = self.tallies[n]
        return f"{tally.rows}/{tally.parity}/{tally.total}"

    def counts(self, n: int, values: int, bits: int) -> NDArray[np.int64]:
        """Return the counts of each value by the leading bits of their order."""
        return self.tallies[n].counts.reshape(values, 1 << bits)


def keys_of(piece: pa.Table, n: int) -> Keys:
    """Return the sort keys of a batch of records for an attribute."""
    return Keys(*(piece[f"{name}{n}"].to_numpy() for name in ("_code", *BITS)))


def _draw(
    workspace: Workspace,
    source: Source,
    domains: Sequence[Domain],
    random_bits: Sources,
    bits: Sequence[int],
    *,
    few: bool,
    stored: bool,
) -> tuple[pa.Table | SpilledRecords | None, Sequence[Tally]]:
    """Give the records their bits, outside of DuckDB, and return them with the tallies of their attributes.

    There are none if the records are so few that DuckDB draws them, or if Arrow does not hold their values exactly.
    They are in a file, cut into ranges unless they are ``few``, if they do not fit in memory or are to be ``stored``.
    """
    records, integers = coded_sql(source, domains, source.table), source.integer_id
    if source.rows <= drawing.FEW:
        return None, []
    for domain in domains:
        create_table(workspace.cursor, domain.table, domain.as_table())

    def draw(piece: pa.Table) -> tuple[pa.Table, list[Tally]]:
        table = _with_bits(len(domains), random_bits, piece, integers=integers)
        return table, [
            Tally.of(keys_of(table, n), domain.size, bits[n]) for n, domain in enumerate(domains)
        ]

    def room(each: float) -> bool:
        return workspace.fits_in_memory(source.rows * (each + BYTES_OF_BITS * len(domains)))

    table = (
        None if stored else drawing.in_memory(workspace.cursor, records, room, integers=integers)
    )
    if table is not None:
        made = workspace.each(draw, drawing.pieces(table))
        return pa.concat_tables(piece for piece, _ in made), _added_up(tally for _, tally in made)
    if not drawing.are_kept_by_arrow(workspace.cursor, records):
        return None, []
    spilled = workspace.spilled(0 if few else (-(-source.rows // PORTION) - 1).bit_length())
    portion: list[pa.Table] = []
    tallies: list[list[Tally]] = []
    threads = threads_of(workspace.cursor)
    batches = drawing.read_in_pieces(workspace.cursor, records, integers=integers)
    for piece, tally in ahead(threads, draw, batches):
        portion.append(piece)
        tallies.append(tally)
        if sum(map(len, portion)) >= PORTION:
            _spill(spilled, 0, portion)
            portion = []
    if portion:
        _spill(spilled, 0, portion)
    return spilled, _added_up(tallies)


def _added_up(tallies: Iterable[Sequence[Tally]]) -> list[Tally]:
    return [reduce(add, of_pieces) for of_pieces in zip(*tallies, strict=True)]


def _spill(spilled: SpilledRecords, n: int, pieces: Sequence[pa.Table]) -> None:
    """Add records to a file, in the ranges of the order of attribute number ``n``."""
    records = pa.concat_tables(pieces)
    spilled.add(records, records[f"_order{n}"].to_numpy())


def _with_bits(
    attributes: int, random_bits: Sources, piece: pa.Table, *, integers: bool
) -> pa.Table:
    """Draw the bits of records with ids and codes, and drop the ids."""
    ids = piece["_number"], udfs.NO_TEXTS if integers else piece["_text"]
    table = piece.drop_columns([name for name in IDS if name in piece.column_names])
    for n in range(attributes):
        marks = None if n else random_bits.get("marks")
        drawn = udfs.assigned(random_bits[f"random{n}"], marks, *ids, piece[f"_code{n}"])
        marked, *words = drawn.flatten()
        if n == 0:
            table = table.append_column("_mark", marked)
        for name, column in zip(BITS, words, strict=True):
            table = table.append_column(f"{name}{n}", column)
    return table


def let_read(workspace: Workspace, name: str, table: pa.Table | Rows) -> None:
    """Let SQL read rows of Arrow under the name of a temporary table."""
    workspace.cursor.register(name.split(".")[-1], table)


def assigned_in(workspace: Workspace, kernel: Kernel, table: str) -> Assigned:
    """Return the assigned records that a table contains."""
    return Assigned(kernel, table, AssignedAggregates(workspace, table))


def _assign_sql(source: Source, domains: Sequence[Domain], marks: str) -> str:
    drawn, ids = source.drawing("random_bits")
    return fragment(
        "assign",
        coded=coded_sql(source, domains, place(RECORDS)),
        random=", ".join(
            f"{drawn}({'NULL' if n else marks}::UBIGINT, {place(f'random{n}')}::UBIGINT,"
            f" {ids}, _code{n}) AS _random{n}"
            for n in range(len(domains))
        ),
        words=", ".join(
            f"_random{n}.first_half AS {order_sql(n)}, _random{n}.second_half AS {word_sql(n)}"
            for n in range(len(domains))
        ),
        drawn=", ".join(f"_random{n}" for n in range(len(domains))),
    )


def context_of(domain: Domain, grouping: Grouping) -> dict[str, object]:
    """Return everything that defines the noise of one attribute, except the records."""
    return {
        "mechanism": grouping.mechanism,
        "attribute": domain.attribute.lower(),
        "domain": domain.digest,
        "gamma": grouping.gamma,
        "grouping": grouping.name,
    }


def range_bits(rows: int, values: int) -> int:
    """Return how many leading bits of the order divide a table's records into ranges.

    >>> range_bits(10_000_000, 50), range_bits(10_000_000, 30_000), range_bits(1000, 50)
    (7, 1, 0)
    """
    wanted = (-(-rows // RANGE) - 1).bit_length()
    return min(wanted, max(0, (CELLS // values).bit_length() - 1))
