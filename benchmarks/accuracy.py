"""Compares all mechanisms at equal guarantees: the errors of counts, and the coverage of intervals.

    python benchmarks/accuracy.py --data FOLDER [--queries 2900] [--write]

FOLDER contains census_500k.parquet. Each mechanism is one function, which publishes a table with a given guarantee.
Every release answers the same random queries (priv.workload, priv.evaluate). The guarantee is (epsilon, delta) for the
sensitive value of a record, against someone who knows all other records; a local epsilon has no delta. The reduction
of the error against uniform perturbation is compared with a target. --write writes benchmarks/results/ACCURACY.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

import duckdb_priv
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results" / "ACCURACY.md"
EPSILON, DELTA = 1.0, 1e-6
SMALL, LARGE = 1000, 10_000
"""Bounds of the classes of true counts."""
COVERED = 0.94
"""The least coverage required of 95% intervals."""


@dataclass(frozen=True)
class Design:
    """A table with its sensitive and public columns."""

    name: str
    table: str
    sensitive: str
    public: tuple[str, ...]
    wanted: float | None = None
    """The target ratio of uniform perturbation's error to that of shuffled groups."""


MORE = ("gender", "education", "marital", "race")
DESIGNS = (
    Design("few_ages", "census_500k", "occupation", ("age", "gender", "education")),
    Design("few_decades", "census_500k", "occupation", ("decade", "gender", "education")),
    Design("ages", "census_500k", "occupation", ("age", *MORE), 5.0),
    Design("decades", "census_500k", "occupation", ("decade", *MORE), 12.0),
)


def uniform(connection: duckdb.DuckDBPyConnection, design: Design, release: str) -> None:
    """Publish by uniform perturbation at a local epsilon, which needs no shuffling."""
    _publish(connection, "uniform", design, release, f"epsilon := {EPSILON}")


def block_design(connection: duckdb.DuckDBPyConnection, design: Design, release: str) -> None:
    """Publish by a block design at a local epsilon, which needs no shuffling."""
    _publish(connection, "block_design", design, release, f"epsilon := {EPSILON}")


def shuffled(connection: duckdb.DuckDBPyConnection, design: Design, release: str) -> None:
    """Publish by shuffled groups."""
    _publish(connection, "shuffled", design, release, f"epsilon := {EPSILON}, delta := {DELTA}")


MECHANISMS: Mapping[str, Callable[[duckdb.DuckDBPyConnection, Design, str], None]] = {
    "uniform": uniform,
    "block_design": block_design,
    "shuffled": shuffled,
}


def _publish(
    connection: duckdb.DuckDBPyConnection, mechanism: str, design: Design, release: str, more: str
) -> None:
    public = ", ".join(map(literal, design.public))
    connection.execute(
        f"FROM priv.publish_{mechanism}({literal(design.table)}, {literal(release)},"
        f" sensitive := {literal(design.sensitive)}, public := [{public}], record_id := 'id', {more})"
    ).fetchall()


@dataclass(frozen=True)
class Answers:
    """The errors and the coverage of a release's answers."""

    design: str
    mechanism: str
    errors: tuple[float | None, ...]
    """Mean relative errors of all queries, and of those with small, medium and large true counts."""
    coverage: float


def measure(data: Path, queries: int) -> Iterator[Answers]:
    """Publish and query each design."""
    with duckdb_priv.connect(secret=bytes(range(32))) as connection:
        for table in sorted({design.table for design in DESIGNS}):
            path = literal(str(data / f"{table}.parquet"))
            connection.execute(
                f"CREATE TABLE {table} AS SELECT row_number() OVER () AS id, age // 10 AS decade, * FROM {path}"
            )
        for design in DESIGNS:
            kept = {"id", design.sensitive, *design.public}
            columns = [row[0] for row in connection.execute(f"DESCRIBE {design.table}").fetchall()]
            excluded = ", ".join(literal(each) for each in columns if each not in kept)
            workload = f"questions_{design.name}"
            connection.execute(
                f"CREATE TABLE {workload} AS FROM priv.workload({literal(design.table)},"
                f" sensitive := {literal(design.sensitive)}, queries := {queries}, record_id := 'id',"
                f" exclude := [{excluded}])"
            )
            for name, publish in MECHANISMS.items():
                release = f"{design.name}_{name}"
                publish(connection, design, release)
                yield _asked(connection, design, name, release, workload)


def _asked(
    connection: duckdb.DuckDBPyConnection, design: Design, name: str, release: str, workload: str
) -> Answers:
    error = "avg(abs(estimate - true_count) / true_count)"
    classes = (
        f"true_count < {SMALL}",
        f"true_count BETWEEN {SMALL} AND {LARGE - 1}",
        f"true_count >= {LARGE}",
    )
    by_class = ", ".join(f"{error} FILTER ({each})" for each in classes)
    ((*errors, coverage),) = connection.execute(
        f"SELECT {error}, {by_class}, avg(covered::INTEGER) FROM priv.evaluate("
        f"{literal(design.table)}, {literal(release)}, workload := {literal(workload)})"
    ).fetchall()
    return Answers(design.name, name, tuple(errors), coverage)


def written(answers: list[Answers]) -> str:
    """Write the table."""
    lines = [
        f"Mean relative errors at (epsilon, delta) = ({EPSILON:g}, {DELTA:g}); uniform perturbation and"
        " codes of block designs have no delta.",
        "",
        f"| public columns | mechanism | all | under {SMALL} | to {LARGE} | from {LARGE} | in 95% intervals |",
        "|---|---|---|---|---|---|---|",
    ]
    designs = {design.name: ", ".join(design.public) for design in DESIGNS}
    for each in answers:
        numbers = ["" if error is None else f"{error:.3f}" for error in each.errors]
        cells = [designs[each.design], each.mechanism, *numbers, f"{100 * each.coverage:.1f}%"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_reached(answers)]) + "\n"


def _reached(answers: list[Answers]) -> Iterator[str]:
    """Compare the error ratio of shuffled groups with the target."""
    yield (
        "Error of uniform perturbation over that of shuffled groups:\n\n"
        "| public columns | reached | wanted | in 95% intervals | wanted |\n|---|---|---|---|---|"
    )
    found = {(each.design, each.mechanism): each for each in answers}
    for design in DESIGNS:
        plain, shuffled = found[design.name, "uniform"], found[design.name, "shuffled"]
        error, smaller = plain.errors[0] or 0.0, shuffled.errors[0] or math.inf
        cells = (
            ", ".join(design.public),
            f"{error / smaller:.1f}",
            "" if design.wanted is None else f"{design.wanted:g}",
            f"{100 * shuffled.coverage:.1f}%",
            f"{100 * COVERED:g}%",
        )
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=2900)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    table = written(list(measure(arguments.data, arguments.queries)))
    print(table)
    if arguments.write:
        RESULTS.write_text("# Accuracy at equal guarantees\n\n" + table, encoding="utf-8")


if __name__ == "__main__":
    main()
