"""Draw the pictures of the pages from releases that it publishes: python docs/pictures/draw.py.

Text and lines are grey on nothing, so that a picture is read on a light and on a dark page. The publisher's secret is
known here, so the same numbers come out each time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

import duckdb_priv

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECRET = bytes(range(32))
INK, BLUE, RED, PALE = "#808890", "#2f7fd1", "#d9534f", "#80889022"
QUESTION = """\
USE estimated;
SELECT disease, count(*), count_low(), count_high()
FROM visits_public WHERE age > 30 GROUP BY disease;"""


def visits() -> tuple[list[str], list[float], list[float], list[float], list[int], list[int]]:
    """Publish what the README publishes, and count by disease: estimates, ends, true counts and noisy counts."""
    session = re.search(
        r"```sql publisher\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
    )
    assert session
    create, publish, _ = session[1].strip().split(";\n\n")
    with duckdb_priv.connect(":memory:", secret=SECRET) as con:
        con.execute(create)
        con.execute(publish).fetchall()
        rows = con.execute(
            "SELECT value, estimate, low, high, truth, noisy FROM"
            " priv.reconstructed_distribution('visits_public', condition := 'age > 30') JOIN"
            " (SELECT disease AS value, count(*) AS truth FROM visits WHERE age > 30 GROUP BY ALL) USING (value) JOIN"
            " (SELECT noisy_disease::VARCHAR AS value, count(*) AS noisy FROM visits_public WHERE age > 30"
            " GROUP BY ALL) USING (value) ORDER BY value"
        ).fetchall()
    return tuple(map(list, zip(*rows, strict=True)))  # type: ignore[return-value]


def answer() -> Figure:
    """A question, and its answer beside the truth."""
    values, estimates, lows, highs, truths, noisy = visits()
    figure = Figure(figsize=(8, 3.6))
    axes = figure.add_axes((0.1, 0.13, 0.87, 0.5))
    places = range(len(values))
    wrong = [
        [each - low for each, low in zip(estimates, lows, strict=True)],
        [high - each for each, high in zip(estimates, highs, strict=True)],
    ]
    axes.bar(places, estimates, 0.5, color=BLUE, alpha=0.55, label="estimate")
    axes.errorbar(
        places, estimates, wrong, fmt="none", ecolor=BLUE, capsize=6, label="95% interval"
    )
    axes.scatter(places, truths, color=RED, zorder=3, label="true count (only you know it)")
    axes.scatter(
        places, noisy, color=INK, marker="_", s=500, label="rows that show the value: noise"
    )
    axes.set_xticks(list(places), values)
    axes.set_ylim(0)
    bare(axes)
    figure.text(0.04, 0.95, QUESTION, family="monospace", size=10, color=INK, va="top")
    figure.legend(
        loc="upper right", bbox_to_anchor=(0.99, 0.99), frameon=False, labelcolor=INK, fontsize=8
    )
    return figure


def release() -> Figure:
    """What goes into a release file, and what stays."""
    figure = Figure(figsize=(8, 2.6))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, 80)
    axes.set_ylim(0, 26)
    axes.axis("off")
    box(
        axes,
        1,
        3,
        22,
        20,
        "your database",
        ["id  age  gender  disease", "the secret", "the ledger"],
    )
    box(
        axes,
        31,
        3,
        25,
        20,
        "visits_public.duckdb",
        [
            "age  gender  noisy_disease",
            "what the noise was: its law",
            "functions and views in SQL",
            "a page that explains it",
        ],
    )
    box(
        axes,
        64,
        3,
        15,
        20,
        "anyone",
        ["the DuckDB shell", "a BI tool, a browser", "Python, R, Node"],
    )
    for start, end, text in ((23, 31, "randomize"), (56, 64, "count")):
        axes.add_patch(
            FancyArrowPatch(
                (start + 0.4, 13), (end - 0.4, 13), arrowstyle="-|>", mutation_scale=14, color=INK
            )
        )
        axes.text((start + end) / 2, 15, text, ha="center", color=INK, size=8)
    return figure


def box(
    axes: Axes, x: float, y: float, width: float, height: float, title: str, lines: Sequence[str]
) -> None:
    """Draw a box with a title and lines of text."""
    axes.add_patch(
        FancyBboxPatch(
            (x, y), width, height, boxstyle="round,pad=0,rounding_size=1", fc=PALE, ec=INK
        )
    )
    axes.text(
        x + width / 2, y + height - 3.4, title, ha="center", color=BLUE, size=10, weight="bold"
    )
    for number, line in enumerate(lines):
        axes.text(
            x + width / 2, y + height - 7.6 - 3.6 * number, line, ha="center", color=INK, size=8.5
        )


def bare(axes: Axes) -> None:
    """Leave of the axes what is read."""
    axes.patch.set_alpha(0)
    axes.tick_params(colors=INK, labelsize=9)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(INK)


def main() -> None:
    """Write all pictures."""
    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "duckdb_priv", "svg.fonttype": "none", "font.family": "sans-serif"}
    )
    for draw in (answer, release):
        draw().savefig(HERE / f"{draw.__name__}.svg", transparent=True, metadata={"Date": None})


if __name__ == "__main__":
    main()
