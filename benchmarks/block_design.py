"""A column of 1,383 values: codes of a block design beside uniform perturbation, at the same promise.

    python benchmarks/block_design.py --data FOLDER [--write]

FOLDER holds vaers_reactions.parquet. Each mechanism publishes the register with rho1 = .1 and rho2 = .5; the errors are
those of the estimated counts of all reactions, and of the fifty most frequent ones. The prediction is the square
root of the mean variance. --write keeps the table in benchmarks/results/BLOCK_DESIGN.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb

import duckdb_priv
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results" / "BLOCK_DESIGN.md"
FREQUENT = 50
HEADER = f"""\
| mechanism | root mean squared error | predicted | relative error of the {FREQUENT} most frequent | in 95% intervals |
|---|---|---|---|---|"""


def asked(connection: duckdb.DuckDBPyConnection, mechanism: str) -> str:
    """Publish, reconstruct every reaction, and write a line of the table."""
    connection.execute(
        f"FROM priv.publish_{mechanism}('reports', {literal(mechanism)}, sensitive := 'reaction', rho1 := 0.1,"
        " rho2 := 0.5, record_id := 'vaers_id', public := ['sex'])"
    ).fetchall()
    ((error, predicted, relative, covered),) = connection.execute(f"""
        WITH truth AS (
            SELECT reaction AS value, count(*) AS n, row_number() OVER (ORDER BY n DESC) AS place
            FROM reports GROUP BY ALL
        )
        SELECT sqrt(avg((estimate - n) ** 2)), sqrt(avg(stderr ** 2)),
            avg(abs(estimate - n) / n) FILTER (place <= {FREQUENT}), avg((n BETWEEN low AND high)::INTEGER)
        FROM truth JOIN priv.reconstructed_distribution({literal(mechanism)}) AS d
            ON truth.value IS NOT DISTINCT FROM d.value
    """).fetchall()
    return (
        f"| {mechanism} | {error:,.0f} | {predicted:,.0f} | {relative:.2f} | {100 * covered:.1f}% |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    with duckdb_priv.connect(secret=bytes(range(32))) as connection:
        path = literal(str(arguments.data / "vaers_reactions.parquet"))
        connection.execute(f"CREATE TABLE reports AS SELECT vaers_id, sex, reaction FROM {path}")
        lines = [HEADER, *(asked(connection, name) for name in ("uniform", "block_design"))]
    table = "\n".join(lines) + "\n"
    print(table)
    if arguments.write:
        RESULTS.write_text(
            "# Codes of a block design, on a register of 1,383 reactions\n\n" + table,
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
