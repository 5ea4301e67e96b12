"""Scripts for other databases count as the functions of the release do, and are refused where they cannot."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
import sqlglot
from clients.elsewhere import differ, export


def test_every_script_counts_as_the_functions_do(con, without_cards, tmp_path: Path) -> None:
    """Translated back, and run by a DuckDB that has nothing but the rows."""
    with without_cards():
        scripts, rows = export(con, tmp_path)
    for dialect, script in scripts.items():
        text = script.read_text("utf-8")
        assert text.startswith("-- duckdb_priv: estimates of visits,")
        with duckdb.connect() as plain:
            plain.execute(
                f"CREATE TABLE visits AS FROM read_csv('{rows}', all_varchar := true, nullstr := 'NULL')"
            )
            for statement in sqlglot.transpile(text, read=dialect, write="duckdb"):
                plain.execute(statement)

            def ask(view: str, names: list[str], plain=plain) -> list[tuple]:
                columns = ", ".join(f'"{name}"' for name in names)
                return plain.execute(f'SELECT {columns} FROM "{view}"').fetchall()

            assert max(differ(con, ask).values()) < 1e-9, dialect


def test_decoys_of_equal_frequency_are_written_too(con, without_cards, tmp_path: Path) -> None:
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 3 = 0 AS young, 'v' || i % 10 AS d FROM range(2000) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_splu('v', 'r', sensitive := 'd', gamma := 2, record_id := 'id')"
    ).fetchall()
    with without_cards():
        con.execute(
            "FROM priv.export_release('r', ?, dialects := ['postgres'])",
            [str(tmp_path / "r.duckdb")],
        ).fetchall()
    (statement, _) = sqlglot.transpile(
        (tmp_path / "r.postgres.sql").read_text(), read="postgres", write="duckdb"
    )
    con.execute(statement)
    columns = "value, estimate, stderr, low, high"
    found, functions = (
        con.execute(f"SELECT {columns} FROM {source} ORDER BY value").fetchall()
        for source in ("r_d_estimates", "priv.reconstructed_distribution('r')")
    )
    assert len(found) == 10
    for one, other in zip(found, functions, strict=True):
        assert one[0] == other[0]
        assert one[1:] == pytest.approx(other[1:])


def test_what_cannot_be_written_is_refused(con, without_cards, tmp_path: Path) -> None:
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, CASE WHEN i % 10 < 4 THEN 'a' ELSE 'v' || i % 7 END AS d"
        " FROM range(2000) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_splu('v', 'r', sensitive := 'd', gamma := 2, record_id := 'id')"
    ).fetchall()
    con.execute(
        "FROM priv.publish_uniform('v', 'u', sensitive := 'd', retention := 0.3, record_id := 'id', population := 'o')"
    ).fetchall()

    def write(release: str, dialects: list[str]) -> None:
        with without_cards():
            con.execute(
                "FROM priv.export_release(?, ?, dialects := ?)",
                [release, str(tmp_path / "x.duckdb"), dialects],
            ).fetchall()

    with pytest.raises(duckdb.Error, match="no attribute of 'r' can be counted outside DuckDB"):
        write("r", ["spark"])
    with pytest.raises(duckdb.Error, match="dialects"):
        write("u", ["oracle"])
    (tmp_path / "x.spark.sql").write_text("SELECT 1")
    with pytest.raises(duckdb.Error, match="exists and does not describe 'u'"):
        write("u", ["spark"])
    assert [path.name for path in tmp_path.iterdir()] == ["x.spark.sql"]
    (tmp_path / "x.spark.sql").unlink()
    write("u", ["spark"])
    write("u", ["spark", "trino"])
    assert {path.name for path in tmp_path.iterdir()} == {
        "x.duckdb", "x.html", "x.spark.sql", "x.trino.sql",
    }  # fmt: skip


DIALECTS = ["spark", "postgres", "bigquery", "trino", "snowflake"]
HEADINGS = {
    "r_d_by_value": ("public_value", '"value"'),
    "r_d_by_estimate": ("public_estimate", "estimate"),
    "r_d_by__key": ("_key", "_key"),
    "r_d_by_a_b": ('"a b"', '"a b"'),
    "r_d_by_a_b_2": ("a_b", "a_b"),
}
"""Views by name: the heading of the public column, and the column."""


def test_public_columns_of_any_name_have_a_view(con, without_cards, tmp_path: Path) -> None:
    """A column called like one of the view's gets another heading; names that become equal get a number."""
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 4 AS \"value\", i % 5 AS estimate, 'x' || i % 3 AS _key,"
        ' i // 7 % 2 AS "a b", i // 9 % 3 AS a_b,'
        " ['it''s', 'a\\b', 'n' || chr(10), '\\n', '', NULL][1 + i // 11 % 6] AS d FROM range(2000) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_uniform('v', 'r', sensitive := 'd', retention := 0.5, record_id := 'id')"
    ).fetchall()
    path = tmp_path / "r.duckdb"
    with without_cards():
        con.execute("FROM priv.export_release('r', ?, dialects := ?)", [str(path), DIALECTS])
    functions = {
        column: con.execute(
            "SELECT grouped, value, estimate, low, high FROM priv.reconstructed_distribution('r',"
            f" group_columns := '{column} AS grouped') ORDER BY ALL"
        ).fetchall()
        for _, column in HEADINGS.values()
    }
    for dialect in DIALECTS:
        script = (tmp_path / f"r.{dialect}.sql").read_text("utf-8")
        with duckdb.connect() as plain:
            plain.execute("ATTACH ? AS r (READ_ONLY)", [str(path)])
            plain.execute("CREATE TABLE copied AS FROM r.main.r; DETACH r")
            plain.execute("ALTER TABLE copied RENAME TO r")
            for statement in sqlglot.transpile(script, read=dialect, write="duckdb"):
                plain.execute(statement)
            for view, (heading, column) in HEADINGS.items():
                names = [name for (name, *_) in plain.execute(f"DESCRIBE {view}").fetchall()]
                shown = ["value", "estimate", "stderr", "low", "high", "noisy_count"]
                assert names == [heading.strip('"'), *shown], dialect
                found = plain.execute(
                    f"SELECT {heading}, value, estimate, low, high FROM {view} ORDER BY ALL"
                ).fetchall()
                assert [each[:2] for each in found] == [each[:2] for each in functions[column]]
                for one, other in zip(found, functions[column], strict=True):
                    assert one[2:] == pytest.approx(other[2:]), dialect
