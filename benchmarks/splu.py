"""Compares decoy groups with the paper's reconstruction, Anatomy, redrawn values and Laplace noise, on real tables.

    python benchmarks/splu.py --data FOLDER [--write] [--repeat 2]

FOLDER contains census_500k.parquet and vaers_reactions.parquet. One sensitive attribute is published and counted by one
public column. The program measures the relative errors of small counts (up to 10) and of large counts by their share of
the rows, the coverage of intervals for gamma from 2 to 10, and the speed. --write writes benchmarks/results/SPLU.md.
benchmarks/papers draws the paper's figures.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

import duckdb_priv
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.sqltext.quoting import literal

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reference.splu_paper import paper_iterative

RESULTS = Path(__file__).parent / "results"
GAMMAS = (2, 3, 5, 8, 10)
SHARES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025)
"""Bounds of the bins of large counts, as shares of the rows; the last bin is open."""
SMALL = 10
LARGE = 0.005
"""The smallest share of the rows for which a count is large."""
EPSILON = 0.1
GROUPS = 100
JOINT = "FROM priv.reconstructed_joint('release', ['{}', '{}'], {}{})"


@dataclass(frozen=True)
class Table:
    """A table with its sensitive and public column."""

    file: str
    sensitive: str
    by: str
    """The public column by which rows are counted."""


TABLES = {
    "census": Table("census_500k.parquet", "occupation", "education"),
    "vaccine register": Table("vaers_reactions.parquet", "reaction", "sex"),
}
DECOYS, BAYESIAN, PAPER = "decoy groups", "decoy groups, Bayesian", "as in the paper"
ANATOMY, REDRAWN, LAPLACE = "Anatomy", "redrawn", f"Laplace, epsilon {EPSILON}"
Errors = dict[str, dict[str, float]]
"""The mean relative error by method and size of the counts."""


def publish(
    connection: duckdb.DuckDBPyConnection, mechanism: str, sensitive: list[str], more: str = ""
) -> float:
    """Publish the source with fresh noise, and return the seconds it took."""
    started = time.perf_counter()
    connection.execute(
        f"FROM priv.publish_{mechanism}('source', 'release', sensitive := {sensitive}, replace := true{more})"
    ).fetchall()
    return time.perf_counter() - started


def counted(connection: duckdb.DuckDBPyConnection, name: str, table: Table, column: str) -> Vector:
    """Return the counts of a table as an array (subsets, values), both sorted, missing values last."""
    rows = connection.execute(
        f"WITH v AS (SELECT DISTINCT {table.sensitive} AS value FROM source),"
        f" s AS (SELECT DISTINCT {table.by} AS subset FROM source),"
        f" n AS (SELECT {table.by} AS subset, {column}::VARCHAR AS value, count(*) AS n FROM {name}"
        " GROUP BY ALL)"
        " SELECT coalesce(n, 0) AS n, (SELECT count(*) FROM s) AS subsets FROM s CROSS JOIN v"
        " LEFT JOIN n ON n.subset IS NOT DISTINCT FROM s.subset AND n.value IS NOT DISTINCT FROM v.value::VARCHAR"
        " ORDER BY s.subset NULLS LAST, v.value NULLS LAST"
    ).fetchnumpy()
    counts: Vector = rows["n"].astype(np.float64).reshape(int(rows["subsets"][0]), -1)
    return counts


def reconstructed(
    connection: duckdb.DuckDBPyConnection, table: Table, shape: tuple[int, ...]
) -> tuple[Vector, Vector, Vector]:
    """Return estimate, low and high of every cell as arrays (subsets, values)."""
    found = connection.execute(
        "SELECT estimate, low, high"
        f" FROM priv.reconstructed_distribution('release', group_columns := '{table.by}') AS d"
        f" ORDER BY d.{table.by} NULLS LAST, d.value NULLS LAST"
    ).fetchnumpy()
    estimate, low, high = (
        np.ma.filled(found[name], np.nan).reshape(shape) for name in ("estimate", "low", "high")
    )
    return estimate, low, high


def as_in_the_paper(connection: duckdb.DuckDBPyConnection, table: Table, gamma: int) -> Vector:
    """Publish and reconstruct with the paper's algorithms."""
    publish(
        connection,
        "splu",
        [table.sensitive],
        f", gamma := {gamma}, \"grouping\" := 'largest_first', republish := true",
    )
    shown = counted(connection, "release", table, f"noisy_{table.sensitive}")
    whole = np.broadcast_arrays(
        shown, shown.sum(axis=1, keepdims=True), shown.sum(axis=0, keepdims=True)
    )
    estimate, _ = paper_iterative(
        *(each.ravel() for each in whole), rows=int(shown.sum()), gamma=gamma
    )
    return estimate.reshape(shown.shape)


def noisy(connection: duckdb.DuckDBPyConnection, true: Vector) -> Vector:
    """Answer counts with Laplace noise."""
    cells = connection.execute(
        "SELECT priv.laplace_count(n::BIGINT, ?) AS n FROM (SELECT unnest(?::DOUBLE[]) AS n)",
        [EPSILON, true.ravel().tolist()],
    ).fetchnumpy()["n"]
    return cells.astype(np.float64).reshape(true.shape)


def answers(
    connection: duckdb.DuckDBPyConnection, table: Table, true: Vector, repeat: int
) -> Iterator[tuple[int, str, Vector, float | None]]:
    """Publish with every method; yield gamma, the method, the estimates and the coverage of its 95% intervals.

    The outer loop is over methods, since the database's functions are written again when a release's form changes.
    """
    times = [gamma for gamma in GAMMAS for _ in range(repeat)]
    for method, mechanism, more in (
        (DECOYS, "splu", ", gamma := {}, republish := true"),
        (ANATOMY, "anatomy", ", l := {}, republish := true"),
        (REDRAWN, "distribution", ""),
    ):
        for gamma in times:
            publish(connection, mechanism, [table.sensitive], more.format(gamma))
            estimate, low, high = reconstructed(connection, table, true.shape)
            covered = ((low <= true + 1e-6) & (true <= high + 1e-6)).mean()
            yield gamma, method, estimate, float(covered)
    for gamma in times:
        yield gamma, PAPER, as_in_the_paper(connection, table, gamma), None
        yield gamma, LAPLACE, noisy(connection, true), None


def relative(estimate: Vector, true: Vector, chosen: NDArray[np.bool_]) -> float:
    """Return the mean relative error over the chosen cells."""
    known = chosen & ~np.isnan(estimate)
    return (
        float((np.abs(estimate[known] - true[known]) / true[known]).mean())
        if known.any()
        else np.nan
    )


def sizes(true: Vector) -> dict[str, NDArray[np.bool_]]:
    """Return the cells of each size class: small counts, and large counts by their share of the rows."""
    rows, found = true.sum(), {f"1 to {SMALL}": (true >= 1) & (true <= SMALL)}
    for low, high in zip(SHARES, (*SHARES[1:], 1.0), strict=True):
        found[f"{low:.2%} and more" if high == 1 else f"{low:.2%} to {high:.2%}"] = (
            true >= low * rows
        ) & (true < high * rows)
    return found


def mean(runs: list[Vector], true: Vector, chosen: NDArray[np.bool_]) -> float:
    """Return the mean relative error over several releases."""
    return float(np.mean([relative(each, true, chosen) for each in runs]))


def measure(data: Path, name: str, repeat: int) -> list[str]:
    """Measure one sensitive attribute, and write the lines of the report."""
    table = TABLES[name]
    errors: dict[int, Errors] = {}
    with duckdb_priv.connect() as connection:
        connection.execute(
            f"CREATE TABLE source AS SELECT {table.sensitive}, {table.by} FROM {literal(str(data / table.file))}"
        )
        true = counted(connection, "source", table, table.sensitive)
        lines = [f"## {name}: {table.sensitive} by {table.by}, {true.sum():,.0f} rows", ""]
        large = true >= LARGE * true.sum()
        found: dict[int, dict[str, list[Vector]]] = {gamma: {} for gamma in GAMMAS}
        shares: dict[int, dict[str, list[float]]] = {gamma: {} for gamma in GAMMAS}
        for gamma, method, estimate, share in answers(connection, table, true, repeat):
            found[gamma].setdefault(method, []).append(estimate)
            if share is not None:
                shares[gamma].setdefault(method, []).append(share)
        for gamma, runs in found.items():
            errors[gamma] = {
                method: {size: mean(each, true, chosen) for size, chosen in sizes(true).items()}
                for method, each in runs.items()
            }
            ours, theirs = (mean(runs[method], true, large) for method in (DECOYS, PAPER))
            stated = ", ".join(
                f"{method} {np.mean(each):.1%}" for method, each in shares[gamma].items()
            )
            lines.append(
                f"gamma {gamma}: counts of {LARGE:.1%} of the rows and more are off by {ours:.1%} (as in the paper:"
                f" {theirs:.1%}, {theirs / ours:.1f} times as much); 95% intervals cover: {stated} of all cells.  "
            )
    return [*lines, "", *error_table(errors), ""]


def error_table(errors: Mapping[int, Errors]) -> list[str]:
    """Write errors as a table."""
    heads = next(iter(next(iter(errors.values())).values()))
    lines = ["| gamma | method | " + " | ".join(heads) + " |", "|--" * (len(heads) + 2) + "|"]
    for gamma, methods in errors.items():
        for method, found in methods.items():
            lines.append(
                f"| {gamma} | {method} | "
                + " | ".join(f"{value:.3f}" for value in found.values())
                + " |"
            )
    return lines


def quoted(pairs: list[tuple[str, str, int]]) -> list[tuple[str, str]]:
    """Write values as SQL."""
    return [(a.replace("'", "''"), b.replace("'", "''")) for a, b, _ in pairs]


def measure_speed(data: Path, rows: int, repeat: int) -> str:
    """Compare publishing with a plain copy of the table, in a database file."""
    with (
        tempfile.TemporaryDirectory() as folder,
        duckdb_priv.connect(Path(folder) / "speed.duckdb") as connection,
    ):
        connection.execute("SET threads = 2")
        connection.execute(
            "CREATE TABLE source AS SELECT row_number() OVER () AS id, t.* FROM"
            f" (FROM {literal(str(data / TABLES['census'].file))}) AS t, range({-(-rows // 500_000)}) LIMIT {rows}"
        )
        copied, published = [], []
        for _ in range(repeat):
            started = time.perf_counter()
            connection.execute("CREATE OR REPLACE TABLE copy AS SELECT * FROM source")
            copied.append(time.perf_counter() - started)
            published.append(
                publish(connection, "splu", ["occupation"], ", gamma := 5, record_id := 'id'")
            )
    return (
        f"| publish {rows:,} rows of the census, gamma 5, with record id | {min(published):.2f} s |"
        f" {min(published) / min(copied):.1f} times a plain copy ({min(copied):.2f} s) |"
    )


def measure_joint_speed(data: Path, repeat: int) -> str:
    """Time the iterative method over two attributes and many groups."""
    with duckdb_priv.connect() as connection:
        connection.execute("SET threads = 2")
        connection.execute(
            f"CREATE TABLE source AS SELECT occupation, education, row_number() OVER () % {GROUPS} AS area"
            f" FROM {literal(str(data / TABLES['census'].file))}"
        )
        publish(connection, "splu", ["occupation", "education"], ", gamma := 3")
        taken = []
        for _ in range(repeat):
            started = time.perf_counter()
            groups = connection.execute(
                JOINT.format("occupation", "education", "['7', '10']", ", group_columns := 'area'")
            ).fetchall()
            taken.append(time.perf_counter() - started)
    return (
        f"| reconstruct two attributes over {len(groups)} groups of 500,000 rows | {min(taken):.2f} s |"
        " the paper: 1.6 s for one query |"
    )


def main() -> None:
    """Measure, print, and write the results with --write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--rows", type=int, nargs="*", default=[500_000, 10_000_000])
    given = parser.parse_args()
    lines = [
        f"# Decoy groups, DuckDB {duckdb.__version__}, duckdb_priv {duckdb_priv.__version__}",
        "",
    ]
    for name in TABLES:
        lines += measure(given.data, name, given.repeat)
    lines += [f"Laplace noise is for one answer each, which costs epsilon = {EPSILON}.", ""]
    lines += ["## Speed, best of several runs", "", "| | | |", "|--|--|--|"]
    lines += [measure_speed(given.data, rows, 3 if rows < 1_000_000 else 2) for rows in given.rows]
    lines += [measure_joint_speed(given.data, 3)]
    report = "\n".join(lines) + "\n"
    print(report)
    if given.write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "SPLU.md").write_text(report, "utf-8")


if __name__ == "__main__":
    main()
