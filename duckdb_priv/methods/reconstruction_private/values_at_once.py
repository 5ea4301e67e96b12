"""The first records of each value of a group, with an order that is drawn for all records at once: the table VALUES.

Python is called with many records at a time, instead of 2,048 for which the threads of DuckDB wait in turn. That takes
two thirds of the time, and more memory: it is done where the records find room there.
"""

from __future__ import annotations

import pyarrow as pa

from duckdb_priv.engine.kernel import PIECE, RECORDS, create_table
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.udfs import drawn
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.reconstruction_private.micro_groups import VALUES, Sampling, group_sql
from duckdb_priv.sqltext.templates import fill

BYTES_OF_RECORD = 64
"""What a record takes while its order is drawn, about."""
ORDERED = "_priv_ordered"


def values_at_once(
    workspace: Workspace,
    source: Source,
    domain: Domain,
    sampling: Sampling,
    sample_size: int,
    most: int | None,
) -> None:
    """Make the table VALUES as its step would; the large groups stand in LARGE already."""
    cursor = workspace.cursor
    create_table(cursor, domain.table, domain.laid_out())
    sql = group_sql(source, domain, sample_size, most, ordered=ORDERED)
    records = cursor.sql(fill(sql("grouped_records"), {RECORDS: source.table})).to_arrow_table()
    order = []
    for start in range(0, len(records), PIECE):
        piece = records.slice(start, PIECE)
        ids = piece["_priv_number"], piece["_priv_text"]
        order.append(drawn(sampling.coins["within_coins"], *ids, piece["_priv_code"]))
    column = pa.chunked_array(order, pa.uint64())
    cursor.register(ORDERED, records.append_column("_priv_order", column))
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {VALUES} AS {sql('group_values')}")
    cursor.unregister(ORDERED)
