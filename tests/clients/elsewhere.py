"""A release with names and values that are hard to write, for databases other than DuckDB."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import duckdb

VISITS = r"""
    CREATE TABLE "my visits" AS
    SELECT id, ['f', 'm', NULL][1 + id % 3] AS "gen der",
        ['asthma', 'co\ld', NULL, 'fl"u', 'o''clock'][1 + (id * id) % 23 % 5] AS "dis/ease"
    FROM range(3000) AS t(id)
"""
COLUMNS = ("value", "estimate", "stderr", "low", "high", "noisy_count")
VIEWS = {"visits_dis_ease_estimates": None, "visits_dis_ease_by_gen_der": "gen der"}
"""By the name of a view: the public column that it counts by."""
DIALECTS = ("spark", "postgres", "bigquery", "trino", "snowflake")
Row = tuple[object, ...]


def export(con: duckdb.DuckDBPyConnection, folder: Path) -> tuple[dict[str, Path], Path]:
    """Publish and export the release; return the scripts by dialect, and its rows as CSV."""
    con.execute(VISITS)
    con.execute(
        "FROM priv.publish_uniform('my visits', 'visits', sensitive := 'dis/ease', retention := 0.3, record_id := 'id')"
    ).fetchall()
    place = folder / "visits.duckdb"
    con.execute(
        "FROM priv.export_release('visits', ?, dialects := ?)", [str(place), list(DIALECTS)]
    ).fetchall()
    rows = folder / "visits.csv"
    con.execute(f"COPY visits TO '{rows}' (HEADER, NULLSTR 'NULL')")
    return {dialect: folder / f"visits.{dialect}.sql" for dialect in DIALECTS}, rows


def expected(con: duckdb.DuckDBPyConnection, column: str | None) -> list[Row]:
    """Count as the functions of the release do."""
    by = "" if column is None else f", group_columns := '\"{column}\"'"
    named = "" if column is None else f'"{column}", '
    return con.execute(
        f"SELECT {named}{', '.join(COLUMNS)} FROM priv.reconstructed_distribution('visits'{by})"
    ).fetchall()


def differ(
    con: duckdb.DuckDBPyConnection, ask: Callable[[str, list[str]], list[Row]]
) -> dict[str, float]:
    """Return by view how far its numbers are from those of the functions; infinite where rows differ."""
    found = {}
    for view, column in VIEWS.items():
        texts = 1 if column is None else 2
        names = [*([] if column is None else [column]), *COLUMNS]
        pairs = [
            {row[:texts]: [float(str(each)) for each in row[texts:]] for row in rows}
            for rows in (expected(con, column), ask(view, names))
        ]
        found[view] = (
            max(
                abs(a - b)
                for key in pairs[0]
                for a, b in zip(pairs[0][key], pairs[1][key], strict=True)
            )
            if pairs[0].keys() == pairs[1].keys() and pairs[0]
            else float("inf")
        )
    return found


def read_csv(text: str) -> list[Row]:
    """Read what a program prints; NULL is written as that word."""
    return [
        tuple(None if cell == "NULL" else cell for cell in row)
        for row in csv.reader(text.splitlines())
    ]
