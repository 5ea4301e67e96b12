"""The clients: each is a program that is handed jobs, and gives rows of text for every question.

A job is {"path", "files", "setup", "questions"}: a file to open or None, the files it needs, statements to run
first, and questions to ask. A reply is {"answers": [{"rows", "seconds"}, …]}, or {"error": …} in the client's
own words. A job that is "wrong" besides goes on after an error: {"answers": [{"error": …}, …]}.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from clients.browser import ask_page
from clients.installation import (
    PROGRAMS,
    STREAMLIT,
    duckdb_of,
    environment,
    node_modules,
    on_path,
    with_packages,
)
from clients.releases import Answer, Release

Job = dict[str, Any]
Reply = dict[str, Any]
Asked = tuple[Job, list[Answer | None]]
"""A job, and what it is answered by who answers right; None where anything will do."""
VERSIONS = ("1.4.5", "1.5.6", "2.0.0")
"""Versions of DuckDB that read releases."""

GLANCED = ("uniform", "two", "reconstruction_private", "splu")
"""What a program is asked that has the library of another client: a release, one of two attributes, one of records that
stand for several, and one of decoy groups."""

TIMED = re.compile(r"^Run Time \(s\): real ([\d.]+).*\n?", re.MULTILINE)


def opened(releases: Mapping[str, Release]) -> list[Asked]:
    """Open the file of one release after the other."""
    return [
        (job(release.path, release.questions()), release.answers) for release in releases.values()
    ]


def briefly(releases: Mapping[str, Release]) -> list[Asked]:
    """Open the file of one release after the other, and ask little."""
    return [
        (each | {"questions": each["questions"][:3]}, found[:3]) for each, found in opened(releases)
    ]


def at_a_glance(releases: Mapping[str, Release]) -> list[Asked]:
    """Open the file of one release, and ask some others beside it at once: an application takes its time to draw."""
    first, *others = (releases[name] for name in GLANCED)
    asked = job(first.path, first.questions()[:3])
    of_others: list[str] = []
    found: Answer = []
    for each in others:
        asked["files"].append(str(each.path))
        asked["setup"].append(f"ATTACH '{each.path}' AS at_{each.name} (READ_ONLY)")
        question = each.questions(f"at_{each.name}")[0]
        of_others.append(f"SELECT '{each.name}' AS release, * FROM ({question})")
        found += [[each.name, *row] for row in each.answers[0]]
    asked["questions"].append(f"{' UNION ALL '.join(of_others)} ORDER BY ALL")
    return [(asked, [*first.answers[:3], sorted(found)])]


def job(path: Path, questions: Sequence[str]) -> Job:
    """Ask one file."""
    return {"path": str(path), "files": [str(path)], "setup": [], "questions": list(questions)}


def in_turn(releases: Mapping[str, Release]) -> list[Asked]:
    """Attach all releases; ask each question once, every other one where its release is in use."""
    even, odd = slice(0, None, 2), slice(1, None, 2)
    halves = [(odd, even) if number % 2 else (even, odd) for number in range(len(releases))]
    questions: list[str] = []
    answers: list[Answer | None] = []
    for (alias, release), (out_of_use, _) in zip(releases.items(), halves, strict=True):
        questions += release.questions(f"at_{alias}")[out_of_use]
        answers += release.answers[out_of_use]
    for (alias, release), (_, in_use) in zip(releases.items(), halves, strict=True):
        questions += [f"USE at_{alias}", *release.questions()[in_use]]
        answers += [None, *release.answers[in_use]]
    files = {alias: str(release.path) for alias, release in releases.items()}
    setup = [f"ATTACH '{path}' AS at_{alias} (READ_ONLY)" for alias, path in files.items()]
    asked = {"path": None, "files": [*files.values()], "setup": setup, "questions": questions}
    return [(asked, answers)]


def same(found: list[Any], expected: list[Any], *, tolerance: float = 0.0) -> bool:
    """Compare answers, in numbers up to a relative tolerance: other versions add up in another order."""
    if found == expected or not tolerance:
        return found == expected
    return len(found) == len(expected) and all(
        same(one, other, tolerance=tolerance)
        if isinstance(one, list) and isinstance(other, list)
        else one == other or math.isclose(float(one), float(other), rel_tol=tolerance)
        for one, other in zip(found, expected, strict=True)
    )


def ask_shell(jobs: Sequence[Job], *, pipe: bool = False) -> list[Reply]:
    """Ask the shell of duckdb-cli, by arguments or through a pipe; an error ends it, unless the job is wrong."""
    return [_ask_wrongly(job) if job.get("wrong") else _ask_shell(job, pipe) for job in jobs]


ERROR = re.compile(r"^(?=[A-Z][A-Za-z ]* Error:)", re.MULTILINE)


def _ask_wrongly(job: Job) -> Reply:
    """Ask questions through a pipe, each of which is an error."""
    command = [on_path("duckdb"), "-init", os.devnull, "-json", "-readonly", job["path"]]
    done = _run(*command, given="".join(f"{question};\n" for question in job["questions"]))
    errors = ERROR.split(done.stderr)[1:]
    assert (len(errors), done.stdout) == (len(job["questions"]), ""), done.stdout + done.stderr
    return {"answers": [{"error": error} for error in errors]}


def _ask_shell(job: Job, pipe: bool) -> Reply:
    texts = [*job["setup"], *job["questions"]]
    command = [on_path("duckdb"), "-init", os.devnull, "-json", "-bail", "-cmd", ".timer on"]
    command += ["-readonly", job["path"]] if job["path"] else []
    if not pipe:
        command += [part for text in texts for part in ("-c", text)]
    given = "".join(f"{text};\n" for text in texts) if pipe else None
    done = _run(*command, given=given)
    if done.returncode:
        return {"error": done.stderr}
    pieces = TIMED.split(done.stdout)[2 * len(job["setup"]) : -1]
    return {
        "answers": [
            {
                "rows": [list(row.values()) for row in json.loads(rows or "[]")],
                "seconds": float(seconds),
            }
            for rows, seconds in zip(pieces[::2], pieces[1::2], strict=True)
        ]
    }


def ask_version(jobs: Sequence[Job], *, version: str) -> list[Reply]:
    """Ask one version of DuckDB's Python package, which is in a folder of its own."""
    own = () if version == duckdb.__version__ else (str(duckdb_of(version)),)
    isolated = ("-I", "-S") if own else ()
    return _ask_program(jobs, sys.executable, *isolated, PROGRAMS / "ask_python.py", "duckdb", *own)


def ask_script(jobs: Sequence[Job], *, program: str, way: str = "") -> list[Reply]:
    """Ask a package for Python's scripts, or an application in Python."""
    command = (sys.executable, PROGRAMS / program, *([way] if way else []))
    return _ask_program(jobs, *command, environ=with_packages())


def ask_streamlit(jobs: Sequence[Job]) -> list[Reply]:
    """Ask the dashboard of Streamlit."""
    python = environment("streamlit", *STREAMLIT)
    return _ask_program(jobs, python, "-I", PROGRAMS / "ask_streamlit.py")


def ask_node(jobs: Sequence[Job]) -> list[Reply]:
    """Ask the package for Node."""
    return _ask_program(jobs, on_path("node"), PROGRAMS / "ask_node.mjs", node_modules())


def ask_chromium(jobs: Sequence[Job]) -> list[Reply]:
    """Ask DuckDB in WebAssembly, in a page that knows files by their names alone."""
    return ask_page([_by_file_name(job) for job in jobs])


def _by_file_name(job: Job) -> Job:
    setup = job["setup"]
    for file in job["files"]:
        setup = [text.replace(file, Path(file).name) for text in setup]
    return job | {"setup": setup}


def _ask_program(
    jobs: Sequence[Job], *command: str | Path, environ: Mapping[str, str] | None = None
) -> list[Reply]:
    done = _run(*command, given=json.dumps(list(jobs)), environ=environ)
    assert done.returncode == 0, done.stderr
    replies: list[Reply] = json.loads(done.stdout)
    return replies


def _run(
    *command: str | Path, given: str | None, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        env=environ,
        input=given,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


Way = Callable[[Mapping[str, Release]], list[Asked]]


@dataclass(frozen=True)
class Client:
    """A program in which someone counts."""

    name: str
    ask: Callable[[Sequence[Job]], list[Reply]]
    ways: tuple[Way, ...]
    """How it is asked: the oldest DuckDB everything of each file, all of them attached in turn, and a program that has
    the library of another client at a glance."""


CLIENTS = (
    Client("DuckDB shell", ask_shell, (at_a_glance,)),
    Client("DuckDB shell, piped", partial(ask_shell, pipe=True), (at_a_glance,)),
    *(
        Client(f"Python, duckdb {version}", partial(ask_version, version=version), ways)
        for version, ways in zip(
            VERSIONS, ((opened, in_turn), (in_turn,), (at_a_glance,)), strict=True
        )
    ),
    Client("Node, @duckdb/node-api", ask_node, (at_a_glance,)),
    Client("Chromium, duckdb-wasm", ask_chromium, (at_a_glance, in_turn)),
    *(
        Client(name, partial(ask_script, program="ask_python.py", way=way), (at_a_glance,))
        for name, way in (
            ("ADBC to Arrow", "adbc"),
            ("ADBC to polars", "polars"),
            ("SQLAlchemy", "sqlalchemy"),
            ("pandas", "pandas"),
        )
    ),
    Client("harlequin", partial(ask_script, program="ask_harlequin.py"), (at_a_glance,)),
    Client("Streamlit", ask_streamlit, (at_a_glance,)),
)
