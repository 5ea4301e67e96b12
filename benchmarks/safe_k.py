"""Computes the tables and figures of the safe k-anonymity paper, and publishes Adult with all nine hierarchies.

    python benchmarks/safe_k.py [--data FOLDER] [--write]

Tables 1 and 2 and figures 2 to 6 are from Li, Qardaji and Su (ASIACCS 2012), with the tight delta and ARX's k for
comparison. FOLDER contains adult.parquet and adult_hierarchies/*.csv, the example data of ARX. The 30,162 records of
its part 'train' are published with given levels, and with levels chosen by the exponential mechanism, at ARX's
parameters for epsilon = 1. --write writes benchmarks/results/SAFE_K.md.
"""

from __future__ import annotations

import argparse
import json
import math
import secrets
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import duckdb_priv
from duckdb_priv.engine.instance import instance_of
from duckdb_priv.engine.source import open_source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.composition import EpsilonDelta
from duckdb_priv.mechanism.exponential_mechanism import exponential_mechanism
from duckdb_priv.mechanism.lattice import Lattice, score_nodes
from duckdb_priv.mechanism.sampling import (
    amplified_delta,
    amplified_epsilon,
    sampling_delta,
    sampling_epsilon,
    sampling_k,
    tight_delta,
)
from duckdb_priv.methods.common.hierarchy import count_leaves, open_hierarchies
from duckdb_priv.release.request import Roles
from duckdb_priv.sqltext.quoting import literal

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reference.composition import advanced_composition
from reference.exponential_probabilities import exponential_probabilities

RESULTS = Path(__file__).parent / "results" / "SAFE_K.md"
EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
PAPER_TABLE_2 = {
    0.05: (6.83e-10, 2.50e-14, 3.19e-17, 1.76e-19, 3.97e-22, 2.00e-24),
    0.1: (4.19e-06, 1.61e-09, 3.44e-12, 4.07e-14, 3.22e-16, 1.89e-18),
    0.2: (2.16e-03, 8.02e-06, 1.89e-07, 6.03e-09, 4.79e-11, 1.59e-12),
}
ARX_K = (
    (0.1, 1e-5, 50),
    (0.5, 1e-5, 52),
    (1.0, 1e-5, 62),
    (1.0, 1e-6, 75),
    (2.0, 1e-5, 114),
    (math.log(2), 1e-7, 81),
    (math.log(3), 1e-8, 109),
)
GIVEN = {
    "age": 2, "education": 2, "marital_status": 1, "native_country": 1, "occupation": 2, "race": 0, "salary": 0,
    "sex": 0, "workclass": 1,
}  # fmt: skip
"""Levels that keep some information of every column, chosen independently of the records."""
RUNS, DRAWS = 5, 500

Row = Sequence[Any]


def table(head: Row, rows: Iterable[Row]) -> str:
    """Write a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_shown, line)) + " |" for line in lines)


def _shown(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.3g}" if abs(cell) < 1e-3 or abs(cell) >= 1e6 else f"{cell:.6g}"
    return str(cell)


def table_1() -> str:
    """Compute table 1, amplification: a tenth of the sample each time, and epsilon = 1 at 10% and 1%."""
    steps = [(math.log(11), 1e-5)]
    for _ in range(2):
        epsilon, delta = steps[-1]
        steps.append((amplified_epsilon(epsilon, 0.1), amplified_delta(delta, 0.1)))
    rows = [(beta, *step) for beta, step in zip((1.0, 0.1, 0.01), steps, strict=True)]
    rows += [(beta, amplified_epsilon(1.0, beta), "of 1") for beta in (0.1, 0.01)]
    return "## Table 1: amplification by sampling\n\n" + table(("beta", "epsilon", "delta"), rows)


def table_2() -> str:
    """Compute table 2, delta for k = 20."""
    rows: list[Row] = []
    for beta, paper in PAPER_TABLE_2.items():
        rows.append((beta, "ours", *(sampling_delta(20, beta, epsilon) for epsilon in EPSILONS)))
        rows.append(("", "paper", *paper))
        rows.append(("", "tight", *(tight_delta(20, beta, epsilon) for epsilon in EPSILONS)))
    return "## Table 2: delta for k = 20\n\n" + table(("beta", "", *EPSILONS), rows)


def figures_2_and_3() -> str:
    """Compute delta by epsilon for several beta at one k, and for several k at one beta."""
    epsilons = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
    by_beta = [
        (beta, *(_or_none(lambda: sampling_delta(20, beta, e)) for e in epsilons))  # noqa: B023
        for beta in (0.025, 0.05, 0.1, 0.2, 0.3, 0.4)
    ]
    by_k = [(k, *(sampling_delta(k, 0.2, e) for e in epsilons)) for k in (5, 10, 20, 30, 50)]
    return (
        "## Figures 2 and 3: delta by epsilon\n\nWith k = 20:\n\n"
        + table(("beta", *epsilons), by_beta)
        + "\n\nWith beta = 0.2:\n\n"
        + table(("k", *epsilons), by_k)
    )


def figure_4() -> str:
    """Compute the delta of the pairs that the paper calls similar, and the k that match the first pair."""
    pairs, epsilons = ((15, 0.05), (22, 0.1), (35, 0.2), (60, 0.4)), (1.0, 1.5, 2.0)
    rows = [(k, beta, *(sampling_delta(k, beta, e) for e in epsilons)) for k, beta in pairs]
    matching = [
        (beta, *(sampling_k(beta, e, sampling_delta(15, 0.05, e)) for e in epsilons))
        for _, beta in pairs[1:]
    ]
    return (
        "## Figure 4: pairs (k, beta) that are called similar\n\n"
        + table(("k", "beta", *epsilons), rows)
        + "\n\nThe k that matches (15, 0.05):\n\n"
        + table(("beta", *epsilons), matching)
    )


def figure_5() -> str:
    """Compute delta for small k; for k = 1 the whole sample is published."""
    rows = [(k, *(sampling_delta(k, 0.025, e) for e in (1.0, 2.0))) for k in range(1, 9)]
    return "## Figure 5: delta by k, beta = 0.025\n\n" + table(
        ("k", "epsilon 1", "epsilon 2"), rows
    )


def figure_6() -> str:
    """Compute the smallest epsilon for delta = 1e-6."""
    rows = [
        (beta, *(_or_none(lambda: sampling_epsilon(k, beta, 1e-6)) for k in (5, 10, 20, 50)))  # noqa: B023
        for beta in (0.05, 0.1, 0.2)
    ]
    return "## Figure 6: smallest epsilon for delta = 1e-6\n\n" + table(
        ("beta", "k = 5", "k = 10", "k = 20", "k = 50"), rows
    )


def _or_none(compute: Any) -> Any:
    try:
        return compute()
    except InvalidParameter:
        return "none"


def arx() -> str:
    """Compute the smallest k at the highest sampling rate, and compare it with ARX's."""
    rows = [
        (epsilon, delta, sampling_k(-math.expm1(-epsilon), epsilon, delta), k)
        for epsilon, delta, k in ARX_K
    ]
    return (
        "## The smallest k at beta = 1 - exp(-epsilon)\n\nARX's search counts once more after the k that passes.\n\n"
        + table(("epsilon", "delta", "k", "ARX"), rows)
    )


def composition() -> str:
    """Compute the composition of fifty releases."""
    loss = advanced_composition([EpsilonDelta(0.1, 1e-7)] * 50, slack=1e-6)
    return (
        "## Fifty releases with (0.1, 1e-7)\n\nSummed: epsilon = 5, delta = 5e-06; advanced:"
        f" epsilon = {loss.epsilon:.4f}, delta = {loss.delta:.0e}."
    )


def adult(data: Path) -> str:
    """Publish Adult with all nine hierarchies, at the parameters of ARX for epsilon = 1, delta = 1e-5."""
    beta = -math.expm1(-1.0)
    chosen_beta = -math.expm1(-0.9)
    with duckdb_priv.connect() as con:
        load_adult(con, data)
        excluded = [
            name
            for (name,) in con.execute("SELECT column_name FROM (DESCRIBE adult)").fetchall()
            if name not in GIVEN
        ]
        common = f"epsilon := 1.0, hierarchies := 'hierarchies', exclude := {excluded!r}, replace := true"
        ways = {
            "given": f"k := {sampling_k(beta, 1.0, 1e-5)}, beta := {beta!r}, levels := {GIVEN!r}",
            "epsilon1 = 0.1": f"k := {sampling_k(chosen_beta, 0.9, 1e-5)}, beta := {chosen_beta!r}, epsilon1 := 0.1",
        }
        rows: list[Row] = []
        for way, arguments in ways.items():
            seconds, kept = [], []
            for _ in range(RUNS):
                started = time.perf_counter()
                ((published, source),) = con.execute(
                    "SELECT rows_published, rows_source"
                    f" FROM priv.publish_safe_k('adult', 'published', {arguments}, {common})"
                ).fetchall()
                seconds.append(time.perf_counter() - started)
                kept.append(published)
            ((parameters,),) = con.execute("SELECT parameters FROM priv.release").fetchall()
            terms = json.loads(parameters)
            rows.append(
                (
                    way, terms["k"], terms["beta"], terms["delta"], statistics.median(seconds), source,
                    statistics.median(kept), " ".join(str(terms["levels"][name]) for name in sorted(GIVEN)),
                )
            )  # fmt: skip
    return (
        "## Adult, nine hierarchies, 12,960 nodes\n\n"
        f"Medians of {RUNS} publications; levels of {', '.join(sorted(GIVEN))}.\n\n"
        + table(
            ("levels", "k", "beta", "delta", "seconds", "records", "published", "last levels"), rows
        )
    )


def chosen_nodes(data: Path) -> str:
    """Compare how often each node of Adult's lattice is chosen with its exact probability."""
    with duckdb_priv.connect() as con:
        load_adult(con, data)
        columns = ", ".join(sorted(GIVEN))
        con.execute(f"CREATE TABLE shown AS SELECT {columns} FROM adult")
        instance = instance_of(con)
        assert instance is not None
        workspace = Workspace(instance, "memory", cursor=con.cursor())
        source = open_source(workspace, "shown", Roles())
        hierarchies = open_hierarchies(workspace, source, "hierarchies")
        codes, counts = count_leaves(workspace, source, hierarchies)
        workspace.cursor.close()
    lattice = Lattice(tuple(each.codes for each in hierarchies))
    weights = lattice.precision()
    threshold = math.ceil(8 / 0.1)
    scores = score_nodes(lattice, codes, counts, threshold) * weights
    rate = Fraction(0.1) / int(weights.max())
    probabilities = exponential_probabilities(scores, rate)
    drawn = [
        exponential_mechanism(scores, rate, partial(secrets.randbits, 64)) for _ in range(DRAWS)
    ]
    best = np.argsort(-probabilities)[:5]
    rows = [
        (
            " ".join(map(str, lattice.nodes()[node])),
            float(probabilities[node]),
            drawn.count(node) / DRAWS,
        )
        for node in best
    ]
    rows.append(("all others", 1 - sum(row[1] for row in rows), 1 - sum(row[2] for row in rows)))
    return (
        f"## Chosen nodes of Adult at k = 8, beta = 0.1, epsilon1 = 0.1\n\n{DRAWS} draws; levels of {columns}.\n\n"
        + table(("levels", "probability", "share of the draws"), rows)
    )


def load_adult(con: duckdb.DuckDBPyConnection, data: Path) -> None:
    """Load the records of Adult and the nine hierarchies."""
    con.execute(
        f"CREATE TABLE adult AS FROM {literal(str(data / 'adult.parquet'))} WHERE part = 'train'"
    )
    attributes = {
        path: path.stem.removeprefix("adult_hierarchy_")
        .replace("-", "_")
        .replace("salary_class", "salary")
        for path in sorted((data / "adult_hierarchies").glob("*.csv"))
    }
    con.execute(
        "CREATE TABLE hierarchies AS "
        + " UNION ALL ".join(
            f"FROM priv.load_hierarchy({literal(name)}, {literal(str(path))})"
            for path, name in attributes.items()
        )
    )


def main() -> None:
    """Print every part, and write the results with --write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder with Adult and its hierarchies")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    parts = [
        table_1(),
        table_2(),
        figures_2_and_3(),
        figure_4(),
        figure_5(),
        figure_6(),
        arx(),
        composition(),
    ]
    if options.data is not None:
        parts += [adult(options.data), chosen_nodes(options.data)]
    text = f"# Safe k-anonymity\n\nduckdb_priv {duckdb_priv.__version__}, DuckDB {duckdb.__version__}\n\n"
    text += "\n\n".join(parts) + "\n"
    print(text)
    if options.write:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
