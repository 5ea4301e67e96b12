"""Checks two claims about operators for questions more thoroughly than the tests.

    python benchmarks/questions_checked.py [--data FOLDER] [--write]

First, the operator is never worse than uniform perturbation, for a grid of domain sizes and epsilons. Second, intervals
of means have the stated coverage: the counts of the groups of adult, in FOLDER, are perturbed 40,000 times. --write
writes the page to benchmarks/results.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import duckdb
import numpy as np
from questions import DESIGNS, Design

from duckdb_priv.mechanism.questions import (
    MOST_VALUES,
    choose_operator,
    exact_amplification,
    mean_error,
    mean_gram,
    prefixes_gram,
    ranges_gram,
    uniform_operator,
    values_gram,
    within,
)
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results" / "QUESTIONS_CHECKED.md"
SIZES = (2, 3, 4, 6, 8, 12, 16, 20, 28)
LARGE = (29, *range(30, 68, 2), 70, *range(72, 129, 4))
"""Larger domain sizes, for which only ranges and the mean are checked: a search takes seconds there."""
EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)
DRAWS = 40_000
Z = 1.959963984540054


def asked(m: int) -> dict[str, np.ndarray]:
    """Return the questions that are checked for a domain size."""
    grams = {"ranges": ranges_gram(m), "mean": mean_gram(range(m))}
    if m in SIZES:
        grams |= {"prefixes": prefixes_gram(m), "values": values_gram(m)}
    return grams


def quotient(gram: np.ndarray, epsilon: float) -> float:
    """Return the ratio of the chosen operator's error to that of uniform perturbation."""
    ratio = math.exp(epsilon)
    operator = choose_operator(gram, ratio)
    assert exact_amplification(operator) <= ratio
    return mean_error(gram, operator) / mean_error(gram, uniform_operator(len(gram), ratio))


def rounded() -> list[str]:
    """Return the lines on the effect of integer rounding: the error of uniform perturbation with and without it."""
    worst = 0.0
    for m in range(2, MOST_VALUES + 1):
        gram = ranges_gram(m)
        for epsilon in EPSILONS:
            plain = uniform_operator(m, math.exp(epsilon))
            drawn = within(plain, math.exp(epsilon))
            worst = max(worst, mean_error(gram, drawn) / mean_error(gram, plain) - 1)
    return [
        "",
        "The choice is never worse than uniform perturbation as it is drawn, since that is one of the candidates."
        f" Drawing by integers adds at most {max(worst, 0.0):.1e} of the error of ranges, over all sizes from 2 to"
        f" {MOST_VALUES} and all these epsilons.",
    ]


def swept() -> list[str]:
    """Return the lines of the grid: the ratio of the error to that of uniform perturbation."""
    lines = [
        "",
        "## Never worse than uniform perturbation",
        "",
        "The expected error of the operator over that of uniform perturbation at the same epsilon. Uniform perturbation"
        " is itself among what the search chooses from.",
        "",
        f"| values | questions | {' | '.join(f'epsilon {each:g}' for each in EPSILONS)} |",
        f"|---|---|{'---|' * len(EPSILONS)}",
    ]
    worst = 0.0
    for m in (*SIZES, *LARGE):
        for name, gram in asked(m).items():
            cells = [quotient(gram, epsilon) for epsilon in EPSILONS]
            worst = max(worst, *cells)
            lines.append(f"| {m} | {name} | {' | '.join(f'{each:.3f}' for each in cells)} |")
            print(lines[-1], flush=True)
    lines += ["", f"The largest of these quotients is {worst:.15g}."]
    return lines


def grouped(data: Path, design: Design) -> np.ndarray:
    """Return the true counts of each group, by value."""
    width = (design.high - design.low) / design.bins
    place = f"floor((least({design.column}, {design.high - 1}) - {design.low}) / {width})::INTEGER"
    rows = duckdb.execute(
        f"SELECT dense_rank() OVER (ORDER BY {design.group}) - 1, {place}, count(*)"
        f" FROM read_parquet({literal(str(data / (design.table + '.parquet')))}) GROUP BY {design.group}, 2"
    ).fetchall()
    groups = np.zeros((max(row[0] for row in rows) + 1, design.bins), np.int64)
    for group, value, records in rows:
        groups[group, value] += records
    return groups


def coverage(operator: np.ndarray, true: np.ndarray, at: np.ndarray) -> float:
    """Return how often the true mean is within z estimated standard errors of its estimate."""
    weights = np.linalg.inv(operator)
    amounts = (at - at[0]) / (at[-1] - at[0])
    rng = np.random.default_rng(5)
    shown = np.zeros((DRAWS, len(at)), np.int64)
    for x, records in enumerate(true):
        shown += rng.multinomial(records, operator[:, x] / operator[:, x].sum(), DRAWS)
    each = amounts @ weights
    estimates, variances = shown @ each, shown @ (each**2 - amounts**2 @ weights)
    return float(np.mean(np.abs(estimates - amounts @ true) <= Z * np.sqrt(variances.clip(0))))


def covered(data: Path) -> list[str]:
    """Return the lines of the coverage of means."""
    lines = [
        "",
        "## Intervals of means",
        "",
        f"{DRAWS:,} draws for each group at epsilon 1: the share in which the mean of all records of the group is"
        " within 1.96 estimated standard errors, which is the interval that ordinary SQL gives for avg. A share of 95%"
        f" varies by {100 * math.sqrt(0.95 * 0.05 / DRAWS):.2f} points (one standard deviation).",
        "",
        "| groups | operator for | least | median | largest | records of the least |",
        "|---|---|---|---|---|---|",
    ]
    for design in DESIGNS:
        groups, m = grouped(data, design), design.bins
        for name, gram in (("ranges", ranges_gram(m)), ("mean", mean_gram(range(m)))):
            operator = choose_operator(gram, math.e)
            found = [coverage(operator, true, design.values) for true in groups]
            least, median, largest = (f"{100 * f(found):.1f}%" for f in (min, np.median, max))
            records = int(groups[int(np.argmin(found))].sum())
            lines.append(
                f"| {design.title} | {name} | {least} | {median} | {largest} | {records:,} |"
            )
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Check, print, and write the results with --write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    page = ["# The operator for questions, checked", ""]
    page += ["Written by `python benchmarks/questions_checked.py --data FOLDER --write`."]
    page += swept() + rounded() + (covered(options.data) if options.data else [])
    print("\n".join(page))
    if options.write:
        RESULTS.write_text("\n".join(page) + "\n", "utf-8")


if __name__ == "__main__":
    main()
