"""Compares block designs and uniform perturbation with the same guarantee, on a column of 1,383 values.

    python benchmarks/block_design.py --data FOLDER [--rows 1000000 10000000] [--write]

FOLDER contains vaers_reactions.parquet. Each mechanism publishes the register with rho1 = .1 and rho2 = .5. The errors
are those of the estimated counts of all reactions, and of the fifty most frequent ones. The prediction is the square
root of the mean variance. Two more tables compare the chosen designs with the optimal subset selection (Ye and Barg)
for all domain sizes, and the processor time of counts with that of plain counts. The times are for generated tables of
the given numbers of rows, in one thread, and the best of several alternating runs. --write writes
benchmarks/results/BLOCK_DESIGN.md.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

import duckdb_priv
from duckdb_priv.mechanism.block_design import choose_design
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results" / "BLOCK_DESIGN.md"
FREQUENT = 50
WANTED = 6.0
"""The target ratio of uniform perturbation's error to that of the block design."""
DOMAINS = (120, 400, 1383, 4000, 10_000)
EPSILONS = (0.1, 0.5, 1.0, 2.0, math.log(9), 3.0, 4.0, 5.0)
VALUES = 1383
QUESTIONS = (
    "SELECT sex, count(*) FILTER (noisy_reaction = '7') FROM codes GROUP BY sex",
    "SELECT sex, priv.reconstructed_count('codes', noisy_reaction, 'r00007') FROM codes GROUP BY sex",
    "SELECT noisy_reaction, count(*) FROM codes GROUP BY ALL",
    "FROM priv.reconstructed_distribution('codes')",
    "SELECT sex, noisy_reaction, count(*) FROM codes GROUP BY ALL",
    "FROM priv.reconstructed_distribution('codes', group_columns := 'sex')",
)

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reference.subset_selection import optimal_error  # noqa: E402

"""Pairs of a plain statement and the statement on a release."""
RUNS = 12
HEADER = f"""\
| mechanism | root mean squared error | predicted | relative error of the {FREQUENT} most frequent | in 95% intervals |
|---|---|---|---|---|"""


def asked(connection: duckdb.DuckDBPyConnection, mechanism: str) -> tuple[float, ...]:
    """Publish and reconstruct all reactions; return the error, its prediction, that of frequent reactions, coverage."""
    connection.execute(
        f"FROM priv.publish_{mechanism}('reports', {literal(mechanism)}, sensitive := 'reaction', rho1 := 0.1,"
        " rho2 := 0.5, record_id := 'vaers_id', public := ['sex'])"
    ).fetchall()
    (found,) = connection.execute(f"""
        WITH truth AS (
            SELECT reaction AS value, count(*) AS n, row_number() OVER (ORDER BY n DESC) AS place
            FROM reports GROUP BY ALL
        )
        SELECT sqrt(avg((estimate - n) ** 2)), sqrt(avg(stderr ** 2)),
            avg(abs(estimate - n) / n) FILTER (place <= {FREQUENT}), avg((n BETWEEN low AND high)::INTEGER)
        FROM truth JOIN priv.reconstructed_distribution({literal(mechanism)}) AS d
            ON truth.value IS NOT DISTINCT FROM d.value
    """).fetchall()
    return tuple(found)


def accuracy(data: Path) -> Iterator[str]:
    """Write the table of errors on the register."""
    with duckdb_priv.connect(secret=bytes(range(32))) as connection:
        path = literal(str(data / "vaers_reactions.parquet"))
        connection.execute(f"CREATE TABLE reports AS SELECT vaers_id, sex, reaction FROM {path}")
        found = {name: asked(connection, name) for name in ("uniform", "block_design")}
    yield HEADER
    for name, (error, predicted, relative, covered) in found.items():
        yield f"| {name} | {error:,.0f} | {predicted:,.0f} | {relative:.2f} | {100 * covered:.1f}% |"
    gain = found["uniform"][0] / found["block_design"][0]
    yield f"\nThe error is {gain:.2f} times smaller; {WANTED:g} times is wanted."


def optimality() -> Iterator[str]:
    """Write the table that compares the chosen designs with the optimum."""
    yield "Standard deviation of the code taken over that of the best over all subsets; 1.03 at most is wanted:\n"
    yield "| values | " + " | ".join(f"epsilon {each:.2g}" for each in EPSILONS) + " |"
    yield "|---|" + "---|" * len(EPSILONS)
    for values in DOMAINS:
        ratios = (
            choose_design(values, math.exp(each)).code.error(math.exp(each))
            / optimal_error(values, math.exp(each))
            for each in EPSILONS
        )
        yield f"| {values:,} | {' | '.join(f'{each:.3f}' for each in ratios)} |"


def cost(rows: int) -> str:
    """Publish a table, and write the time of counts and of plain counts over the same column."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "codes.duckdb")
        with duckdb_priv.connect(secret=bytes(range(32))) as connection:
            connection.execute(
                "CREATE TABLE made AS SELECT i AS id, if(hash(i, 3) % 2 = 0, 'f', 'm') AS sex, 'r' || lpad((floor("
                f"{VALUES} * pow((hash(i, 7) % 1000003) / 1000003, 2.5))::INTEGER)::VARCHAR, 5, '0') AS reaction"
                f" FROM range({rows}) AS t(i)"
            )
            connection.execute(
                "FROM priv.publish_block_design('made', 'codes', sensitive := 'reaction', rho1 := 0.1, rho2 := 0.5,"
                " record_id := 'id')"
            ).fetchall()
            connection.execute("FROM priv.export_release('codes', ?)", [path]).fetchall()
        with duckdb.connect(path, read_only=True, config={"threads": 1}) as analyst:
            best = [math.inf] * len(QUESTIONS)
            for _ in range(RUNS):
                for place, question in enumerate(QUESTIONS):
                    begun = time.process_time()
                    analyst.execute(question).fetchall()
                    best[place] = min(best[place], time.process_time() - begun)
    pairs = zip(best[::2], best[1::2], strict=True)
    shown = (f"{1000 * ours:.0f} ms, {ours / theirs:.2f}" for theirs, ours in pairs)
    return f"| {rows:,} | {' | '.join(shown)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, nargs="*", default=[])
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    lines = [*accuracy(arguments.data), "", *optimality()]
    if arguments.rows:
        lines += [
            "\nProcessor time, and its ratio to the plain statement on that column; 1.5 for a count and 3 for all are"
            " wanted:\n",
            f"| rows | a count, by sex | all {VALUES:,} counts | all of them, by sex |",
            "|---|---|---|---|",
            *(cost(rows) for rows in arguments.rows),
        ]
    table = "\n".join(lines) + "\n"
    print(table)
    if arguments.write:
        RESULTS.write_text(
            "# Codes of a block design, on a register of 1,383 reactions\n\n" + table,
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
