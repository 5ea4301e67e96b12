"""A method needs its own folder and its record, and nothing else anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.card.card import read_card
from duckdb_priv.errors import InvalidParameter, UnknownName
from duckdb_priv.methods.register import METHODS
from toy_method import METHOD


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    METHODS.add(METHOD)
    try:
        with duckdb_priv.connect(secret=bytes(range(32))) as connection:
            connection.execute("""
                CREATE TABLE visits AS SELECT id, 20 + id % 40 AS age, if(id % 3 = 0, 'f', 'm') AS gender,
                    ['asthma', 'cold', 'flu'][1 + id * id % 23 % 3] AS disease FROM range(6000) AS t(id)
            """)
            connection.execute(
                "FROM priv.publish_coins('visits', 'tossed', sensitive := 'disease', coins := 2, record_id := 'id')"
            ).fetchall()
            yield connection
    finally:
        METHODS.remove(METHOD.name)


def counts(connection: duckdb.DuckDBPyConnection) -> list[tuple]:
    return connection.execute(
        "FROM priv.reconstructed_distribution('tossed', group_columns := 'gender') ORDER BY ALL"
    ).fetchall()


def test_it_is_published_with_the_arguments_that_it_takes(con: duckdb.DuckDBPyConnection) -> None:
    (receipt,) = con.execute(
        "FROM priv.publish_coins('visits', 'tossed', sensitive := 'disease', coins := 2, record_id := 'id',"
        " replace := true)"
    ).fetchall()
    assert receipt[:5] == ("tossed", "coins", 6000, 6000, 0)
    ((parameters, comment),) = con.execute(
        "SELECT parameters, comment FROM duckdb_functions() WHERE function_name = 'publish_coins'"
    ).fetchall()
    assert " ".join(parameters) == (
        "source release sensitive coins record_id population exclude public person max_rows title description contact"
        " licence labels republish replace"
    )
    assert comment == f"{METHOD.words.promise}."
    with pytest.raises(duckdb.Error, match="coins is missing\nHint: coins is the number of coins"):
        con.execute("FROM priv.publish_coins('visits', 'more', sensitive := 'disease')")


def test_it_is_counted_by_the_macros_of_analysts(con: duckdb.DuckDBPyConnection) -> None:
    truth = con.execute("SELECT count(*) FROM visits WHERE disease = 'flu'").fetchall()[0][0]
    ((found,),) = con.execute(
        "SELECT priv.reconstructed_interval('tossed', noisy_disease, 'flu', confidence := 0.999999) FROM tossed"
    ).fetchall()
    assert found["low"] <= truth <= found["high"]
    assert found["stderr"] < 60


def test_it_is_audited(con: duckdb.DuckDBPyConnection) -> None:
    audit = dict(con.execute("SELECT guarantee, holds FROM priv.audit('tossed')").fetchall())
    assert audit["operator"] is True
    assert audit["local_differential_privacy"] is True
    assert "accumulated_epsilon" in audit


def test_it_is_in_the_ledger(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute(
        "SELECT DISTINCT mechanism, parameters::JSON->>'coins', warning FROM priv.ledger(details := true)"
    ).fetchall()
    assert rows == [("coins", "2", None)]


def test_it_is_advised_with_a_statement_that_runs(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute(
        "SELECT parameters, mean_relative_error, statement FROM priv.advise('visits', sensitive := 'disease',"
        " record_id := 'id', coins_to_try := [1, 3]) WHERE mechanism = 'coins'"
    ).fetchall()
    assert {json.loads(row[0])["coins"]: row[1] < 1 for row in rows} == {1: True, 3: True}
    assert con.execute(rows[0][2]).fetchall()[0][1] == "coins"
    con.execute("FROM priv.drop_release('visits_public')").fetchall()


def test_it_is_evaluated(con: duckdb.DuckDBPyConnection) -> None:
    ((queries, coverage),) = con.execute(
        "SELECT count(*), avg(covered::INTEGER) FROM priv.evaluate('visits', 'tossed')"
    ).fetchall()
    assert queries > 100
    assert coverage > 0.9


def test_it_is_exported_and_answers_without_us(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = tmp_path / "tossed.duckdb"
    con.execute(f"FROM priv.export_release('tossed', '{path}')").fetchall()
    with duckdb.connect(str(path), read_only=True) as analyst:
        assert counts(analyst) == counts(con)
        card = read_card(analyst, "tossed")
    assert ("coins that are thrown for each record", "2") in card.parameters


def test_names_are_taken_once_and_unknown_ones_are_refused(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(InvalidParameter, match="'coins' is already registered"):
        METHODS.add(METHOD)
    with pytest.raises(UnknownName, match="no method is called 'coin'\nHint: did you mean 'coins'"):
        METHODS.named("coin")
