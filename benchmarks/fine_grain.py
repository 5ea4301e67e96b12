"""How long the linear program of fine-grain perturbation takes.

    python benchmarks/fine_grain.py [--write]

For growing domains, in both directions. --write keeps the numbers in benchmarks/results/FINE_GRAIN.md. The ways of
perturbing are compared in the papers' figures (benchmarks/papers).
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
    """What uniform perturbation can do: the tightest requirement decides for all."""
    return FineGrain(np.full(counts.size, uniform_retention(wanted.gamma())))


def upward(counts: Vector, wanted: Requirements) -> FineGrain:
    """The paper's program."""
    return optimal_operator(counts, wanted, direction="upward")


def both(counts: Vector, wanted: Requirements) -> FineGrain:
    """Both directions, and half of the uniform retention for everyone."""
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
    """Print the seconds, and keep them if asked to."""
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
