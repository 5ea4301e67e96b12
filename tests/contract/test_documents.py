"""Everything that the documents show is executed, in the order of the page."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from conftest import DATA

import duckdb_priv
from duckdb_priv.errors import QueryRefused

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+) ?(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TUTORIAL = ROOT / "docs" / "tutorial.md"
"""Its table is read from a file that everyone has to fetch."""
DOCUMENTS = sorted({ROOT / "README.md", *(ROOT / "docs").glob("*.md")} - {TUTORIAL})
FOR_EVERY_DUCKDB = ("README.md", "clients.md", "counting.md")
"""What runs on the oldest DuckDB, too: the others show again what the tests of its functions run there."""


def blocks(path: Path) -> Iterator[tuple[str, str, str]]:
    yield from BLOCK.findall(path.read_text("utf-8"))


def run(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    for statement in connection.extract_statements(text):
        rows = connection.execute(statement).fetchall()
        assert rows or any(word in statement.query for word in ("CREATE", "ATTACH", "COMMENT ON"))


def run_ordinary(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Queries that are written as if the release were the true table: with intervals, and without."""
    for statement in connection.extract_statements(text):
        plain = duckdb_priv.reconstruct(connection, statement.query).fetchall()
        assert plain
        beside = duckdb_priv.reconstruct(connection, statement.query, intervals=True)
        assert any(name.endswith("_low") for name, *_ in beside.description), statement.query
        assert len(beside.fetchall()) == len(plain)


def refuse(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    for statement in connection.extract_statements(text):
        with pytest.raises(QueryRefused):
            duckdb_priv.rewrite_sql(connection, statement.query)


def fail(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    for statement in connection.extract_statements(text):
        with pytest.raises(duckdb.Error):
            connection.execute(statement).fetchall()


def run_estimated(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Plain queries after USE estimated, which answer what the same queries do where they are rewritten."""
    use, *statements = connection.extract_statements(text)
    for statement in statements:
        connection.execute("USE main")
        asked = statement.query.replace("count_stderr()", "1").replace("count_low()", "1")
        asked = asked.replace("count_high()", "1")
        right = duckdb_priv.reconstruct(connection, asked).fetchall()
        connection.execute(use.query)
        found = connection.execute(statement.query).fetchall()
        assert found
        assert {row[:2] for row in map(str_row, found)} == {row[:2] for row in map(str_row, right)}
    connection.execute("USE main")


def str_row(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(round(each, 6) if isinstance(each, float) else each for each in row)


RUN = {"ordinary": run_ordinary, "estimated": run_estimated, "refused": refuse, "wrong": fail}
"""How a block of SQL is run, by the word after its language, where it is not just executed."""


@pytest.fixture(scope="module")
def readme(prepared_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which was published what the README shows."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copy(prepared_file, folder / "hospital.duckdb")
    with contextlib.chdir(folder), duckdb_priv.connect("hospital.duckdb") as publisher:
        for language, reader, text in blocks(ROOT / "README.md"):
            if (language, reader) == ("sql", "publisher"):
                run(publisher, text)
    return folder


@pytest.fixture
def folder(readme: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(readme, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.every
@pytest.mark.parametrize(
    "document",
    [
        pytest.param(path, marks=[pytest.mark.once] if path.name not in FOR_EVERY_DUCKDB else [])
        for path in DOCUMENTS
    ],
    ids=lambda path: path.name,
)
def test_what_a_document_shows_runs(
    document: Path,
    folder: Path,
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    without_cards: Callable[[], contextlib.AbstractContextManager[None]],
) -> None:
    """With cards in the README alone."""
    publisher = prepared(secret=None)
    analyst = duckdb.connect("visits_public.duckdb", read_only=True)
    elsewhere = duckdb.connect()
    readers = {"publisher": publisher, "": elsewhere}
    executed = 0
    with contextlib.ExitStack() as open_ones:
        for connection in (publisher, analyst, elsewhere):
            open_ones.enter_context(connection)
        if document.name != "README.md":
            open_ones.enter_context(without_cards())
        for language, reader, text in blocks(document):
            if language == "sql":
                analyst.close() if reader == "" else None
                RUN.get(reader, run)(readers.get(reader, analyst), text)
                executed += 1
            elif (language, reader) == ("python", "analyst"):
                exec(text, {})
    assert executed, f"{document.name} shows no SQL"


@pytest.mark.once
@pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}")
def test_the_tutorial_runs_from_the_file_to_the_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    without_cards: Callable[[], contextlib.AbstractContextManager[None]],
) -> None:
    """And finds what it says that it finds."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as writer:
        writer.execute(f"COPY (FROM '{DATA / 'adult.parquet'}') TO 'adult.csv' (HEADER)")
    shown = list(blocks(TUTORIAL))
    with without_cards(), duckdb_priv.connect("census.duckdb") as publisher:
        for language, reader, text in shown:
            if (language, reader) == ("sql", "publisher"):
                run(publisher, text)
        found = {
            table: publisher.execute(
                "SELECT finding FROM priv.check_source(?, sensitive := 'occupation', record_id := 'id',"
                " details := true) WHERE severity <> 'note' ORDER BY 1",
                [table],
            ).fetchall()
            for table in ("adult", "persons")
        }
        assert found == {"adult": [("alone",), ("nearly_unique",)], "persons": []}
        advised = publisher.execute(
            "SELECT mechanism, round(mean_relative_error * 6) FROM priv.advise('persons', sensitive := 'occupation',"
            " record_id := 'id', rho1 := 0.1, rho2 := 0.5) WHERE meets LIMIT 1"
        ).fetchall()
        assert advised == [("uniform", 1)]
        ((verdict,),) = publisher.execute(
            "SELECT value FROM priv.audit('persons_public') LIMIT 1"
        ).fetchall()
        assert verdict == 0
    assert sorted(path.name for path in tmp_path.glob("persons*")) == [
        "persons_public.duckdb",
        "persons_public.html",
    ]
    with duckdb.connect("persons_public.duckdb", read_only=True) as analyst:
        for language, reader, text in shown:
            if language == "sql" and reader != "publisher":
                RUN.get(reader, run)(analyst, text)


def test_the_docs_name_every_function_of_a_release_file(folder: Path) -> None:
    with duckdb.connect("visits_public.duckdb", read_only=True) as analyst:
        there = analyst.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE schema_name = 'priv'"
        ).fetchall()
    text = (ROOT / "docs" / "counting.md").read_text("utf-8")
    table = text[text.index("## Every function") :]
    named = re.findall(r"^\| `(?:FROM )?priv\.([a-z_]+)\(", table, re.MULTILINE)
    assert sorted(named) == sorted(name for (name,) in there)


def test_the_readme_names_the_two_commands() -> None:
    shown = [text for language, _, text in blocks(ROOT / "README.md") if language == "sh"]
    assert "python3 dev.py demo\n" in shown
    assert "python3 dev.py test\n" in shown
    assert "python3 dev.py test" in (ROOT / ".ci" / "run").read_text("utf-8")
