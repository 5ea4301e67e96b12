"""How the rows of a release are written: in the order of their own columns, which tells nothing of the source's.

Where many of them are the same, the different ones are counted and sorted, and each is written as often as it is there:
that takes less time than a sort of all rows, and no more memory than the different ones need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from duckdb_priv.engine.byte_order import byte_keys, total_order
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.sqltext.quoting import identifiers

REPEATED = 16
"""So often a row must be there on average to be counted."""
PARTS = 2
"""Parts that are written at once, for each thread."""
STRETCH = 1 << 10
"""Most rows that one number stands for: DuckDB lists them in memory."""
COUNTED = "temp.main._priv_counted"
"""The different rows in order, and how many ``_priv_times`` each is there."""


def write_in_order(
    workspace: Workspace, target: str, rows: str, types: Mapping[str, str], *, repeated: bool
) -> None:
    """Make a table of the rows of a query, which has these types, in the order of their own columns.

    ``repeated`` says that many of them are expected to be the same.
    """
    run, order = workspace.cursor.execute, total_order(types)
    ((kept, collation, threads),) = workspace.rows(
        "SELECT current_setting('preserve_insertion_order'), current_setting('default_collation'),"
        " current_setting('threads')"
    )
    # Whether rows that DuckDB takes for equal are the same.
    exact = not collation and all(len(byte_keys("", kind)) == 1 for kind in types.values())
    numbered = "rowid" not in map(str.lower, types)
    if not (repeated and kept and exact and numbered):
        run(f"CREATE TABLE {target} AS FROM ({rows}) ORDER BY {order}")
        return
    run(
        f"CREATE OR REPLACE TEMP TABLE {COUNTED} AS"
        f" SELECT *, count(*) AS _priv_times FROM ({rows}) GROUP BY ALL ORDER BY {order}"
    )
    listed = workspace.integers(f"SELECT rowid AS row, _priv_times FROM {COUNTED} ORDER BY row")
    row, times = listed["row"], listed["_priv_times"]
    cuts = times.sum() * np.arange(1, PARTS * threads) // (PARTS * threads)
    # Rows of a transaction that is open are not numbered from 0.
    edges = row[np.searchsorted(np.cumsum(times), cuts)].tolist() if row.size else []
    since, before = ([f"rowid {sign} {edge}" for edge in edges] for sign in (">=", "<"))
    names = identifiers(types)
    # Parts that stand one below the other stay in order, and each is written by a thread of its own.
    parts = " UNION ALL ".join(
        f"SELECT {names}, unnest(range(least({STRETCH}, _priv_times - _priv_before))) FROM ("
        f"SELECT *, unnest(range(0, _priv_times, {STRETCH})) AS _priv_before FROM {COUNTED}"
        f" WHERE {low} AND {high})"
        for low, high in zip(["true", *since], [*before, "true"], strict=True)
    )
    run(f"CREATE TABLE {target} AS SELECT {names} FROM ({parts})")
    run(f"DROP TABLE {COUNTED}")


def are_repeated(workspace: Workspace, source: Source, rows: int) -> bool:
    """Say whether so many rows have few combinations of the values of a source, where these were counted."""
    asked = [(*source.public,), *((name,) for name in source.sensitive)]
    found = [workspace.distinct.get((source.table, *names), math.inf) for names in asked if names]
    return math.prod(found) * REPEATED <= rows
