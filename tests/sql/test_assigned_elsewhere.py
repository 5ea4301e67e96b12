"""Decoy groups of records whose bits another engine draws, which does not keep what they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import pytest

from duckdb_priv.engine.aggregates import Aggregates, AssignedAggregates
from duckdb_priv.engine.kernel import Kernel, Step
from duckdb_priv.methods.common import assigning as records_assigned

pytestmark = pytest.mark.usefixtures("unasked")

PUBLISH = (
    "FROM priv.publish_splu('visits', 'r', sensitive := 'ward', gamma := 3, record_id := 'id',"
    " public := ['age']{})"
)


def visits(low: int, high: int) -> str:
    return (
        "SELECT i AS id, 20 + (hash('a' || i) % 30)::INTEGER AS age, (hash('w' || i) % 6)::INTEGER AS ward"
        f" FROM range({low}, {high}) AS t(i)"
    )


@pytest.fixture
def con(prepared: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A release of DuckDB's, whose records get their bits elsewhere from now on."""
    connection = prepared()
    connection.execute(f"CREATE TABLE visits AS {visits(0, 300)}")
    connection.sql(PUBLISH.format("")).fetchall()
    connection.execute(f"INSERT INTO visits {visits(300, 400)}")

    def assigned(self: Aggregates, assigning: Kernel, bits: Sequence[int]) -> AssignedAggregates:
        steps = (Step(records_assigned.ASSIGNED, assigning.select),)
        replace(assigning, steps=steps).stage(self.workspace.cursor, self.source.table)
        return AssignedAggregates(self.workspace, records_assigned.ASSIGNED)

    monkeypatch.setattr(Aggregates, "assigned", assigned)
    return connection


def test_a_release_that_records_have_left_is_not_extended(con: Any) -> None:
    """A mark that no row stands for any more says that its record has left."""
    con.execute(
        "INSERT INTO priv.shown_record SELECT 7, number FROM priv.shown_pair WHERE attribute = 'ward' LIMIT 1"
    )
    with pytest.raises(duckdb.Error, match="records have left release 'r'"):
        con.sql(PUBLISH.format(", append := true")).fetchall()
    assert con.sql("SELECT count(*) FROM r").fetchall() == [(300,)]
