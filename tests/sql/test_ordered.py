"""Rows of a release are written in the order of their own columns, in whichever way that is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import duckdb
import pytest

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.publisher import ordered, publish
from duckdb_priv.publisher.check import examination

pytestmark = pytest.mark.once

EXACT = """
    SELECT (hash(i) % 5)::UTINYINT AS age, (['a', 'B', 'b', NULL])[1 + (hash(-i) % 4)::INTEGER] AS town,
        if(i < 300, 'flu', 'cold')::ENUM ('cold', 'flu') AS "what is said" FROM range(30_000) AS t(i)
"""
"""Most rows are there more often than one number stands for."""
INEXACT = "SELECT if(i % 2 = 0, 0.0, -0.0)::DOUBLE AS x FROM range(3000) AS t(i)"
"""Two zeros, which are equal."""


@pytest.mark.parametrize(
    ("rows", "setting"),
    [
        (EXACT, "threads = 2"),
        (EXACT, "default_collation = 'nocase'"),
        (EXACT, "preserve_insertion_order = false"),
        (INEXACT, "threads = 2"),
        (f"{EXACT} LIMIT 0", "threads = 2"),
        (
            "SELECT (hash(i) % 7)::INTEGER AS a, 9 - a AS Rowid FROM range(3000) AS t(i)",
            "threads = 2",
        ),
    ],
)
def test_rows_that_are_counted_are_written_as_those_that_are_sorted(
    rows: str, setting: str
) -> None:
    with duckdb.connect() as connection:
        connection.execute("BEGIN")
        connection.execute(f"SET {setting}")
        workspace = Workspace(cast(Any, None), connection, "memory")
        described = connection.execute(f"DESCRIBE ({rows})").fetchall()
        types = {name: kind for name, kind, *_ in described}
        written = []
        for name in ("sorted", "counted"):
            ordered.write_in_order(workspace, name, rows, types, repeated=name == "counted")
            written.append(connection.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {name}").fetchall())
        assert written[0] == written[1]
        assert connection.execute("DESCRIBE counted").fetchall() == described
        connection.execute("COMMIT")
        tables = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL")
        assert tables.fetchall() == [("counted",), ("sorted",)]


def test_a_release_with_few_combinations_of_values_is_counted(
    prepared: Callable[..., duckdb.DuckDBPyConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    with prepared(secret=None) as connection:
        connection.execute(
            "CREATE TABLE stays AS SELECT i AS id, 'house ' || i % 3 AS house, (i % 40)::UTINYINT AS room,"
            " 'd' || (i * i % 29) % 5 AS disease FROM range(4000) AS t(i)"
        )
        seen = []
        write = ordered.write_in_order

        def writing(*arguments: Any, repeated: bool) -> None:
            seen.append(repeated)
            write(*arguments, repeated=repeated)

        def rows(public: list[str]) -> list[tuple[Any, ...]]:
            connection.execute(
                "FROM priv.publish_uniform('stays', 'r', sensitive := 'disease', retention := 0.5, record_id := 'id',"
                f" public := {public}, replace := true)"
            ).fetchall()
            return connection.execute("FROM r").fetchall()

        monkeypatch.setattr(publish, "write_in_order", writing)
        sorted_rows = rows(["house"])
        # Large tables are those of which checks before publishing look at a part.
        monkeypatch.setattr(examination, "SAMPLE", 3000)
        assert rows(["house"]) == sorted_rows
        rows(["house", "room"])
        assert seen == [False, True, False]
