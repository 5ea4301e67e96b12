"""Killed and interrupted at moments that nobody chose: nothing half-made is there, and nothing is left over."""

from __future__ import annotations

import random
import textwrap
import threading
import time
from pathlib import Path

import duckdb
import pytest
from programs import Program

import duckdb_priv
from duckdb_priv.engine import procedures

SEED = 20260727
ROWS = 4_000
STAYS = (
    "CREATE TABLE stays AS SELECT i AS id, i % 5 AS ward, ['flu', 'cancer', 'none'][1 + i % 3] AS disease"
    f" FROM range({ROWS}) t(i)"
)
STATEMENTS = (
    "FROM priv.publish_uniform('stays', 'later', sensitive := 'disease', retention := 0.5, record_id := 'id',"
    " replace := true)",
    "FROM priv.publish_splu('stays', 'groups', sensitive := 'disease', gamma := 2, record_id := 'id', replace := true)",
    "FROM priv.export_release('earlier', '{folder}/file.duckdb')",
    "FROM priv.export_release('earlier', '{folder}/folder', format := 'parquet')",
    "FROM priv.drop_release('later')",
)
CHILD = textwrap.dedent(
    """
    import sys, duckdb, duckdb_priv
    connection = duckdb_priv.connect(sys.argv[1])
    connection.execute("SET threads = 2")
    print("here", flush=True)
    while True:
        for statement in sys.argv[2:]:
            connection.execute(statement).fetchall()
    """
)


def make(path: Path) -> None:
    with duckdb_priv.connect(path) as con:
        con.execute(STAYS)
        con.execute(
            "FROM priv.publish_uniform('stays', 'earlier', sensitive := 'disease', retention := 0.5, record_id := 'id')"
        )


def statements(folder: Path) -> list[str]:
    return [each.replace("{folder}", str(folder)) for each in STATEMENTS]


def assert_whole(con: duckdb.DuckDBPyConnection) -> None:
    """Every release of the catalog is there and answers; there is no table besides, and no other catalog row."""
    releases = {name for (name,) in con.execute("SELECT release FROM priv.release").fetchall()}
    assert {"earlier"} <= releases <= {"earlier", "later", "groups"}
    tables = con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT temporary"
    ).fetchall()
    assert {name for (name,) in tables} == releases | {"stays"}
    for table in ("attribute", "coefficient", "guarantee"):
        found = con.execute(f"SELECT DISTINCT release FROM priv.{table}").fetchall()
        assert {name for (name,) in found} == releases
    for release in releases:
        ((count,),) = con.execute(
            f"SELECT priv.reconstructed_count('{release}', noisy_disease, 'flu') FROM {release}"
        ).fetchall()
        # More than ten standard errors of either mechanism.
        assert abs(count - ROWS / 3) < ROWS / 4


def assert_exports_whole(folder: Path) -> None:
    file = folder / "file.duckdb"
    if file.exists():
        with duckdb_priv.open_release(file) as reader:
            assert reader.execute("SELECT count(*) FROM earlier").fetchall() == [(ROWS,)]
    if (folder / "folder").exists():
        assert {path.name for path in (folder / "folder").iterdir()} == {
            "setup.sql",
            "data.parquet",
            "catalog",
            "card.html",
        }


def kill(folder: Path, count: int) -> None:
    random_bits, database = random.Random(SEED), folder / "publisher.duckdb"
    make(database)
    for _ in range(count):
        child = Program(CHILD, database, *statements(folder))
        child.wait_until_it_prints("here")
        time.sleep(random_bits.random())
        child.kill()
        assert_exports_whole(folder)
        with duckdb_priv.connect(database) as con:
            assert_whole(con)
            for statement in statements(folder)[2:4]:
                con.execute(statement).fetchall()
        assert not list(folder.glob(".*"))
        assert_exports_whole(folder)


def interrupt(folder: Path, count: int) -> None:
    random_bits = random.Random(SEED)
    make(folder / "publisher.duckdb")
    with duckdb_priv.connect(folder / "publisher.duckdb") as con:
        con.execute("SET threads = 2")
        for number in range(count):
            timer = threading.Timer(random_bits.random() * 0.2, con.interrupt)
            statement = statements(folder)[number % 4]
            timer.start()
            try:
                con.execute(statement).fetchall()
            except (duckdb.Error, RuntimeError, KeyboardInterrupt) as error:
                reported = str(error).lower()
                if "interrupt" not in reported and "was kept" not in reported:
                    raise
            timer.cancel()
            timer.join()
            # Work that nobody commits is given up a moment later.
            wait_for(lambda: not list(folder.glob(".*")))
            assert_whole(con)
            assert_exports_whole(folder)


def wait_for(condition) -> None:
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def impatient(monkeypatch):
    """What nobody commits is given up at once."""
    monkeypatch.setattr(procedures, "COMMIT_WAIT", 0.2)
    monkeypatch.setattr(procedures, "TURN_WAIT", 0.1)


def test_a_few_kills(tmp_path, without_cards):
    with without_cards():
        kill(tmp_path, 2)


@pytest.mark.usefixtures("impatient")
def test_a_few_interrupts(tmp_path, without_cards):
    """Each statement once."""
    with without_cards():
        interrupt(tmp_path, 4)


@pytest.mark.on_demand
def test_five_hundred_kills(tmp_path):
    kill(tmp_path, 500)


@pytest.mark.on_demand
@pytest.mark.usefixtures("impatient")
def test_two_hundred_interrupts(tmp_path):
    interrupt(tmp_path, 200)
