"""Publishing is a tuple of steps: what each of them leaves of the release that is replaced."""

from __future__ import annotations

import duckdb
import pytest

from duckdb_priv.engine.procedures import undone
from duckdb_priv.engine.workspace import Caller
from duckdb_priv.methods.register import METHODS
from duckdb_priv.publisher import derivation, steps
from duckdb_priv.publisher.publication import Publication

GIVEN = {
    "source": "visits",
    "release": "r",
    "sensitive": "disease",
    "record_id": "id",
    "retention": 0.5,
    "replace": True,
}


@pytest.fixture
def con(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.execute(
        "CREATE TABLE visits AS SELECT i AS id, i % 5 AS age, ['flu', 'cold'][1 + i % 2] AS disease"
        " FROM range(100) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_uniform('visits', 'R', sensitive := 'disease', record_id := 'id', retention := 0.9)"
    )
    con.execute("INSERT INTO visits VALUES (100, 1, 'flu')")
    return con


def test_the_former_release_is_whole_until_the_next_one_is_written_and_charged(con):
    seen = {}
    with undone(Caller.of(con)) as workspace:
        method = METHODS["uniform"]
        request, arguments = method.read(GIVEN)
        publication = Publication(workspace, method, request, arguments, GIVEN, method.name)
        for step in steps.STEPS:
            step(publication)
            (seen[step.__name__],) = workspace.rows(
                "SELECT count(*), (SELECT any_value(parameters->>'$.retention') FROM priv.release) FROM main.r"
            )
    names = list(seen)
    replaced = names.index("replace_former")
    assert names.index("write_rows") < names.index("charge") < replaced
    assert {seen[name] for name in names[:replaced]} == {(100, "0.9")}
    assert seen["replace_former"] == (101, None)
    assert {seen[name] for name in names[replaced + 1 :]} == {(101, "0.5")}
    assert con.execute("SELECT release, (SELECT count(*) FROM r) FROM priv.release").fetchall() == [
        ("R", 100)
    ]


def test_derivation_takes_the_steps_of_publishing_but_for_its_own():
    shared = [step for step in derivation.DERIVING if step in steps.STEPS]
    assert shared == [step for step in steps.STEPS if step in shared]
    assert len(shared) > len(derivation.DERIVING) / 2
