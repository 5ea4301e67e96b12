"""Cases that a person who knows SQL can read and add to: the .sql files beside this one.

A file begins with ``-- setup``, which runs once. Each case has a title, one statement, and either the rows that
it answers (values separated by bars; numbers to nine digits) or words of the one error that it ends in.
Released values are drawn with a known secret for known records, so they are the same in every run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

FILES = sorted(Path(__file__).parent.glob("*.sql"))
PART = re.compile(r"^-- (setup|title|expect|error)\b:? ?(.*)\n", re.MULTILINE)


@dataclass
class Case:
    title: str
    sql: str = ""
    rows: list[str] | None = None
    error: str | None = None


@dataclass
class Script:
    setup: str
    cases: list[Case]


def read(path: Path) -> Script:
    pieces = PART.split(path.read_text("utf-8"))[1:]
    script = Script("", [])
    for kind, title, text in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        if kind == "setup":
            script.setup = text
        elif kind == "title":
            script.cases.append(Case(title, text.strip()))
        elif kind == "expect":
            script.cases[-1].rows = text.strip().splitlines()
        else:
            script.cases[-1].error = text.strip()
    return script


SCRIPTS = {path.stem: read(path) for path in FILES}
CASES = [
    pytest.param(name, case, id=f"{name}: {case.title}")
    for name, script in SCRIPTS.items()
    for case in script.cases
]


@pytest.fixture(scope="module")
def databases(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
) -> Iterator[dict[str, duckdb.DuckDBPyConnection]]:
    opened = {name: prepared() for name in SCRIPTS}
    for name, connection in opened.items():
        connection.execute(SCRIPTS[name].setup)
    yield opened
    for connection in opened.values():
        connection.close()


def written(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {written(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return str(value)


@pytest.mark.every
@pytest.mark.parametrize(("name", "case"), CASES)
def test_case(databases: dict[str, duckdb.DuckDBPyConnection], name: str, case: Case) -> None:
    connection = databases[name]
    assert (case.rows is None) != (case.error is None), "a case expects rows or an error"
    if case.error is not None:
        with pytest.raises(duckdb.Error) as caught:
            connection.execute(case.sql).fetchall()
        message = str(caught.value)
        assert " ".join(case.error.split()) in " ".join(message.split())
        assert message.count("Error:") == 1
        return
    rows = connection.execute(case.sql).fetchall()
    assert [" | ".join(map(written, row)) for row in rows] == case.rows


def test_every_case_has_a_title_of_its_own() -> None:
    for name, script in SCRIPTS.items():
        titles = [case.title for case in script.cases]
        assert titles, name
        assert len(set(titles)) == len(titles), name
