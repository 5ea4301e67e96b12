"""What a release could tell besides its rows: by types of columns, by what it was made with, by a small batch."""

from __future__ import annotations

import duckdb
import pytest

pytestmark = pytest.mark.usefixtures("unasked")

TOWNS = "ENUM('Aachen', 'Bonn', 'it''s, (a) town', 'Zwiesel', 'Withheld, (1)', 'Withheld''2')"


@pytest.mark.usefixtures("asked")
def test_a_public_dictionary_lists_what_is_published(con, tmp_path):
    """Rows keep their order, which is that of the dictionary."""
    con.execute(
        "CREATE TABLE stays AS SELECT i AS id, t AS town, i % 3 AS disease, [t] AS towns, {a: t} AS places,"
        f" NULL::{TOWNS} AS nowhere FROM (SELECT i, ['Zwiesel', 'Aachen', 'it''s, (a) town'][1 + i % 3]::{TOWNS} AS t"
        " FROM range(300) AS r(i))"
    )
    con.execute(
        "FROM priv.publish_uniform('stays', 'out', sensitive := 'disease', retention := 0.5, record_id := 'id',"
        " public := ['town', 'towns', 'places', 'nowhere'])"
    )
    types = {name: kind for name, kind, *_ in con.execute("DESCRIBE out").fetchall()}
    assert types.pop("town") == "ENUM('Aachen', 'it''s, (a) town', 'Zwiesel')"
    assert types.pop("noisy_disease").startswith("ENUM(")
    assert types == {
        "towns": "VARCHAR[]",
        "places": "STRUCT(a VARCHAR)",
        "nowhere": "VARCHAR",
    }
    shown = con.execute(
        "SELECT town::VARCHAR, towns[1], places.a FROM out ORDER BY rowid"
    ).fetchall()
    assert [len(set(row)) for row in shown] == [1] * 300
    assert [row[0] for row in shown] == ["Aachen"] * 100 + ["it's, (a) town"] * 100 + [
        "Zwiesel"
    ] * 100
    con.execute("FROM priv.export_release('out', ?)", [str(tmp_path / "out.duckdb")])
    assert b"Withheld" not in (tmp_path / "out.duckdb").read_bytes()
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as reader:
        assert "Withheld" not in str(reader.execute("FROM priv.attribute").fetchall())


@pytest.fixture
def levels(con):
    con.execute(
        "CREATE TABLE people AS SELECT i AS id, (i % 50)::INTEGER AS age FROM range(2000) AS t(i)"
    )
    con.execute(
        "CREATE VIEW looked AS SELECT 'age' AS attribute, age::VARCHAR AS value, l.level,"
        " if(l.level = 0, age::VARCHAR, '*') AS generalized FROM (SELECT DISTINCT age FROM people),"
        " range(2) AS l(level)"
    )
    con.execute("CREATE TABLE known AS FROM priv.range_hierarchy('age', 10, low := 0, high := 60)")
    return con


def publish_sample(con, hierarchies: str, levels: str):
    return con.execute(
        "FROM priv.publish_safe_k('people', 'out', k := 5, beta := 0.3, epsilon := 1.0,"
        f" hierarchies := '{hierarchies}', levels := {levels}, exclude := 'id')"
    ).fetchall()


def test_a_hierarchy_that_reads_the_source_is_refused(levels):
    with pytest.raises(
        duckdb.Error, match=r"'looked' reads 'memory\.main\.people', which is what is published"
    ) as refused:
        publish_sample(levels, "looked", "{'age': 1}")
    assert "Hint: make it without looking at the data" in str(refused.value)


def test_a_level_that_reads_the_source_is_refused(levels):
    with pytest.raises(duckdb.BinderException, match="cannot contain subqueries"):
        publish_sample(
            levels, "known", "{'age': (SELECT (count(*) > 1)::INTEGER FROM people WHERE age = 7)}"
        )
    assert levels.execute("SELECT count(*) FROM priv.release").fetchall() == [(0,)]
    assert publish_sample(levels, "known", "{'age': 1}")


@pytest.mark.parametrize(
    ("argument", "columns"),
    [
        ("requirements", "age::VARCHAR AS value, 0.1 AS rho1, 0.5 AS rho2"),
        ("frequencies", "age::VARCHAR AS value, count(*) AS frequency"),
    ],
)
def test_requirements_and_frequencies_that_read_the_source_are_refused(levels, argument, columns):
    levels.execute(f"CREATE VIEW given AS SELECT {columns} FROM people GROUP BY age")
    more = "tolerance := 20, " if argument == "frequencies" else ""
    with pytest.raises(
        duckdb.Error,
        match=rf"{argument} 'given' reads 'memory\.main\.people', which is what is published",
    ):
        levels.execute(
            f"FROM priv.publish_fine_grain('people', 'out', sensitive := 'age', {more}{argument} := 'given',"
            " record_id := 'id')"
        )


@pytest.mark.parametrize("new", [3, 29])
def test_a_batch_of_few_groups_is_not_appended(con, new):
    """Of three new records with gamma = 3 the release after the release before would show the group."""
    con.execute(
        "CREATE TABLE stays AS SELECT i AS id, i % 5 AS ward, 'd' || i % 7 AS disease FROM range(693) AS t(i)"
    )
    publish = (
        "FROM priv.publish_splu('stays', 'out', sensitive := 'disease', gamma := 3, record_id := 'id',"
        " append := {})"
    )
    con.execute(publish.format("false"))
    ((before,),) = con.execute("SELECT count(*) FROM out").fetchall()
    con.execute(f"INSERT INTO stays SELECT 1000 + i, i % 5, 'd' || i % 7 FROM range({new}) AS t(i)")
    with pytest.raises(duckdb.Error, match="new records, and a batch needs at least 30") as refused:
        con.execute(publish.format("true"))
    assert "Hint: append when there are more" in str(refused.value)
    assert con.execute("SELECT count(*) FROM out").fetchall() == [(before,)]
    con.execute("INSERT INTO stays SELECT 2000 + i, i % 5, 'd' || i % 7 FROM range(35) AS t(i)")
    con.execute(publish.format("true"))
    ((after,),) = con.execute("SELECT count(*) FROM out").fetchall()
    assert after >= before + 30
