"""Measures the CPU milliseconds that a release file's functions take for checking their arguments.

    python benchmarks/guards.py --data FOLDER --folder FOLDER --results FILE [--before FOLDER] [--rows N ...] [--write]

The same query on one release of census records runs in turns, in one thread: with a handwritten formula; with the
function without its checks; and with the function of a release file. If ``--before`` names a checkout of the first
commit, it also runs with the function of that commit, which has fewer checks. Results are added to FILE, for the
installed version of DuckDB; --write writes those in FILE to benchmarks/results/GUARDS.md. Ratios can be compared
between machines, milliseconds cannot.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from unittest import mock

import duckdb
import numpy as np

import duckdb_priv
from duckdb_priv.estimator import macros
from duckdb_priv.release import catalog

RESULTS = Path(__file__).parent / "results" / "GUARDS.md"
SOURCE = """
    CREATE TABLE source AS
    SELECT row_number() OVER () AS id, age::INTEGER AS age, gender::INTEGER AS gender, state::INTEGER AS state,
        education::INTEGER AS education, marital::INTEGER AS marital, occupation::VARCHAR AS occupation
    FROM '{path}', range(1 + {rows} // 500000) AS again(number) LIMIT {rows}
"""
PUBLISH = (
    "FROM priv.publish_uniform('source', 'persons', sensitive := 'occupation', retention := 0.5,"
    " record_id := 'id')"
)
VALUE = "3"
GIVEN = f"'persons', noisy_occupation, '{VALUE}'"
QUESTIONS = {
    "count": ("reconstructed_count", "FROM persons"),
    "count, a third of the rows": ("reconstructed_count", "FROM persons WHERE age < 30"),
    "count by gender": ("reconstructed_count", "FROM persons GROUP BY gender"),
    "interval": ("reconstructed_interval", "FROM persons"),
}
WAYS = ("formula", "without guards", "function", "before")
OLD = """
import duckdb_priv
c = duckdb_priv.connect(secret=bytes(range(32)))
c.execute({source!r}); c.execute({publish!r}).fetchall()
c.execute("FROM priv.export_release('persons', ?)", [{path!r}]).fetchall()
"""
HEAD = """# What refusing nonsense costs

`benchmarks/guards.py --write`: uniform perturbation of census records, CPU milliseconds in one thread, medians of
interleaved runs. The formula is what one would write by hand, `(count(*) FILTER (…) - a * count(*)) / b`; without
guards is the same function without its checks; before is the function as the first commit had it, which looked at
release, value and weight only. The last columns are what the function takes over these.

Checks are planned with each question, whatever the number of rows: some 2 ms. So a count of ten million rows
takes about 5% more than before or less, an interval as much as before at any size, and a count of fewer rows
more: of 100,000, a half.

| DuckDB | rows | question | formula | without guards | function | before | over without guards | over before |
| -- | --: | -- | --: | --: | --: | --: | --: | --: |
"""


def publish(folder: Path, data: Path, rows: int) -> Path:
    """Publish to a file, unless it exists."""
    path = folder / f"guards_{rows}.duckdb"
    if not path.exists():
        with duckdb_priv.connect(secret=bytes(range(32))) as publisher:
            publisher.execute(SOURCE.format(path=data / "census_500k.parquet", rows=rows))
            publisher.execute(PUBLISH).fetchall()
            query = "FROM priv.export_release('persons', ?, card := false)"
            publisher.execute(query, [str(path)]).fetchall()
    return path


def of_before(folder: Path, data: Path, source: Path) -> dict[str, str]:
    """Publish with another source tree, and return the SQL of its functions."""
    path = folder / f"guards_before_{duckdb.__version__}.duckdb"
    path.unlink(missing_ok=True)
    made = SOURCE.format(path=data / "census_500k.parquet", rows=500_000)
    code = OLD.format(source=made, publish=PUBLISH, path=str(path))
    paths = [str(source), *(each for each in sys.path if "duckdb-" in each)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=source, check=True)
    with duckdb.connect(str(path), read_only=True) as connection:
        return dict(
            connection.execute(
                "SELECT function_name, macro_definition FROM duckdb_functions() WHERE schema_name = 'priv' AND"
                " macro_definition IS NOT NULL AND function_type = 'macro'"
            ).fetchall()
        )


def prepare(path: Path, before: dict[str, str]) -> duckdb.DuckDBPyConnection:
    """Attach a release, and create variants of its functions: without checks, and those of the first commit."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"ATTACH '{path}' AS release (READ_ONLY)")
    connection.execute("CREATE SCHEMA priv")
    with duckdb.connect(str(path), read_only=True) as file:
        attributes = catalog.sensitive_attributes(file)
    with mock.patch.object(macros, "_right", return_value="true"):
        for statement in macros.statements(macros.Written(attributes)):
            connection.execute(statement)
    connection.execute("CREATE SCHEMA before")
    if not duckdb.__version__.startswith("1."):
        connection.execute("SET lambda_syntax = 'ENABLE_SINGLE_ARROW'")
    for name, text in before.items():
        if name in ("reconstructed_count", "reconstructed_interval"):
            more = ", confidence := 0.95" if name.endswith("interval") else ""
            connection.execute(
                f"CREATE MACRO before.{name}(_release, _column, _value, weight := NULL{more}) AS {text}"
            )
    connection.execute("USE release")
    return connection


def ask(connection: duckdb.DuckDBPyConnection, question: str, times: int) -> dict[str, float]:
    """Run each variant in turns; return the median CPU milliseconds of each."""
    name, rows = QUESTIONS[question]
    own, other = connection.execute(
        "SELECT own, other FROM priv.coefficient WHERE value = ?", [VALUE]
    ).fetchall()[0]
    shown = f"count(*) FILTER (noisy_occupation = '{VALUE}')"
    formula = f"({shown} - {other!r}::DOUBLE * count(*)) / {own - other!r}::DOUBLE"
    answers = {
        "without guards": f"memory.priv.{name}({GIVEN})",
        "function": f"priv.{name}({GIVEN})",
        "before": f"memory.before.{name}({GIVEN})",
    }
    if name == "reconstructed_count":
        answers["formula"] = formula
    found, took = {}, defaultdict(list)
    for turn in range(times):
        for way, answer in list(answers.items()):
            start = time.process_time()
            try:
                found[way] = connection.execute(f"SELECT {answer} {rows}").fetchnumpy()
            except duckdb.CatalogException:
                del answers[way]
                continue
            if turn:
                took[way].append(1000 * (time.process_time() - start))
    if name == "reconstructed_count":
        for each in found.values():
            (one,), (two,) = each.values(), found["function"].values()
            assert np.allclose(np.sort(one), np.sort(two))
    return {way: median(each) for way, each in took.items()}


def table(lines: list[dict]) -> str:
    """Write a row for each DuckDB version, size and query, with the latest measurement."""
    last = {(line["duckdb"], line["rows"], line["question"]): line for line in lines}
    rows = []
    for (version, size, question), line in sorted(last.items(), key=lambda each: each[0][:2]):
        times = [f"{line[way]:.1f}" if way in line else "" for way in WAYS]
        ratios = [
            f"{line['function'] / line[way]:.2f}" if way in line else ""
            for way in ("without guards", "before")
        ]
        rows.append(f"| {' | '.join([version, f'{size:,}', question, *times, *ratios])} |")
    return "\n".join(rows)


def main() -> None:
    """Measure every size and query."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--times", type=int, default=41)
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    given = parser.parse_args()
    before = of_before(given.folder, given.data, given.before) if given.before else {}
    for rows in given.rows:
        connection = prepare(publish(given.folder, given.data, rows), before)
        for question in QUESTIONS:
            line = {"duckdb": duckdb.__version__, "rows": rows, "question": question}
            line |= ask(connection, question, given.times)
            with given.results.open("a", encoding="utf-8") as file:
                print(json.dumps(line), file=file)
            print(line, flush=True)
    if given.write:
        lines = [json.loads(line) for line in given.results.read_text().splitlines()]
        RESULTS.write_text(HEAD + table(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
