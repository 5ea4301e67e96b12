"""The header of every SQL file that a reader can call is its reference entry, and its example runs.

On the oldest DuckDB, too, except for publications: ``test_every_method.py`` publishes there by each method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from duckdb_priv.sqltext import templates

FILES = [(folder, name) for folder in ("publisher", "analyst") for name in templates.names(folder)]
PUBLICATIONS = [each for each in FILES if each[1].startswith("publish_")]

WORLD = """
CREATE TABLE visits AS
    SELECT i AS id, 18 + i % 70 AS age, (['female', 'male'])[1 + i % 2] AS gender,
        CASE WHEN i % 10 = 0 THEN 'rare disease ' || i % 7 ELSE (['flu', 'cold', 'cough'])[1 + i % 3] END AS disease
    FROM range(20_000) AS t(i);
CREATE TABLE persons AS
    SELECT i AS id, i % 2 AS gender, (i % 9)::VARCHAR AS occupation,
        (['low', 'high'])[1 + (hash(i) % 2)::INTEGER] AS income
    FROM range(900) AS t(i);
CREATE TABLE exchange AS
    SELECT o.disease AS original, p.disease AS published,
        CASE WHEN o.disease = p.disease THEN 0.55 ELSE 0.05 END AS probability
    FROM (SELECT DISTINCT disease FROM visits) AS o, (SELECT DISTINCT disease FROM visits) AS p;
FROM priv.publish_uniform('visits', 'patients', sensitive := 'disease', retention := 0.5, record_id := 'id');
FROM priv.publish_uniform('persons', 'survey', sensitive := ['occupation', 'income'], retention := 0.5,
    exclude := ['id'], population := 'survey');
"""
"""The tables that the examples speak of; they publish 'visits_public' themselves, or find it published."""

HIERARCHIES = """
CREATE TABLE hierarchies AS
    FROM priv.range_hierarchy('age', 5, 10, 20) UNION ALL
    SELECT 'gender', gender, level, CASE level WHEN 0 THEN gender ELSE '*' END
    FROM unnest(['female', 'male']) AS t(gender), range(2) AS l(level) UNION ALL
    SELECT 'disease', disease, level, CASE level WHEN 0 THEN disease ELSE '*' END
    FROM (SELECT DISTINCT disease FROM visits), range(2) AS l(level);
"""

FILES_READ = {"sex.csv": "female;*\nmale;*\n", "race.csv": "white;*\nblack;*\n"}


def header(folder: str, name: str) -> list[str]:
    lines = templates.read(folder, name).splitlines()
    end = next(number for number, line in enumerate(lines) if not line.startswith("--"))
    return [line[2:] for line in lines[:end]]


def example(folder: str, name: str) -> str:
    lines = header(folder, name)
    start = max(number for number, line in enumerate(lines) if not line.strip()) + 1
    return "\n".join(lines[start:])


@pytest.fixture(scope="module")
def publisher(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
) -> Iterator[duckdb.DuckDBPyConnection]:
    with prepared(None) as connection:
        connection.execute(WORLD)
        yield connection


def is_published(connection: duckdb.DuckDBPyConnection) -> bool:
    return bool(connection.execute("FROM priv.release WHERE release = 'visits_public'").fetchall())


@pytest.fixture
def world(
    publisher: duckdb.DuckDBPyConnection,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database of the examples, in a folder with the files that they read; their traces are removed.

    What analysts count in stays published from one of their examples to the next.
    """
    monkeypatch.chdir(tmp_path)
    for name, text in FILES_READ.items():
        (tmp_path / name).write_text(text)
    yield publisher
    publisher.execute("DROP TABLE IF EXISTS hierarchies")
    # An example states a budget, which the others together would exceed.
    publisher.execute("DELETE FROM priv.budget")
    if request.node.callspec.params["folder"] == "publisher" and is_published(publisher):
        publisher.execute("FROM priv.drop_release('visits_public')")
    if request.node.callspec.params["folder"] == "publisher":
        publisher.execute("DELETE FROM priv.ledger WHERE release = 'visits_public'")


@pytest.mark.once
@pytest.mark.parametrize(("folder", "name"), FILES)
def test_a_header_begins_with_the_call_and_what_it_returns(folder, name):
    text = " ".join(line.strip() for line in header(folder, name))
    calls = (f"priv.{name}(", f'priv."{name}"(')
    assert text.removeprefix("FROM ").startswith(calls)
    assert " -> " in text
    assert any(call in example(folder, name) for call in calls)


@pytest.mark.every
@pytest.mark.parametrize(("folder", "name"), [each for each in FILES if each not in PUBLICATIONS])
def test_the_example_of_a_header_runs(world, without_cards, folder, name):
    text = example(folder, name)
    if "visits_public" in text and "publish" not in name and not is_published(world):
        world.execute(
            "FROM priv.publish_uniform('visits', 'visits_public', sensitive := 'disease',"
            " retention := 0.5, record_id := 'id')"
        )
    if "hierarchies" in text and "CREATE" not in text:
        world.execute(HIERARCHIES)
    with without_cards():
        if name == "compare":
            world.execute("FROM priv.export_release('visits_public', 'visits_public.duckdb')")
        if name == "reconstructed_change":
            world.execute(
                "FROM priv.export_release('visits_public', 'older.duckdb');"
                " FROM priv.export_release('visits_public', 'newer.duckdb');"
                " UPDATE visits SET disease = 'flu' WHERE id < 100; FROM priv.refresh('visits_public');"
                " ATTACH 'older.duckdb' AS older (READ_ONLY)"
            )
    run(world, text)


@pytest.mark.once
@pytest.mark.parametrize(("folder", "name"), PUBLICATIONS)
def test_the_example_of_a_publication_runs(world, folder, name):
    # One example publishes with noise what another one publishes as it is.
    world.execute("UPDATE priv.ledger SET public = []")
    text = example(folder, name)
    if "hierarchies" in text:
        world.execute(HIERARCHIES)
    run(world, text)


def run(world: duckdb.DuckDBPyConnection, text: str) -> None:
    (statement,) = world.extract_statements(text)
    answer = world.execute(statement).fetchall()
    assert answer
    assert all(any(value is not None for value in row) for row in answer)
