"""A publication in any statement: exactly once, or not at all, or an error that says so."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import pytest

CALL = "priv.publish_uniform('stays', '{}', sensitive := 'disease', retention := 0.5, record_id := 'id')"
ONE, TWO, THREE = (CALL.format(name) for name in ("one", "two", "three"))


@pytest.fixture
def con(prepared):
    connection = prepared(secret=None)
    connection.execute("SET threads = 4")
    connection.execute(
        "CREATE TABLE stays AS SELECT i AS id, ['flu', 'cancer', 'none'][1 + i % 3] AS disease, i % 2 AS ward"
        " FROM range(600) t(i)"
    )
    yield connection
    connection.close()


def releases(con) -> list[str]:
    """Name the releases, all of whose parts must be there: table, catalog, macros, ledger."""
    with con.cursor() as other:
        names = [
            name
            for (name,) in other.execute(
                "SELECT release FROM priv.release ORDER BY release"
            ).fetchall()
        ]
        tables = other.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'"
            " AND table_name IN ('one', 'two', 'three') ORDER BY table_name"
        ).fetchall()
        assert [name for (name,) in tables] == names
        for name in names:
            estimate = (
                f"SELECT priv.reconstructed_count('{name}', noisy_disease, 'flu') FROM {name}"
            )
            assert other.execute(estimate).fetchall()
        for table in ("attribute", "coefficient", "guarantee", "ledger"):
            recorded = other.execute(
                f"SELECT DISTINCT release FROM priv.{table} ORDER BY release"
            ).fetchall()
            assert [name for (name,) in recorded] == names
        (entries,) = other.execute("SELECT count(*) FROM priv.ledger").fetchall()[0]
        assert entries == len(names)
    return names


ONCE = [
    f"FROM {ONE}",
    f"SELECT count(*) FROM {ONE}",
    f"SELECT 1 FROM {ONE}",
    f"SELECT warnings FROM {ONE}",
    f"SELECT max(release), sum(rows_published) FROM {ONE}",
    f"SELECT 1 WHERE EXISTS (FROM {ONE})",
    f"SELECT range FROM range(3) WHERE range IN (SELECT rows_source FROM {ONE})",
    f"SELECT (SELECT release FROM {ONE}) FROM range(5)",
    f"FROM {ONE}, range(3)",
    f"FROM range(3) LEFT JOIN {ONE} ON true",
    f"FROM range(3), LATERAL (FROM {ONE})",
    f"WITH done AS (FROM {ONE}) SELECT (SELECT count(*) FROM done), (SELECT any_value(release) FROM done)",
    f"WITH done AS (FROM {ONE}) FROM done AS a, done AS b",
    f"FROM {ONE} ORDER BY seconds LIMIT 1",
    f"FROM {ONE} WHERE release = 'something else'",
    f"CREATE TABLE receipt AS FROM {ONE}",
    f"CREATE TEMP TABLE receipt AS FROM {ONE}",
    f"EXPLAIN ANALYZE FROM {ONE}",
    f"FROM {ONE} UNION ALL FROM {ONE} WHERE false",
    f"FROM query('FROM {ONE.replace(chr(39), chr(39) * 2)}')",
]
SEVERAL = [
    ONCE[0],
    *(each for each in ONCE if any(word in each for word in ("range", "WITH", "UNION"))),
]
"""The plainest, and those whose plans have several parts, which one thread does one after another."""


@pytest.mark.parametrize(
    ("threads", "statement"),
    [*((4, statement) for statement in ONCE), *((1, statement) for statement in SEVERAL)],
)
def test_exactly_once(con, statement, threads):
    con.execute(f"SET threads = {threads}")
    con.execute(statement).fetchall()
    assert releases(con) == ["one"]


def test_without_fetching(con):
    con.execute(f"FROM {ONE}")
    assert releases(con) == ["one"]


def test_into_a_file(con, tmp_path):
    con.execute(f"COPY (FROM {ONE}) TO '{tmp_path}/receipt.csv'")
    assert releases(con) == ["one"]
    assert (tmp_path / "receipt.csv").read_text().splitlines()[1].startswith("one,uniform,600,600")


@pytest.mark.parametrize(
    "statement",
    [
        f"EXPLAIN FROM {ONE}",
        f"PREPARE later AS FROM {ONE}",
        f"CREATE VIEW later AS FROM {ONE}",
        f"CREATE MACRO later() AS TABLE FROM {ONE}",
        f"DESCRIBE FROM {ONE}",
        f"FROM {ONE} WHERE false",
        f"FROM {ONE} LIMIT 0",
        f"WITH unused AS (FROM {ONE}) SELECT 1",
        f"SELECT 1 UNION ALL SELECT rows_source FROM {ONE} WHERE 1 = 0",
    ],
)
def test_what_is_not_run_publishes_nothing(con, statement):
    """DuckDB never runs these, and so no receipt comes back that would say otherwise."""
    answer = con.execute(statement).fetchall()
    assert not any("one" in row for row in answer)
    assert releases(con) == []


def test_a_view_publishes_when_it_is_read(con):
    con.execute(f"CREATE VIEW later AS FROM {ONE}")
    con.execute("FROM later").fetchall()
    assert releases(con) == ["one"]
    with pytest.raises(duckdb.Error, match="a release 'one' exists"):
        con.execute("FROM later").fetchall()
    assert releases(con) == ["one"]


def test_a_prepared_statement_publishes_at_each_execution(con):
    con.execute(
        "PREPARE publication AS FROM priv.publish_uniform('stays', $1, sensitive := 'disease', retention := 0.5,"
        " exclude := 'id')"
    )
    con.execute("EXECUTE publication('one')").fetchall()
    con.execute("EXECUTE publication('two')").fetchall()
    with pytest.raises(duckdb.Error, match="a release 'two' exists"):
        con.execute("EXECUTE publication('two')").fetchall()
    assert releases(con) == ["one", "two"]


def test_a_relation_publishes_at_the_first_reading(con):
    relation = con.sql(f"FROM {ONE}")
    assert releases(con) == []
    assert relation.fetchall()[0][0] == "one"
    assert releases(con) == ["one"]
    for read in (relation.fetchall, relation.to_arrow_table):
        with pytest.raises(duckdb.Error, match="a release 'one' exists"):
            read()
    assert releases(con) == ["one"]


def test_a_relation_that_is_shown_has_published(con):
    relation = con.sql(f"FROM {ONE}")
    assert "uniform" in str(relation)
    assert releases(con) == ["one"]


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT a.release, b.release FROM {ONE} a, {TWO} b",
        f"SELECT release FROM {ONE} UNION ALL SELECT release FROM {TWO}",
        f"SELECT (SELECT release FROM {ONE}), (SELECT release FROM {TWO})",
        f"FROM {ONE}; FROM {TWO}",
    ],
)
def test_two_in_one_statement(con, statement):
    con.execute(statement).fetchall()
    assert releases(con) == ["one", "two"]


def test_more_than_there_are_threads_for_end_in_an_error_that_says_what_to_do(con):
    con.execute("SET threads = 1")
    with pytest.raises(duckdb.Error, match="one such call in a statement"):
        con.execute(f"SELECT a.release FROM {ONE} a, {TWO} b").fetchall()
    assert len(releases(con)) <= 1
    con.execute(f"FROM {THREE}").fetchall()
    assert "three" in releases(con)


def test_the_same_name_twice_in_one_statement(con):
    with pytest.raises(duckdb.Error, match="a release 'one' exists"):
        con.execute(f"FROM {ONE} UNION ALL FROM {ONE}").fetchall()
    assert releases(con) in ([], ["one"])


def test_one_call_for_several_rows_does_nothing(con):
    call = CALL.replace("'{}'", "name")
    with pytest.raises(duckdb.Error):
        con.execute(f"FROM (VALUES ('one'), ('two')) v(name), LATERAL (FROM {call})").fetchall()
    assert releases(con) == []


def test_a_publication_is_a_transaction_of_its_own(con):
    """It sees what is committed, and stays when the statements around it are rolled back."""
    con.execute("BEGIN")
    con.execute("INSERT INTO stays VALUES (10_000, 'flu', 1)")
    ((_, _, rows_source, *_),) = con.execute(f"FROM {ONE}").fetchall()
    con.execute("ROLLBACK")
    assert rows_source == 600
    assert releases(con) == ["one"]
    con.execute("BEGIN")
    con.execute("INSERT INTO stays VALUES (10_001, 'flu', 1)")
    con.execute(f"FROM {TWO}").fetchall()
    con.execute("COMMIT")
    assert releases(con) == ["one", "two"]
    assert con.execute("SELECT count(*) FROM stays").fetchall() == [(601,)]


def test_a_failed_publication_leaves_the_connection_usable(con):
    for wrong in (ONE.replace("disease", "no_such_column"), ONE.replace("0.5", "2")):
        with pytest.raises(duckdb.Error, match="Hint: "):
            con.execute(f"FROM {wrong}").fetchall()
        assert releases(con) == []
    con.execute(f"FROM {ONE}").fetchall()
    assert releases(con) == ["one"]


@pytest.mark.parametrize("end", ["connection.close()", ""])
def test_a_script_that_publishes_ends_without_a_word(end):
    """DuckDB 2 reports as a leak whatever still holds on to it when Python ends."""
    script = f"""
import duckdb_priv
connection = duckdb_priv.connect()
connection.execute("SET enable_progress_bar = false")
connection.execute("CREATE TABLE stays AS SELECT i AS id, i % 3 AS disease FROM range(300) t(i)")
connection.execute({f"FROM {ONE}"!r}).fetchall()
{end}
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
