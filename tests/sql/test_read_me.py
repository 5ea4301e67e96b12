"""Someone who has only the file and DuckDB reads READ_ME, pastes what it says, and has a right count."""

from __future__ import annotations

import duckdb
import pytest
from ordinary.releases import CALLS, of_run

NARROW = 76
"""Characters of a column that a terminal of 80 shows whole."""


def pasted(lines: list[str]) -> str:
    """Return what is to be pasted: the lines that are set in."""
    return "\n".join(line for line in lines if line.startswith("    "))


@pytest.mark.parametrize("form", CALLS)
def test_what_it_says_runs_on_the_file(form, prepared, for_files, tmp_path_factory):
    with for_files():
        path = of_run(tmp_path_factory, form, prepared)
    with duckdb.connect(path, read_only=True) as reader:
        assert ("READ_ME",) in reader.execute("SHOW TABLES").fetchall()
        lines = [line for (line,) in reader.execute("FROM READ_ME").fetchall()]
        assert 4 <= len(lines) <= 12
        statements = [each for each in pasted(lines).split(";") if each.strip()]
        assert statements
        for statement in statements:
            found = reader.execute(statement).fetchall()
            assert found or "USE" in statement, statement
        for line in lines[-1].split(";")[:-1]:
            assert reader.execute(line[line.index("FROM") :]).fetchall()


def test_names_that_need_quotes_and_long_titles_are_written_so(prepared, without_cards, tmp_path):
    title = "Visits to the emergency departments of all hospitals of the county " * 2
    with without_cards(), prepared() as con:
        con.execute(
            "CREATE TABLE t AS SELECT i AS id, (i % 3)::VARCHAR::ENUM ('0', '1', '2') AS value,"
            " ['x', 'y'][1 + i % 2] AS \"order\" FROM range(3000) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_uniform('t', 'my release', sensitive := 'order', retention := 0.5, record_id := 'id',"
            " title := ?)",
            [title.strip()],
        )
        con.execute("FROM priv.export_release('my release', ?)", [str(tmp_path / "r.duckdb")])
    with duckdb.connect(tmp_path / "r.duckdb", read_only=True) as reader:
        lines = [line for (line,) in reader.execute("FROM READ_ME").fetchall()]
        assert all(len(line) <= NARROW for line in lines)
        for statement in pasted(lines).split(";")[:-1]:
            reader.execute(statement).fetchall()
        reader.execute("USE main")
        grouped = reader.execute('FROM "my release_order_by_value"')
        columns = [(column, str(kind)) for column, kind, *_ in grouped.description]
        assert columns[:2] == [("public_value", "VARCHAR"), ("value", "VARCHAR")]


def test_short_where_there_are_many_columns(prepared, without_cards, tmp_path):
    """Views by public column are made only where they are few."""
    columns = ", ".join(f"hash(i, {number}) % 2 AS c{number}" for number in range(7))
    with without_cards(), prepared() as con:
        con.execute(
            f"CREATE TABLE t AS SELECT i AS id, {columns},"
            " if(hash(i) % 2 = 0, 'x', 'y') AS s FROM range(30_000) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_uniform('t', 'r', sensitive := 's', retention := 0.5, record_id := 'id')"
        )
        con.execute("FROM priv.export_release('r', ?)", [str(tmp_path / "r.duckdb")])
    with duckdb.connect(tmp_path / "r.duckdb", read_only=True) as reader:
        names = [name for (name,) in reader.execute("SHOW TABLES").fetchall()]
        assert names == ["READ_ME", "r", "r_s_estimates", "r_s_weights"]
