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
from scipy.stats import chi2

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
LABELS = {
    "uniform": "uniform",
    "public": "sample of public size",
    "paper": "sample with duplicates (algorithm 1)",
}
NOT_TO_BE_HAD = "the paper's census extract is not to be had"
QUERIES = 5_000
SELECTIVITY = 0.001
LARGEST = {
    "age": 127,
    **dict.fromkeys(("gender", "marital", "race", "workclass"), 15),
    "education": 31,
    "occupation": 63,
}
"""By attribute: a bound on its numbers."""
TABLES = {"education": 4, "occupation": 5}


@dataclass(frozen=True)
class Group:
    """A micro group of tables 4 and 5, as printed."""

    size: int
    share: float
    in_table: float
    wrong: tuple[tuple[int, int], ...]
    """Of 100 draws, how many are too high and too low: by lambda (.1, .05), and by epsilon (.2, .3) within."""


def _groups(printed: str) -> tuple[Group, ...]:
    found = []
    for line in printed.strip().splitlines():
        size, share, in_table, *wrong = line.split()
        pairs = [int(each) for each in wrong]
        found.append(
            Group(
                int(size),
                float(share),
                float(in_table),
                tuple(zip(pairs[::2], pairs[1::2], strict=True)),
            )
        )
    return tuple(found)


PRINTED_TABLES = {
    4: _groups("""
        89 .87 .025 18 13 14 7 34 29 24 22
        74 .77 .025 25 23 14 7 32 32 28 23
        138 .76 .172 11 9 8 3 18 27 20 15
        104 .76 .172 21 12 9 6 35 28 22 22
        104 .75 .172 23 14 11 6 35 25 21 28
        77 .74 .025 26 11 18 11 26 39 27 26
        102 .72 .025 18 13 8 8 32 31 29 21
    """),
    5: _groups("""
        142 .48 .038 13 18 11 4 29 29 27 20
        213 .47 .024 8 8 3 0 23 19 15 11
        111 .47 .026 26 18 16 13 40 30 27 29
        113 .45 .024 28 20 17 8 38 30 23 25
        153 .45 .026 18 15 6 6 20 40 26 21
        237 .45 .024 8 9 3 3 17 21 13 12
        143 .44 .038 12 17 12 6 38 34 27 20
    """),
}
"""The groups of tables 4 (education, 500,000 records) and 5 (occupation)."""


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
    exhibits = [_example_1(), _example_5_15(), _table_3()]
    contradictions = []
    if data is not None:
        census = str(data / "census_500k.parquet")
        sweeps: Sweeps = {"retention": (0.5,)} if quick else SWEEPS
        rows = 6_000 if quick else Setting.rows
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
        contradictions = [_price(found)]
    return Paper(TITLE, [*exhibits, *_tables()], contradictions)


def _price(found: Found) -> str:
    ratios = [
        each.errors["paper"] / each.errors["uniform"]
        for sweep in found.values()
        for measured in sweep.values()
        for each in measured
    ]
    return (
        "The text of figure 3 says that reconstruction privacy has only slightly more error than uniform perturbation."
        f" We measure {min(ratios):.2g} to {max(ratios):.2g} times the error."
    )


def _table_3() -> Exhibit:
    return Exhibit(
        "Table 3: parameters of the experiments",
        "not drawn",
        "All of its values are swept in figures 2 to 5, around retention 0.5, epsilon 0.3, delta 0.3 and 300,000"
        " records.",
        why="which of them are the defaults is not known; figures 2 to 5 name ours",
    )


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
        body=table(("", "paper", "ours"), rows),
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
        "the conclusion is wrong",
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
        "Ours has attributes of the same sizes, six of them public. Few"
        f" groups violate, but they are large: {default.violating_groups:.3f}% of the groups hold"
        f" {default.violating_records:.1f}% of the records at retention 0.5, epsilon 0.3 and delta 0.3. Both shares"
        " grow with retention, epsilon, delta and the number of records.",
        NOT_TO_BE_HAD,
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
        " perturbation. But its thresholds depend on the secret frequencies, and its duplicates reveal them; a"
        f" public sample size, which does not, makes errors {min(safe):.2g} to {max(safe):.2g} times as large.",
        NOT_TO_BE_HAD,
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


def _tables() -> list[Exhibit]:
    return [_table(number, sensitive) for sensitive, number in TABLES.items()]


def _table(number: int, sensitive: str) -> Exhibit:
    """The groups that the paper prints, what it counted in 100 draws, and what is expected of so many."""
    rows, distance = [], 0.0
    for place, group in enumerate(PRINTED_TABLES[number], 1):
        cells: list[object] = []
        for budget, epsilon, printed in zip(
            (0.1, 0.1, 0.05, 0.05), (0.2, 0.3, 0.2, 0.3), group.wrong, strict=True
        ):
            found = ratio_tails(group.size, round(group.share * group.size), budget, epsilon)
            for seen, chance in zip(printed, found, strict=True):
                expected = 100 * float(chance)
                distance += (seen - expected) ** 2 / (expected * (1 - float(chance)))
                cells.append(f"{seen} ({expected:.1f})")
        rows.append((place, group.size, group.share, group.in_table, *cells))
    cells_of_all = 8 * len(rows)
    likely = float(chi2.sf(distance, cells_of_all))
    return Exhibit(
        f"Table {number}: {sensitive}, how often the ratio of two noisy counts is wrong",
        "agrees",
        "Of 100 draws of Laplace noise on both counts, how many give a share that is too high, or too low, by more than"
        f" epsilon: as printed, and in brackets as expected of the groups as printed ({cells_of_all} cells: chi-square"
        f" {distance:.1f}, and {likely:.0%} of correct simulations would be further off). The noise has the scale"
        " 1 / lambda. `FROM priv.ratio_attack(...)` finds such groups in a table of your own.",
        body=table(
            (
                "group", "records", "share in the group", "share in the table",
                *(
                    f"lambda {budget}, epsilon {epsilon}: {side}"
                    for budget, epsilon in ((0.1, 0.2), (0.1, 0.3), (0.05, 0.2), (0.05, 0.3))
                    for side in ("above", "below")
                ),
            ),
            rows,
        ),
    )  # fmt: skip
