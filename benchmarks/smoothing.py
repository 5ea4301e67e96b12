"""Compares the errors of smoothed and unbiased counts on real data, by the size of the true count.

    python benchmarks/smoothing.py --data FOLDER [--write]

FOLDER contains census_500k, adult and vaers_reactions as Parquet files. Each table is perturbed uniformly. Then
priv.smoothed_count estimates eight values of its sensitive column, from the most to the least frequent, in every cell
of public columns. --write writes benchmarks/results/SMOOTHING.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import duckdb

import duckdb_priv
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results" / "SMOOTHING.md"
VALUES = 8
CLASSES = {
    "0 to 10": (0, 10),
    "11 to 100": (11, 100),
    "101 to 500": (101, 500),
    "above 500": (501, 10**9),
}


@dataclass(frozen=True)
class Design:
    """A table, its sensitive column, and the columns by which it is counted."""

    table: str
    select: str
    sensitive: str
    cells: str
    epsilon: float


CENSUS = "row_number() OVER () AS id, occupation, age, gender, education, race"
ADULT = "row_number() OVER () AS id, occupation, age // 5 * 5 AS age, sex, education"
REACTIONS = "vaers_id AS id, reaction, state"
DESIGNS = (
    Design("census_500k", CENSUS, "occupation", "age, gender", 2.0),
    Design("census_500k", CENSUS, "occupation", "age, gender, education", 2.0),
    Design("census_500k", CENSUS, "occupation", "age, gender, race", 3.0),
    Design("adult", ADULT, "occupation", "age, education", 2.0),
    Design("adult", ADULT, "occupation", "education, sex", 1.0),
    Design("vaers_reactions", REACTIONS, "reaction", "state", 4.0),
)


def asked(connection: duckdb.DuckDBPyConnection, design: Design) -> str:
    """Publish, query, and write a line of the table."""
    connection.execute(
        f"FROM priv.publish_uniform({literal(design.table)}, 'release', sensitive := {literal(design.sensitive)},"
        f" epsilon := {design.epsilon}, public := [{', '.join(map(literal, design.cells.split(', ')))}],"
        " record_id := 'id', replace := true)"
    ).fetchall()
    values = connection.execute(
        f"WITH ranked AS (SELECT {design.sensitive} AS value, row_number() OVER (ORDER BY count(*) DESC) - 1 AS place,"
        f" count(*) OVER () AS n FROM {design.table} GROUP BY ALL)"
        f" SELECT value FROM ranked WHERE place % greatest(n // {VALUES}, 1) = 0 LIMIT {VALUES}"
    ).fetchall()
    connection.execute(
        "CREATE OR REPLACE TABLE answer (truth BIGINT, estimate DOUBLE, smoothed DOUBLE, covered BOOLEAN)"
    )
    for (value,) in values:
        connection.execute(
            f"INSERT INTO answer SELECT count_if(t.{design.sensitive} IS NOT DISTINCT FROM a.value) AS truth, estimate,"
            f" smoothed, truth BETWEEN low AND high FROM {design.table} AS t JOIN priv.smoothed_count('release', $1,"
            f" group_columns := {literal(design.cells)}) AS a"
            f" ON {' AND '.join(f't.{c} IS NOT DISTINCT FROM a.{c}' for c in design.cells.split(', '))}"
            f" GROUP BY {', '.join('a.' + c for c in design.cells.split(', '))}, estimate, smoothed, low, high",
            [value],
        )
    gains = [
        f"sqrt(avg((estimate - truth) ** 2) FILTER (truth BETWEEN {low} AND {high})"
        f" / avg((smoothed - truth) ** 2) FILTER (truth BETWEEN {low} AND {high}))"
        for low, high in [(0, 10**9), *CLASSES.values()]
    ]
    ((count, covered, error, *found),) = connection.execute(
        f"SELECT count(*), avg(covered::INTEGER), sqrt(avg((smoothed - truth) ** 2)), {', '.join(gains)} FROM answer"
    ).fetchall()
    shown = " | ".join("" if each is None else f"{each:.2f}" for each in found)
    return (
        f"| {design.table} | {design.cells} | {design.epsilon:g} | {count:,} | {error:.1f} | {shown}"
        f" | {100 * covered:.1f}% |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    lines = [
        "Root mean squared error of the unbiased estimates over that of the smoothed ones, by size of the true count.",
        "",
        "| table | cells | epsilon | cells times values | error, smoothed | all"
        f" | {' | '.join(CLASSES)} | in 95% intervals |",
        "|---|---|---|---|---|---|" + "---|" * (len(CLASSES) + 1),
    ]
    with duckdb_priv.connect(secret=bytes(range(32))) as connection:
        for design in DESIGNS:
            path = literal(str(arguments.data / f"{design.table}.parquet"))
            connection.execute(
                f"CREATE OR REPLACE TABLE {design.table} AS SELECT {design.select} FROM {path}"
            )
            lines.append(asked(connection, design))
    table = "\n".join(lines) + "\n"
    print(table)
    if arguments.write:
        RESULTS.write_text("# Smoothed counts\n\n" + table, encoding="utf-8")


if __name__ == "__main__":
    main()
