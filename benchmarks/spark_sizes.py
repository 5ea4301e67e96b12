"""Measures publications from Spark for growing tables, and compares them with plain copies and with DuckDB.

    python benchmarks/spark_sizes.py --millions 1 10
    python benchmarks/spark_sizes.py --millions 100 --repeat 1 --write

Spark runs on two threads of one machine. A plain copy reads and writes the published columns; an ordered copy divides
and sorts them like a release. The variants alternate in one session, or in consecutive processes for DuckDB, and the
least of several times counts. CPU time includes the JVM, all Python processes and the driver. The shuffle is the number
of bytes in the event log. The peak memory is that of a Python process that runs tasks. The table and every release are
Parquet files on the same disk.

It needs PySpark 4, Java 17 or newer, and Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

import duckdb
import pyspark
from pyspark.sql import DataFrame, SparkSession
from run import MILLION, PEOPLE, VALUES, versions

import duckdb_priv
import duckdb_priv.spark
from duckdb_priv.spark.writing import ROWS_OF_FILE
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results" / "SPARK.md"
HEADER = """\
| millions | what | wall, s | CPU, s | CPU per million, s | CPU of ordered copies | shuffle, MB | peak of a task, MB |
|---|---|---|---|---|---|---|---|"""
PUBLISHED = ("age", "gender", "education", "occupation")
TYPES = dict.fromkeys(PUBLISHED[:3], "UTINYINT")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform": ("uniform", {"retention": 0.5}),
    "reconstruction private": (
        "reconstruction_private",
        {"retention": 0.5, "epsilon": 0.3, "delta": 0.3},
    ),
    "decoy groups": ("splu", {"gamma": 5}),
}
TICK = os.sysconf("SC_CLK_TCK")
WARM = 200_000
"""Records of publications that run before the measurements, so that Spark has compiled its code."""
READ = 100 * MILLION
"""Rows over which counts are timed."""


Family = dict[int, tuple[str, int, float]]


def family() -> Family:
    """List this process and its descendants: command, parent, and CPU seconds including ended children."""
    found, parents = {}, {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                numbers = (place / "stat").read_text().rpartition(")")[2].split()
                command = (place / "cmdline").read_text().replace("\0", " ")
            except (FileNotFoundError, ProcessLookupError):
                continue
            process = int(place.name)
            parents[process] = int(numbers[1])
            found[process] = command, parents[process], sum(map(int, numbers[11:15])) / TICK

    def ours(process: int) -> bool:
        return process == os.getpid() or (process in parents and ours(parents[process]))

    return {process: each for process, each in found.items() if ours(process)}


WORKERS: dict[int, float] = {}
"""The last known CPU seconds of Python task processes, since their parent does not add those of ended children."""


def cpu() -> float:
    """Return the CPU seconds of all these processes."""
    found = family()
    WORKERS.update({process: seconds for process, (*_, seconds) in _workers(found).items()})
    others = (seconds for process, (*_, seconds) in found.items() if process not in WORKERS)
    return sum(others) + sum(WORKERS.values())


def _workers(found: Family) -> Family:
    """Return the Python processes that run tasks: the children of Spark's Python daemon."""
    daemons = {process for process, each in found.items() if "pyspark.daemon" in each[0]}
    return {process: found[process] for process in daemons if found[process][1] in daemons}


@contextmanager
def watching() -> Iterator[dict[int, float]]:
    """Measure the peak memory of each Python task process from now on, in MB."""
    peaks: dict[int, float] = {}
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            cpu()
            for process in list(WORKERS):
                try:
                    status = Path(f"/proc/{process}/status").read_text()
                    peaks[process] = float(status.split("VmHWM:")[1].split()[0]) / 1024
                except (OSError, IndexError):
                    continue

    for process in _workers(family()):
        # Processes are reused, so their peak is reset.
        Path(f"/proc/{process}/clear_refs").write_text("5")
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        ended.set()
        thread.join()


@dataclass(frozen=True)
class Timing:
    """The time and memory of a run."""

    what: str
    wall: float
    cpu: float
    begun: float
    ended: float


def session(folder: Path) -> SparkSession:
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{folder / 'events'}",
    }
    for each in ("local", "events"):
        (folder / each).mkdir()
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def runs(spark: SparkSession, folder: Path, rows: int) -> dict[str, Callable[[Path], Any]]:
    """List the variants to time; each is a function of a new folder."""
    frame = spark.read.parquet(f"file://{folder}/people")
    columns = frame.select(*PUBLISHED)

    def written(what: DataFrame) -> Callable[[Path], None]:
        return lambda place: what.write.option("compression", "zstd").parquet(f"file://{place}")

    ordered = columns.repartition(1 + rows // ROWS_OF_FILE, *PUBLISHED).sortWithinPartitions(
        *PUBLISHED
    )

    def published(method: str, arguments: dict[str, Any]) -> Callable[[Path], None]:
        def publish(place: Path) -> None:
            with duckdb_priv.connect(place.with_suffix(".publisher")) as publisher:
                duckdb_priv.spark.publish(
                    publisher, frame, method, source="people", release="release", path=place,
                    sensitive="occupation", record_id="id", types=TYPES, **arguments,
                )  # fmt: skip

        return publish

    return {
        "Spark: plain copy": written(columns),
        "Spark: ordered copy": written(ordered),
        **{f"Spark: {name}": published(*each) for name, each in METHODS.items()},
    }


def by_duckdb(folder: Path, name: str) -> tuple[float, float]:
    """Publish with DuckDB from a DuckDB table; return wall and CPU seconds."""
    method, arguments = METHODS[name]
    stated = ", ".join(f"{each} := {value!r}" for each, value in arguments.items())
    path = folder / "duckdb.publisher"
    with duckdb_priv.connect(path) as publisher:
        publisher.execute(
            f"SET threads = 2; CREATE TABLE people AS FROM {literal(f'{folder}/people/*.parquet')}"
        )
        publisher.execute("CHECKPOINT")
        began, before = time.perf_counter(), time.process_time()
        publisher.execute(
            f"FROM priv.publish_{method}('people', 'release', sensitive := 'occupation', record_id := 'id', {stated})"
        ).fetchall()
        taken = time.perf_counter() - began, time.process_time() - before
    path.unlink()
    return taken


def people(folder: Path, rows: int) -> None:
    """Write the table as Parquet files."""
    shutil.rmtree(folder / "people", ignore_errors=True)
    (folder / "people").mkdir()
    step = 10 * MILLION
    with duckdb.connect() as connection:
        for number, begin in enumerate(range(0, rows, step)):
            query = PEOPLE.partition(" AS ")[2].format(rows=min(rows, begin + step), values=VALUES)
            query = query.replace("range(", f"range({begin}, ")
            connection.execute(
                f"COPY ({query}) TO {literal(f'{folder}/people/{number:03}.parquet')}"
            )


def shuffled(folder: Path, timing: Timing) -> float:
    """Return the bytes written for shuffles according to the event log, in MB."""
    total = 0
    for path in (folder / "events").rglob("events*"):
        with path.open() as lines:
            for line in lines:
                if '"SparkListenerTaskEnd"' in line:
                    event = json.loads(line)
                    if timing.begun <= event["Task Info"]["Finish Time"] / 1000 <= timing.ended:
                        metrics = event.get("Task Metrics") or {}
                        total += metrics.get("Shuffle Write Metrics", {}).get(
                            "Shuffle Bytes Written", 0
                        )
    return total / 1e6


def reading(release: Path, rows: int) -> str:
    """Time an analyst's counts on a release, and plain counts on the same files and on their view.

    The files are copied until they have ``READ`` rows.
    """
    files = sorted((release / "data").iterdir())
    for number in range(1, READ // rows):
        for file in files:
            shutil.copy(file, file.with_name(f"{number}-{file.name}"))
    rows *= max(1, READ // rows)
    value = "'occupation 7'"
    count = f"SELECT gender, education, count(*) FILTER (noisy_occupation = {value})"
    over_files = f"{count} FROM 'data/*.parquet' GROUP BY ALL"
    over_view = f"{count} FROM release GROUP BY ALL"
    ours = (
        f"SELECT gender, education, priv.reconstructed_count('release', noisy_occupation, {value})"
        " FROM release GROUP BY gender, education"
    )
    best = dict.fromkeys((over_files, over_view, ours), (float("inf"), float("inf")))
    with chdir(release), duckdb.connect(config={"threads": 2}) as analyst:
        analyst.execute(Path("setup.sql").read_text("utf-8"))
        for _ in range(5):
            for query in best:
                began, before = time.perf_counter(), time.process_time()
                analyst.execute(query).fetchall()
                taken = time.perf_counter() - began, time.process_time() - before
                best[query] = min(best[query][0], taken[0]), min(best[query][1], taken[1])
    seconds = " | ".join(f"{wall:.2f} | {used:.2f}" for wall, used in best.values())
    ratios = " | ".join(
        f"{best[ours][1] / best[plain][1]:.2f}" for plain in (over_files, over_view)
    )
    return f"| {rows / MILLION:g} | {seconds} | {ratios} |"


READING = """\
| millions | plain over the files, s | CPU, s | plain over the view, s | CPU, s | reconstructed, s | CPU, s \
| CPU of plain over the files | over the view |
|---|---|---|---|---|---|---|---|---|"""


def measure(millions: float, repeat: int, only: Sequence[str]) -> tuple[list[str], list[str]]:
    """Measure one size: rows of both tables."""
    rows = round(millions * MILLION)
    folder = Path(tempfile.mkdtemp(prefix="spark_sizes"))
    spark = session(folder)
    people(folder, WARM)
    for name, run in runs(spark, folder, WARM).items():
        if any(word in name for word in only):
            run(folder / f"warm {name}")
    people(folder, rows)
    timings: dict[str, list[Timing]] = {}
    peaks: dict[str, float] = {}
    read: list[str] = []
    for number in range(repeat):
        for name, run in runs(spark, folder, rows).items():
            if not any(word in name for word in only):
                continue
            place = folder / f"{name} {number}"
            with watching() as workers:
                wall, used, begun = time.perf_counter(), cpu(), time.time()
                run(place)
                used, wall = cpu() - used, time.perf_counter() - wall
            timings.setdefault(name, []).append(Timing(name, wall, used, begun, time.time()))
            peaks[name] = max(peaks.get(name, 0.0), *workers.values(), 0.0)
            print(
                f"{millions:g} {name}: {wall:.1f} s, {used:.1f} s of CPU, {peaks[name]:.0f} MB",
                flush=True,
            )
            if name == "Spark: uniform" and not number:
                read.append(reading(place, rows))
                print(read[-1], flush=True)
            shutil.rmtree(place)
            place.with_suffix(".publisher").unlink(missing_ok=True)
    spark.stop()
    for name in METHODS:
        if any(word in f"DuckDB: {name}" for word in only):
            command = [sys.executable, __file__, "--duckdb", str(folder), name]
            for _ in range(repeat):
                reported = subprocess.run(
                    command, stdout=subprocess.PIPE, text=True, check=True
                ).stdout
                wall, used = map(float, reported.split())
                timings.setdefault(f"DuckDB: {name}", []).append(Timing(name, wall, used, 0, 0))
                print(f"{millions:g} DuckDB: {name}: {wall:.1f} s, {used:.1f} s of CPU", flush=True)
    best = {name: min(each, key=lambda timing: timing.cpu) for name, each in timings.items()}
    shuffles = {
        name: shuffled(folder, timing) for name, timing in best.items() if name.startswith("Spark")
    }
    copy = best.get("Spark: ordered copy")
    lines = [
        f"| {millions:g} | {name} | {min(each.wall for each in timings[name]):.1f} | {timing.cpu:.1f} |"
        f" {timing.cpu / millions:.2f} | {f'{timing.cpu / copy.cpu:.2f}' if copy else ''} |"
        f" {f'{shuffles[name]:.0f}' if name in shuffles else ''} | {f'{peaks[name]:.0f}' if peaks.get(name) else ''} |"
        for name, timing in best.items()
    ]
    shutil.rmtree(folder)
    return lines, read


def write(lines: Sequence[str], read: Sequence[str]) -> None:
    """Write the new measurements to the results, in place of older ones."""
    known = RESULTS.read_text("utf-8").splitlines() if RESULTS.is_file() else []
    rows = [line for line in known if line.startswith("| ") and not line.startswith("| millions")]
    sizes, counts = (
        [line for line in rows if line.count("|") == header.splitlines()[0].count("|")]
        for header in (HEADER, READING)
    )
    text = "\n".join(
        [
            "# Publishing from Spark",
            "",
            f"Written by `python benchmarks/spark_sizes.py --write`. PySpark {pyspark.__version__}, {versions()}",
            "",
            HEADER,
            *_latest([*sizes, *lines], 2),
            "",
            "Counts over the folder of a uniform release, by two columns, in DuckDB:",
            "",
            READING,
            *_latest([*counts, *read], 1),
            "",
        ]
    )
    RESULTS.write_text(text, "utf-8")


def _latest(lines: Sequence[str], cells: int) -> list[str]:
    """Return the last line for each size and name, sorted by size."""
    latest = {tuple(line.split("|")[1 : 1 + cells]): line for line in lines}
    return sorted(latest.values(), key=lambda line: float(line.split("|")[1]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--millions", nargs="+", type=float, default=[1.0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[""], help="what has one of these in its name")
    parser.add_argument("--write", action="store_true", help=f"add to {RESULTS.name}")
    parser.add_argument(
        "--duckdb", nargs=2, metavar=("FOLDER", "METHOD"), help="what processes are given"
    )
    options = parser.parse_args()
    if options.duckdb:
        print(*by_duckdb(Path(options.duckdb[0]), options.duckdb[1]))
        return
    for millions in options.millions:
        lines, read = measure(millions, options.repeat, options.only)
        print("\n".join([*lines, *read]), flush=True)
        if options.write:
            write(lines, read)


if __name__ == "__main__":
    main()
