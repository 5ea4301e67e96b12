"""Measures the CPU milliseconds of ordinary queries and of plain queries over the published table, for every mechanism.

Four variants run in turns, for one value and for all values: the plain query on noisy values; the rewritten query, with
and without the time of rewriting; and the query after ``USE estimated``. The figures are medians of one thread's
processor time, so they hardly depend on other load of the machine.

    PYTHONPATH=.:tests:benchmarks python benchmarks/ordinary_speed.py --folder FOLDER [--rows N] [--write] [HOW ...]
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

import duckdb
from ordinary_sql import EXCHANGE, PUBLISH

import duckdb_priv
import duckdb_priv.errors

RESULTS = Path(__file__).parent / "results" / "ORDINARY_SPEED.md"
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ONE, ALL = "one value", "all values"
QUESTIONS = {
    ONE: "SELECT gender, count(*) AS n FROM persons WHERE {} = 3 AND age > 30 GROUP BY gender",
    ALL: "SELECT gender, {} AS occupation, count(*) AS n FROM persons WHERE age > 30 GROUP BY ALL",
}
SOURCE = """
    CREATE TABLE source AS
    SELECT row_number() OVER () AS id, age::INTEGER // 10 * 10 AS age, gender::INTEGER AS gender,
        education::INTEGER AS education, marital::INTEGER AS marital, race::INTEGER AS race,
        workclass::INTEGER AS workclass, occupation::INTEGER AS occupation
    FROM '{path}', range(1 + {rows} // 500000) AS again(number) LIMIT {rows}
"""
HEAD = """# Ordinary queries beside plain ones

`benchmarks/ordinary_speed.py --write`: {rows} census records, DuckDB {version}, milliseconds of processor time on one
thread, medians of {times} interleaved runs; behind them how many times the plain query that is. Plain is the same query
over what is reported. Rewritten is the text of `duckdb_priv.rewrite_sql` alone, with its rewriting
`duckdb_priv.reconstruct`, and that with intervals; after `USE estimated` the query is asked as it is. Nobody is what
the same query takes after `USE estimated` where no row meets it: reading the statement, and planning. One value is
`{one}`,
all values by a public column `{all}`.

Anatomy reports lists, whose plain query asks for those with the value; anatomy and distribution have no weights for
single records, and `USE estimated` says so.

Nobody does not grow with the rows, so the ratio is large where the plain query is quick: reconstruction privacy
publishes the fewest rows, and shuffled the fewest columns. Rows of shuffled are grouped by how far each is perturbed as
well, where the plain query only filters them by one value; to sum that up instead is no quicker.

| mechanism | of | plain | rewritten | with rewriting | with intervals | USE estimated | nobody |
| -- | -- | --: | --: | --: | --: | --: | --: |
"""
WAYS = ("rewritten", "reconstruct", "intervals", "estimated")


def publish(folder: Path, mechanism: str, rows: int) -> Path:
    """Publish to a file, unless it exists."""
    path = folder / f"{mechanism.replace(' ', '_').replace(',', '')}_{rows}.duckdb"
    if not path.exists():
        with duckdb_priv.connect(secret=bytes(range(32))) as publisher:
            publisher.execute(SOURCE.format(path=DATA / "census_500k.parquet", rows=rows))
            publisher.execute(EXCHANGE)
            call = PUBLISH[mechanism].replace("exclude := ['age']", "exclude := ['education']")
            publisher.execute(f"FROM priv.{call}, record_id := 'id')").fetchall()
            publisher.execute(
                "FROM priv.export_release('persons', ?, card := false)", [str(path)]
            ).fetchall()
    return path


def measure(path: Path, question: str, times: int) -> dict[str, float]:
    """Run each variant in turns; return the median seconds of each, None for a refused query."""
    took: dict[str, list[float]] = defaultdict(list)
    with (
        duckdb.connect(str(path), read_only=True) as connection,
        connection.cursor() as estimated,
    ):
        connection.execute("SET threads = 1")
        estimated.execute("USE estimated")
        columns = {
            name: kind for name, kind, *_ in connection.execute("DESCRIBE persons").fetchall()
        }
        shown = next(name for name in ("noisy_occupation", "occupation") if name in columns)
        plain, asked = question.format(shown), question.format("occupation")
        if columns[shown].endswith("[]"):
            plain = plain.replace(f"{shown} = 3", f"list_contains({shown}, 3)")
        nobody = asked.replace("age > 30", "age > 1000")
        text = duckdb_priv.rewrite_sql(connection, asked)
        ways = {
            "plain": lambda: connection.execute(plain).fetchall(),
            "rewritten": lambda: connection.execute(text).fetchall(),
            "reconstruct": lambda: duckdb_priv.reconstruct(connection, asked).fetchall(),
            "intervals": lambda: duckdb_priv.reconstruct(connection, asked, True).fetchall(),
            "estimated": lambda: estimated.execute(asked).fetchall(),
            "nobody": lambda: estimated.execute(nobody).fetchall(),
        }
        for _ in range(times + 1):
            for name, way in ways.items():
                start = time.process_time()
                try:
                    way()
                except duckdb.Error:
                    continue
                took[name].append(time.process_time() - start)
    # The first round reads the file.
    return {name: median(found[1:]) for name, found in took.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=11)
    parser.add_argument("--write", action="store_true", help="write the table of the results")
    parser.add_argument("mechanisms", nargs="*")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    lines = []
    for mechanism in given.mechanisms or PUBLISH:
        if "independent" in mechanism:
            continue
        path = publish(given.folder, mechanism, given.rows)
        for which, question in QUESTIONS.items():
            took = measure(path, question, given.times)
            figures = [f"{took['plain'] * 1e3:.1f}"]
            figures += [
                f"{took[way] * 1e3:.0f} ({took[way] / took['plain']:.1f})"
                if way in took
                else "refused"
                for way in WAYS
            ]
            figures.append(f"{took['nobody'] * 1e3:.0f}" if "nobody" in took else "refused")
            lines.append(f"| {mechanism} | {which} | {' | '.join(figures)} |")
            print(lines[-1], flush=True)
        if given.write:
            head = HEAD.format(
                rows=given.rows, version=duckdb.__version__, times=given.times,
                one=QUESTIONS[ONE].format("occupation"), all=QUESTIONS[ALL].format("occupation"),
            )  # fmt: skip
            RESULTS.write_text(head + "\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
