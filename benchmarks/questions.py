"""Compares the errors of ranges, means and quantiles between operators chosen for them and other mechanisms.

    python benchmarks/questions.py --data FOLDER [--write]

FOLDER contains adult as a Parquet file. Records of groups are perturbed repeatedly by each mechanism, at one epsilon:
uniform perturbation, a block design, the operators chosen for ranges and for the mean, Duchi's two symbols, and the
square wave with smoothed expectation maximization. The last two are implemented here. The coverage is that of published
releases that are queried in ordinary SQL. --write writes the table and the picture to benchmarks/results.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

import duckdb_priv
from duckdb_priv.mechanism.block_design import choose_design
from duckdb_priv.mechanism.questions import uniform_operator
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results" / "QUESTIONS.md"
EPSILON = 1.0
RUNS = 10
RANGES = 200
SECRETS = 3
DECILES = (0.1, 0.5, 0.9)
Estimate = Callable[[np.ndarray, np.random.Generator], np.ndarray]
"""A function that maps the true counts of a group to estimated counts."""


@dataclass(frozen=True)
class Design:
    """A column of a table, its bin edges, and the column by which its records are grouped."""

    title: str
    table: str
    column: str
    low: int
    high: int
    bins: int
    group: str

    @property
    def cut(self) -> str:
        return f"low := {self.low}, high := {self.high}, bins := {self.bins}, clip := true"

    @property
    def values(self) -> np.ndarray:
        width = (self.high - self.low) / self.bins
        return self.low + width * np.arange(self.bins) + (width - 1) / 2


DESIGNS = (
    Design("ages of 45,222 people, by marital status", "adult", "age", 17, 81, 64, "marital_status"),
    Design("weekly hours of 45,222 people, by occupation", "adult", "hours_per_week", 1, 81, 40, "occupation"),
)  # fmt: skip


def linear(operator: np.ndarray) -> Estimate:
    """Estimate by the inverse of an operator."""
    weights = np.linalg.inv(operator)
    chances = (operator / operator.sum(axis=0)).T

    def estimate(true: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return weights @ rng.multinomial(true, chances).sum(axis=0)

    return estimate


def blocks(size: int, ratio: float) -> Estimate:
    """Report a block of a balanced design; estimate by the number of reported blocks that contain a value."""
    design = choose_design(size, ratio)
    code = design.code
    held = np.zeros((code.outcomes, size))
    for first in design.offsets():
        held[(first + np.arange(size) * design.stride) % code.outcomes, np.arange(size)] = 1
    chances = np.where(held == 1, ratio, 1.0) / code.total(ratio)
    own, other = code.own(ratio), code.other(ratio)

    def estimate(true: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        shown = rng.multinomial(true, (chances / chances.sum(axis=0)).T).sum(axis=0)
        return (held.T @ shown - true.sum() * other) / (own - other)

    return estimate


def square_wave(size: int, epsilon: float) -> Estimate:
    """Report a number near the true one; estimate by smoothed expectation maximization (Li and others 2020)."""
    e = math.exp(epsilon)
    half = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
    near, far = e / (2 * half * e + 1), 1 / (2 * half * e + 1)
    edges = np.linspace(-half, 1 + half, size + 1)
    at = (np.arange(size) + 0.5) / size
    covered = np.clip(
        np.minimum.outer(edges[1:], at + half) - np.maximum.outer(edges[:-1], at - half), 0, None
    )
    operator = far * np.diff(edges)[:, None] + (near - far) * covered
    operator /= operator.sum(axis=0)
    smoothing = (np.eye(size, k=-1) + 2 * np.eye(size) + np.eye(size, k=1)) / 4
    smoothing /= smoothing.sum(axis=0)

    def estimate(true: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        shown = rng.multinomial(true, operator.T).sum(axis=0)
        found, before = np.full(size, 1 / size), -np.inf
        for _ in range(2_000):
            expected = operator @ found
            found = smoothing @ (found * (operator.T @ (shown / expected)))
            found /= found.sum()
            now = float(shown @ np.log(operator @ found))
            if now - before < 1e-3 * e:
                break
            before = now
        return found * true.sum()

    return estimate


def duchi_error(true: np.ndarray, at: np.ndarray, ratio: float) -> float:
    """Return the standard error of a mean by two symbols (Duchi and others 2018)."""
    place = 2 * (at - at[0]) / (at[-1] - at[0]) - 1
    size = (ratio + 1) / (ratio - 1)
    share = true / true.sum()
    spread = float(share @ (size**2 - place**2)) / true.sum()
    return math.sqrt(spread) * (at[-1] - at[0]) / 2


def errors(design: Design, groups: np.ndarray, of: Estimate) -> tuple[float, float, float]:
    """Return the root mean square error of counts of ranges, of means and of quantiles over groups and runs."""
    rng, at = np.random.default_rng(1), design.values
    ends = np.sort(np.random.default_rng(2).integers(0, design.bins, (RANGES, 2)), axis=1)
    found: list[list[float]] = [[], [], []]
    for true in groups:
        for _ in range(RUNS):
            estimate = of(true, rng)
            sums = [np.concatenate([[0], np.cumsum(each)]) for each in (estimate, true)]
            ranges = [each[ends[:, 1] + 1] - each[ends[:, 0]] for each in sums]
            found[0].append(float(np.mean((ranges[0] - ranges[1]) ** 2)))
            found[1].append(float(at @ estimate / estimate.sum() - at @ true / true.sum()) ** 2)
            quantiles = [
                [at[np.argmax(each[1:] >= share * each[-1])] for share in DECILES] for each in sums
            ]
            found[2].append(float(np.mean(np.subtract(*quantiles) ** 2)))
    ranges, means, quantiles = (math.sqrt(np.mean(each)) for each in found)
    return ranges, means, quantiles


def covered(con: duckdb.DuckDBPyConnection, design: Design, questions: str) -> dict[str, float]:
    """Publish, query ranges, means and quantiles by group, and return the coverage of their intervals."""
    hits: dict[str, list[bool]] = {"ranges": [], "means": [], "quantiles": []}
    rng = np.random.default_rng(3)
    con.execute(
        f"FROM priv.publish_for_questions('records', 'r', sensitive := '{design.column}', public := '{design.group}',"
        f" questions := '{questions}', {design.cut}, epsilon := {EPSILON}, replace := true)"
    ).fetchall()
    width = (design.high - design.low) / design.bins
    middle = f"({design.low} + floor((least({design.column}, {design.high - 1}) - {design.low}) / {width}) * {width}"
    truth = (
        f"(SELECT {design.group}, {middle} + {(width - 1) / 2}) AS {design.column} FROM records)"
    )
    asked = {"means": [f"avg({design.column})"]}
    asked["quantiles"] = [f"quantile_disc({design.column}, {share})" for share in DECILES]
    ends = np.sort(rng.choice(design.values, (RANGES // 10, 2)), axis=1)
    asked["ranges"] = [
        f"count(*) FILTER ({design.column} BETWEEN {low} AND {high})" for low, high in ends
    ]
    for kind, expressions in asked.items():
        for expression in expressions:
            query = f"SELECT {design.group}, {expression} AS answer FROM {{}} GROUP BY 1"
            true = dict(con.execute(query.format(truth)).fetchall())
            for group, _, _, low, high in duckdb_priv.reconstruct(
                con, query.format("r"), intervals=True
            ).fetchall():
                hits[kind].append(low is None or low - 1e-9 <= true[group] <= high + 1e-9)
    return {kind: float(np.mean(each)) for kind, each in hits.items()}


def measured(data: Path) -> tuple[str, dict[str, np.ndarray]]:
    """Measure all mechanisms; return the page and the data of the picture."""
    ratio = math.exp(EPSILON)
    lines = [
        "# Ranges, means and quantiles of real numbers",
        "",
        f"Written by `python benchmarks/questions.py --write`. Epsilon {EPSILON:g}; root mean square errors over all"
        f" groups and {RUNS} runs by the law of each mechanism: counts of {RANGES} random ranges, means, and the"
        f" deciles {', '.join(f'{each:g}' for each in DECILES)} of raw estimates. In brackets, the error over that of"
        f" the first line. Coverage is that of 95% intervals of {SECRETS} releases, asked in ordinary SQL by group:"
        " with so few, it varies by several points. [QUESTIONS_CHECKED.md](QUESTIONS_CHECKED.md) has 40,000 draws for"
        " each group, and the comparison with uniform perturbation for 2 to 128 values.",
    ]
    picture: dict[str, np.ndarray] = {}
    for design in DESIGNS:
        with duckdb_priv.connect() as con:
            con.execute(
                f"CREATE TABLE records AS SELECT {design.group}, {design.column}"
                f" FROM read_parquet({literal(str(data / (design.table + '.parquet')))})"
            )
            width = (design.high - design.low) / design.bins
            place = f"floor((least({design.column}, {design.high - 1}) - {design.low}) / {width})::INTEGER"
            rows = con.execute(
                f"SELECT dense_rank() OVER (ORDER BY {design.group}) - 1, {place}, count(*) FROM records"
                f" GROUP BY {design.group}, 2"
            ).fetchall()
            groups = np.zeros((max(row[0] for row in rows) + 1, design.bins), np.int64)
            for group, value, records in rows:
                groups[group, value] += records
            size, at = design.bins, design.values
            coverage, chosen = {}, {}
            for questions in ("ranges", "mean"):
                coverage[questions] = [covered(con, design, questions) for _ in range(SECRETS)]
                rows = con.execute(
                    "SELECT operator FROM priv.coefficient WHERE release = 'r' ORDER BY position"
                ).fetchall()
                chosen[questions] = np.array([row for (row,) in rows]).T
            mechanisms = {
                "uniform perturbation": linear(uniform_operator(size, ratio)),
                "code of blocks": blocks(size, ratio),
                "chosen for ranges": linear(chosen["ranges"]),
                "chosen for the mean": linear(chosen["mean"]),
                "square wave": square_wave(size, EPSILON),
            }
            found = {name: errors(design, groups, of) for name, of in mechanisms.items()}
        first = found["uniform perturbation"]
        lines += ["", f"## {design.title}: {size} values, {len(groups)} groups", ""]
        lines += [
            "| mechanism | ranges, records | mean | deciles | in 95% intervals: ranges | mean | deciles |"
        ]
        lines += ["|---|---|---|---|---|---|---|"]
        for name, (ranges, mean, deciles) in found.items():
            of = coverage.get(
                {"chosen for ranges": "ranges", "chosen for the mean": "mean"}.get(name, "")
            )
            shares = (
                [
                    f"{100 * np.mean([run[kind] for run in of]):.1f}%"
                    for kind in ("ranges", "means", "quantiles")
                ]
                if of
                else ["", "", ""]
            )
            lines.append(
                f"| {name} | {ranges:,.0f} ({ranges / first[0]:.2f}) | {mean:.3f} ({mean / first[1]:.2f})"
                f" | {deciles:.2f} ({deciles / first[2]:.2f}) | {' | '.join(shares)} |"
            )
        duchi = math.sqrt(np.mean([duchi_error(true, at, ratio) ** 2 for true in groups]))
        lines.append(f"| Duchi's two symbols | | {duchi:.3f} ({duchi / first[1]:.2f}) | | | | |")
        if not picture:
            largest = groups[groups.sum(axis=1).argmax()]
            rng = np.random.default_rng(4)
            picture = {"values": at, "truth": largest}
            picture |= {
                name: mechanisms[name](largest, rng)
                for name in ("uniform perturbation", "chosen for ranges")
            }
    return "\n".join(lines) + "\n", picture


def draw(picture: dict[str, np.ndarray]) -> None:
    """Draw a distribution as estimated by two mechanisms, with the true one, for light and dark pages."""
    import matplotlib

    matplotlib.use("svg")
    grey = "#888888"
    matplotlib.rcParams.update(
        {"svg.hashsalt": "questions", "font.size": 9, "text.color": grey, "axes.labelcolor": grey}
        | {"axes.edgecolor": grey, "xtick.color": grey, "ytick.color": grey}
    )
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
    at, truth = picture["values"], np.cumsum(picture["truth"])
    for axis, (name, colour) in zip(
        axes,
        {"uniform perturbation": "#b2452f", "chosen for ranges": "#2f8faf"}.items(),
        strict=True,
    ):
        axis.plot(at, np.cumsum(picture[name]), color=colour, label=name)
        axis.plot(at, truth, color=grey, linestyle="--", label="truth")
        axis.set(xlabel="age", ylabel="records up to this age")
        axis.legend(frameon=False, labelcolor=grey)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(RESULTS.with_suffix(".svg"), transparent=True, metadata={"Date": None})


def main() -> None:
    """Measure, print, and write the results with --write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    page, picture = measured(options.data)
    print(page)
    if options.write:
        RESULTS.write_text(page, "utf-8")
        draw(picture)


if __name__ == "__main__":
    main()
