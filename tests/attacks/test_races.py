"""Several publishers at the same time, each on a cursor of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable

import duckdb
import pytest

import duckdb_priv

PUBLISHERS = 6


@pytest.fixture
def con(prepared):
    connection = prepared(secret=None)
    connection.execute("SET threads = 2")
    connection.execute(
        "CREATE TABLE stays AS SELECT i AS id, ['flu', 'cancer', 'none'][1 + i % 3] AS disease FROM range(30_000) t(i)"
    )
    yield connection
    connection.close()


def at_once(con, statement: Callable[[int], str]) -> list[str | None]:
    """Run a statement for every publisher, and give the error of each, or None."""
    gate = threading.Barrier(PUBLISHERS)
    reported: list[str | None] = ["did not run"] * PUBLISHERS

    def run(number: int) -> None:
        with con.cursor() as cursor:
            gate.wait()
            try:
                cursor.execute(statement(number)).fetchall()
            except duckdb.Error as error:
                reported[number] = str(error)
            else:
                reported[number] = None

    workers = [threading.Thread(target=run, args=(number,)) for number in range(PUBLISHERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=600)
    return reported


def call(release: str, more: str = "") -> str:
    return (
        f"FROM priv.publish_uniform('stays', '{release}', sensitive := 'disease', retention := 0.5,"
        f" record_id := 'id'{more})"
    )


def test_different_names_are_all_published(con):
    assert at_once(con, lambda number: call(f"release_{number}")) == [None] * PUBLISHERS
    names = [f"release_{number}" for number in range(PUBLISHERS)]
    for table in ("release", "ledger"):
        rows = con.execute(f"SELECT release FROM priv.{table} ORDER BY release").fetchall()
        assert [name for (name,) in rows] == names
    for name in names:
        assert con.execute(
            f"SELECT priv.reconstructed_count('{name}', noisy_disease, 'flu') FROM {name}"
        ).fetchall()
    numbers = con.execute("SELECT number FROM priv.ledger ORDER BY number").fetchall()
    assert numbers == [(number,) for number in range(1, PUBLISHERS + 1)]


def test_one_name_is_published_once(con):
    reported = at_once(con, lambda number: call("release"))
    assert reported.count(None) == 1
    assert all("a release 'release' exists" in text for text in reported if text is not None)
    assert con.execute("SELECT release FROM priv.ledger").fetchall() == [("release",)]


def test_replacing_one_release_leaves_one(con):
    reported = at_once(con, lambda number: call("release", ", replace := true"))
    assert reported == [None] * PUBLISHERS
    assert con.execute("SELECT count(*) FROM priv.release").fetchall() == [(1,)]
    assert con.execute("SELECT count(*), count_if(adds > 0) FROM priv.ledger()").fetchall() == [
        (PUBLISHERS, 1)
    ]
    assert con.execute("SELECT count(*) FROM release").fetchall() == [(30_000,)]


def test_publishing_dropping_and_exporting_in_one_moment(con, tmp_path):
    con.execute(call("release")).fetchall()
    statements = [
        "FROM priv.drop_release('release')",
        f"FROM priv.export_release('release', '{tmp_path}/release.duckdb')",
        call("other"),
        "FROM priv.audit('release')",
        call("release", ", replace := true"),
        "SELECT priv.reconstructed_count('release', noisy_disease, 'flu') FROM release",
    ]
    reported = at_once(con, lambda number: statements[number])
    # A call after the drop gets the error that the release is not there.
    assert all(
        text is None or "no release is called" in text or "does not exist" in text
        for text in reported
    ), reported
    with_table = con.execute(
        "SELECT release FROM priv.release WHERE release NOT IN (SELECT table_name FROM duckdb_tables())"
    ).fetchall()
    assert with_table == []
    assert not list(tmp_path.glob(".*"))


def test_installing_and_publishing_in_one_moment():
    with duckdb.connect() as plain:
        plain.execute(
            "CREATE TABLE stays AS SELECT i AS id, i % 3 AS disease FROM range(3000) t(i)"
        )
        gate = threading.Barrier(PUBLISHERS)
        reported: list[str] = []

        def run(number: int, cursor: duckdb.DuckDBPyConnection) -> None:
            gate.wait()
            try:
                duckdb_priv.install(cursor)
                cursor.execute(call(f"release_{number}")).fetchall()
            except Exception as error:
                reported.append(str(error))

        # Made here: DuckDB 2 refuses a cursor while another thread takes one.
        cursors = [plain.cursor() for _ in range(PUBLISHERS)]
        workers = [threading.Thread(target=run, args=each) for each in enumerate(cursors)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(timeout=600)
        assert reported == []
        assert plain.execute("SELECT count(*) FROM priv.release").fetchall() == [(PUBLISHERS,)]
        assert plain.execute("SELECT count(*) FROM priv.secret").fetchall() == [(1,)]
