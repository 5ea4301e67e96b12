"""Draws the pictures of the pages from releases that it publishes: python docs/pictures/draw.py.

A picture has no background. Its ink is dark, and light if the reader's system is dark; both can be read on either. The
publisher's secret is known here, so the same numbers come out each time.
"""

from __future__ import annotations

import io
import math
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
MARGINALS = ROOT / "benchmarks" / "results" / "MARGINALS.md"
INK, BLUE, RED, GOLD, PALE = "#666e76", "#2f7fd1", "#d9534f", "#b8862b", "#80889022"
DARK = {INK: "#aab2ba", BLUE: "#5aa2ee", RED: "#ee7a76", GOLD: "#e0b050"}
"""What the colours become in the dark."""
KEPT, OTHER = 0.3 + 0.7 / 4, 0.7 / 4
"""With which probabilities a row of the README shows its own disease, and any given other one."""
QUESTION = """\
USE estimated;
SELECT disease, count(*), count_low(), count_high()
FROM visits_public WHERE age > 30 GROUP BY disease;"""


def visits(
    condition: str,
) -> tuple[list[str], list[float], list[float], list[float], list[int], list[int]]:
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
            f" priv.reconstructed_distribution('visits_public', condition := '{condition}') JOIN"
            f" (SELECT disease AS value, count(*) AS truth FROM visits WHERE {condition} GROUP BY ALL) USING (value)"
            " JOIN (SELECT noisy_disease::VARCHAR AS value, count(*) AS noisy FROM visits_public"
            f" WHERE {condition} GROUP BY ALL) USING (value) ORDER BY value"
        ).fetchall()
    return tuple(map(list, zip(*rows, strict=True)))  # type: ignore[return-value]


def answer() -> Figure:
    """A question, and its answer beside the truth."""
    values, estimates, lows, highs, truths, noisy = visits("age > 30")
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
    figure = Figure(figsize=(6.8, 2.4))
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
            "the probabilities of the noise",
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
        ["the DuckDB shell", "BI tools, browsers", "Python, R, Node"],
    )
    for start, end, text in ((23, 31, "randomize"), (56, 64, "count")):
        arrow(axes, start, end)
        axes.text((start + end) / 2, 15, text, ha="center", color=INK, size=8)
    return figure


def row() -> Figure:
    """How little one row says: the probability of each value before and after seeing it."""
    values, _, _, _, truths, _ = visits("true")
    before = [each / sum(truths) for each in truths]
    joint = [
        prior * (KEPT if value == "flu" else OTHER)
        for value, prior in zip(values, before, strict=True)
    ]
    figure = Figure(figsize=(8, 2.6))
    axes = figure.add_axes((0.07, 0.14, 0.9, 0.62))
    for shift, shares, colour, label in (
        (-0.19, before, INK, "before: how frequent it is"),
        (0.19, [each / sum(joint) for each in joint], BLUE, "after one row that shows flu"),
    ):
        places = [number + shift for number in range(len(values))]
        axes.bar(places, shares, 0.36, color=colour, alpha=0.6, label=label)
        for place, share in zip(places, shares, strict=True):
            axes.text(place, share + 0.01, f"{share:.0%}", ha="center", color=INK, size=8.5)
    axes.set_xticks(range(len(values)), values)
    axes.set_yticks([])
    bare(axes)
    figure.text(
        0.04, 0.95, "How likely is each disease of one person?", color=INK, size=10, va="top"
    )
    figure.legend(
        loc="upper right", bbox_to_anchor=(0.99, 1), frameon=False, labelcolor=INK, fontsize=8
    )
    return figure


def interval() -> Figure:
    """How an interval comes about: the true counts that would plausibly give the rows that are seen."""
    values, estimates, lows, highs, truths, noisy = visits("age < 30")
    place, rows = values.index("flu"), sum(noisy)
    seen, low, high = noisy[place], lows[place], highs[place]
    counts = range(max(0, round(low - 150)), round(high + 150))
    mean = [each * KEPT + (rows - each) * OTHER for each in counts]
    spread = [
        1.96 * (each * KEPT * (1 - KEPT) + (rows - each) * OTHER * (1 - OTHER)) ** 0.5 + 0.5
        for each in counts
    ]
    figure = Figure(figsize=(8, 3.4))
    axes = figure.add_axes((0.11, 0.16, 0.86, 0.7))
    axes.fill_between(
        counts,
        [a - b for a, b in zip(mean, spread, strict=True)],
        [a + b for a, b in zip(mean, spread, strict=True)],
        color=BLUE,
        alpha=0.25,
        lw=0,
    )
    axes.plot(counts, mean, color=BLUE)
    axes.axhline(seen, color=INK, ls="--", lw=1)
    axes.plot([low, high], [seen, seen], color=BLUE, lw=5, solid_capstyle="butt")
    axes.plot(estimates[place], seen, "o", color=BLUE)
    axes.plot(truths[place], seen, "o", color=RED)
    bottom = axes.get_ylim()[0]
    for end in (low, estimates[place], high):
        axes.plot([end, end], [bottom, seen], color=INK, lw=0.8, ls=":")
    axes.set_ylim(bottom)
    axes.set_xticks([low, estimates[place], high])
    axes.set_xticklabels(
        [f"low: {low:.0f}", f"estimate: {estimates[place]:.0f}", f"high: {high:.0f}"]
    )
    axes.annotate(
        f"true count: {truths[place]}\n(only you know it)",
        (truths[place], seen),
        (0, -32),
        textcoords="offset points",
        color=RED,
        size=9,
        ha="center",
    )
    axes.set_yticks([seen], [f"{seen} rows\nshow flu"])
    axes.text(
        counts[4],
        mean[-1] + spread[-1] * 0.6,
        "For each possible true count: how many of the rows\nwould show flu, in 95 of 100 draws of the noise",
        color=INK,
        size=9,
        va="top",
    )
    axes.annotate(
        "the interval: the counts\nwhose band holds what is seen",
        (counts[-1], seen),
        (0, -26),
        textcoords="offset points",
        color=BLUE,
        size=9,
        va="top",
        ha="right",
    )
    bare(axes)
    return figure


def trust() -> Figure:
    """What a count is off by, for whom you trust: releases as measured, and a curator by its exact variance."""
    table = MARGINALS.read_text("utf-8").split("## ")[1]
    line = r"^\| (\w+) \| ([\d.]+) \|.*\| ([\d,]+) \| [\d.]+% \|$"
    measured = re.findall(line, table, re.MULTILINE)
    epsilons = sorted({float(epsilon) for _, epsilon, _ in measured})
    figure = Figure(figsize=(8, 3.4))
    axes = figure.add_axes((0.1, 0.16, 0.5, 0.78))
    # One changed value changes two cells by one each: each cell gets half of epsilon.
    shares = [math.exp(-each / 2) for each in epsilons]
    for name, label, colour, mark in (
        ("uniform", "uniform perturbation:\nyou trust nobody", RED, "o"),
        ("block_design", "codes of blocks: the same", GOLD, "s"),
        ("shuffled", "shuffled groups: you trust the\npublisher with secret and order", BLUE, "^"),
        (
            "",
            "a curator answers one table with discrete\nLaplace noise: no rows, no file,"
            " and\neach further table costs as much",
            INK,
            "D",
        ),
    ):
        errors = (
            [float(error.replace(",", "")) for method, _, error in measured if method == name]
            if name
            else [math.sqrt(2 * share) / (1 - share) for share in shares]
        )
        axes.plot(epsilons, errors, marker=mark, color=colour)
        axes.annotate(
            label,
            (epsilons[-1], errors[-1]),
            (14, {"uniform": 20, "block_design": 2}.get(name, 0)),
            textcoords="offset points",
            color=colour,
            size=8.5,
            va="center",
        )
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(epsilons, [f"{each:g}" for each in epsilons])
    axes.set_yticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
    axes.minorticks_off()
    axes.set_xlabel("epsilon (less is more private)", color=INK, size=9)
    axes.set_ylabel("a count is off by (records)", color=INK, size=9)
    bare(axes)
    return figure


def parts() -> Figure:
    """Where the code of a mechanism is."""
    figure = Figure(figsize=(6.8, 2.4))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, 80)
    axes.set_ylim(0, 26)
    axes.axis("off")
    steps = (
        ("mechanism/", ["functions of numbers", "and their derivations"]),
        ("methods/NAME/", ["arguments, plan", "audit, advice"]),
        ("sql/", ["one function a file", "its header is its page"]),
        ("tests/", ["every method is asked", "the same questions"]),
    )
    for number, (title, lines) in enumerate(steps):
        box(axes, 1 + 20 * number, 6, 17, 14, title, lines)
        if number:
            arrow(axes, 20 * number - 2, 20 * number + 1)
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


def arrow(axes: Axes, start: float, end: float) -> None:
    """Draw an arrow to the right."""
    axes.add_patch(
        FancyArrowPatch(
            (start + 0.4, 13), (end - 0.4, 13), arrowstyle="-|>", mutation_scale=14, color=INK
        )
    )


def bare(axes: Axes) -> None:
    """Remove what nobody reads of the axes."""
    axes.patch.set_alpha(0)
    axes.tick_params(colors=INK, labelsize=9)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(INK)


def with_dark(picture: str) -> str:
    """Let a picture change its colours where the system of the reader is dark."""
    rules = "".join(
        f'[style*="{kind}: {light}"] {{ {kind}: {dark} !important }} '
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark) {{ {rules}}}</style>"
    return re.sub(r"(<svg [^>]*>)", rf"\1\n {style}", picture, count=1)


def main() -> None:
    """Write all pictures."""
    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "duckdb_priv", "svg.fonttype": "none", "font.family": "sans-serif"}
    )
    for draw in (answer, release, row, interval, trust, parts):
        text = io.StringIO()
        draw().savefig(text, format="svg", transparent=True, metadata={"Date": None})
        (HERE / f"{draw.__name__}.svg").write_text(with_dark(text.getvalue()), "utf-8")


if __name__ == "__main__":
    main()
