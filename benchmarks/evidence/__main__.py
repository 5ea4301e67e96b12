"""Runs kept tools of others on releases of every mechanism, each in an environment of its own.

    python -m benchmarks.evidence --data FOLDER [--rows 3000] [--attacks 100] [--write]

FOLDER holds adult.parquet. The environments are made once, with pip, in the user's cache folder. --write keeps the
tables in benchmarks/results/EVIDENCE.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from clients.installation import environment

from benchmarks.evidence import guessing, releases, words
from benchmarks.evidence.releases import CALLS, PUBLIC, SENSITIVE, Tables

RESULTS = Path(__file__).parents[1] / "results" / "EVIDENCE.md"
PROGRAMS = Path(__file__).parent / "programs"
TOOLS = {
    "attacks": "anonymeter==1.1.0",
    "classes": "pycanon==1.3.6",
    "likeness": "sdmetrics==0.32.0",
    "accounting": "dp-accounting==0.6.0",
}
"""By program: the tool that it runs."""
RECORDS = 50_000
"""Records of each table in a guessing game."""

Found = dict[str, Any]


def ask(program: str, job: Found) -> Found:
    """Run one program in its environment."""
    python = environment(program, TOOLS[program])
    done = subprocess.run(
        [str(python), "-I", str(PROGRAMS / f"{program}.py")],
        input=json.dumps(job), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{TOOLS[program]}: {done.stderr[-2000:]}")
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(
    adult: Path, folder: Path, rows: int, attacks: int, mechanisms: list[str]
) -> Iterator[Found]:
    """Let every tool look at the table itself, then at a release of it by one mechanism after the other."""
    with releases.connect() as connection:
        releases.prepare(connection, adult, rows)
        releases.write_persons(connection, folder)
    source = folder / "source.csv"
    yield looked_at(Tables("the table itself", source, source, None, None), folder, attacks)
    for mechanism in mechanisms:
        with releases.connect() as connection:
            releases.prepare(connection, adult, rows)
            tables = releases.publish(connection, mechanism, folder)
        yield looked_at(tables, folder, attacks)


def looked_at(tables: Tables, folder: Path, attacks: int) -> Found:
    """Let every tool look at one release."""
    job = {
        "source": str(folder / "source.csv"),
        "control": str(folder / "control.csv"),
        "release": str(tables.release),
        "rebuilt": str(tables.rebuilt),
        "public": list(PUBLIC),
        "secret": SENSITIVE,
        "attacks": attacks,
    }
    found: Found = {"mechanism": tables.mechanism}
    found |= {each: ask(each, job) for each in ("attacks", "classes", "likeness")}
    if tables.operator is not None:
        found["accounting"] = ask("accounting", {"operator": tables.operator.tolist()})
        found["promised"] = tables.promised
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--attacks", type=int, default=100)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for each in measure(
            arguments.data / "adult.parquet",
            Path(folder),
            arguments.rows,
            arguments.attacks,
            list(CALLS),
        ):
            print(json.dumps(each), flush=True)
            measured.append(each)
        games = {name: guessing.play(name, RECORDS, Path(folder)) for name in guessing.GAMES}
    text = words.page(measured, games, TOOLS, arguments.rows, arguments.attacks, RECORDS)
    print(text)
    if arguments.write:
        RESULTS.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
