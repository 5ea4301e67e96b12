"""Wang, Han, Fu, "Randomization resilient to sensitive reconstruction".

Examples 1 and 5.15, figures 2 to 5, tables 4 and 5. Figures 2 and 3 are of education, 4 and 5 of occupation: how many
micro groups violate reconstruction privacy under uniform perturbation, then what sampling costs 5,000 count queries,
each over retention, epsilon, delta and the number of records.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import binomtest

import duckdb_priv
from benchmarks.papers.exhibit import Exhibit, Paper, table
from benchmarks.reconstruction_privacy import COLUMNS, METHODS, SOURCE, Setting, load, publish
from duckdb_priv.mechanism.ratio_attack import ratio_tails
from duckdb_priv.mechanism.uniform import Uniform, max_retention

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from reference.duplicated_sample import duplicated_variance, paper_moments

TITLE = "Wang, Han, Fu: Randomization resilient to sensitive reconstruction"
Sweeps = Mapping[str, Sequence[float]]
SWEEPS: Sweeps = {
    "retention": (0.1, 0.3, 0.5, 0.7, 0.9),
    "epsilon": (0.1, 0.3, 0.5, 0.7, 0.9),
    "delta": (0.14, 0.22, 0.3, 0.38, 0.46),
    "rows": (100_000, 200_000, 300_000, 400_000, 500_000),
}
FIGURES = {"education": (2, 3), "occupation": (4, 5)}
"""By sensitive attribute: the figures of violations and of errors."""
TABLES = {"occupation": 4, "education": 5}
LABELS = {
    "uniform": "uniform",
    "public": "sample of public size",
    "paper": "sample with duplicates (algorithm 1)",
}
QUERIES = 5_000
SELECTIVITY = 0.001
LARGEST = {
    "age": 127,
    **dict.fromkeys(("gender", "marital", "race", "workclass"), 15),
    "education": 31,
    "occupation": 63,
}
"""By attribute: a bound on its numbers."""
SMALLEST = 100
"""How many records a group of tables 4 and 5 has at least."""
BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.5)
PRINTED_ROW = ((8, 0.092), (8, 0.078), (3, 0.037), (0, 0.028))
"""Of table 4, the second group: what is printed, of 100, and how likely simulation found it."""


@dataclass(frozen=True)
class Measured:
    """Violations in percent, and mean relative errors by method."""

    violating_groups: float
    violating_records: float
    errors: Mapping[str, float]


Found = Mapping[str, Mapping[str, Sequence[Measured]]]
"""By sensitive attribute and varied parameter."""


def paper(data: Path | None, quick: bool) -> Paper:
    """Recompute the examples; with census records, publish them and draw the figures."""
    exhibits = [_example_1(), _example_5_15()]
    if data is not None:
        census = str(data / "census_500k.parquet")
        sweeps: Sweeps = {"retention": (0.5,)} if quick else SWEEPS
        rows, smallest = (6_000, 10) if quick else (Setting.rows, SMALLEST)
        with duckdb_priv.connect() as con:
            found = measure_all(con, census, sweeps, rows)
            exhibits += [
                exhibit
                for sensitive, (violations, errors) in FIGURES.items()
                for exhibit in (
                    _violations(violations, sensitive, found[sensitive], sweeps),
                    _errors(errors, sensitive, found[sensitive], sweeps),
                )
            ]
            exhibits.append(_tables(con, census, rows, smallest))
    return Paper(TITLE, exhibits)


def _example_1() -> Exhibit:
    operator = Uniform(8 / 18, 10)
    limit = max_retention(0.1, 0.5, 10)
    rows = [
        ("a record shows its own value", "1/2", operator.own),
        ("it shows one given other value", "1/18", operator.other),
        ("largest retention for (.1, .5), 10 values", "", limit),
    ]
    return Exhibit(
        "Example 1: retention against beliefs",
        "agrees",
        "The matrix of the example is uniform perturbation with retention 8/18, which is the largest that keeps"
        f" beliefs of .1 below .5 among 10 values. The retention .5 of the experiments is beyond it for 14 values"
        f" ({max_retention(0.1, 0.5, 14):.3f}) and for 50 ({max_retention(0.1, 0.5, 50):.3f}).",
        table(("", "paper", "ours"), rows),
    )


def _example_5_15() -> Exhibit:
    operator = Uniform(0.5, 2)
    rows = []
    for value, count in enumerate((5, 15)):
        mean, variance = paper_moments([5, 15], value, 15, operator)
        rows.append((count, mean, variance, float(duplicated_variance(20, count, 15, operator))))
    return Exhibit(
        "Example 5.15: 5 and 15 records, 15 of them published",
        "differs",
        "The arithmetic (each record appears 20/15 times) is right, the conclusion is not: 16 records are sampled, one"
        " more than the threshold, with probability .1875, so that theorem 5.16 does not bound them; and the scaled"
        " estimate is only nearly unbiased (theorem 5.18), as the column of means shows.",
        table(
            ("records", "mean of the estimate", "variance", "variance with a constant factor"), rows
        ),
    )


class Cubes:
    """Sums over a table for every combination of up to three public attributes and the sensitive one."""

    def __init__(self, con: duckdb.DuckDBPyConnection, name: str, setting: Setting) -> None:
        weight_of = "scale" if name == "public" else "1e0"
        shown = setting.sensitive if name == SOURCE else f"noisy_{setting.sensitive}"
        listed = con.sql(
            f"SELECT {', '.join(setting.public)}, {shown} AS {setting.sensitive}, {weight_of} AS weight FROM {name}"
        ).to_arrow_table()
        values = {each: listed[each].to_numpy().astype(np.int64) for each in COLUMNS}
        weight = listed["weight"].to_numpy()
        self.sums: dict[tuple[str, ...], NDArray[np.float64]] = {}
        for names in _subsets(setting.public):
            shape = [LARGEST[each] + 1 for each in (*names, setting.sensitive)]
            place = np.ravel_multi_index(
                [values[each] for each in (*names, setting.sensitive)], shape
            )
            self.sums[names] = np.bincount(place, weight, minlength=int(np.prod(shape))).reshape(
                shape
            )


def _subsets(public: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for size in (1, 2, 3):
        yield from combinations(public, size)


def _queries(true: Cubes, setting: Setting) -> Iterator[tuple[tuple[str, ...], NDArray[np.int64]]]:
    """Draw count queries of at least the selectivity: attributes first, then values that are frequent enough."""
    rng = np.random.default_rng(1)
    frequent = {
        names: cells
        for names, sums in true.sums.items()
        if len(cells := np.argwhere(sums >= SELECTIVITY * setting.rows))
    }
    drawn = rng.multinomial(QUERIES, [1 / len(frequent)] * len(frequent))
    for (names, cells), number in zip(frequent.items(), drawn, strict=True):
        yield names, cells[rng.integers(len(cells), size=number)]


def _mean_error(true: Cubes, shown: Cubes, setting: Setting, domain_size: int) -> float:
    other = (1 - setting.retention) / domain_size
    errors = []
    for names, cells in _queries(true, setting):
        place = tuple(cells.T)
        counted = shown.sums[names][place]
        total = shown.sums[names].sum(axis=-1)[place[:-1]]
        estimate = (counted - other * total) / setting.retention
        exact = true.sums[names][place]
        errors.append(np.abs(estimate - exact) / exact)
    return float(np.concatenate(errors).mean())


def measure(con: duckdb.DuckDBPyConnection, data: str, setting: Setting) -> Measured:
    """Publish by every method; count what violates, and ask the queries."""
    size = load(con, data, setting)
    publish(con, setting)
    groups, records = violations(con, setting)
    true = Cubes(con, SOURCE, setting)
    errors = {
        method: _mean_error(true, Cubes(con, method, setting), setting, size) for method in METHODS
    }
    return Measured(groups, records, errors)


def violations(con: duckdb.DuckDBPyConnection, setting: Setting) -> tuple[float, float]:
    """Return how many micro groups of the loaded records violate, and how many records are in them, in percent."""
    ((groups, records),) = con.execute(
        f"SELECT violating_groups, violating_records FROM priv.reconstruction_risk('{SOURCE}', {setting.requirement})"
    ).fetchall()
    return groups, records


def measure_all(con: duckdb.DuckDBPyConnection, data: str, sweeps: Sweeps, rows: int) -> Found:
    """Measure every value of every sweep, for both sensitive attributes, of so many rows where they do not vary."""
    known: dict[Setting, Measured] = {}

    def once(setting: Setting) -> Measured:
        # All sweeps meet at the default.
        if setting not in known:
            known[setting] = measure(con, data, setting)
        return known[setting]

    return {
        sensitive: {
            name: [
                once(
                    replace(
                        Setting(sensitive, rows=rows),
                        **{name: int(value) if name == "rows" else value},
                    )
                )
                for value in values
            ]
            for name, values in sweeps.items()
        }
        for sensitive in FIGURES
    }


def _violations(
    number: int, sensitive: str, found: Mapping[str, Sequence[Measured]], sweeps: Sweeps
) -> Exhibit:
    lines = {
        "groups": lambda each: each.violating_groups,
        "records in them": lambda each: each.violating_records,
    }
    default = next(iter(found.values()))[len(next(iter(sweeps.values()))) // 2]
    return Exhibit(
        f"Figure {number}: {sensitive}, what violates under uniform perturbation",
        "other data",
        "The paper's census extract is not to be had; ours has attributes of the same sizes, six of them public. Few"
        f" groups violate, but they are large: {default.violating_groups:.3f}% of the groups hold"
        f" {default.violating_records:.1f}% of the records at retention 0.5, epsilon 0.3 and delta 0.3. Both shares"
        " grow with retention, epsilon, delta and the number of records.",
        _numbers(found, sweeps, lines),
        {f"wang_han_fu_{number}": _draw(found, sweeps, lines, "violating, %")},
    )


def _errors(
    number: int, sensitive: str, found: Mapping[str, Sequence[Measured]], sweeps: Sweeps
) -> Exhibit:
    lines = {
        LABELS[method]: lambda each, method=method: each.errors[method]  # type: ignore[misc]
        for method in METHODS
    }
    measured = [each.errors for sweep in found.values() for each in sweep]
    price = [each["paper"] / each["uniform"] for each in measured]
    safe = [each["public"] / each["uniform"] for each in measured]
    return Exhibit(
        f"Figure {number}: {sensitive}, mean relative error of {QUERIES:,} count queries",
        "other data",
        "Queries name one to three public attributes and a sensitive value, and count 0.1% of the records at least."
        f" Sampling as in the paper makes errors {min(price):.2g} to {max(price):.2g} times those of uniform"
        " perturbation. But its thresholds depend on the secret frequencies, and its duplicates give them away; a"
        f" public sample size, which does not, makes errors {min(safe):.2g} to {max(safe):.2g} times as large.",
        _numbers(found, sweeps, lines),
        {f"wang_han_fu_{number}": _draw(found, sweeps, lines, "mean relative error")},
    )


def _numbers(found: Mapping[str, Sequence[Measured]], sweeps: Sweeps, lines: Mapping) -> str:  # type: ignore[type-arg]
    rows = [
        (name, value, *(read(each) for read in lines.values()))
        for name, measured in found.items()
        for value, each in zip(sweeps[name], measured, strict=True)
    ]
    return table(("varied", "value", *lines), rows)


def _draw(  # type: ignore[type-arg]
    found: Mapping[str, Sequence[Measured]], sweeps: Sweeps, lines: Mapping, label: str
) -> Figure:
    figure = Figure(figsize=(13, 3.4), layout="constrained")
    panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for panel, letter, (name, measured) in zip(panels, "abcd", found.items(), strict=False):
        unit = 1000 if name == "rows" else 1
        places = [value / unit for value in sweeps[name]]
        for (title, read), mark in zip(lines.items(), ("o-", "s--", "^:"), strict=False):
            panel.plot(places, [read(each) for each in measured], mark, label=title)
        panel.set(
            title=f"({letter})", xlabel="thousand records" if unit > 1 else name, xticks=places
        )
    panels[0].set_ylabel(label)
    panels[0].legend(fontsize=8)
    panels[0].set_ylim(0)
    return figure


def _tables(con: duckdb.DuckDBPyConnection, data: str, rows: int, smallest: int) -> Exhibit:
    parts = []
    printed = [
        (count, chance, float(binomtest(count, 100, chance).pvalue))
        for count, chance in PRINTED_ROW
    ]
    for sensitive, number in TABLES.items():
        load(con, data, Setting(sensitive, rows=rows))
        groups = con.execute(
            "SELECT size::BIGINT AS size, count::BIGINT AS count FROM priv.ratio_attack("
            f"'{SOURCE}', sensitive := '{sensitive}', epsilon_dp := 0.1, min_size := {smallest})"
        ).fetchnumpy()
        upper, lower = zip(
            *(ratio_tails(groups["size"], groups["count"], each, 0.3) for each in BUDGETS),
            strict=True,
        )
        cells = np.dstack([np.array(upper).T, np.array(lower).T]).reshape(len(groups["size"]), -1)
        head = [f"{each:g}, {tail}" for each in BUDGETS for tail in ("above", "below")]
        parts.append(
            f"As table {number}, {sensitive}:\n\n"
            + table(
                ("records", "frequency", *head),
                (
                    (int(size), round(count / size, 3), *(f"{cell:.3f}" for cell in line))
                    for size, count, line in zip(
                        groups["size"], groups["count"], cells, strict=True
                    )
                ),
            )
        )
    return Exhibit(
        "Tables 4 and 5: how often the ratio of two noisy counts is wrong by more than 30%",
        "other data",
        "The 112 cells of the paper follow from the sizes and frequencies of its groups, which are printed there but"
        " not at hand here: they are not recomputed. One row is known, the second group of table 4; what is printed of"
        " it is within chance of simulation. Below it, the same for our own groups, the ten most skewed ones of 100"
        " records and more: the exact probability that the ratio is too high, and too low, by the epsilon of each"
        " count. The larger the group and the smaller the noise, the less is hidden, whatever the epsilon is called.",
        "\n\n".join(
            [
                table(("paper, of 100", "simulated", "chance of being as far off"), printed),
                *parts,
            ]
        ),
    )
