"""Represent each large micro group by a sample of a public size, in which every value keeps its frequency.

A micro group is an equivalence class: the records with equal public attributes. A group of n > s records is represented
by exactly s of them. The sample has the floor or the ceiling of s times the frequency of each value, with exactly that
mean. It is systematic: the values are in a random order, and every (n / s)-th record is taken from one random start.
Within a value, the first records in a keyed order of their ids are taken. If any records leave the group later, the
remaining rows are a sample of the remaining records (``mechanism/growing_sample.md``).

Orders and start are a function of the secret and the group's records; without record ids they are freshly random.

``values_at_once`` makes the table VALUES, the first records of each value of a group, with all order bits in memory. It
takes less time than the step that makes the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from duckdb_priv.engine import randomness
from duckdb_priv.engine.aggregates import aggregates_of, aliased, steady_sql
from duckdb_priv.engine.drawing import Drawing, pieces
from duckdb_priv.engine.kernel import RECORDS, Kernel, Step, Table, create_table
from duckdb_priv.engine.source import Source, key_expression
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource
from duckdb_priv.mechanism.arrays import Integers
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.perturbation import Drawn, open_random_bits, perturb_sql
from duckdb_priv.release.model import SCALE
from duckdb_priv.sqltext.quoting import identifier, same
from duckdb_priv.sqltext.reading import count_of, make_table
from duckdb_priv.sqltext.signed import signed
from duckdb_priv.sqltext.templates import fill, fragment, place, section

LARGE, VALUES, SAMPLE = "_priv_large", "_priv_group_values", "_priv_group_sample"
"""Names of temporary tables."""
LARGEST_SAMPLE = 999_999
"""Largest sample size, because one aggregate collects at most this many records."""
ORDERED = "_priv_ordered"
BYTES_OF_CELL, BYTES_OF_RECORD = 60, 80
"""Memory of a cell (a value of a group) and of a kept record, in bytes: twice the measured need."""
TEXT = 64
"""Memory of a text id, in bytes."""
LAST = np.uint64(2**64 - 1)
"""The largest 64-bit word."""
DENSE = 16
"""Most cells per record for which cells are counted in a dense array."""


@dataclass(frozen=True)
class Sampling:
    """The SQL that represents large micro groups by samples."""

    source: Source
    """The sampled records with their scale, as a source to be perturbed; its table has placeholders of a kernel."""
    steps: tuple[Step, ...]
    """Steps that make the large groups, the values of each, and the number of records that represent each value."""
    random_bits: Mapping[str, randomness.KeyedBits | randomness.FreshBits]
    tables: Mapping[str, Table] = field(default_factory=dict)

    def kernel(self, source: Source, perturbation: Drawn) -> Kernel:
        """Return the kernel that samples and perturbs the records of a source."""
        return Kernel(
            reads=source.read_types,
            select=perturb_sql(self.source, [perturbation], self.source.table),
            random_bits={**self.random_bits, "random0": perturbation.random_bits.bits},
            tables={**self.tables, **perturbation.tables()},
            steps=self.steps,
            alone=False,
            together=source.public,
        )


def sample_groups(
    workspace: Workspace,
    source: Source,
    domain: Domain,
    sample_size: int,
    context: Mapping[str, object],
    large: str = "large_groups",
    most: int | None = None,
) -> Sampling:
    """Return the sampling that represents every micro group of more than ``sample_size`` records by that many.

    ``context`` defines the noise. The SQL fragment ``large`` selects the groups to sample and the number of records of
    each. ``most`` is the largest number of records of one value, if it is known. Raises InvalidSource if a published
    column is called scale.
    """
    sql = group_sql(source, domain, sample_size, most)
    return Sampling(
        as_source(source, sql("scaled_records"), "DOUBLE"),
        (
            Step(LARGE, sql(large)),
            Step(VALUES, sql("group_values")),
            Step(SAMPLE, sql("systematic_sample")),
        ),
        bits_of_groups(workspace, source, context),
    )


def most_of_value(workspace: Workspace, source: Source, domain: Domain, sample_size: int) -> int:
    """Return the largest number of records of one value that represent a group: its share of them, rounded up."""
    groups = aggregates_of(workspace, source).group_counts(domain.attribute)
    groups = groups.where(groups.size > sample_size)
    return 1 + int((groups.count * sample_size // groups.size).max(initial=0))


def bits_of_groups(
    workspace: Workspace, source: Source, context: Mapping[str, object]
) -> dict[str, randomness.KeyedBits | randomness.FreshBits]:
    """Derive the random bits for the order of a group's values, the order of a value's records, and the start."""
    return {
        f"{purpose}_bits": open_random_bits(workspace, source, {**context, "purpose": purpose}).bits
        for purpose in ("order", "start", "within")
    }


def as_source(source: Source, records: str, scale_type: str) -> Source:
    """Return a source whose table is a query of sampled records."""
    return replace(
        source,
        table=f"({records})",
        types={
            **source.types,
            "_priv_id": "BIGINT" if source.integer_id else "VARCHAR",
            SCALE: scale_type,
        },
        public=(*source.public, SCALE),
        record_id=("_priv_id",) if source.record_id else (),
    )


def order_drawn(source: Source, records: str) -> Drawing:
    """Return the drawing of order bits for ``records``, a query of the records of large groups."""
    return Drawing(records, source.drawing("bits")[0], {"within_bits": "_priv_code"})


def group_sql(
    source: Source,
    domain: Domain,
    sample_size: int,
    most: int | None = None,
    ordered: str | None = None,
) -> Callable[[str], str]:
    """Return a function that fills a named SQL fragment about the micro groups of a source.

    ``most`` is the largest number of records of one value that represent a group; by default ``sample_size``.
    ``ordered`` is a table of the first records of large groups, with their order and the number of records with the
    same value. By default the query draws the order. Raises InvalidSource if a published column is called scale.
    """
    if taken := [name for name in (*source.public, domain.attribute) if name.lower() == SCALE]:
        raise InvalidSource(
            f"column {taken[0]!r} has the name of the column for the number of records that a row represents",
            hint="rename it in a view, or exclude it",
        )
    number, text = source.id_arguments
    is_text = not source.integer_id
    # DuckDB finds the smallest signed numbers in half the time that unsigned ones take.
    first = f"arg_min({{}}, {signed('_bits0')}, {most or sample_size})"
    aliases = {name: f"_priv_public{n}" for n, name in enumerate(source.public)}
    fillings = {
        "source": f"{place(RECORDS)} AS s",
        "domain": domain.table,
        "sensitive": f"s.{key_expression(domain.attribute, domain.source_type)}",
        "sensitive_name": identifier(domain.attribute),
        "sample_size": str(sample_size),
        "first_numbers": "NULL::BIGINT[]" if is_text else first.format("_number"),
        "first_texts": first.format("_text") if is_text else "NULL::VARCHAR[]",
        "ordered": ordered or f"({order_drawn(source, fragment('grouped_records')).sql})",
        "rows": "any_value(_priv_rows)" if ordered else "count(*)",
        "id_number": number,
        "id_text": text,
        "id": text if is_text else number,
        "drawn_number": "NULL::BIGINT" if is_text else "_priv_id",
        "drawn_text": "_priv_id" if is_text else "NULL::VARCHAR",
        "sampled_id": f"t._priv_{'texts' if is_text else 'numbers'}[t._priv_number]",
        "order": place("order_bits"),
        "start": place("start_bits"),
        "groups": place("groups_bits"),
        "marks": place("marks_bits"),
        "group": steady_sql(source.public, source.types),
        "id_of_coded": "_priv_text" if is_text else "_priv_number",
        "large": LARGE,
        "values": VALUES,
        "sample": SAMPLE,
        "same_group": " AND ".join(
            same(f"s.{identifier(name)}", f"g.{alias}") for name, alias in aliases.items()
        )
        or "true",
        "public": aliased(source.public),
        "named_public": "".join(f"s.{identifier(name)}, " for name in aliases),
        "sampled_public": "".join(
            f"g.{alias} AS {identifier(name)}, " for name, alias in aliases.items()
        ),
    }
    return lambda name: fragment(name, **fillings)


def values_at_once(
    workspace: Workspace,
    source: Source,
    domain: Domain,
    sampling: Sampling,
    sample_size: int,
) -> bool:
    """Make the table VALUES if the records fit in memory; return whether they do.

    The table has the same rows as if its step had made it. LARGE must already have the large groups. Domains so large
    that most cells are empty are left to the step.
    """
    if domain.size > DENSE * sample_size:
        return False
    cursor = workspace.cursor
    create_table(cursor, domain.table, domain.as_table())
    records = group_sql(source, domain, sample_size)("grouped_records")
    drawing, query = order_drawn(source, records), fill(records, {RECORDS: source.table})
    ordered = drawing.at_once(
        cursor,
        query,
        sampling.random_bits,
        lambda each: workspace.fits_in_memory(source.rows * each),
    )
    if ordered is not None:
        parts = [*pieces(ordered)] or [ordered]
        rows = np.bincount(np.concatenate(workspace.each(partial(_cells, domain.size), parts)))
        firsts, most = first_records(
            rows, domain.size, sample_size, lambda keep: workspace.each(keep, parts)
        )
    else:
        counted = _counted(workspace, query, domain.size)
        if counted is None or not _fits_in_memory(
            workspace, source, counted, domain.size, sample_size
        ):
            return False
        firsts, most = first_records(
            counted,
            domain.size,
            sample_size,
            lambda keep: drawing.in_pieces(cursor, query, sampling.random_bits, keep),
        )
    sql = group_sql(source, domain, sample_size, most, ordered=ORDERED)
    cursor.register(ORDERED, firsts)
    make_table(cursor, VALUES, sql("group_values"))
    cursor.unregister(ORDERED)
    return True


Keep = Callable[[pa.Table], pa.Table]


def first_records(
    rows: Integers, values: int, sample_size: int, read: Callable[[Keep], Iterable[pa.Table]]
) -> tuple[pa.Table, int]:
    """Return the records with the smallest bits of each cell, and the largest number of records needed of a cell.

    A cell is a value of a group. ``rows`` has the number of records of each cell, and ``read`` applies a function to
    all records, piece by piece. Each returned record has the size of its cell as ``_priv_rows``.
    """
    most = _most_of_cells(rows, values, sample_size)
    share = _enough(most) / np.maximum(rows, 1)
    last = (np.minimum(share, 1 - 2**-53) * 2.0**64).astype(np.uint64)
    keep = partial(_up_to, last, rows, values)
    while True:
        found = pa.concat_tables(read(keep))
        few = np.bincount(_cells(values, found), minlength=len(rows)) < np.minimum(rows, most)
        if not few.any():
            return found, most
        # All records of these cells are kept. Fresh bits differ in each pass, so other cells may have too few then.
        last[few] = LAST


def _counted(workspace: Workspace, records: str, values: int) -> Integers | None:
    """Return the number of records of each cell, or None if the counts do not fit in memory."""
    groups = count_of(workspace.cursor, LARGE)
    if not workspace.fits_in_memory(BYTES_OF_CELL * (groups + 1) * values):
        return None
    query = section("kernels", "rows_of_cells", drawn=records)
    counted = workspace.integers(query)
    rows = np.zeros((groups + 1) * values, np.int64)
    rows[counted["_priv_group"] * values + counted["_priv_code"]] = counted["rows"]
    return rows


def _fits_in_memory(
    workspace: Workspace, source: Source, rows: Integers, values: int, sample_size: int
) -> bool:
    """Return whether the kept records fit in memory."""
    kept = np.minimum(rows, _enough(_most_of_cells(rows, values, sample_size))).sum()
    return workspace.fits_in_memory(
        float(kept) * (BYTES_OF_RECORD + TEXT * (not source.integer_id))
    )


def _enough(most: int) -> float:
    """Return how many records of a value to keep on average, so that fewer than ``most`` are kept only rarely."""
    return most + 5 * math.sqrt(most) + 8


def _cells(values: int, records: pa.Table) -> Integers:
    """Return the cell number of each record."""
    cells: Integers = records["_priv_group"].to_numpy() * values + records["_priv_code"].to_numpy()
    return cells


def _up_to(last: NDArray[np.uint64], rows: Integers, values: int, records: pa.Table) -> pa.Table:
    """Return the records whose bits are at most ``last`` of their cell, with the size of the cell."""
    cells = _cells(values, records)
    chosen = np.flatnonzero(records["_bits0"].to_numpy() <= last[cells])
    return records.take(chosen).append_column("_priv_rows", pa.array(rows[cells[chosen]]))


def _most_of_cells(rows: Integers, values: int, sample_size: int) -> int:
    """Return what ``most_of_value`` returns, from the number of records of each cell.

    >>> _most_of_cells(np.array([0, 0, 60, 40]), values=2, sample_size=10)
    7
    """
    groups = np.pad(rows, (0, -len(rows) % values)).reshape(-1, values)
    sizes = np.maximum(groups.sum(axis=1, keepdims=True), 1)
    return 1 + int((groups * sample_size // sizes).max(initial=0))
