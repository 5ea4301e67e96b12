"""The figures and tables of the reconstruction privacy paper, on census records.

    python benchmarks/reconstruction_privacy.py --data census_500k.parquet [--write]

Figures 2 to 5 and tables 4 and 5 are of Wang, Han and Fu, "Randomization resilient to sensitive reconstruction": how
many micro groups violate (epsilon, delta)-reconstruction privacy under uniform perturbation, and what sampling costs
5,000 count queries of at least 0.1% of the records, over retention, epsilon, delta and the number of records; then how
well two noisy counts reconstruct the most skewed groups. The file needs the columns age, gender, education, marital,
race, workclass and occupation. --write keeps benchmarks/results/RECONSTRUCTION_PRIVACY.md and the picture beside it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import duckdb
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import duckdb_priv
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results"
PUBLIC = {
    "occupation": ("age", "gender", "education", "marital", "race"),
    "education": ("age", "gender", "marital", "race", "workclass"),
}
"""By sensitive attribute: the public ones."""
SWEEPS: dict[str, tuple[float, ...]] = {
    "retention": (0.1, 0.3, 0.5, 0.7, 0.9),
    "epsilon": (0.1, 0.3, 0.5, 0.7, 0.9),
    "delta": (0.1, 0.2, 0.3, 0.4, 0.5),
    "rows": (100_000, 200_000, 300_000, 400_000, 500_000),
}
FIGURES = {"retention": 2, "epsilon": 3, "delta": 4, "rows": 5}
METHODS = ("uniform", "public", "paper")
QUERIES = 5_000
SELECTIVITY = 0.001
LARGEST = {
    "age": 127,
    **dict.fromkeys(("gender", "marital", "race", "workclass"), 15),
    "education": 31,
    "occupation": 63,
}
"""By attribute: a bound on its numbers."""
RELEASES = 20
"""How many releases the coverage is averaged over."""
BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.5)


@dataclass(frozen=True)
class Setting:
    """What is published, and how; the defaults are what a sweep of another parameter keeps."""

    sensitive: str
    retention: float = 0.5
    epsilon: float = 0.3
    delta: float = 0.3
    rows: int = 300_000

    @property
    def arguments(self) -> str:
        return f"sensitive := '{self.sensitive}', retention := {self.retention}"

    @property
    def requirement(self) -> str:
        return f"{self.arguments}, epsilon := {self.epsilon}, delta := {self.delta}"


SOURCE = "census"
"""The table that is published; every other one is a release of it."""


@dataclass(frozen=True)
class Measured:
    """Violations in percent, and mean relative errors."""

    violating_groups: float
    violating_records: float
    errors: dict[str, float]


class Cubes:
    """Sums over a table for every combination of up to three public attributes and the sensitive one."""

    def __init__(self, con: duckdb.DuckDBPyConnection, table: str, setting: Setting) -> None:
        public = PUBLIC[setting.sensitive]
        columns = [*public, setting.sensitive]
        weight_of = "scale" if table == "public" else "1e0"
        shown = setting.sensitive if table == SOURCE else f"reported_{setting.sensitive}"
        listed = con.sql(
            f"SELECT {', '.join(public)}, {shown} AS {setting.sensitive}, {weight_of} AS weight FROM {table}"
        ).to_arrow_table()
        values = {name: listed[name].to_numpy().astype(np.int64) for name in columns}
        weight = listed["weight"].to_numpy()
        self.sums: dict[tuple[str, ...], NDArray[np.float64]] = {}
        for names in subsets(public):
            shape = [LARGEST[name] + 1 for name in (*names, setting.sensitive)]
            place = np.ravel_multi_index(
                [values[name] for name in (*names, setting.sensitive)], shape
            )
            self.sums[names] = np.bincount(place, weight, minlength=int(np.prod(shape))).reshape(
                shape
            )


def subsets(public: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for size in (1, 2, 3):
        yield from combinations(public, size)


def queries(
    true: Cubes, setting: Setting, seed: int
) -> Iterator[tuple[tuple[str, ...], NDArray[np.int64]]]:
    """Draw count queries of at least the selectivity: attributes first, then values that are frequent enough."""
    rng = np.random.default_rng(seed)
    names = list(subsets(PUBLIC[setting.sensitive]))
    frequent = {each: np.argwhere(true.sums[each] >= SELECTIVITY * setting.rows) for each in names}
    names = [each for each in names if len(frequent[each])]
    for index, number in enumerate(rng.multinomial(QUERIES, [1 / len(names)] * len(names))):
        cells = frequent[names[index]]
        yield names[index], cells[rng.integers(len(cells), size=number)]


def relative_errors(true: Cubes, shown: Cubes, setting: Setting, domain_size: int) -> float:
    other = (1 - setting.retention) / domain_size
    errors = []
    for names, cells in queries(true, setting, seed=1):
        place = tuple(cells.T)
        counted = shown.sums[names][place]
        total = shown.sums[names].sum(axis=-1)[place[:-1]]
        estimate = (counted - other * total) / setting.retention
        exact = true.sums[names][place]
        errors.append(np.abs(estimate - exact) / exact)
    return float(np.concatenate(errors).mean())


def load(con: duckdb.DuckDBPyConnection, data: str, setting: Setting) -> int:
    columns = ", ".join((*PUBLIC[setting.sensitive], setting.sensitive))
    con.execute(
        f"CREATE OR REPLACE TABLE census AS SELECT {columns} FROM (SELECT *, row_number() OVER () AS number"
        f" FROM read_parquet({literal(data)})) ORDER BY hash(number) LIMIT {setting.rows}"
    )
    return int(
        con.execute(f"SELECT count(DISTINCT {setting.sensitive}) FROM census").fetchall()[0][0]
    )


def publish(con: duckdb.DuckDBPyConnection, setting: Setting) -> None:
    con.execute(
        f"FROM priv.publish_uniform('census', 'uniform', {setting.arguments}, replace := true)"
    ).fetchall()
    for sampling in ("public", "paper"):
        con.execute(
            f"FROM priv.publish_reconstruction_private('census', '{sampling}', {setting.requirement},"
            f" sampling := '{sampling}', replace := true, republish := true)"
        ).fetchall()


def measure(con: duckdb.DuckDBPyConnection, data: str, setting: Setting) -> Measured:
    size = load(con, data, setting)
    publish(con, setting)
    groups, records = con.execute(
        f"SELECT violating_groups, violating_records FROM priv.reconstruction_risk('census', {setting.requirement})"
    ).fetchall()[0]
    true = Cubes(con, SOURCE, setting)
    return Measured(
        groups,
        records,
        {
            method: relative_errors(true, Cubes(con, method, setting), setting, size)
            for method in METHODS
        },
    )


def coverage(
    con: duckdb.DuckDBPyConnection, data: str, setting: Setting
) -> list[tuple[str, int, float, float]]:
    """How many 95% intervals cover, of every value in every race and marital status with 10 records at least."""
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
                f" JOIN (SELECT race, marital, {setting.sensitive} AS value, count(*) AS n FROM census"
                " GROUP BY ALL) AS t"
                " USING (race, marital, value) WHERE n >= 10"
            )
    return con.execute(
        "SELECT method, count(*), avg((n BETWEEN low AND high)::INTEGER), avg((high - low) / n) FROM answered"
        " GROUP BY method ORDER BY method DESC"
    ).fetchall()


def attacks(
    con: duckdb.DuckDBPyConnection, data: str, setting: Setting
) -> list[tuple[float, float, float, int]]:
    """How often noisy counts reconstruct the ten most skewed groups of 100 records, and how many stay private."""
    load(con, data, setting)
    return [
        (
            budget,
            *con.execute(
                "SELECT min(within), max(within), count_if(private) FROM priv.ratio_attack('census',"
                f" sensitive := '{setting.sensitive}', epsilon_dp := {budget})"
            ).fetchall()[0],
        )
        for budget in BUDGETS
    ]


def measure_all(
    con: duckdb.DuckDBPyConnection,
    data: str,
    sweeps: dict[str, tuple[float, ...]],
    rows: int = Setting.rows,
) -> dict[str, dict[str, list[Measured]]]:
    """Measure every value of every sweep, for both sensitive attributes, of so many rows where they do not vary."""
    return {
        sensitive: {
            name: [
                measure(
                    con,
                    data,
                    replace(
                        Setting(sensitive, rows=rows),
                        **{name: int(value) if name == "rows" else value},
                    ),
                )
                for value in values
            ]
            for name, values in sweeps.items()
        }
        for sensitive in PUBLIC
    }


def draw(
    found: dict[str, dict[str, list[Measured]]], sweeps: dict[str, tuple[float, ...]]
) -> Figure:
    figure = Figure(figsize=(13, 11), layout="constrained")
    axes = figure.subplots(4, 4)
    for row, (sensitive, of_sweeps) in enumerate(found.items()):
        for column, (name, measured) in enumerate(of_sweeps.items()):
            above, below = axes[2 * row, column], axes[2 * row + 1, column]
            unit = 1000 if name == "rows" else 1
            places = [value / unit for value in sweeps[name]]
            above.plot(places, [each.violating_groups for each in measured], "o-", label="groups")
            above.plot(
                places, [each.violating_records for each in measured], "s--", label="records"
            )
            above.set(
                title=f"{sensitive}, figure {FIGURES[name]}", ylabel="violating, %", ylim=(0, 105)
            )
            for method in METHODS:
                below.plot(places, [each.errors[method] for each in measured], "o-", label=method)
            below.set(
                xlabel="thousand rows" if unit > 1 else name,
                ylabel="mean relative error",
                ylim=(0, 0.4),
            )
            if column == 0:
                above.legend()
                below.legend()
    return figure


def report(
    found: dict[str, dict[str, list[Measured]]],
    covered: dict[str, list[tuple[str, int, float, float]]],
    attacked: dict[str, list[tuple[float, float, float, int]]],
    seconds: float,
) -> str:
    lines = [
        "# Reconstruction privacy on census records",
        "",
        "Written by `python benchmarks/reconstruction_privacy.py --data census_500k.parquet --write`, in"
        f" {seconds:.0f} seconds. Public columns: "
        + "; ".join(f"{', '.join(names)} for {name}" for name, names in PUBLIC.items())
        + ". What is not varied is retention 0.5, epsilon 0.3, delta 0.3, 300,000 records.",
        "",
        "![Figures 2 to 5](RECONSTRUCTION_PRIVACY.svg)",
        "",
        "| sensitive | varied | value | violating groups, % | records in them, % | error, uniform | public s | paper |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for sensitive, sweeps in found.items():
        for name, measured in sweeps.items():
            for value, each in zip(SWEEPS[name], measured, strict=True):
                errors = " | ".join(f"{each.errors[method]:.3f}" for method in METHODS)
                lines.append(
                    f"| {sensitive} | {name} | {value:g} | {each.violating_groups:.2f} |"
                    f" {each.violating_records:.1f} | {errors} |"
                )
    lines += [
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
    lines += [
        "",
        "The ratio attack (section 6.3, tables 4 and 5): two counts with discrete Laplace noise of scale 1 / epsilon_dp"
        " each, and the ten most skewed groups of at least 100 records; how often the ratio is right to within 30%, and"
        " in how many groups both errors keep probability 0.05:",
        "",
        "| sensitive | epsilon_dp | right, least | right, most | private |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {sensitive} | {budget:g} | {least:.3f} | {most:.3f} | {private} of 10 |"
        for sensitive, rows in attacked.items()
        for budget, least, most, private in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", required=True, help="a Parquet file of census records")
    parser.add_argument("--write", action="store_true", help="keep the results")
    options = parser.parse_args()
    mpl.rcParams["svg.hashsalt"] = "reconstruction_privacy"
    start = time.perf_counter()
    with duckdb_priv.connect() as con:
        found = measure_all(con, options.data, SWEEPS)
        covered = {name: coverage(con, options.data, Setting(name)) for name in PUBLIC}
        attacked = {name: attacks(con, options.data, Setting(name)) for name in PUBLIC}
    text = report(found, covered, attacked, time.perf_counter() - start)
    print(text)
    if options.write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "RECONSTRUCTION_PRIVACY.md").write_text(text, encoding="utf-8")
        draw(found, SWEEPS).savefig(RESULTS / "RECONSTRUCTION_PRIVACY.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
