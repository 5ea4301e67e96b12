"""Wang, Han, Fu, "Randomization resilient to sensitive reconstruction".

Examples 1 and 5.15, figures 2 to 5, tables 4 and 5.
"""

from __future__ import annotations

from pathlib import Path

import duckdb_priv
from benchmarks import reconstruction_privacy
from benchmarks.papers.exhibit import Exhibit, Paper, table
from duckdb_priv.mechanism.reference.duplicated_sample import duplicated_variance, paper_moments
from duckdb_priv.mechanism.uniform import Uniform, max_retention

TITLE = "Wang, Han, Fu: Randomization resilient to sensitive reconstruction"


def paper(census: Path | None, *, quick: bool) -> Paper:
    """Recompute the examples; with census records, publish them and draw the figures."""
    exhibits = [_example_1(), _example_5_15()]
    if census is not None:
        exhibits += _figures(census, quick=quick)
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


def _figures(census: Path, *, quick: bool) -> list[Exhibit]:
    sweeps = reconstruction_privacy.SWEEPS
    rows = reconstruction_privacy.Setting.rows
    if quick:
        rows = 6_000
        sweeps = {"retention": (0.5,)}
    with duckdb_priv.connect() as con:
        found = reconstruction_privacy.measure_all(con, str(census), sweeps, rows)
        attacked = {
            name: reconstruction_privacy.attacks(
                con, str(census), reconstruction_privacy.Setting(name, rows=rows)
            )
            for name in reconstruction_privacy.PUBLIC
        }
    lines = [
        (
            reconstruction_privacy.FIGURES[name], sensitive, name, value, each.violating_groups,
            each.violating_records, *(each.errors[method] for method in reconstruction_privacy.METHODS),
        )
        for sensitive, of_sweeps in found.items()
        for name, measured in of_sweeps.items()
        for value, each in zip(sweeps[name], measured, strict=True)
    ]  # fmt: skip
    measured = [each for sweep in found.values() for values in sweep.values() for each in values]
    price = [each.errors["paper"] / each.errors["uniform"] for each in measured]
    safe = [each.errors["public"] / each.errors["uniform"] for each in measured]
    head = ("figure", "sensitive", "varied", "value", "violating groups, %", "records in them, %", "error, uniform",
            "public s", "paper")  # fmt: skip
    figures = Exhibit(
        "Figures 2 to 5: violations and errors over retention, epsilon, delta and records",
        "other data",
        "The paper's census extract is not to be had; ours has attributes of the same sizes. Few groups violate, but"
        " they hold many of the records, the more the larger retention, epsilon, delta and the table are. Sampling as"
        f" in the paper makes errors {min(price):.2g} to {max(price):.2g} times those of uniform perturbation. But its"
        " thresholds depend on the secret frequencies, and its duplicates give them away; a public sample size, which"
        f" does not, makes errors {min(safe):.2g} to {max(safe):.2g} times as large.",
        table(head, lines),
        {"wang_han_fu_2_5": reconstruction_privacy.draw(found, sweeps)},
    )
    tables = Exhibit(
        "Tables 4 and 5: the ratio attack on noisy counts",
        "other data",
        "The paper's groups are not to be had. Three rows of its tables were simulated, and agree within chance (in one"
        " it prints 8, 8, 3 and 0 of 100, where simulation gives 9.2, 7.8, 3.7 and 2.8%). On our groups, the ten most"
        " skewed ones of 100 records and more, fewer stay private the smaller the noise is.",
        table(
            ("sensitive", "epsilon of an answer", "right to 30%, least", "most", "private, of 10"),
            ((name, *line) for name, of_budgets in attacked.items() for line in of_budgets),
        ),
    )
    return [figures, tables]
