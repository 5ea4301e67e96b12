"""Publishes from a Spark cluster that loses workers and executors; checks that the bytes are equal and no key leaks.

    python benchmarks/spark_faults.py                    40,000 records, two executors of one core each
    python benchmarks/spark_faults.py --only "decoy"     the mechanisms whose name contains this
    python benchmarks/spark_faults.py --write

Every mechanism publishes twice from the same session. The second time, one task of the first stage hangs, so that Spark
starts it again elsewhere, and another task's Python process is killed. If there is a second stage, one of its tasks
kills its executor, whose shuffle files are still to be read. One more executor is killed while files are written.

Then every mechanism publishes to a folder that one of the two workers does not share: nothing may be published.

The files of both releases are compared byte by byte, and the rows with DuckDB's. Then the program searches for the
secret, the database's own key and derived keys: as bytes, in hexadecimal, in base64, and as Python prints them. It
searches the data that the driver sent to tasks, Spark's event log, the output of its processes, their disks, and the
releases.

It needs PySpark 4, Java 17 or newer, and Linux as root, and starts a master and two workers on 127.0.0.1 to 127.0.0.3.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

import duckdb
import pyspark
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from run import versions

import duckdb_priv
import duckdb_priv.spark
from duckdb_priv.engine.randomness import KeyedBits, KeyedWords
from duckdb_priv.errors import PublicationFailed
from duckdb_priv.spark import writing
from duckdb_priv.sqltext.quoting import identifier, literal

RESULTS = Path(__file__).parent / "results" / "SPARK_FAULTS.md"
SECRET = hashlib.sha256(b"the secret of a benchmark").digest()
STUCK = 300
"""Seconds that a task hangs, unless Spark kills it before; other tasks are much shorter."""
HOSTS = ("127.0.0.2", "127.0.0.3")
"""The hosts of the workers: Spark starts a hanging task again only on another host."""
FILES = 8
PARTLY = "partly"
"""The folder that the last worker does not share, because another folder is mounted there for it."""
FAULTS = {0: ("hang", "worker"), 1: ("executor",)}
"""The faults that occur once in each stage of a kernel."""
MECHANISMS: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform": ("uniform", {"sensitive": ["disease"], "retention": 0.4}),
    "reconstruction private": (
        "reconstruction_private",
        {"sensitive": ["disease"], "retention": 0.4, "epsilon": 0.3, "delta": 0.3},
    ),
    "decoy groups of two columns": ("splu", {"sensitive": ["disease", "drug"], "gamma": 5}),
}
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
InTasks = Callable[[DataFrame, Any, Any], DataFrame]


@contextmanager
def cluster(folder: Path) -> Iterator[SparkSession]:
    """Start a master, workers on separate hosts, and a session."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    home = Path(pyspark.__file__).parent
    environ = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
    }
    for each in ("events", "local", "executors", "daemons", PARTLY):
        (folder / each).mkdir()
    master = f"spark://127.0.0.1:{port}"
    commands = [["Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]] + [
        ["Worker", "--host", host, "--cores", "1", "--memory", "512m", "--webui-port", "0",
         "--work-dir", str(folder / "executors"), master]
        for host in HOSTS
    ]  # fmt: skip
    daemons = []
    for number, (name, *arguments) in enumerate(commands):
        with (folder / "daemons" / f"{name}{number}.log").open("w") as log:
            command = [
                str(home / "bin" / "spark-class"),
                f"org.apache.spark.deploy.{name.lower()}.{name}",
            ]
            if number == len(HOSTS):
                mount = f"mount -t tmpfs none {folder / PARTLY} && exec "
                command = ["unshare", "--mount", "sh", "-c", mount + '"$@"', "sh", *command]
            daemons.append(
                subprocess.Popen([*command, *arguments], stdout=log, stderr=log, env=environ)
            )
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        # Compiling a query would take longer than running it on these tables.
        "spark.sql.codegen.wholeStage": "false",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.executor.extraJavaOptions": QUICK,
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.5",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder / 'events'}",
        # The files to search must not be compressed.
        "spark.eventLog.compress": "false",
        "spark.shuffle.compress": "false",
        "spark.shuffle.spill.compress": "false",
        "spark.broadcast.compress": "false",
    }
    try:
        session = SparkSession.builder.master(master).config(map=settings).getOrCreate()
        session.sparkContext.setLogLevel("INFO")
        yield session
        session.stop()
    finally:
        for each in reversed(daemons):
            each.terminate()
            each.wait()


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


@dataclass
class Faults:
    """The faults of a publication: a token file for each fault, which one task takes and then causes the fault."""

    tokens: Path
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def befall(self, in_tasks: InTasks) -> InTasks:
        """Wrap the work of tasks so that they take the tokens of their stage."""
        tokens = self.tokens

        def befallen(run: Any) -> Any:
            number = next(self.numbers)
            for fault in FAULTS.get(number, ()):
                (tokens / f"{number} {fault}").touch()

            def reported(batches: Any) -> Any:
                rows = list(batches)
                executor = parent(os.getppid())
                (tokens / f"executor {executor}").touch()
                for fault in FAULTS.get(number, ()):
                    try:
                        (tokens / f"{number} {fault}").rename(tokens / f"{number} {fault}: done")
                    except FileNotFoundError:
                        continue
                    if fault == "hang":
                        time.sleep(STUCK)
                    else:
                        os.kill(os.getpid() if fault == "worker" else executor, signal.SIGKILL)
                        time.sleep(STUCK)
                yield from run(iter(rows))

            return reported

        return lambda records, work, schema: in_tasks(records, befallen(work), schema)

    def wait_for_files(self, folder: Path, done: threading.Event) -> None:
        """Kill an executor as soon as the first file is being written."""
        begun = ".*.partial/data/_temporary/0/_temporary/*/*.parquet"
        while not done.wait(0.02):
            if any(folder.glob(begun)):
                for each in self.tokens.glob("executor *"):
                    try:
                        os.kill(int(each.name.split()[1]), signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                    (self.tokens / "files executor: done").touch()
                    return


@dataclass
class Search:
    """Keys, and the places where they were found."""

    sent: list[bytes] = field(default_factory=list)
    """The data that the driver sent to tasks."""
    derived: dict[bytes, str] = field(default_factory=dict)
    """Derived keys and their purposes."""
    secrets: set[bytes] = field(default_factory=lambda: {SECRET})

    def listen(self) -> None:
        """Record pickled data and derived keys from now on."""
        dumps, derive = (
            cloudpickle.dumps,
            {each: each.derive for each in (KeyedBits, KeyedWords)},
        )

        def sending(value: Any, *more: Any, **options: Any) -> bytes:
            self.sent.append(dumps(value, *more, **options))
            return self.sent[-1]

        def deriving(kind: Any) -> Any:
            def one(secret: bytes, context: str) -> Any:
                found = derive[kind](secret, context)
                self.derived[found.key] = context
                return found

            return one

        cloudpickle.dumps = sending
        vars(sys.modules["pyspark.serializers"])["cloudpickle"].dumps = sending
        for each in (KeyedBits, KeyedWords):
            each.derive = deriving(each)  # type: ignore[method-assign]

    def lines(self, places: dict[str, list[bytes]]) -> list[str]:
        """Write a line for each searched place."""
        reported = []
        for place, pieces in places.items():
            secrets = sum(holds(text, key) for text in pieces for key in self.secrets)
            derived = {key for key in self.derived if any(holds(text, key) for text in pieces)}
            size = sum(map(len, pieces)) / 1e6
            reported.append(
                f"| {place} | {len(pieces)} | {size:.1f} | {secrets} | {len(derived)} |"
            )
        return reported

    def purposes(self) -> str:
        """Write the purposes of the keys that were sent to tasks, and of the others."""
        reported: dict[bool, set[str]] = {True: set(), False: set()}
        for key, context in self.derived.items():
            sent = any(holds(text, key) for text in self.sent)
            is_json = context.startswith("{")
            reported[sent].add(json.loads(context).get("purpose", "coins") if is_json else context)
        sent, kept = (", ".join(sorted(each)) or "nothing" for each in reported.values())
        return f"Tasks were sent the derived keys of: {sent}. They were not sent those of: {kept}."


def holds(text: bytes, key: bytes) -> bool:
    """Return whether data contain a key in one of its encodings."""
    ways = [key, key.hex().encode(), key.hex().upper().encode(), repr(key)[2:-1].encode()]
    for begins in range(3):
        # Inside longer base64 data, only the first and last characters of a key depend on its neighbours.
        shifted = base64.b64encode(bytes(begins) + key)
        inner = shifted[-(-begins * 8 // 6) : (begins + len(key)) * 8 // 6]
        ways += [inner, inner.replace(b"+", b"-").replace(b"/", b"_")]
    return any(way in text for way in ways)


def publish(frame: DataFrame, folder: Path, mechanism: str, search: Search) -> dict[str, bytes]:
    """Publish to a new folder; return the files of the rows."""
    method, arguments = MECHANISMS[mechanism]
    folder.mkdir(parents=True)
    with duckdb_priv.connect(folder / "publisher.duckdb", secret=SECRET) as publisher:
        duckdb_priv.spark.publish(
            publisher, frame, method, source="visits", release="r", path=folder / "r",
            record_id="id", public=["age"], **arguments,
        )  # fmt: skip
        ((identity,),) = publisher.sql("SELECT key FROM priv.identity").fetchall()
        search.secrets.add(bytes(identity))
    return {path.name: path.read_bytes() for path in sorted((folder / "r" / "data").iterdir())}


def unshared(frame: DataFrame, folder: Path, mechanism: str) -> str:
    """Publish to a folder that one worker does not share; return the error, or the number of published rows."""
    try:
        found = publish(frame, folder, mechanism, Search())
    except PublicationFailed as refused:
        return str(refused).partition("\n")[0].replace(str(folder), "the folder")
    return f"**published {len(found)} files**"


def differing(folder: Path, visits: Path, mechanism: str) -> int:
    """Count the rows in which the release of a folder differs from DuckDB's."""
    method, arguments = MECHANISMS[mechanism]
    given = {"record_id": "id", "public": ["age"], **arguments}
    stated = ", ".join(f"{name} := {value!r}" for name, value in given.items())
    with duckdb_priv.connect(secret=SECRET) as publisher:
        publisher.execute(f"CREATE TABLE visits AS FROM {literal(f'{visits}/*.parquet')}")
        publisher.execute(f"FROM priv.publish_{method}('visits', 'r', {stated})").fetchall()
        theirs = f"(FROM {literal(f'{folder}/r/data/*.parquet')})"
        mine = f"(SELECT {', '.join(map(identifier, duckdb.sql(f'FROM {theirs}').columns))} FROM r)"
        return different_rows(publisher, mine, theirs)


def different_rows(connection: duckdb.DuckDBPyConnection, one: str, two: str) -> int:
    """Count the rows whose multiplicity differs between two table expressions."""
    ((number,),) = connection.execute(
        f"SELECT count(*) FROM ((FROM {one} EXCEPT ALL FROM {two})"
        f" UNION ALL (FROM {two} EXCEPT ALL FROM {one}))"
    ).fetchall()
    return int(number)


@dataclass(frozen=True)
class Publication:
    """The results of a mechanism."""

    mechanism: str
    begun: float
    ended: float
    faults: Sequence[str]
    files: int
    equal: bool
    different: int

    def line(self, events: Sequence[dict[str, Any]]) -> str:
        """Write the results, with Spark's numbers of tasks, as a line."""
        tasks = [
            each
            for each in events
            if each["Event"] == "SparkListenerTaskEnd"
            and self.begun <= each["Task Info"]["Finish Time"] / 1000 <= self.ended
        ]
        ends = Counter(each["Task End Reason"]["Reason"] for each in tasks)
        twice = sum(each["Task Info"]["Speculative"] for each in tasks)
        numbers = (
            ends["ExceptionFailure"],
            ends["ExecutorLostFailure"],
            ends["FetchFailed"],
            twice,
        )
        return (
            f"| {self.mechanism} | {len(tasks)} | {' | '.join(map(str, numbers))} | {self.files} |"
            f" {'yes' if self.equal else '**no**'} | {self.different} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--records", type=int, default=40_000)
    parser.add_argument("--only", default="", help="mechanisms whose name contains this")
    parser.add_argument("--keep", action="store_true", help="keep the folder of everything")
    parser.add_argument("--write", action="store_true", help=f"keep the answer in {RESULTS.name}")
    options = parser.parse_args()
    folder, search = Path(tempfile.mkdtemp(prefix="spark_faults")), Search()
    # Small tables are divided into tasks and files like large ones.
    writing.ROWS_OF_TASK = options.records // 4
    writing.ROWS_OF_FILE = options.records // (FILES - 1)
    done: list[Publication] = []
    with cluster(folder) as spark:
        spark.range(options.records).select(
            "id",
            (20 + f.xxhash64("id", f.lit(1)) % 40).alias("age"),
            f.pmod(f.xxhash64("id", f.lit(2)), f.lit(20)).alias("disease"),
            f.pmod(f.xxhash64("id", f.lit(3)), f.lit(12)).alias("drug"),
        ).repartition(4).write.parquet(f"file://{folder}/visits")
        frame = spark.read.parquet(f"file://{folder}/visits")
        search.listen()
        ordinary = writing.in_tasks
        for mechanism in (name for name in MECHANISMS if options.only in name):
            place = folder / mechanism.replace(" ", "_")
            undisturbed = publish(frame, place / "undisturbed", mechanism, search)
            print(f"{mechanism}: published undisturbed", flush=True)
            faults, ended = Faults(place / "tokens"), threading.Event()
            faults.tokens.mkdir()
            watching = (place / "disturbed", ended)
            thread = threading.Thread(target=faults.wait_for_files, args=watching, daemon=True)
            thread.start()
            begun, writing.in_tasks = time.time(), faults.befall(ordinary)  # type: ignore[assignment]
            try:
                disturbed = publish(frame, place / "disturbed", mechanism, search)
            finally:
                ended.set()
                writing.in_tasks = ordinary
            tokens = sorted(
                each.name for each in faults.tokens.iterdir() if "executor " not in each.name
            )
            print(f"{mechanism}: {', '.join(tokens)}", flush=True)
            done.append(
                Publication(
                    mechanism, begun, time.time(), tokens, len(disturbed), disturbed == undisturbed,
                    differing(place / "disturbed", folder / "visits", mechanism),
                )
            )  # fmt: skip
            print(done[-1], flush=True)
        alone = {name: unshared(frame, folder / PARTLY / name, name) for name in MECHANISMS}
        left = [path.read_bytes() for path in (folder / "local").rglob("*") if path.is_file()]
    read = {
        name: [
            path.read_bytes()
            for place in places
            for path in (folder / place).rglob("*")
            if path.is_file()
        ]
        for name, places in {
            "event log": ["events"],
            "what executors, workers and the master said": ["executors", "daemons"],
            "releases": [
                f"{each.mechanism.replace(' ', '_')}/{name}/r"
                for each in done
                for name in ("undisturbed", "disturbed")
            ],
        }.items()
    }
    places = {
        "what was sent to tasks": search.sent,
        **read,
        "shuffles, spills and broadcasts": left,
    }
    events = [
        json.loads(line)
        for path in (folder / "events").rglob("events_*")
        for line in path.read_text("utf-8").splitlines()
    ]
    text = "\n".join(
        [
            f"`python benchmarks/spark_faults.py --write`: {options.records:,} records, PySpark {pyspark.__version__},"
            f" {versions()}",
            "",
            "| mechanism | tasks that ended | failed with their Python | lost with an executor | whose part of the"
            " shuffle was lost | begun twice | files | the same bytes | rows that are not DuckDB's |",
            "|---|---|---|---|---|---|---|---|---|",
            *(each.line(events) for each in done),
            "",
            "Into a folder that one of two workers does not share:",
            "",
            "| mechanism | what was stated |",
            "|---|---|",
            *(f"| {name} | {stated} |" for name, stated in alone.items()),
            "",
            f"{len(search.secrets)} secrets and {len(search.derived)} derived keys were looked for:",
            "",
            "| where | pieces | MB | secrets found | derived keys found |",
            "|---|---|---|---|---|",
            *search.lines(places),
            "",
            search.purposes(),
            "",
        ]
    )
    print(text)
    if options.write:
        RESULTS.write_text(f"# Spark under faults\n\n{text}", "utf-8")
    if options.keep:
        print(folder)
    else:
        shutil.rmtree(folder)
    if not all(each.equal and not each.different for each in done):
        raise SystemExit("a release differs")


if __name__ == "__main__":
    main()
