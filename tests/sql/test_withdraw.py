"""A record or a person is withdrawn: out of all further versions, whatever they are made of."""

from __future__ import annotations

import duckdb
import pytest

pytestmark = pytest.mark.usefixtures("unasked")


def _made(con) -> None:
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, 'P' || lpad((i % 300)::VARCHAR, 4, '0') AS person, i AS age,"
        " chr(97 + (i * i % 23 % 4)::INTEGER) AS disease FROM range(600) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_uniform('v', 'r', sensitive := 'disease', retention := 0.5, record_id := 'id',"
        " public := ['age'], domain := ['a', 'b', 'c', 'd'], person := 'person')"
    )


@pytest.fixture
def con(made):
    with made(_made) as connection:
        yield connection


def ages(con, release: str = "r") -> set[int]:
    return {age for (age,) in con.execute(f"SELECT age FROM {release}").fetchall()}


def test_a_record_is_out_of_the_next_version_of_every_release(con):
    con.execute("CREATE VIEW w AS SELECT id, age, disease FROM v")
    con.execute(
        "FROM priv.publish_uniform('w', 's', sensitive := 'disease', retention := 0.3, record_id := 'id',"
        " public := ['age'], domain := ['a', 'b', 'c', 'd'])"
    )
    rows = con.execute("FROM priv.withdraw(7, kind := 'record')").fetchall()
    assert [(release, version) for release, version, *_ in rows] == [("r", 1), ("s", 1)]
    assert all("cannot be taken back" in statement for *_, statement, _ in rows)
    assert all(
        "To read to the person: " in statement and "exp(" not in statement
        for *_, statement, _ in rows
    )
    for release in ("r", "s"):
        assert 7 in ages(con, release)
        ((gone, adds),) = con.execute(
            f"SELECT gone_records, adds FROM priv.refresh('{release}')"
        ).fetchall()
        assert (gone, adds) == (1, False)
        assert ages(con, release) == {*range(600)} - {7}
    # Nor does it come back under another name, nor is it in what is audited.
    con.execute(
        "FROM priv.publish_uniform('v', 't', sensitive := 'disease', retention := 0.4, record_id := 'id',"
        " public := ['age'])"
    )
    assert 7 not in ages(con, "t")
    assert con.execute(
        "SELECT DISTINCT holds FROM priv.audit('r') WHERE guarantee = 'noise_as_stated'"
    ).fetchall() == [(True,)]
    assert con.execute("SELECT count(*) FROM priv.ledger() WHERE release = 'r'").fetchall() == [
        (2,)
    ]
    # Nor of a table that is called otherwise.
    con.execute("CREATE TABLE returned AS FROM v")
    publish(con, "returned", "u", "'id'")
    assert 7 not in ages(con, "u")
    publish(con, "returned", "others", "'id'", ", population := 'others'")
    assert 7 in ages(con, "others")


def test_a_withdrawal_states_what_a_release_reveals_that_the_ledger_charged_to_another(con):
    con.execute(
        "FROM priv.publish_uniform('v', 'same', sensitive := 'disease', retention := 0.5, record_id := 'id',"
        " public := [], domain := ['a', 'b', 'c', 'd'], person := 'person');"
        "FROM priv.derive('r', 'coarser', epsilon := 0.3)"
    )
    once = con.execute("SELECT epsilon FROM priv.ledger() WHERE release = 'r'").fetchone()[0]

    def stated(number: int) -> dict[str, float]:
        rows = con.execute(f"FROM priv.withdraw({number}, kind := 'record')").fetchall()
        assert not any("may be 50% sure" in statement for *_, statement, _ in rows)
        return {release: epsilon for release, _, epsilon, *_ in rows}

    assert stated(7) == pytest.approx({"r": once, "same": once, "coarser": 0.3})
    con.execute("UPDATE v SET disease = if(disease = 'a', 'b', 'a') WHERE id = 9")
    for release in ("r", "same", "coarser"):
        con.execute(f"FROM priv.refresh('{release}')")
    assert stated(8) == pytest.approx({"r": 2 * once, "same": 2 * once, "coarser": 0.6})


def test_all_records_of_a_person_are_out(con):
    con.execute("FROM priv.withdraw('P0007')")
    con.execute("FROM priv.refresh('r')")
    assert ages(con) == {*range(600)} - {7, 307}
    assert con.execute("SELECT kind FROM priv.withdrawn").fetchall() == [("person",)]


def test_who_left_the_table_before_can_be_withdrawn_and_stays_out(con):
    con.execute("DELETE FROM v WHERE id = 9")
    con.execute("FROM priv.withdraw(9, kind := 'record')")
    con.execute("INSERT INTO v VALUES (9, 'P0009', 9, 'a')")
    con.execute("FROM priv.refresh('r')")
    assert 9 not in ages(con)


def test_without_ids_nothing_is_published_of_which_something_was_withdrawn(con):
    con.execute(
        "FROM priv.withdraw(7, kind := 'record'); CREATE VIEW hidden AS FROM v SELECT age, disease"
    )
    with pytest.raises(duckdb.Error, match="it is unknown which"):
        con.execute(
            "FROM priv.publish_uniform('hidden', 'x', sensitive := 'disease', retention := 0.5, public := ['age'])"
        )


def publish(con, source: str, release: str, record_id: str, more: str = "") -> None:
    con.execute(
        f"FROM priv.publish_uniform('{source}', '{release}', sensitive := 'disease', retention := 0.3,"
        f" record_id := {record_id}, public := ['age']{more})"
    )


def test_a_record_is_out_of_releases_that_know_it_by_other_columns(con):
    con.execute(
        "CREATE VIEW coded AS SELECT id, 'K' || id AS code, age, disease FROM v;"
        "CREATE VIEW hidden AS SELECT 'K' || id AS code, age, disease FROM v"
    )
    publish(con, "v", "two", "['id', 'person']")
    publish(con, "coded", "by_code", "'code'")
    publish(con, "hidden", "by_code_alone", "'code'")
    con.execute("FROM priv.withdraw(7, kind := 'record')")
    for release in ("two", "by_code"):
        con.execute(f"FROM priv.refresh('{release}')")
        assert ages(con, release) == {*range(600)} - {7}
    with pytest.raises(duckdb.Error, match="by their ids in 'id', which"):
        con.execute("FROM priv.refresh('by_code_alone')")
    con.execute(
        "CREATE OR REPLACE VIEW hidden AS SELECT id, 'K' || id AS code, age, disease FROM v"
    )
    publish(con, "hidden", "by_code_alone", "'code'", ", replace := true")
    assert ages(con, "by_code_alone") == {*range(600)} - {7}


def test_ids_of_several_columns_are_found_in_each_of_them(con):
    con.execute("ALTER TABLE v ADD COLUMN number INTEGER; UPDATE v SET number = 600 - id")
    publish(con, "v", "numbered", "'number'")
    con.execute("FROM priv.withdraw(7, kind := 'record')")
    con.execute("FROM priv.refresh('numbered')")
    assert ages(con, "numbered") == {*range(600)} - {7, 593}


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ("'nobody'", "no person of population 'main'"),
        ("7", "no person of population 'main'"),
        ("77777, kind := 'record'", "no record of population 'main'"),
        ("[1, 2], kind := 'record'", "2 values are given"),
        ("7, kind := 'patient'", "kind must be"),
        ("7, population := 'nowhere'", "no population is called 'nowhere'"),
        ("NULL", "id is missing\nHint: id is the id of a record, or of a person: write id := 7"),
    ],
)
def test_who_is_not_there_cannot_be_withdrawn(con, given, reported):
    with pytest.raises(duckdb.Error, match=reported):
        con.execute(f"FROM priv.withdraw({given})").fetchall()
    assert con.execute("FROM priv.withdrawn").fetchall() == []


def test_the_id_itself_is_not_kept(con):
    con.execute("FROM priv.withdraw('P0007')")
    kept = con.execute("SELECT COLUMNS(*)::VARCHAR FROM priv.withdrawn").fetchall()
    assert not any("P0007" in text for row in kept for text in row)
