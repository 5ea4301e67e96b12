"""Measures the errors of marginals of one to three attributes for each mechanism, and draws the picture of the README.

    python benchmarks/marginals.py --data FOLDER [--write]

FOLDER contains census_500k, vaers_reactions and adult as Parquet files. Each table is published with two public columns
and one sensitive column: by uniform perturbation and a block design at a local epsilon, and in shuffled groups at a
central (epsilon, 1e-6). Then priv.reconstructed_distribution estimates every cell of the sensitive column, for the
whole table and by one and both public columns. --write writes benchmarks/results/MARGINALS.md and the picture.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

import duckdb_priv
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results" / "MARGINALS.md"
PICTURE = RESULTS.with_suffix(".svg")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
DELTA = 1e-6
MECHANISMS = {
    "uniform": "epsilon := {}",
    "block_design": "epsilon := {}",
    "shuffled": f"epsilon := {{}}, delta := {DELTA}",
}
LINES = {
    "uniform": ("uniform perturbation: holds without a crowd", "#b2452f", "o"),
    "block_design": ("codes of blocks: hold without a crowd", "#c99a2e", "s"),
    "shuffled": ("shuffled groups: rest on a crowd", "#2f6f8f", "^"),
}
"""The name, colour and mark of each mechanism in the picture."""


@dataclass(frozen=True)
class Design:
    """A table with its columns and their roles."""

    table: str
    title: str
    select: str
    sensitive: str
    public: tuple[str, str]


DESIGNS = (
    Design(
        "census_500k",
        "500,000 people, 50 occupations,\nby gender and education",
        "row_number() OVER () AS id, occupation, gender, education",
        "occupation",
        ("gender", "education"),
    ),
    Design(
        "vaers_reactions",
        "172,261 reports, 1,383 reactions,\nby sex and decade of age",
        "vaers_id AS id, reaction, sex, age // 10 AS decade",
        "reaction",
        ("sex", "decade"),
    ),
    Design(
        "adult",
        "45,222 people, 14 occupations,\nby sex and education",
        "row_number() OVER () AS id, occupation, sex, education",
        "occupation",
        ("sex", "education"),
    ),
)


@dataclass(frozen=True)
class Marginal:
    """The errors of the cells of one marginal."""

    design: Design
    mechanism: str
    epsilon: float
    attributes: int
    cells: int
    distance: float
    """Total variation: half of the L1 distance of the shares of all cells."""
    error: float
    """Root mean squared error of a cell's count."""
    coverage: float


def measure(data: Path) -> Iterator[Marginal]:
    """Publish and query each table."""
    with duckdb_priv.connect(secret=bytes(range(32))) as connection:
        for design in DESIGNS:
            path = literal(str(data / f"{design.table}.parquet"))
            connection.execute(f"CREATE TABLE {design.table} AS SELECT {design.select} FROM {path}")
            for mechanism, asked in MECHANISMS.items():
                for epsilon in EPSILONS:
                    connection.execute(
                        f"FROM priv.publish_{mechanism}({literal(design.table)}, 'release', sensitive :="
                        f" {literal(design.sensitive)}, public := [{', '.join(map(literal, design.public))}],"
                        f" record_id := 'id', replace := true, {asked.format(epsilon)})"
                    ).fetchall()
                    for columns in ((), design.public[:1], design.public):
                        yield _asked(connection, design, mechanism, epsilon, columns)


def _asked(
    connection: duckdb.DuckDBPyConnection,
    design: Design,
    mechanism: str,
    epsilon: float,
    columns: tuple[str, ...],
) -> Marginal:
    grouped = f", group_columns := {literal(', '.join(columns))}" if columns else ""
    weight = ", weight := 'scale'" if mechanism == "shuffled" else ""
    same = "".join(f" AND t.{name} IS NOT DISTINCT FROM d.{name}" for name in columns)
    (found,) = connection.execute(
        f"WITH truth AS (SELECT {''.join(f'{name}, ' for name in columns)}{design.sensitive} AS value, count(*) AS n"
        f" FROM {design.table} GROUP BY ALL), answer AS (SELECT d.*, coalesce(t.n, 0) AS n FROM"
        f" priv.reconstructed_distribution('release'{grouped}{weight}) AS d LEFT JOIN truth AS t"
        f" ON t.value::VARCHAR IS NOT DISTINCT FROM d.value::VARCHAR{same})"
        " SELECT count(*), sum(abs(estimate - n)) / sum(n) / 2, sqrt(avg((estimate - n) ** 2)),"
        " avg((n BETWEEN low AND high)::INTEGER) FROM answer"
    ).fetchall()
    return Marginal(design, mechanism, epsilon, len(columns) + 1, *found)


def written(found: list[Marginal]) -> str:
    """Write the tables."""
    lines = [
        "Total variation between the estimated and the true shares of all cells (half of their L1 distance; unbiased"
        " estimates, so it may be above 1), and how many of the true counts lie in 95% intervals. Uniform perturbation"
        f" and codes of blocks at a local epsilon, shuffled groups at a central (epsilon, {DELTA:g}).",
    ]
    for design in DESIGNS:
        lines += [
            "",
            f"## {design.table}: {design.sensitive}, {', '.join(design.public)}",
            "",
            "| mechanism | epsilon | 1 attribute | 2 attributes | 3 attributes | a cell of two is off by"
            " | in 95% intervals |",
            "|---|---|---|---|---|---|---|",
        ]
        for mechanism in MECHANISMS:
            for epsilon in EPSILONS:
                three = [
                    each
                    for each in found
                    if (each.design, each.mechanism, each.epsilon) == (design, mechanism, epsilon)
                ]
                covered = sum(each.coverage * each.cells for each in three) / sum(
                    each.cells for each in three
                )
                numbers = " | ".join(f"{each.distance:.4f}" for each in three)
                lines.append(
                    f"| {mechanism} | {epsilon:g} | {numbers} | {three[1].error:,.0f} | {100 * covered:.1f}% |"
                )
    return "\n".join(lines) + "\n"


def draw(found: list[Marginal]) -> None:
    """Draw the error of a typical count by mechanism and epsilon."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "marginals", "font.size": 9})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, design in zip(axes, DESIGNS[:2], strict=True):
        for mechanism, (name, colour, mark) in LINES.items():
            errors = [
                each.error
                for each in found
                if (each.design, each.mechanism, each.attributes) == (design, mechanism, 2)
            ]
            axis.plot(EPSILONS, errors, marker=mark, color=colour, label=name)
        axis.set(
            xscale="log",
            yscale="log",
            title=design.title.split(",\n")[0],
            xlabel="epsilon (less is more private)",
        )
        axis.set_xticks(EPSILONS, [f"{each:g}" for each in EPSILONS])
        axis.minorticks_off()
        axis.set_yticks([10, 100, 1000, 10_000], ["10", "100", "1,000", "10,000"])
        axis.grid(alpha=0.25)
    axes[0].set_ylabel(f"a count by {DESIGNS[0].public[0]} is off by\n(records, root mean square)")
    axes[1].set_ylabel(f"a count by {DESIGNS[1].public[0]} is off by")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    found = list(measure(arguments.data))
    table = written(found)
    print(table)
    if arguments.write:
        RESULTS.write_text("# Marginals at equal guarantees\n\n" + table, encoding="utf-8")
        draw(found)


if __name__ == "__main__":
    main()
