"""Giving records their codes and random bits, from which decoy groups and other groups of records are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import xor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from duckdb_priv.engine import drawing, randomness, udfs
from duckdb_priv.engine.aggregates import AssignedAggregates, aggregates_of
from duckdb_priv.engine.growing import GrowingTable, put_together, taken_apart
from duckdb_priv.engine.kernel import RECORDS, Kernel, Step, create_table
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.record_order import Keys
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.perturbation import coded_sql, open_random_bits
from duckdb_priv.sqltext.reading import make_table, select
from duckdb_priv.sqltext.templates import body, expand, place, read, section

ASSIGNED = "temp.main._priv_assigned"
CODED = "temp.main._priv_coded"
"""The input, batch by batch: records with the positions of their true values."""
PORTION = 1 << 21
"""Records in a batch, if not all of them fit in memory."""
MARK = "_random0.mark"
"""SQL for the mark that identifies a record of ASSIGNED later."""
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
    portions: int = 1
    """Number of ranges of the order of the first attribute into which ASSIGNED is cut; ``_range`` numbers them."""
    drawn: pa.Table | None = None
    """The records, if all their bits were drawn at once: ASSIGNED reads this table."""
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

    The result is the table ASSIGNED. It is in memory if it takes a small part of it, unless it must be ``stored`` so
    that rows can be deleted. Otherwise it is a temporary table, and DuckDB moves to disk what does not fit.

    ``marks`` are the bits of the marks, which are drawn with those of the first attribute (MARK). The kernel does not
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
    cut = 0 if few else (-(-source.rows // PORTION) - 1).bit_length()
    drawn = None if stored else _draw_at_once(workspace, source, domains, marked)
    if drawn is not None:
        read_in_memory(workspace, ASSIGNED, drawn)
    elif not _assign_in_portions(workspace, source, domains, marked, cut):
        cut = 0
        structs = {f"_random{n}": udfs.RANDOM_BITS for n in range(len(domains))}
        made = (ASSIGNED, marked_query) if few else taken_apart(ASSIGNED, marked_query, structs)
        replace(kernel, random_bits=marked, steps=(Step(*made),)).stage(
            workspace.cursor, source.table
        )
        if not few:
            put_together(workspace.cursor, ASSIGNED, structs)
    kernel = replace(kernel, steps=(Step(ASSIGNED, query),))
    assigned = replace(assigned_in(workspace, kernel, ASSIGNED), few=few, portions=1 << cut)
    if drawn is None:
        return assigned
    return replace(assigned, answers=DrawnAggregates(workspace, ASSIGNED, drawn), drawn=drawn)


@dataclass(frozen=True)
class DrawnAggregates(AssignedAggregates):
    """Counts of records that are all in memory: the same results in a third of the time."""

    drawn: pa.Table

    def digest(self, n: int) -> str:
        """Return the record count and the sum of the order bits."""

        def added(piece: pa.Table) -> tuple[int, int]:
            order = keys_of(piece, n).order
            high, low = order >> np.uint64(32), order & np.uint64(0xFFFFFFFF)
            return int(np.bitwise_xor.reduce(order)), (int(high.sum()) << 32) + int(low.sum())

        added_up = self.workspace.each(added, drawing.pieces(self.drawn))
        parity = reduce(xor, (each for each, _ in added_up))
        return f"{len(self.drawn)}/{parity}/{sum(each for _, each in added_up)}"

    def counts(self, n: int, values: int, bits: int) -> NDArray[np.int64]:
        """Count the records of each value by the leading bits of their order."""

        def counted(piece: pa.Table) -> NDArray[np.int64]:
            keys = keys_of(piece, n)
            cell = (keys.code.astype(np.uint64) << np.uint64(bits)) + (
                keys.order >> np.uint64(64 - bits)
            )
            return np.bincount(cell.view(np.int64), minlength=values << bits)

        counts = sum(self.workspace.each(counted, drawing.pieces(self.drawn)))
        return np.asarray(counts).reshape(values, 1 << bits)


def keys_of(piece: pa.Table, n: int) -> Keys:
    """Return the sort keys of a batch of records for an attribute."""
    random_bits = piece[f"_random{n}"]
    halves = (
        pc.struct_field(random_bits, half).to_numpy() for half in ("first_half", "second_half")
    )
    return Keys(piece[f"_code{n}"].to_numpy(), *halves)


def _draw_at_once(
    workspace: Workspace, source: Source, domains: Sequence[Domain], random_bits: Sources
) -> pa.Table | None:
    """Draw the bits of all records at once; None if the records are few or do not fit in memory."""
    if source.rows <= drawing.FEW:
        return None
    _lay_out(workspace, domains)
    table = drawing.in_memory(
        workspace.cursor,
        coded_sql(source, domains, source.table),
        lambda each: workspace.fits_in_memory(source.rows * (each + BYTES_OF_BITS * len(domains))),
        integers=source.integer_id,
    )
    return None if table is None else _with_bits(workspace, len(domains), random_bits, table)


def _assign_in_portions(
    workspace: Workspace, source: Source, domains: Sequence[Domain], random_bits: Sources, cut: int
) -> bool:
    """Make the table ASSIGNED batch by batch, if records are many; return whether Arrow holds their values exactly.

    The records of a batch are sorted by the first ``cut`` bits of their order, so that a range needs few reads.
    """
    if source.rows <= drawing.FEW:
        return False
    _lay_out(workspace, domains)
    cursor = workspace.cursor
    make_table(cursor, CODED, coded_sql(source, domains, source.table))
    ((first, last),) = workspace.rows(select(["min(rowid)", "max(rowid)"], CODED))
    assigned = GrowingTable(cursor, ASSIGNED, large=cut > 0)
    for start in range(first, last + 1, PORTION):
        rows = {"first": str(start), "last": str(start + PORTION - 1)}
        portion = section("kernels", "portion", coded=CODED, **rows)
        table = drawing.in_memory(cursor, portion, lambda each: True, integers=source.integer_id)
        if table is None:
            return False
        assigned.add(in_ranges(_with_bits(workspace, len(domains), random_bits, table), 0, cut))
    cursor.execute(section("kernels", "drop_coded", coded=CODED))
    return True


def _lay_out(workspace: Workspace, domains: Sequence[Domain]) -> None:
    for domain in domains:
        create_table(workspace.cursor, domain.table, domain.as_table())


def _with_bits(
    workspace: Workspace, attributes: int, random_bits: Sources, table: pa.Table
) -> pa.Table:
    """Draw the bits of records with ids and codes, and drop the ids."""

    def draw(n: int, piece: pa.Table) -> pa.Array:
        marks = None if n else random_bits.get("marks")
        ids = piece["_number"], piece["_text"]
        return udfs.assigned(random_bits[f"random{n}"], marks, *ids, piece[f"_code{n}"])

    for n in range(attributes):
        drawn = workspace.each(partial(draw, n), drawing.pieces(table))
        table = table.append_column(f"_random{n}", pa.chunked_array(drawn))
    return table.drop_columns(["_number", "_text"])


def in_ranges(records: pa.Table, n: int, bits: int) -> pa.Table:
    """Number the ranges of an attribute's order that the records are in, and sort the records by range."""
    if not bits:
        return records.append_column("_range", pa.array(np.zeros(len(records), np.uint16)))
    order = pc.struct_field(records[f"_random{n}"], "first_half").to_numpy()
    number = (order >> np.uint64(64 - bits)).astype(np.uint16)
    by_range = np.argsort(number, kind="stable")
    return records.append_column("_range", pa.array(number)).take(by_range)


def read_in_memory(workspace: Workspace, name: str, table: pa.Table) -> None:
    """Let SQL read an Arrow table under the name of a temporary table."""
    workspace.cursor.register(name.split(".")[-1], table)


def assigned_in(workspace: Workspace, kernel: Kernel, table: str) -> Assigned:
    """Return the assigned records that a table contains."""
    return Assigned(kernel, table, AssignedAggregates(workspace, table))


def _assign_sql(source: Source, domains: Sequence[Domain], marks: str) -> str:
    drawn, ids = source.drawing("random_bits")
    return expand(
        body(read("publisher/fragments", "assign")),
        {
            "coded": coded_sql(source, domains, place(RECORDS)),
            "random": ", ".join(
                f"{drawn}({'NULL' if n else marks}::UBIGINT, {place(f'random{n}')}::UBIGINT,"
                f" {ids}, _code{n}) AS _random{n}"
                for n in range(len(domains))
            ),
        },
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
