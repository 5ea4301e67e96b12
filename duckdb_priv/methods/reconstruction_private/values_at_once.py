"""The first records of each value of a group, where the order of all records is drawn at once: the table VALUES."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from duckdb_priv.engine.kernel import RECORDS, create_table
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.reconstruction_private.micro_groups import (
    VALUES,
    Sampling,
    group_sql,
    order_drawn,
)
from duckdb_priv.sqltext.templates import fill

ORDERED = "_priv_ordered"
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
    most = _most_of_value(ordered, domain.size, sample_size)
    sql = group_sql(source, domain, sample_size, most, ordered=ORDERED)
    cursor.register(ORDERED, ordered)
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {VALUES} AS {sql('group_values')}")
    cursor.unregister(ORDERED)
    return True


def _most_of_value(records: pa.Table, values: int, sample_size: int) -> int:
    """Count how many records of one value represent a group at most: its share of them, rounded up."""
    group, code = (records[name].to_numpy() for name in ("_priv_group", "_priv_code"))
    sizes, cells = np.bincount(group), np.bincount(group * values + code)
    share = cells * sample_size // np.maximum(sizes[np.arange(len(cells)) // values], 1)
    return 1 + int(share.max(initial=0))
