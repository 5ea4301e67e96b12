"""Sources that fail, that change while they are read, or that show what is not for publication."""

from __future__ import annotations

import threading

import duckdb
import pytest

pytestmark = pytest.mark.usefixtures("unasked")

REPORTED = "SECRET-VALUE"
"""A source value that errors of DuckDB would quote."""


@pytest.fixture
def con(prepared):
    connection = prepared(secret=None)
    connection.execute("SET threads = 2")
    connection.execute(
        f"""
        CREATE TABLE stays AS
        SELECT i AS id, ['flu', 'cancer', 'none'][1 + i % 3] AS disease, i % 2 AS ward,
            CASE WHEN i = 1777 THEN '{REPORTED}' ELSE '12' END AS note
        FROM range(5_000) t(i)
        """
    )
    yield connection
    connection.close()


def publish(con, source, record_id="id", **arguments):
    named = "".join(f", {name} := {text}" for name, text in arguments.items())
    return con.execute(
        "FROM priv.publish_uniform(?, 'release', sensitive := 'disease', retention := 0.5,"
        f" record_id := ?{named})",
        [source, record_id],
    ).fetchall()


def nothing_is_left(con) -> bool:
    return con.execute(
        "SELECT (SELECT count(*) FROM priv.release) + (SELECT count(*) FROM priv.attribute)"
        " + (SELECT count(*) FROM priv.coefficient) + (SELECT count(*) FROM priv.guarantee)"
        " + (SELECT count(*) FROM priv.ledger)"
        " + (SELECT count(*) FROM duckdb_tables() WHERE table_name = 'release' AND schema_name = 'main')"
    ).fetchall() == [(0,)]


FAILING = {
    "public column": "SELECT id, disease, note::INTEGER AS number FROM stays",
    "sensitive column": "SELECT id, note::INTEGER::VARCHAR AS disease FROM stays",
    "record id": "SELECT note::INTEGER AS id, disease FROM stays",
    "error of the user's": "SELECT id, disease, CASE WHEN id = 1777 THEN error('it is ' || note) END AS e FROM stays",
    "JSON": "SELECT id, disease, json_extract(note, '$.a') AS found FROM stays",
    "date": "SELECT id, disease, strptime(note, '%Y') AS year FROM stays",
    "time zone": "SELECT id, disease, TIMESTAMP '2026-01-01' AT TIME ZONE replace(note, '12', 'UTC') AS at FROM stays",
    "pattern": "SELECT id, disease, regexp_matches(disease, '(' || note) AS found FROM stays",
    "overflow": "SELECT id, disease, (length(note)::TINYINT * 100::TINYINT) AS hundredfold FROM stays",
    "subquery": "SELECT id, disease, (SELECT note FROM stays o WHERE o.ward = s.ward) AS other FROM stays s",
}


@pytest.mark.parametrize("reason", FAILING)
def test_an_error_in_a_view_quotes_no_value(con, reason):
    con.execute(f"CREATE VIEW broken AS {FAILING[reason]}")
    with pytest.raises(duckdb.Error, match="nothing was kept") as caught:
        publish(con, "broken")
    assert REPORTED not in str(caught.value)
    assert nothing_is_left(con)


def test_the_errors_above_do_quote_a_value(con):
    """What DuckDB itself says of such a view: the tests above would notice."""
    con.execute(f"CREATE VIEW broken AS {FAILING['public column']}")
    with pytest.raises(duckdb.ConversionException, match=REPORTED):
        con.execute("SELECT max(number) FROM broken").fetchall()


CHANGING = {
    "drawn record ids": "SELECT uuid() AS id, disease FROM stays",
    "counted record ids": "SELECT nextval('number') AS id, disease FROM stays",
    "drawn sensitive values": "SELECT id, CASE WHEN random() < 0.5 THEN 'flu' ELSE disease END AS disease FROM stays",
    "drawn public values": "SELECT id, disease, (random() * 4)::INTEGER AS ward FROM stays",
    "a sample": "SELECT id, disease FROM stays USING SAMPLE 1000 ROWS",
    "a sample of unknown size": "FROM stays WHERE random() < 0.5",
}


@pytest.mark.parametrize("reason", CHANGING)
def test_a_view_that_is_redrawn_is_refused(con, reason):
    """Its releases could be averaged, while the ledger took them for one."""
    con.execute("CREATE SEQUENCE number")
    con.execute(f"CREATE VIEW changing AS {CHANGING[reason]}")
    for _ in range(3):
        with pytest.raises(duckdb.Error, match=r"each time it is read|changed while|is NULL in"):
            publish(con, "changing")
    assert nothing_is_left(con)


def test_a_steady_view_is_published(con):
    con.execute(
        "CREATE VIEW numbered AS SELECT row_number() OVER () AS id, disease, ward FROM stays"
    )
    assert publish(con, "numbered")


def test_rows_that_come_and_go_while_it_is_published_do_not_matter(con):
    """A publication sees its source as it was at one moment."""
    con.execute("CREATE TABLE busy AS FROM stays")
    done = threading.Event()
    changes = 0

    def change() -> None:
        nonlocal changes
        with con.cursor() as other:
            while not done.is_set():
                number = 10_000_000 + changes
                other.execute("INSERT INTO busy VALUES (?, 'none', 0, '12')", [number])
                other.execute("DELETE FROM busy WHERE id = ?", [number])
                changes += 1

    worker = threading.Thread(target=change)
    worker.start()
    try:
        for _ in range(5):
            ((_, _, rows_source, rows_published, *_),) = publish(con, "busy", replace="true")
            assert rows_published == rows_source
            assert rows_source in (5_000, 5_001)
    finally:
        done.set()
        worker.join()
    assert changes > 0


@pytest.mark.parametrize("table", ["secret", "ledger", "release"])
def test_what_the_schema_priv_holds_is_not_published(con, table):
    with pytest.raises(duckdb.Error, match="no table or view is called"):
        publish(con, f"priv.{table}")
    con.execute(
        f"CREATE VIEW inner_view AS SELECT count(*) AS rows, any_value({table}) AS shown FROM priv.{table}"
    )
    con.execute("CREATE VIEW outer_view AS SELECT id, disease, shown FROM stays, inner_view")
    with pytest.raises(duckdb.Error, match="never published"):
        publish(con, "outer_view")
    assert nothing_is_left(con)


@pytest.mark.parametrize(
    "make",
    [
        "CREATE TEMP TABLE other AS FROM stays",
        "CREATE TEMP VIEW other AS FROM stays",
        "CREATE VIEW other AS FROM stays WHERE id = 1",
        "CREATE TABLE other AS FROM stays WHERE false",
        "CREATE TABLE other AS SELECT id, disease, 1 AS _priv_number FROM stays",
    ],
)
def test_what_cannot_be_published_leaves_nothing(con, make):
    con.execute(make)
    with pytest.raises(duckdb.Error, match="Hint: "):
        publish(con, "other")
    assert nothing_is_left(con)


def test_a_variable_of_the_script_is_no_source(con):
    """DuckDB would read a Python variable that is called like a table."""
    arrow = con.sql("FROM stays").to_arrow_table()
    assert arrow.num_rows == 5_000
    with pytest.raises(duckdb.Error, match="no table or view is called 'arrow'"):
        publish(con, "arrow")
    con.execute("CREATE VIEW of_nothing AS FROM stays")
    con.execute("ALTER TABLE stays RENAME TO elsewhere")
    stays = arrow
    assert stays.num_rows
    with pytest.raises(duckdb.Error, match="does not exist"):
        publish(con, "of_nothing")
    assert nothing_is_left(con)
