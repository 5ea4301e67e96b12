"""Make the table VALUES, the first records of each value of a group, with all order bits in memory at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from duckdb_priv.engine.drawing import pieces
from duckdb_priv.engine.kernel import RECORDS, create_table
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Integers
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.reconstruction_private.micro_groups import (
    LARGE,
    VALUES,
    Sampling,
    group_sql,
    order_drawn,
)
from duckdb_priv.sqltext.reading import count_of, make_table
from duckdb_priv.sqltext.templates import fill, section

ORDERED = "_priv_ordered"
BYTES_OF_CELL, BYTES_OF_RECORD = 60, 80
"""Memory of a cell (a value of a group) and of a kept record, in bytes: twice the measured need."""
TEXT = 64
"""Memory of a text id, in bytes."""
LAST = np.uint64(2**64 - 1)
"""The largest 64-bit word."""
DENSE = 16
"""Most cells per record for which cells are counted in a dense array."""


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
    most = _most_of_value(rows, values, sample_size)
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
    kept = np.minimum(rows, _enough(_most_of_value(rows, values, sample_size))).sum()
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


def _most_of_value(rows: Integers, values: int, sample_size: int) -> int:
    """Return the largest number of records of one value that represent a group: its share of them, rounded up.

    >>> _most_of_value(np.array([0, 0, 60, 40]), values=2, sample_size=10)
    7
    """
    groups = np.pad(rows, (0, -len(rows) % values)).reshape(-1, values)
    sizes = np.maximum(groups.sum(axis=1, keepdims=True), 1)
    return 1 + int((groups * sample_size // sizes).max(initial=0))
