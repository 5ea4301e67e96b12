"""Times named workloads, each as a ratio to plain SQL with the same amount of work, in one run.

    python benchmarks/run.py                       all of them
    python benchmarks/run.py --only "publish 10"   those whose name contains the words
    python benchmarks/run.py --write               writes benchmarks/results/RESULTS.md, too

Ratios can be compared between machines, seconds cannot.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

import duckdb_priv

RESULTS = Path(__file__).parent / "results" / "RESULTS.md"
VALUES = 50
"""Size of the sensitive domain."""

PEOPLE = """
CREATE TABLE people AS SELECT id, (18 + hash(4 * id) % 78)::UTINYINT AS age, (hash(4 * id + 1) % 2)::UTINYINT AS gender,
    (hash(4 * id + 2) % 14)::UTINYINT AS education, 'occupation ' || (hash(4 * id + 3) % {values}) AS occupation
FROM range({rows}) AS t(id)
"""


@dataclass(frozen=True)
class Workload:
    """A statement to time, and the plain SQL to compare it with."""

    name: str
    rows: int
    plain: str
    ours: str
    reset: str | None = None
    """A statement that undoes a run, so that the run can be repeated."""
    published: bool = False
    """Whether the workload needs an existing release."""
    repeat: int = 3
    memory: str | None = None


COPY = "CREATE TABLE copied AS SELECT * FROM people"
PUBLISH = (
    "FROM priv.publish_uniform('people', 'release', sensitive := 'occupation', retention := 0.5,"
    " record_id := 'id', replace := true)"
)
PRIVATE = (
    "FROM priv.publish_reconstruction_private('people', 'release', sensitive := 'occupation', retention := 0.5,"
    " epsilon := 0.3, delta := 0.3, record_id := 'id', replace := true, republish := true)"
)
DECOYS = (
    "FROM priv.publish_splu('people', 'release', sensitive := 'occupation', gamma := 5, record_id := 'id',"
    " replace := true)"
)
FORGET = "DELETE FROM priv.grouped_mark"
"""Deletes the marks, so that the ledger does not recognize the records in the next repetition."""
VALUE = "'occupation 7'"
PLAIN = f"count(*) FILTER (noisy_occupation = {VALUE})"
COUNT = f"priv.reconstructed_count('release', noisy_occupation, {VALUE})"
MILLION = 1_000_000


def publish(
    millions: int, name: str = "keyed", ours: str = PUBLISH, reset: str = "", **options: object
) -> Workload:
    return Workload(
        f"publish {millions} million rows, {name}",
        millions * MILLION,
        COPY,
        ours,
        reset=f"DROP TABLE IF EXISTS copied; {reset}",
        **options,  # type: ignore[arg-type]
    )


def count(name: str, columns: str) -> Workload:
    group = f" GROUP BY {columns}" if columns else ""
    listed = f"{columns}, " if columns else ""
    return Workload(
        f"reconstructed count, {name}",
        10 * MILLION,
        f"SELECT {listed}{PLAIN} FROM release{group}",
        f"SELECT {listed}{COUNT} FROM release{group}",
        published=True,
        repeat=15,
    )


WORKLOADS = (
    publish(1),
    publish(10),
    publish(10, "fresh", PUBLISH.replace(" record_id := 'id',", " exclude := ['id'],")),
    publish(10, "reconstruction private", PRIVATE),
    publish(10, "decoy groups", DECOYS, FORGET),
    publish(100, repeat=1, memory="2GB"),
    publish(100, "reconstruction private", PRIVATE, repeat=1, memory="2GB"),
    publish(100, "decoy groups", DECOYS, repeat=1, memory="2GB"),
    count("no group", ""),
    count("1 group column", "gender"),
    count("2 group columns", "gender, education"),
    Workload(
        "distribution over 50 values",
        10 * MILLION,
        "SELECT noisy_occupation, count(*) FROM release GROUP BY noisy_occupation",
        "FROM priv.reconstructed_distribution('release')",
        published=True,
        repeat=15,
    ),
    Workload(
        "interval, 1 group column",
        10 * MILLION,
        f"SELECT gender, {PLAIN} FROM release GROUP BY gender",
        f"SELECT gender, priv.reconstructed_interval('release', noisy_occupation, {VALUE})"
        f" FROM release GROUP BY gender",
        published=True,
        repeat=15,
    ),
)


@dataclass(frozen=True)
class Timing:
    """The best times of a workload's repetitions, in seconds and in seconds of the processor."""

    workload: Workload
    plain: tuple[float, float]
    ours: tuple[float, float]
    peak: float
    """Largest resident set so far, in GB."""

    @property
    def ratios(self) -> tuple[float, float]:
        return self.ours[0] / self.plain[0], self.ours[1] / self.plain[1]


@contextmanager
def database(rows: int, memory: str | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Create a database on disk with the given number of made-up people."""
    with tempfile.TemporaryDirectory() as folder:
        connection = duckdb_priv.connect(Path(folder) / "benchmark.duckdb")
        try:
            connection.execute("SET threads = 2")
            if memory:
                connection.execute(f"SET memory_limit = '{memory}'")
            connection.execute(PEOPLE.format(rows=rows, values=VALUES))
            connection.execute("CHECKPOINT")
            yield connection
        finally:
            connection.close()


def measure(workload: Workload) -> Timing:
    with database(workload.rows, workload.memory) as connection:
        if workload.published:
            connection.execute(PUBLISH).fetchall()

        def run(statement: str) -> None:
            connection.execute(statement).fetchall()

        def timed(statement: str) -> tuple[float, float]:
            start, processor = time.perf_counter(), time.process_time()
            run(statement)
            took = time.perf_counter() - start, time.process_time() - processor
            if workload.reset:
                run(workload.reset)
                run("CHECKPOINT")
            return took

        rounds = [(timed(workload.plain), timed(workload.ours)) for _ in range(workload.repeat)]
        plain, ours = (
            (min(wall for wall, _ in side), min(processor for _, processor in side))
            for side in zip(*rounds, strict=True)
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    return Timing(workload, plain, ours, peak)


def line(timing: Timing) -> str:
    memory = f"{timing.peak:.1f} GB" if timing.workload.memory else ""
    return (
        f"| {timing.workload.name} | {timing.plain[0]:.3f} | {timing.ours[0]:.3f} | {timing.ratios[0]:.2f} |"
        f" {timing.ratios[1]:.2f} | {memory} |"
    )


HEADER = """\
| workload | plain SQL, s | ours, s | ratio | of CPU time | peak memory |
|---|---|---|---|---|---|"""


def versions() -> str:
    packages = ("duckdb", "pyarrow", "numpy", "scipy", "cryptography")
    listed = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    return f"Python {platform.python_version()}, {listed}; {os.cpu_count()} cores, 2 threads."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", help="run the workloads whose name contains this")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    if not options.only:
        # Each workload runs in a separate process, so that its peak memory can be measured.
        lines = []
        for workload in WORKLOADS:
            command = [sys.executable, __file__, "--only", workload.name]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            lines.append(done.stdout.strip().splitlines()[-1])
            print(lines[-1], flush=True)
        if options.write:
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(
                "# Timings\n\nWritten by `python benchmarks/run.py --write`. " + versions()
                + "\nThe best of several repetitions; plain SQL and ours alternate in one process on one table."
                + " A repetition\npublishes the same records again, so it stores no marks of them, except with decoy"
                + " groups: a first\npublication takes longer.\n\n"
                + HEADER + "\n" + "\n".join(lines) + "\n",
                encoding="utf-8",
            )  # fmt: skip
        return
    print(HEADER)
    for workload in WORKLOADS:
        if options.only in workload.name:
            print(line(measure(workload)), flush=True)


if __name__ == "__main__":
    main()
