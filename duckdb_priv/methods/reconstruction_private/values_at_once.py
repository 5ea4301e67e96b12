"""The first records of each value of a group, where the order of all records is drawn at once: the table VALUES."""

from __future__ import annotations

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


def values_at_once(
    workspace: Workspace,
    source: Source,
    domain: Domain,
    sampling: Sampling,
    sample_size: int,
    most: int | None,
) -> bool:
    """Make the table VALUES as its step would, where records find room in memory; say whether they did.

    The large groups stand in LARGE already.
    """
    cursor = workspace.cursor
    create_table(cursor, domain.table, domain.laid_out())
    sql = group_sql(source, domain, sample_size, most, ordered=ORDERED)
    records = sql("grouped_records")
    ordered = order_drawn(source, records).at_once(
        cursor,
        fill(records, {RECORDS: source.table}),
        sampling.coins,
        lambda each: workspace.has_room(source.rows * each),
    )
    if ordered is None:
        return False
    cursor.register(ORDERED, ordered)
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {VALUES} AS {sql('group_values')}")
    cursor.unregister(ORDERED)
    return True
