"""A record is grouped once: a changed table is refused, and its new records are appended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest
from answers import rows

pytestmark = pytest.mark.usefixtures("unasked")

VISITS = """
    CREATE TABLE visits AS
    SELECT id, 'v' || (id * id % 29) % 7 AS disease, id % 5 AS drug, id % 2 = 0 AS young FROM range(2001) AS t(id)
"""


@pytest.fixture
def con(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = prepared(secret=None)
    connection.execute(VISITS)
    yield connection
    connection.close()


def publish(
    con: duckdb.DuckDBPyConnection, release: str = "r", source: str = "visits", **more: Any
) -> tuple[Any, ...]:
    arguments = {"sensitive": "disease", "gamma": 2, "record_id": "id", "exclude": ["drug"]} | more
    given = ", ".join(
        f"{name} := {value!r}" for name, value in arguments.items() if value is not None
    )
    return con.execute(
        "SELECT rows_source, rows_published, rows_suppressed"
        f" FROM priv.publish_splu('{source}', '{release}', {given})"
    ).fetchall()[0]


def publish_visits(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(VISITS)
    publish(con)


@pytest.fixture
def released(made: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in which the visits are published, once for all tests."""
    with made(publish_visits, secret=None) as connection:
        yield connection


def test_the_same_table_may_be_published_again(released: duckdb.DuckDBPyConnection) -> None:
    publish(released, "again")
    released.execute("FROM priv.drop_release('r')").fetchall()
    publish(released, "r")
    assert rows(released, "FROM r EXCEPT ALL FROM again") == []
    assert rows(released, "SELECT count(*), count(DISTINCT mark) FROM priv.grouped_mark") == [
        (2000, 2000)
    ]


def test_what_records_showed_is_forgotten_with_their_release(
    released: duckdb.DuckDBPyConnection,
) -> None:
    def kept() -> int:
        return int(rows(released, "SELECT count(*) FROM priv.shown_record")[0][0])

    described = rows(
        released, "SELECT sql, comment FROM duckdb_tables() WHERE table_name = 'shown_record'"
    )
    publish(released, replace=True)
    assert kept() == 2000
    publish(released, "again")
    assert kept() == 4000
    released.execute("FROM priv.drop_release('r')").fetchall()
    assert kept() == 2000
    released.execute("FROM priv.drop_release('AGAIN')").fetchall()
    assert kept() == 0
    assert described == rows(
        released, "SELECT sql, comment FROM duckdb_tables() WHERE table_name = 'shown_record'"
    )


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO visits VALUES (9999, 'v1', 0, true)",
        "DELETE FROM visits WHERE id = 7",
        "UPDATE visits SET disease = 'v3' WHERE id = 7",
    ],
)
@pytest.mark.parametrize("more", [{}, {"replace": True}, {"release": "other"}, {"gamma": 3}])
def test_a_changed_table_is_refused(
    released: duckdb.DuckDBPyConnection, change: str, more: dict[str, Any]
) -> None:
    released.execute(change)
    more = {"release": "another"} | more if "replace" not in more else more
    with pytest.raises(
        duckdb.Error, match=r"already published in groups by publish_splu(.|\n)*republish := true"
    ):
        publish(released, **more)
    assert rows(released, "SELECT release, rows_published FROM priv.release") == [("r", 2000)]


def test_dropping_a_release_does_not_take_it_back(released: duckdb.DuckDBPyConnection) -> None:
    released.execute("FROM priv.drop_release('r')").fetchall()
    released.execute("DELETE FROM visits WHERE id = 7")
    with pytest.raises(duckdb.Error, match="already published"):
        publish(released)


def test_without_an_id_no_record_is_new(con: duckdb.DuckDBPyConnection) -> None:
    publish(con, record_id=None, exclude=["id", "drug"])
    for again in ({"record_id": None, "exclude": ["id", "drug"]}, {}):
        with pytest.raises(duckdb.Error, match="already published in groups"):
            publish(con, "other", **again)


def test_it_is_published_nevertheless_on_request(released: duckdb.DuckDBPyConnection) -> None:
    released.execute("DELETE FROM visits WHERE id < 101")
    assert publish(released, "other", republish=True) == (1900, 1900, 0)


def test_other_attributes_people_and_mechanisms_are_free(
    released: duckdb.DuckDBPyConnection,
) -> None:
    released.execute(
        "CREATE TABLE elsewhere AS SELECT * REPLACE (id + 1e9::BIGINT AS id) FROM visits"
    )
    with pytest.raises(duckdb.Error, match="if these are other people"):
        publish(released, "second", source="elsewhere")
    publish(released, "second", source="elsewhere", population="others")
    publish(released, "third", sensitive="drug", exclude=["disease"])
    released.execute("DELETE FROM visits WHERE id = 7")
    released.execute(
        "FROM priv.publish_uniform('visits', 'fourth', sensitive := 'disease', retention := 0.5,"
        " exclude := ['id', 'drug'])"
    ).fetchall()
    with pytest.raises(duckdb.Error, match="already published"):
        publish(released, "fifth", sensitive=["drug", "disease"], exclude=[])


def test_more_new_records_than_people_come_are_refused(
    released: duckdb.DuckDBPyConnection,
) -> None:
    """They may be those that have groups, with other ids."""
    released.execute("INSERT INTO visits SELECT id + 10000, disease, drug, young FROM visits")
    with pytest.raises(
        duckdb.Error, match=r"50% of the ids are new(.|\n)*if these are other people"
    ):
        publish(released, append=True)
    assert rows(released, "SELECT count(*) FROM r") == [(2000,)]


@pytest.mark.usefixtures("asked")
def test_new_records_are_appended(con: duckdb.DuckDBPyConnection) -> None:
    assert publish(con) == (2001, 2000, 1)
    before = rows(con, "FROM r")
    con.execute("UPDATE visits SET disease = 'v6' WHERE id < 100")
    con.execute("INSERT INTO visits SELECT 5000 + i, 'w' || i % 6, 1, true FROM range(300) AS t(i)")
    # The record that filled no group is among the new ones.
    assert publish(con, append=True) == (2301, 2300, 1)
    assert rows(con, "SELECT count(*) FROM r") == [(2300,)]
    con.execute("CREATE TABLE earlier (disease VARCHAR, young BOOLEAN)")
    con.executemany("INSERT INTO earlier VALUES (?, ?)", before)
    assert rows(con, "FROM earlier EXCEPT ALL SELECT noisy_disease::VARCHAR, young FROM r") == []
    assert rows(
        con, "SELECT count_if(noisy_disease::VARCHAR LIKE 'w%') BETWEEN 290 AND 300 FROM r"
    ) == [(True,)]
    assert rows(con, "SELECT priv.reconstructed_count('r', noisy_disease, 'w3') > 0 FROM r") == [
        (True,)
    ]
    assert json.loads(rows(con, "SELECT parameters FROM priv.release")[0][0])["rows"] == 2300
    assert rows(con, "SELECT count(*) FROM priv.ledger") == [(2,)]
    assert rows(con, "FROM r") == rows(con, "FROM r ORDER BY ALL")
    with pytest.raises(
        duckdb.Error, match=r"every record of '\S+' is already published|needs at least 2 distinct"
    ):
        publish(con, append=True)


@pytest.mark.parametrize(
    ("more", "stated"),
    [
        ({"gamma": 3}, "with other parameters"),
        ({"record_id": None, "exclude": ["id", "drug"]}, "it is unknown which records are new"),
        ({"exclude": None}, "has other columns"),
        ({"release": "nothing"}, "no release is called 'nothing'"),
        ({"append": "yes"}, "append must be true or false"),
    ],
)
def test_what_does_not_fit_is_not_appended(
    released: duckdb.DuckDBPyConnection, more: dict[str, Any], stated: str
) -> None:
    released.execute(
        "INSERT INTO visits SELECT 5000 + i, 'w' || i % 6, 1, true FROM range(300) AS t(i)"
    )
    with pytest.raises(duckdb.Error, match=stated):
        publish(released, **{"append": True} | more)
    assert rows(released, "SELECT count(*) FROM r") == [(2000,)]


def test_records_that_another_method_published_in_groups_are_not_appended(
    released: duckdb.DuckDBPyConnection,
) -> None:
    released.execute(
        "INSERT INTO visits SELECT 5000 + i, 'w' || i % 6, 1, true FROM range(300) AS t(i)"
    )
    released.execute(
        "CREATE TABLE copy AS SELECT id AS number, disease AS illness FROM visits WHERE id >= 5000"
    )
    released.execute(
        "FROM priv.publish_anatomy('copy', 'a', sensitive := 'illness', l := 3, record_id := 'number')"
    ).fetchall()
    with pytest.raises(
        duckdb.Error,
        match=r"already published in groups by publish_anatomy(.|\n)*republish := true",
    ):
        publish(released, append=True)
    assert rows(released, "SELECT count(*) FROM r") == [(2000,)]
    assert publish(released, append=True, republish=True) == (2301, 2300, 1)
    assert rows(
        released,
        "SELECT reason LIKE 'republish := true, although ''disease''%in release ''a''%' FROM priv.ledger"
        " WHERE release = 'r' ORDER BY number DESC LIMIT 1",
    ) == [(True,)]


def test_records_are_known_after_the_secret_was_replaced(
    released: duckdb.DuckDBPyConnection,
) -> None:
    """Marks have a key of their own, so none comes in twice."""
    released.execute(
        "INSERT INTO visits SELECT 5000 + i, 'w' || i % 6, 1, true FROM range(300) AS t(i)"
    )
    released.execute("FROM priv.rotate_secret()").fetchall()
    assert publish(released, append=True) == (2301, 2300, 1)


def test_new_records_must_fill_groups_of_their_own(released: duckdb.DuckDBPyConnection) -> None:
    released.execute("INSERT INTO visits SELECT 5000 + i, 'v1', 1, true FROM range(300) AS t(i)")
    with pytest.raises(duckdb.Error, match=r"more than 1 in gamma = 2|needs at least 2 distinct"):
        publish(released, append=True)


def test_the_ledger_says_why(released: duckdb.DuckDBPyConnection) -> None:
    publish(released, "same")
    released.execute(
        "INSERT INTO visits SELECT 5000 + i, 'w' || i % 6, 1, true FROM range(300) AS t(i)"
    )
    publish(released, append=True)
    publish(released, "forced", republish=True)
    publish(released, "blind", republish=True, record_id=None, exclude=["id", "drug"])
    narrowed = "a second group of decoys narrows the true value of a record down: 40 of them identify 63 to 96%"
    for (reason,), stated in zip(
        rows(released, "SELECT reason FROM priv.ledger(details := true)"),
        [
            ["first publication of it"],
            ["the same groups as in r"],
            ["a further batch, of 300 new records alone"],
            ["republish := true, although 'disease' of this population", narrowed],
            ["republish := true, although 'disease' of this population", narrowed],
        ],
        strict=True,
    ):
        assert all(part in reason for part in stated), reason
