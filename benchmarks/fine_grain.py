"""Measures the time of fine-grain perturbation's linear program, for growing domains and both directions.

    python benchmarks/fine_grain.py [--write]

--write writes benchmarks/results/FINE_GRAIN.md. The papers' figures (benchmarks/papers) compare the accuracy.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np

from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.fine_grain import FineGrain
from duckdb_priv.mechanism.fine_grain_program import optimal_operator, uniform_retention
from duckdb_priv.mechanism.requirements import Direction, Requirements

RESULTS = Path(__file__).parent / "results"
SIZE = 40
RECORDS = 95_946
RUNS = 3


def uniform(counts: Vector, wanted: Requirements) -> FineGrain:
    """Return the retention of uniform perturbation, which the tightest requirement determines."""
    return FineGrain(np.full(counts.size, uniform_retention(wanted.gamma())))


def upward(counts: Vector, wanted: Requirements) -> FineGrain:
    """Solve the paper's program."""
    return optimal_operator(counts, wanted, direction="upward")


def both(counts: Vector, wanted: Requirements) -> FineGrain:
    """Solve the program for both directions, with at least half of the uniform retention for every value."""
    least = uniform_retention(wanted.gamma()) / 2
    return optimal_operator(counts, wanted, min_retention=least)


WAYS: dict[str, Callable[[Vector, Requirements], FineGrain]] = {
    "uniform": uniform,
    "fine grain, upward": upward,
    "fine grain, both, min_retention": both,
}


def zipf(size: int, records: int) -> Vector:
    """Return counts proportional to 1, 1/2, 1/3, …"""
    shares = 1 / np.arange(1, size + 1)
    return records * shares / shares.sum()


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


def main() -> None:
    """Print the seconds, and write the results page with --write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the results")
    arguments = parser.parse_args()
    text = (
        "# Seconds of the linear program of fine-grain perturbation\n\n"
        f"Medians of {RUNS} runs on a Zipf table, by benchmarks/fine_grain.py; utilities are beside"
        " [the papers' figures](../papers/RESULTS.md).\n\n" + program_seconds() + "\n"
    )
    print(text)
    if arguments.write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "FINE_GRAIN.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
