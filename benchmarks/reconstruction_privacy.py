"""Measures the coverage of intervals of reconstruction-private releases of census records.

    python benchmarks/reconstruction_privacy.py --data census_500k.parquet [--write]

The intervals are 95% intervals of every value by race and marital status, over several releases of 300,000 records. The
file needs the seven columns named below. --write writes benchmarks/results/RECONSTRUCTION_PRIVACY.md. benchmarks/papers
draws the paper's figures.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

import duckdb_priv
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results"
COLUMNS = ("age", "gender", "education", "marital", "race", "workclass", "occupation")
SENSITIVE = ("education", "occupation")
METHODS = ("uniform", "public", "paper")
"""Uniform perturbation; a sample of a public size; the sample with duplicates of the paper's algorithm 1."""
SOURCE = "census"
"""The name of the source table."""
RELEASES = 20
"""The number of releases over which the coverage is averaged."""


@dataclass(frozen=True)
class Setting:
    """The parameters of a publication."""

    sensitive: str
    retention: float = 0.5
    epsilon: float = 0.3
    delta: float = 0.3
    rows: int = 300_000

    @property
    def public(self) -> tuple[str, ...]:
        """The six public columns."""
        return tuple(name for name in COLUMNS if name != self.sensitive)

    @property
    def arguments(self) -> str:
        return f"sensitive := '{self.sensitive}', retention := {self.retention}"

    @property
    def requirement(self) -> str:
        return f"{self.arguments}, epsilon := {self.epsilon}, delta := {self.delta}"


def load(con: duckdb.DuckDBPyConnection, data: str, setting: Setting) -> int:
    """Create the source table from a fixed sample of the records; return the size of the sensitive domain."""
    con.execute(
        f"CREATE OR REPLACE TABLE {SOURCE} AS SELECT {', '.join(COLUMNS)}"
        " FROM (SELECT *, row_number() OVER () AS number"
        f" FROM read_parquet({literal(data)})) ORDER BY hash(number) LIMIT {setting.rows}"
    )
    return int(
        con.execute(f"SELECT count(DISTINCT {setting.sensitive}) FROM {SOURCE}").fetchall()[0][0]
    )


def publish(con: duckdb.DuckDBPyConnection, setting: Setting) -> None:
    """Publish with each of the methods, under its name, with all other columns public."""
    public = f"public := {list(setting.public)}, replace := true, republish := true"
    con.execute(
        f"FROM priv.publish_uniform('{SOURCE}', 'uniform', {setting.arguments}, {public})"
    ).fetchall()
    for sampling in ("public", "paper"):
        con.execute(
            f"FROM priv.publish_reconstruction_private('{SOURCE}', '{sampling}', {setting.requirement},"
            f" sampling := '{sampling}', {public})"
        ).fetchall()


def coverage(
    con: duckdb.DuckDBPyConnection, data: str, setting: Setting
) -> list[tuple[str, int, float, float]]:
    """Return the coverage of 95% intervals of every value in every race and marital status with at least 10 records."""
    load(con, data, setting)
    con.execute(
        "CREATE OR REPLACE TABLE answered (method VARCHAR, n BIGINT, low DOUBLE, high DOUBLE)"
    )
    for _ in range(RELEASES):
        publish(con, setting)
        for method in METHODS:
            weight = "" if method == "uniform" else ", weight := 'scale'"
            con.execute(
                f"INSERT INTO answered SELECT '{method}', n, low, high FROM"
                f" priv.reconstructed_distribution('{method}', group_columns := 'race, marital'{weight}) AS e"
                f" JOIN (SELECT race, marital, {setting.sensitive} AS value, count(*) AS n FROM {SOURCE}"
                " GROUP BY ALL) AS t"
                " USING (race, marital, value) WHERE n >= 10"
            )
    return con.execute(
        "SELECT method, count(*), avg((n BETWEEN low AND high)::INTEGER), avg((high - low) / n) FROM answered"
        " GROUP BY method ORDER BY method DESC"
    ).fetchall()


def report(covered: dict[str, list[tuple[str, int, float, float]]], seconds: float) -> str:
    """Write the page."""
    lines = [
        "# Reconstruction privacy on census records",
        "",
        "Written by `python benchmarks/reconstruction_privacy.py --data census_500k.parquet --write`, in"
        f" {seconds:.0f} seconds. Columns: {', '.join(COLUMNS)}; retention 0.5, epsilon 0.3, delta 0.3, 300,000"
        " records. Violations and errors are beside [the paper's figures](../papers/RESULTS.md).",
        "",
        f"Coverage of 95% intervals over {RELEASES} releases, every value by race and marital status, true counts from"
        " 10 up:",
        "",
        "| sensitive | release | counts | covered | mean width / count |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {sensitive} | {method} | {cells} | {share:.3f} | {width:.2f} |"
        for sensitive, rows in covered.items()
        for method, cells, share, width in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, and write the results with --write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", required=True, help="a Parquet file of census records")
    parser.add_argument("--write", action="store_true", help="keep the results")
    options = parser.parse_args()
    start = time.perf_counter()
    with duckdb_priv.connect() as con:
        covered = {name: coverage(con, options.data, Setting(name)) for name in SENSITIVE}
    text = report(covered, time.perf_counter() - start)
    print(text)
    if options.write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "RECONSTRUCTION_PRIVACY.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
