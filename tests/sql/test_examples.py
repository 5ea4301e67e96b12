"""What a file says of itself runs on that file, in any DuckDB that opens it."""

from __future__ import annotations

import re

import duckdb
import pytest
from ordinary.releases import CALLS, of_run


@pytest.mark.every
@pytest.mark.parametrize("form", CALLS)
def test_every_question_of_a_file_has_an_answer(form, prepared, for_files, tmp_path_factory):
    with for_files():
        path = of_run(tmp_path_factory, form, prepared)
    with duckdb.connect(path, read_only=True) as reader:
        found = reader.execute(
            "SELECT question, statement FROM priv.example ORDER BY number"
        ).fetchall()
        for question, statement in found:
            assert question.endswith("?")
            assert reader.execute(statement.removesuffix("USE main;")).fetchall(), statement
            reader.execute("USE main")
    attributes = 2 if form == "two_attributes" else 1
    assert len(found) >= 3 + attributes
    assert len({statement for _, statement in found}) == len(found)


@pytest.mark.once
def test_a_value_in_every_decoy_group_is_not_asked_for(prepared, without_cards, tmp_path):
    """With this secret every group of two has it: nothing published says how many records do."""
    secret = bytes((7 * i + 1) % 256 for i in range(32))
    with without_cards(), prepared(secret) as con:
        con.execute(
            "CREATE TABLE t AS SELECT i AS id, if(i % 2 = 0, 'a', 'b' || (i // 2) % 4) AS value"
            " FROM range(2000) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_splu('t', 'r', sensitive := 'value', gamma := 2, record_id := 'id')"
        )
        con.execute("FROM priv.export_release('r', ?)", [str(tmp_path / "r.duckdb")])
    with duckdb.connect(tmp_path / "r.duckdb", read_only=True) as reader:
        (gap,) = reader.execute("SELECT own - other FROM priv.coefficient").fetchone()
        assert gap == 0
        found = [*reader.execute("SELECT statement FROM priv.example").fetchall()]
        assert any("WHERE" in statement for (statement,) in found)
        read_me = "".join(line for (line,) in reader.execute("FROM READ_ME").fetchall())
        views = reader.execute("SELECT view_name FROM duckdb_views() WHERE schema_name = 'main'")
        found += [
            (f'FROM "{view}"',) for (view,) in views.fetchall() if not view.startswith("duckdb_")
        ]
        found += [(line,) for line in re.findall("    (USE .*?;.*?;)", read_me)]
        for (statement,) in found:
            assert reader.execute(statement.removesuffix("USE main;")).fetchall(), statement
            reader.execute("USE main")


@pytest.mark.once
def test_names_and_values_that_need_quotes_are_asked_for(prepared, without_cards, tmp_path):
    with without_cards(), prepared() as con:
        con.execute(
            "CREATE TABLE t AS SELECT i AS id, i % 2 AS \"group\", ['it''s', '\"'][1 + i % 3 % 2] AS \"a b\""
            " FROM range(300) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_uniform('t', 'my release', sensitive := 'a b', retention := 0.5, record_id := 'id')"
        )
        for form in ("duckdb", "parquet"):
            con.execute(
                "FROM priv.export_release('my release', ?, format := ?)",
                [str(tmp_path / form), form],
            )
    with duckdb.connect(tmp_path / "duckdb", read_only=True) as reader:
        found = reader.execute("SELECT statement FROM priv.example").fetchall()
        assert any("GROUP BY" in statement for (statement,) in found)
        for (statement,) in found:
            assert reader.execute(statement).fetchall()
    script = (tmp_path / "parquet" / "setup.sql").read_text("utf-8")
    assert "CREATE VIEW priv.example" in script
