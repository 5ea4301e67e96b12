"""Figure 5 of the fine-grain paper, and how long its program takes.

    python benchmarks/fine_grain.py [--data FOLDER] [--write]

Record and aggregate utility over the tolerance, uniform perturbation against fine-grain perturbation (Chaytor and
Wang): on a Zipf table of 40 values and 95,946 records, the size of the paper's, and on the 40 most frequent reactions
of FOLDER/vaers_reactions.parquet. Beside the paper's program ('upward') stands the one that bounds beliefs in both
directions, with the minimum retention that keeps its operator invertible. --write keeps the numbers in
benchmarks/results/FINE_GRAIN.md and the picture in FINE_GRAIN.svg beside it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import get_args

import duckdb
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.fine_grain import FineGrain
from duckdb_priv.mechanism.fine_grain_program import optimal_operator, uniform_retention
from duckdb_priv.mechanism.requirements import Direction, Requirements
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results"
SIZE = 40
RECORDS = 95_946
TOLERANCES = range(5, 55, 5)
RUNS = 3


def uniform(counts: Vector, wanted: Requirements) -> FineGrain:
    """What uniform perturbation can do: the tightest requirement decides for all."""
    return FineGrain(np.full(counts.size, uniform_retention(wanted.gamma())))


def upward(counts: Vector, wanted: Requirements) -> FineGrain:
    """The paper's program."""
    return optimal_operator(counts, wanted, direction="upward")


def both(counts: Vector, wanted: Requirements) -> FineGrain:
    """Both directions, and half of the uniform retention for everybody."""
    least = uniform_retention(wanted.gamma()) / 2
    return optimal_operator(counts, wanted, min_retention=least)


WAYS: dict[str, Callable[[Vector, Requirements], FineGrain]] = {
    "uniform": uniform,
    "fine grain, upward": upward,
    "fine grain, both, min_retention": both,
}


def zipf(size: int, records: int) -> Vector:
    """Counts that fall like 1, 1/2, 1/3, …"""
    shares = 1 / np.arange(1, size + 1)
    return records * shares / shares.sum()


def tables(data: Path | None) -> Iterator[tuple[str, Vector]]:
    """Name the tables, with the counts of their values."""
    yield f"Zipf, {RECORDS:,} records", zipf(SIZE, RECORDS)
    if data is not None:
        rows = duckdb.sql(
            f"SELECT count(*) FROM {literal(str(data / 'vaers_reactions.parquet'))} WHERE reaction IS NOT NULL"
            f" GROUP BY reaction ORDER BY count(*) DESC, reaction LIMIT {SIZE}"
        ).fetchall()
        counts = np.array(rows, dtype=np.float64).ravel()
        yield f"VAERS reactions, {int(counts.sum()):,} records", counts


def utilities(counts: Vector) -> dict[str, list[tuple[int, float, float]]]:
    """Compute (tolerance, record utility, aggregate utility) for every way."""
    found: dict[str, list[tuple[int, float, float]]] = {name: [] for name in WAYS}
    for tolerance in TOLERANCES:
        if not (tolerance * counts / counts.sum() < 1).any():
            continue
        wanted = Requirements.from_tolerance(counts, tolerance)
        for name, way in WAYS.items():
            operator = way(counts, wanted)
            found[name].append(
                (tolerance, operator.record_utility(counts), operator.expected_error(counts))
            )
    return found


def draw(measured: dict[str, dict[str, list[tuple[int, float, float]]]]) -> Figure:
    """Draw a row of two panels for each table."""
    figure = Figure(figsize=(9, 3.4 * len(measured)), layout="constrained")
    panels = figure.subplots(len(measured), 2, squeeze=False)
    for row, (title, ways) in zip(panels, measured.items(), strict=True):
        for panel, column, label in (
            (row[0], 1, "record utility"),
            (row[1], 2, "aggregate utility"),
        ):
            for (name, points), mark in zip(ways.items(), "os^", strict=True):
                panel.plot(
                    [p[0] for p in points], [p[column] for p in points], marker=mark, label=name
                )
            panel.set(xlabel="tolerance", ylabel=label, title=title)
        row[1].set_yscale("log")
        row[0].legend()
    return figure


def program_seconds() -> str:
    """Time the program for growing domains."""
    lines = ["| values | both | upward |", "|--|--|--|"]
    for size in (10, 100, 1000):
        counts = zipf(size, 1_000_000)
        wanted = Requirements.from_tolerance(counts, 20 if size > 10 else 5)
        seconds = [
            statistics.median(
                _timed(partial(optimal_operator, counts, wanted, direction=direction))
                for _ in range(RUNS)
            )
            for direction in get_args(Direction)
        ]
        lines.append(f"| {size:,} | {seconds[0]:.3f} s | {seconds[1]:.3f} s |")
    return "\n".join(lines)


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def report(measured: dict[str, dict[str, list[tuple[int, float, float]]]]) -> str:
    """Write the numbers behind the picture."""
    parts = [
        "# Fine-grain perturbation against uniform perturbation\n\n"
        "Figure 5 of Chaytor and Wang, computed by benchmarks/fine_grain.py. Record utility: the expected share"
        " of records published as they are, larger is better. Aggregate utility: the mean standard error of the"
        " reconstructed frequencies, smaller is better; inf: some values cannot be told apart.\n\n"
        "![Figure 5](FINE_GRAIN.svg)\n"
    ]
    for title, ways in measured.items():
        heads = [f"{name}: {what}" for name in ways for what in ("records", "error")]
        lines = ["| tolerance | " + " | ".join(heads) + " |", "|--" * (len(heads) + 1) + "|"]
        for points in zip(*ways.values(), strict=True):
            cells = [f"{number:.5f}" for point in points for number in point[1:]]
            lines.append(f"| {points[0][0]} | " + " | ".join(cells) + " |")
        parts.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
    parts.append(
        f"## Seconds of the linear program\n\nMedians of {RUNS} runs on a Zipf table.\n\n{program_seconds()}\n"
    )
    return "\n".join(parts)


def main() -> None:
    """Print the numbers, and keep them and the picture if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with vaers_reactions.parquet")
    parser.add_argument("--write", action="store_true", help="keep the results")
    arguments = parser.parse_args()
    mpl.rcParams["svg.hashsalt"] = "fine_grain"
    measured = {title: utilities(counts) for title, counts in tables(arguments.data)}
    text = report(measured)
    print(text)
    if arguments.write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "FINE_GRAIN.md").write_text(text, encoding="utf-8")
        draw(measured).savefig(RESULTS / "FINE_GRAIN.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
