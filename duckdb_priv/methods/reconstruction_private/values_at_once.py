"""The first records of each value of a group, where the order of all records is drawn at once: the table VALUES."""

from __future__ import annotations

from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from duckdb_priv.engine import drawing
from duckdb_priv.engine.kernel import RECORDS, create_table
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.threads import each
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Integers
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.reconstruction_private.micro_groups import (
    VALUES,
    Sampling,
    group_sql,
    order_drawn,
)
from duckdb_priv.sqltext.templates import fill

ORDERED = "_priv_ordered"
LAST = np.uint64(2**64 - 1)
"""The largest bits."""
DENSE = 16
"""Cells for each record, at most, that a count of them in an array has: a large group has more than a sample."""


def values_at_once(
    workspace: Workspace,
    source: Source,
    domain: Domain,
    sampling: Sampling,
    sample_size: int,
) -> bool:
    """Make the table VALUES as its step would, where records find room in memory; say whether they did.

    The large groups stand in LARGE already. Of domains so large that most cells are empty it is not asked.
    """
    if domain.size > DENSE * sample_size:
        return False
    cursor = workspace.cursor
    create_table(cursor, domain.table, domain.laid_out())
    records = group_sql(source, domain, sample_size)("grouped_records")
    ordered = order_drawn(source, records).at_once(
        cursor,
        fill(records, {RECORDS: source.table}),
        sampling.coins,
        lambda each: workspace.has_room(source.rows * each),
    )
    if ordered is None:
        return False
    firsts, most = first_records(cursor, ordered, domain.size, sample_size)
    sql = group_sql(source, domain, sample_size, most, ordered=ORDERED)
    cursor.register(ORDERED, firsts)
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {VALUES} AS {sql('group_values')}")
    cursor.unregister(ORDERED)
    return True


def first_records(
    cursor: duckdb.DuckDBPyConnection, records: pa.Table, values: int, sample_size: int
) -> tuple[pa.Table, int]:
    """Keep, of each value of a group, a few records with the smallest bits, and say how many are needed at most.

    The others, most of them, are not looked at again. How many had the value stands beside each, as ``_priv_rows``.
    """
    pieces = [*drawing.pieces(records)] or [records]
    cells = each(cursor, partial(_cells, values), pieces)
    rows = np.bincount(np.concatenate(cells))
    most = _most_of_value(rows, values, sample_size)
    # So many records, on average, that too few of a value are rare; where they are, all of them are kept.
    share = (most + 5 * most**0.5 + 8) / np.maximum(rows, 1)
    last = (np.minimum(share, 1 - 2**-53) * 2.0**64).astype(np.uint64)

    def kept() -> pa.Table:
        of_pieces = zip(pieces, cells, strict=True)
        return pa.concat_tables(each(cursor, partial(_up_to, last, rows), of_pieces))

    found = kept()
    few = np.bincount(_cells(values, found), minlength=len(rows)) < np.minimum(rows, most)
    if few.any():
        last[few] = LAST
        found = kept()
    return found, most


def _cells(values: int, records: pa.Table) -> Integers:
    """Number the values of all groups."""
    cells: Integers = records["_priv_group"].to_numpy() * values + records["_priv_code"].to_numpy()
    return cells


def _up_to(last: NDArray[np.uint64], rows: Integers, piece: tuple[pa.Table, Integers]) -> pa.Table:
    """Take the records whose bits are at most the last ones of their cell, with how many are in it."""
    records, cells = piece
    chosen = np.flatnonzero(records["_bits0"].to_numpy() <= last[cells])
    return records.take(chosen).append_column("_priv_rows", pa.array(rows[cells[chosen]]))


def _most_of_value(rows: Integers, values: int, sample_size: int) -> int:
    """Count how many records of one value represent a group at most: its share of them, rounded up.

    >>> _most_of_value(np.array([0, 0, 60, 40]), values=2, sample_size=10)
    7
    """
    groups = np.pad(rows, (0, -len(rows) % values)).reshape(-1, values)
    sizes = np.maximum(groups.sum(axis=1, keepdims=True), 1)
    return 1 + int((groups * sample_size // sizes).max(initial=0))
