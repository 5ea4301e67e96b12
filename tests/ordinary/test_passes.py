"""Every pass over a query, on its own: ``fixtures/`` has a file for each, with statements and what it makes of them.

After a change that you want, write the files again, and read the difference:

    PYTHONPATH=.:tests python tests/ordinary/test_passes.py
"""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
import sqlglot

import duckdb_priv
from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.names import Names, written
from duckdb_priv.ordinary.published import ConnectedTables
from duckdb_priv.ordinary.rewrite import RULES
from duckdb_priv.ordinary.scope import QueryState

FIXTURES = Path(__file__).parent / "fixtures"
PASSES = {rule.__name__: rule for rule in RULES}
PAIR = re.compile(r"-- title: ([^\n]*)\n(-- intervals\n)?(.*?);\n\n(.*?);\n(?=\n|\Z)", re.DOTALL)
LONG = 100
"""Characters of a formula in brackets that is not shown."""
SETUP = """
    CREATE TABLE source AS
    SELECT i AS id, 20 + i AS age, ['north', 'south'][1 + i % 2] AS ward, 0.5 * i AS cost,
        ['flu', 'none', 'cold'][1 + i % 3] AS disease, i % 4 AS dose
    FROM range(12) AS t(i);
    FROM priv.publish_uniform('source', 'visits', sensitive := ['disease', 'dose'], retention := 0.5,
        record_id := 'id');
    CREATE TABLE chapter AS SELECT 'flu' AS code, 'lungs' AS name;
    CREATE TABLE wards AS SELECT 'north' AS ward, 1 AS floor;
    CREATE VIEW adults AS SELECT * FROM visits WHERE age >= 18;
    CREATE VIEW north AS SELECT age AS years, * EXCLUDE (cost) FROM adults WHERE ward = 'north';
    CREATE VIEW floors(place, stairs) AS SELECT w.ward, floor FROM visits JOIN wards AS w USING (ward);
    CREATE VIEW names AS SELECT name FROM chapter
"""
"""A release, look-up tables, and views: three read the release, the last one does not."""


def publish(connection: duckdb.DuckDBPyConnection) -> None:
    for statement in SETUP.split(";\n"):
        connection.execute(statement).fetchall()


def passed(
    name: str, connection: duckdb.DuckDBPyConnection, statement: str, confidence: float | None
) -> str:
    """Return what a pass makes of a statement, which the passes before it must not change."""
    query = sqlglot.parse_one(statement, dialect="duckdb")
    state = QueryState(query, ConnectedTables(connection), Names.of(query), confidence=confidence)
    try:
        for rule in RULES[: RULES.index(PASSES[name]) + 1]:
            same = query.sql("duckdb") == sqlglot.parse_one(statement, dialect="duckdb").sql(
                "duckdb"
            )
            assert same, f"{name} is not the first that changes {statement}: {query.sql('duckdb')}"
            rule(state)
    except QueryRefused as refused:
        return f"-- refused: {str(refused).splitlines()[0]}"
    return shortened(written(query)) if name == "answer" else query.sql("duckdb")


def shortened(query: str) -> str:
    """Leave the formulas of intervals out: long expressions in brackets."""
    start = depth = 0
    found = ""
    for place, each in enumerate(query):
        if each == "[":
            start, depth = start if depth else place, depth + 1
        found += each if not depth else ""
        if each == "]":
            depth -= 1
            whole = query[start : place + 1]
            found += (whole if len(whole) < LONG else "[…]") if not depth else ""
    return found


def pairs(name: str) -> list[tuple[str, str, str, str]]:
    """Return title, mark of intervals, statement and result of every pair of a pass."""
    return PAIR.findall((FIXTURES / f"{name}.sql").read_text("utf-8"))


@pytest.fixture(scope="module")
def visits(made):
    with made(publish) as connection:
        yield connection


@pytest.mark.parametrize("name", PASSES)
def test_each_pass_makes_of_a_statement_what_its_file_shows(name: str, visits) -> None:
    found = pairs(name)
    text = (FIXTURES / f"{name}.sql").read_text("utf-8")
    assert len({title for title, *_ in found}) == len(found) == text.count("-- title:") >= 10
    for title, intervals, statement, expected in found:
        made = passed(name, visits, statement, 0.95 if intervals else None)
        assert made == expected, title


def rewrite() -> None:
    """Write the results in all files again."""
    with duckdb_priv.connect(secret=bytes(range(32))) as connection:
        publish(connection)
        for name in PASSES:
            path = FIXTURES / f"{name}.sql"
            head = path.read_text("utf-8").partition("-- title:")[0]
            blocks = [
                f"-- title: {title}\n{intervals}{statement};\n\n"
                f"{passed(name, connection, statement, 0.95 if intervals else None)};\n"
                for title, intervals, statement, _ in pairs(name)
            ]
            path.write_text(head + "\n".join(blocks), "utf-8")


if __name__ == "__main__":
    rewrite()
