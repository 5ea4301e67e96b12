"""What looks at a table for long can be stopped half way, and leaves nothing behind."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.card.report import analyst_card, publisher_card
from duckdb_priv.engine.instance import _instances, instance_of
from duckdb_priv.evaluation import workload

Connection = duckdb.DuckDBPyConnection

LOOKS: dict[str, Callable[[Connection], object]] = {
    "evaluate": lambda con: con.execute("FROM priv.evaluate('visits', 'out')").fetchall(),
    "evaluation_summary": lambda con: con.execute(
        "FROM priv.evaluation_summary('visits', 'out')"
    ).fetchall(),
    "advise": lambda con: con.execute(
        "FROM priv.advise('visits', sensitive := 'disease', record_id := 'id')"
    ).fetchall(),
    "workload": lambda con: con.execute(
        "FROM priv.workload('visits', sensitive := 'disease', record_id := 'id')"
    ).fetchall(),
    "publisher's card": lambda con: publisher_card(con, "out"),
}


@pytest.fixture
def con(prepared_file: Path, tmp_path: Path) -> Iterator[Connection]:
    connection = duckdb_priv.connect(shutil.copy(prepared_file, tmp_path / "hospital.duckdb"))
    connection.create_function("stop", stop, ["BIGINT"], "BIGINT")
    connection.execute("""
        CREATE TABLE visits AS SELECT id, id % 7 AS ward, id % 2 AS gender,
            ['asthma', 'cold', 'flu'][1 + id % 101 % 3] AS disease
        FROM range(5000) AS t(id)
    """)
    connection.execute(
        "FROM priv.publish_uniform('visits', 'out', sensitive := 'disease', retention := 0.5, record_id := 'id')"
    ).fetchall()
    yield connection
    connection.close()


STOP: list[Callable[[], None]] = []
"""What stops the work; a function of DuckDB calls it from the middle of a query."""


def stop(number: int) -> int:
    for each in STOP:
        each()
    return number


@pytest.fixture
def stop_at_the_second_set(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[Callable[[], None]], None]]:
    """Stop the work, once, while questions are drawn: in a query that would last for days."""
    written = workload.section

    def arrange(do: Callable[[], None]) -> None:
        calls = iter(range(1_000_000))
        STOP.append(do)

        def writing(file: str, name: str, **parts: str) -> str:
            if name == "draw" and next(calls) == 1:
                return "SELECT sum(stop(range)) FROM range(1_000_000_000_000)"
            return written(file, name, **parts)

        monkeypatch.setattr(workload, "section", writing)

    yield arrange
    STOP.clear()


def traces(con: Connection, folder: Path) -> tuple[object, ...]:
    """List what could have been left: tables, macros, files, work, a transaction."""
    tables = con.execute(
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() ORDER BY ALL"
    ).fetchall()
    macros = con.execute("SELECT count(*) FROM duckdb_functions() WHERE NOT internal").fetchall()
    working = [cursor for each in _instances.values() for cursor in each.working]
    con.execute("BEGIN TRANSACTION")
    con.execute("ROLLBACK")
    con.execute("CHECKPOINT")
    return tables, macros, working, sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("look", LOOKS)
def test_a_front_end_stops_a_procedure(
    con: Connection,
    look: str,
    stop_at_the_second_set: Callable[[Callable[[], None]], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    before = traces(con, tmp_path)
    stop_at_the_second_set(instance_of(con).interrupt)
    with pytest.raises(duckdb.Error, match="the statement was interrupted"):
        LOOKS[look](con)
    assert traces(con, tmp_path) == before
    monkeypatch.undo()
    assert LOOKS[look](con)
    assert traces(con, tmp_path) == before


@pytest.mark.parametrize("look", ["evaluate", "advise"])
def test_a_connection_stops_its_statement(
    con: Connection, look: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The procedure ends what it is at, and nobody gets its answer."""
    before = traces(con, tmp_path)
    written = workload.section

    def writing(file: str, name: str, **parts: str) -> str:
        if name == "draw":
            worker = threading.Thread(target=con.interrupt)
            worker.start()
            worker.join()
        return written(file, name, **parts)

    monkeypatch.setattr(workload, "section", writing)
    with pytest.raises(duckdb.InterruptException):
        LOOKS[look](con)
    assert traces(con, tmp_path) == before
    monkeypatch.undo()
    assert LOOKS[look](con)


def test_an_analysts_card_is_stopped_by_its_connection(
    con: Connection,
    stop_at_the_second_set: Callable[[Callable[[], None]], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    con.execute("FROM priv.export_release('out', ?)", [str(tmp_path / "out.duckdb")]).fetchall()
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as reader:
        reader.create_function("stop", stop, ["BIGINT"], "BIGINT")
        stop_at_the_second_set(reader.interrupt)
        with pytest.raises(duckdb.InterruptException):
            analyst_card(reader)
        monkeypatch.undo()
        temporary = "SELECT table_name FROM duckdb_tables() WHERE temporary"
        assert reader.execute(temporary).fetchall() == []
        assert analyst_card(reader)
        assert reader.execute(temporary).fetchall() == []
