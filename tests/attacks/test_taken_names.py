"""Names that mean something to DuckDB, or to us, where a user may give them: each works, or is refused in words."""

from __future__ import annotations

import threading
from itertools import cycle
from pathlib import Path

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.errors import NotInstalled

VISITS = "(SELECT i AS id, i % 5 AS ward, 'd' || i % 7 AS disease FROM range(210) AS t(i))"


@pytest.mark.parametrize("name", ["priv", "PRIV"])
def test_a_database_that_hides_the_schema_is_refused(tmp_path, name):
    path = tmp_path / f"{name}.duckdb"
    with pytest.raises(
        NotInstalled,
        match="hides the schema of that name, which holds all functions\nHint: give the file",
    ):
        duckdb_priv.connect(path)
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{path}' AS hospital; USE hospital")
        duckdb_priv.install(con)
        assert con.execute("SELECT count(*) FROM priv.release").fetchall() == [(0,)]


METHODS = {
    "uniform": "publish_uniform({}, 'uniform', retention := 0.5",
    "splu": "publish_splu({}, 'splu', gamma := 3, republish := true",
    "fine_grain": "publish_fine_grain({}, 'fine_grain', tolerance := 8",
}
"""By release: how it is published. Each method finds its source in the same way."""
SCHEMAS = ("temp", "system", "main", "estimated", "pg_catalog2", "select")


def publish(con: duckdb.DuckDBPyConnection, release: str, source: str) -> None:
    call = METHODS[release].format(repr(source))
    given = "sensitive := 'disease', record_id := 'id', replace := true"
    assert con.execute(f"FROM priv.{call}, {given})").fetchall()


def publish_others(con: duckdb.DuckDBPyConnection) -> None:
    """Publish releases that the tests replace: what they need is then written once for all."""
    con.execute(f"CREATE TABLE others AS SELECT * REPLACE (id + 1000 AS id) FROM {VISITS}")
    for release in METHODS:
        publish(con, release, "others")


@pytest.mark.parametrize(("schema", "release"), [*zip(SCHEMAS, cycle(METHODS))])
def test_a_schema_may_have_any_name_but_ours(made, schema, release):
    source = f'"{schema}".visits'
    with made(publish_others) as con:
        con.execute(f'CREATE SCHEMA IF NOT EXISTS memory."{schema}"')
        con.execute(f'CREATE TABLE memory."{schema}".visits AS FROM {VISITS}')
        publish(con, release, source)
        evaluated = con.execute("FROM priv.evaluate(?, ?, queries := 3)", [source, release])
        assert evaluated.fetchall()
        assert con.execute("FROM priv.audit(?)", [release]).fetchall()


@pytest.mark.parametrize("name", ["priv.duckdb", "Estimated.db"])
def test_a_release_that_would_hide_its_own_schema_is_refused(con, tmp_path, name):
    con.execute(f"CREATE TABLE visits AS FROM {VISITS}")
    con.execute(
        "FROM priv.publish_uniform('visits', 'out', retention := 0.5, sensitive := 'disease', record_id := 'id')"
    )
    with pytest.raises(
        duckdb.Error,
        match="would hide the schema of that name from everyone who opens it\nHint: choose",
    ):
        con.execute("FROM priv.export_release('out', ?)", [str(tmp_path / name)])
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def lasting(prepared):
    """For calls that are refused, and leave nothing."""
    with prepared() as connection:
        yield connection


@pytest.mark.parametrize("path", ["\\", "/", "\\\\", "~", "~/", "file:", "file:///", ""])
def test_a_folder_without_a_name_is_no_hierarchy(lasting, path):
    """DuckDB 2 would read it without end, until it is interrupted, which is another error."""
    watch = threading.Timer(300, lasting.interrupt)
    watch.start()
    with pytest.raises(
        duckdb.Error, match=r"no file is called .*\nHint: name the file of the hierarchy"
    ):
        lasting.execute("FROM priv.load_hierarchy('sex', ?)", [path]).fetchall()
    watch.cancel()


def test_a_hierarchy_of_several_files(con, tmp_path: Path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"{name};*\n")
    files = [str(tmp_path / f"{name}.csv") for name in "ab"]
    assert len(con.execute("FROM priv.load_hierarchy('sex', ?)", [files]).fetchall()) == 4
