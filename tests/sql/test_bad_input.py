"""Bad input: one clear sentence with the value and the remedy, and nothing is left behind."""

from __future__ import annotations

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.engine import randomness

pytestmark = pytest.mark.usefixtures("unasked")

WORLD = """
CREATE TABLE visits AS
    SELECT i AS id, 18 + i % 70 AS age, (['female', 'male'])[1 + i % 2] AS gender,
        (['flu', 'cold', NULL])[1 + (hash(i) % 3)::INTEGER] AS disease, CASE WHEN i > 9 THEN i END AS phone,
        i // 2 AS pair, [i] AS history, TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_days((i % 9)::INTEGER) AS admitted
    FROM range(300) AS t(i);
CREATE TABLE taken AS SELECT 1 AS x;
CREATE VIEW taken_view AS FROM taken;
CREATE TABLE nobody AS FROM visits LIMIT 0;
CREATE TABLE healthy AS SELECT i AS id, 'none' AS disease FROM range(10) AS t(i);
CREATE TABLE reserved AS SELECT i AS id, i % 3 AS disease, i AS _PRIV_bits FROM range(10) AS t(i);
CREATE TABLE nul AS SELECT i AS id, 'a' || chr(0) || i % 3 AS disease FROM range(10) AS t(i);
CREATE TEMP TABLE passing AS FROM visits;
CREATE SEQUENCE reading;
CREATE VIEW fewer_each_time AS FROM visits WHERE nextval('reading') % 500 < 200;
CREATE VIEW new_each_time AS SELECT id, (random() * 1e9)::INTEGER AS disease FROM visits;
CREATE VIEW broken AS SELECT id, ('secret diagnosis ' || id)::INTEGER AS disease FROM visits;
CREATE VIEW dangling AS FROM taken;
FROM priv.publish_uniform('visits', 'known', sensitive := 'disease', retention := 0.5,
    exclude := ['history', 'phone'], record_id := 'id');
DROP VIEW taken_view;
CREATE VIEW taken_view AS FROM visits;
"""

GOOD = {"sensitive": "'disease'", "retention": "0.3"}

ARGUMENTS = [
    ({"retention": None}, "give either a retention, or epsilon, or rho1 and rho2"),
    ({"rho1": "0.1", "rho2": "0.5"}, "give either a retention, or epsilon, or rho1 and rho2"),
    ({"retention": "0"}, "retention must lie strictly between 0 and 1, got 0.0"),
    ({"retention": "1"}, "retention must lie strictly between 0 and 1, got 1.0"),
    ({"retention": "-0.5"}, "retention must lie strictly between 0 and 1, got -0.5"),
    ({"retention": "30"}, "retention must lie strictly between 0 and 1, got 30.0"),
    ({"retention": "'nan'::DOUBLE"}, "retention must lie strictly between 0 and 1, got nan"),
    ({"retention": "'inf'::DOUBLE"}, "retention must lie strictly between 0 and 1, got inf"),
    ({"retention": "1e-20"}, "retention 1e-20 is below the resolution of 64 bits"),
    ({"retention": "'half'"}, "retention must be a number, got 'half'"),
    ({"retention": "true"}, "retention must be a number, got True"),
    ({"retention": "[0.3]"}, "retention must be a number, got [0.3]"),
    ({"retention": None, "rho1": "0.1"}, "rho2 is missing"),
    ({"retention": None, "rho2": "0.1"}, "rho1 is missing"),
    (
        {"retention": None, "rho1": "0.5", "rho2": "0.5"},
        "rho1 and rho2 must satisfy 0 < rho1 < rho2 < 1, got 0.5 and 0.5",
    ),
    (
        {"retention": None, "rho1": "0.6", "rho2": "0.1"},
        "rho1 and rho2 must satisfy 0 < rho1 < rho2 < 1, got 0.6 and 0.1",
    ),
    (
        {"retention": None, "rho1": "0", "rho2": "1"},
        "rho1 and rho2 must satisfy 0 < rho1 < rho2 < 1, got 0.0 and 1.0",
    ),
    ({"sensitive": None}, "no sensitive column is named"),
    ({"sensitive": "[]"}, "no sensitive column is named"),
    ({"sensitive": "''"}, "sensitive must be a column name or a list of them, got ''"),
    ({"sensitive": "7"}, "sensitive must be a column name or a list of them, got 7"),
    ({"sensitive": "'diseas'"}, "'visits' has no column 'diseas'\nHint: did you mean 'disease'?"),
    ({"sensitive": "'zip'"}, "'visits' has no column 'zip'\nHint: it has 'id', 'age', 'gender'"),
    ({"sensitive": "['disease', 'DISEASE']"}, "sensitive names a column twice"),
    ({"sensitive": "'history'"}, "'history' has type BIGINT[], whose values cannot be listed"),
    (
        {"sensitive": "'admitted'"},
        "'admitted' has type TIMESTAMP WITH TIME ZONE, whose values cannot be listed",
    ),
    ({"record_id": "'disease'"}, "column 'disease' is both sensitive and record_id"),
    ({"exclude": "'Disease'"}, "column 'Disease' is both sensitive and exclude"),
    ({"exclude": "['name']"}, "'visits' has no column 'name'"),
    ({"record_id": "'idd'"}, "'visits' has no column 'idd'\nHint: did you mean 'id'?"),
    ({"record_id": "'pair'"}, "record id 'pair' is not unique: 300 rows have 150 ids"),
    ({"record_id": "['age', 'gender']"}, "record id 'age' and 'gender' is not unique: 300 rows"),
    ({"record_id": "'phone'"}, "record id 'phone' is NULL in 10 of 300 rows"),
    ({"record_id": "['id', 'phone']"}, "record id 'id' and 'phone' is NULL in 10 of 300 rows"),
    ({"record_id": "7"}, "record_id must be a column name or a list of them, got 7"),
    ({"replace": "'false'"}, "replace must be true or false, got 'false'"),
    ({"replace": "NULL"}, "replace must be true or false, got NULL"),
    ({"domain": "['flu', NULL]"}, "1 value that the given domain lacks"),
    ({"domain": "['flu', 'cold']"}, "1 value that the given domain lacks"),
    ({"domain": "[]"}, "3 values that the given domain lacks"),
    (
        {"domain": "['flu', 'cold', 'flu', NULL]"},
        "the given domain of 'disease' names a value twice",
    ),
    (
        {"domain": "['flu', 'cold', NULL, NULL]"},
        "the given domain of 'disease' names a value twice",
    ),
    ({"domain": "'flu'"}, "domain must be a list of values, or a struct of such lists"),
    ({"domain": "{'disease': 'flu'}"}, "domain must be a list of values, or a struct of such"),
    (
        {"domain": "{'age': [18, 19]}"},
        "no sensitive column is called 'age'\nHint: there is 'disease'",
    ),
    (
        {"sensitive": "'age'", "domain": "['young', 'old']"},
        "the given domain of 'age' has 'young', which is no BIGINT",
    ),
    (
        {"sensitive": "['age', 'disease']", "domain": "['flu', 'cold', NULL]"},
        "domain must be a struct of lists where several columns are sensitive",
    ),
]

SOURCES = [
    ("visit", {}, "no table or view is called 'visit'\nHint: did you mean 'visits'?"),
    (
        "nothing like it",
        {},
        "no table or view is called 'nothing like it'\nHint: A temporary table",
    ),
    ("passing", {}, "no table or view is called 'passing'"),
    ("main.visit", {}, "no table or view is called 'main.visit'"),
    ("a.b.c.d", {}, "no table or view is called 'a.b.c.d'"),
    ("visits.", {}, "no table or view is called 'visits.'"),
    ('visits"', {}, "no table or view is called 'visits\"'"),
    ("visits; DROP TABLE visits", {}, "no table or view is called 'visits; DROP TABLE visits'"),
    ("(SELECT 1 AS disease)", {}, "no table or view is called"),
    ("read_csv('/etc/passwd')", {}, "no table or view is called"),
    ("priv.secret", {"sensitive": "'key'"}, "no table or view is called 'priv.secret'"),
    ("memory.priv.release", {}, "no table or view is called 'memory.priv.release'"),
    ("information_schema.tables", {}, "no table or view is called"),
    ("nobody", {}, "'nobody' has no rows"),
    ("healthy", {}, "the domain of 'disease' has 1 value, and needs at least 2"),
    (
        "healthy",
        {"domain": "['none']"},
        "the domain of 'disease' has 1 value, and needs at least 2",
    ),
    ("reserved", {}, "column '_PRIV_bits' has a name that begins with _priv_"),
    ("nul", {}, "'disease' has different values with the same text"),
    ("fewer_each_time", {"exclude": "'id'"}, "gives other values each time"),
    ("new_each_time", {"exclude": "'id'"}, "gives other values each time"),
    (
        "new_each_time",
        {"record_id": "'id'"},
        "gives other values each time",
    ),
    ("broken", {}, "reading the source ended in a ConversionException"),
]

RELEASES = [
    ("", {}, "release must be a name, got ''"),
    (" \t", {}, "a release cannot be called"),
    ("visits.public", {}, "a release cannot be called 'visits.public'"),
    ("visits", {}, "'visits' is a table that is no release"),
    ("VISITS", {"replace": "true"}, "'VISITS' is a table that is no release"),
    ("taken", {"replace": "true"}, "'taken' is a table that is no release"),
    ("taken_view", {}, "'taken_view' is a table that is no release"),
    ("known", {}, "a release 'known' exists\nHint: choose another name, or write replace := true"),
    ("KNOWN", {}, "a release 'KNOWN' exists"),
    ("known", {"replace": "true", "retention": "7"}, "retention must lie strictly between 0 and 1"),
    ("known", {"replace": "true", "sensitive": "'zip'"}, "'visits' has no column 'zip'"),
]

CALLS = [
    # Arguments are read, and refused, by Python.
    *(
        pytest.param("visits", "public", changed, words, marks=pytest.mark.once)
        for changed, words in ARGUMENTS
    ),
    *((source, "public", changed, words) for source, changed, words in SOURCES),
    *(("visits", release, changed, words) for release, changed, words in RELEASES),
]

STATEMENTS = [
    ("FROM priv.drop_release('unknown')", "no release is called 'unknown'"),
    ("FROM priv.drop_release('visits')", "no release is called 'visits'"),
    (
        "FROM priv.drop_release('knwon')",
        "no release is called 'knwon'\nHint: did you mean 'known'?",
    ),
    ("FROM priv.drop_release(NULL)", "release is missing"),
    ("FROM priv.audit('unknown')", "no release is called 'unknown'"),
    ("FROM priv.export_release('unknown', 'x.duckdb')", "no release is called 'unknown'"),
    ("FROM priv.export_release('known', '')", "path must be the name of a file, got ''"),
    ("FROM priv.export_release('known', NULL)", "path is missing"),
    ("FROM priv.export_release('known', '/no/folder/x.duckdb')", "'/no/folder' does not exist"),
    (
        "FROM priv.export_release('known', 'x.csv', format := 'csv')",
        "format must be 'duckdb' or 'parquet', got 'csv'",
    ),
    ("SELECT * FROM (VALUES ('known'), ('b')) AS t(n), priv.audit(n)", "no release is called 'b'"),
]


@pytest.fixture(scope="module")
def world(prepared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad_input")
    with prepared(None) as connection, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        connection.execute(WORLD)
        yield connection
        assert list(folder.iterdir()) == []


@pytest.fixture(scope="module")
def last():
    """What the database was after the last test that left it as it was, while no other test has had it."""
    return []


@pytest.fixture
def unchanged(world, inventory, last):
    """Whatever a test does, the database is afterwards what it was, and no sources of bits are left in memory."""
    before = last.pop() if last else inventory(world)
    streams = dict(randomness._streams)
    yield world
    last.append(inventory(world))
    assert last == [before]
    assert randomness._streams == streams


def refused(connection: duckdb.DuckDBPyConnection, sql: str, words: str) -> None:
    with pytest.raises(duckdb.Error) as caught:
        connection.execute(sql).fetchall()
    message = str(caught.value)
    assert words in message
    assert message.count("Error:") == message.count("Hint:") == 1
    assert "Traceback" not in message
    assert "Python exception" not in message


@pytest.mark.parametrize(
    ("source", "release", "changed", "words"), CALLS, ids=lambda each: str(each)[:60]
)
def test_a_wrong_publication_is_one_sentence_and_leaves_nothing(
    unchanged, source, release, changed, words
):
    named = "".join(
        f", {name} := {value}" for name, value in (GOOD | changed).items() if value is not None
    )
    quoted = source.replace("'", "''")
    refused(unchanged, f"FROM priv.publish_uniform('{quoted}', '{release}'{named})", words)


@pytest.mark.parametrize(("sql", "words"), STATEMENTS, ids=lambda each: str(each)[:60])
def test_a_wrong_statement_is_one_sentence_and_leaves_nothing(unchanged, sql, words):
    refused(unchanged, sql, words)


def test_an_error_of_the_source_is_named_without_its_values(unchanged):
    with pytest.raises(duckdb.Error) as caught:
        unchanged.execute(
            "FROM priv.publish_uniform('broken', 'public', sensitive := 'disease', retention := 0.3)"
        )
    assert "secret diagnosis" not in str(caught.value)


def test_one_call_with_several_rows_of_arguments_is_an_error(world, last):
    last.clear()
    with pytest.raises(duckdb.InvalidInputException, match=r"Hint: (call|run) it"):
        world.execute(
            "SELECT n FROM (VALUES ('a'), ('b')) AS t(n), priv.publish_uniform('visits', n,"
            " sensitive := 'disease', retention := 0.3, exclude := ['history', 'phone'], record_id := 'id')"
        ).fetchall()
    for (release,) in world.execute("SELECT release FROM priv.release").fetchall():
        if release in ("a", "b"):
            world.execute(f"FROM priv.drop_release('{release}')")


def test_after_every_error_the_database_still_publishes(unchanged):
    unchanged.execute(
        "FROM priv.publish_uniform('visits', 'again', sensitive := 'disease', retention := 0.3,"
        " exclude := ['history', 'phone'], record_id := 'id')"
    )
    assert unchanged.execute("SELECT count(*) FROM again").fetchall() == [(300,)]
    unchanged.execute("FROM priv.drop_release('again')")
    unchanged.execute(
        "DELETE FROM priv.mark WHERE draw IN"
        " (SELECT ('0x' || coins[:16])::UBIGINT FROM priv.ledger WHERE release = 'again')"
    )
    unchanged.execute("DELETE FROM priv.ledger WHERE release = 'again'")
    for table in ("seen", "seen_column"):
        unchanged.execute(
            f"DELETE FROM priv.{table} WHERE publication NOT IN (SELECT publication FROM priv.ledger)"
        )


def test_a_source_that_is_not_committed_is_not_there_yet(world):
    world.execute("BEGIN TRANSACTION")
    try:
        world.execute("CREATE TABLE uncommitted AS FROM visits")
        refused(
            world,
            "FROM priv.publish_uniform('uncommitted', 'p', sensitive := 'disease', retention := 0.3)",
            "what is not committed yet cannot be published",
        )
    finally:
        world.execute("ROLLBACK")


def test_a_table_of_arrow_in_a_variable_is_no_source(world):
    private = world.sql("FROM visits").to_arrow_table()
    assert private.num_rows == 300
    refused(
        world,
        "FROM priv.publish_uniform('private', 'p', sensitive := 'disease', retention := 0.3)",
        "no table or view is called 'private'",
    )


def test_a_database_without_its_functions_says_so(tmp_path):
    """Macros persist and Python functions do not: without us, nobody can publish from the file."""
    path = str(tmp_path / "hospital.duckdb")
    with duckdb_priv.connect(path) as publisher:
        publisher.execute("CREATE TABLE visits AS SELECT i AS id, i % 3 AS s FROM range(9) AS t(i)")
    with duckdb.connect(path) as other, pytest.raises(duckdb.CatalogException, match="_priv_begin"):
        other.execute(
            "FROM priv.publish_uniform('visits', 'p', sensitive := 's', retention := 0.3)"
        )
