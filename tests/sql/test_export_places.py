"""Where an export may be, what is beside it, and what it writes reads back as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from comparing import nearly
from conftest import VISITS

import duckdb_priv
from duckdb_priv.publisher import placing


def publish_out(con):
    con.execute(VISITS)
    con.execute(
        "FROM priv.publish_uniform('visits', 'out', sensitive := 'disease', retention := 0.5, record_id := 'id',"
        " exclude := 'age')"
    ).fetchall()


@pytest.fixture
def carded(made):
    """A database with one release, which is published once for all tests."""
    with made(publish_out) as connection:
        yield connection


@pytest.fixture
def out(carded, without_cards):
    """The same, where nobody reads the card."""
    with without_cards():
        yield carded


@pytest.fixture
def con(con, without_cards):
    with without_cards():
        yield con


def export(con, path: Path, form: str = "duckdb", release: str = "out"):
    return con.execute(
        "FROM priv.export_release(?, ?, format := ?)", [release, str(path), form]
    ).fetchall()


@pytest.mark.once
@pytest.mark.parametrize(
    ("name", "form", "remedy"),
    [
        ("out.csv", "duckdb", "choose a name that ends in .duckdb"),
        ("out.CSV", "duckdb", "choose a name that ends in .duckdb"),
        ("out.xlsx", "duckdb", "choose a name that ends in .duckdb"),
        ("out.parquet", "duckdb", "choose a name that ends in .duckdb or format := 'parquet'"),
        ("out.csv", "parquet", "choose a name that ends in .parquet"),
        ("out.duckdb", "parquet", "choose a name that ends in .parquet or format := 'duckdb'"),
    ],
)
def test_a_name_that_promises_another_format_is_refused(out, tmp_path, name, form, remedy):
    with pytest.raises(
        duckdb.Error, match=f"none of what format := '{form}' writes\nHint: {remedy}"
    ):
        export(out, tmp_path / name, form)
    assert not list(tmp_path.iterdir())


@pytest.mark.once
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("out.duckdb", "duckdb"),
        ("out.db", "duckdb"),
        ("out", "duckdb"),
        ("out_1.2", "duckdb"),
        ("[o]*?.duckdb", "duckdb"),
        ("out.parquet", "parquet"),
        ("out_2026.07", "parquet"),
    ],
)
def test_other_names_are_taken_as_they_are(out, tmp_path, name, form):
    export(out, tmp_path / name, form)
    export(out, tmp_path / name, form)
    page = [f"{name.removesuffix('.duckdb').removesuffix('.db')}.html"] if form == "duckdb" else []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, *page])


@pytest.mark.once
@pytest.mark.parametrize("form", ["duckdb", "parquet"])
def test_the_card_is_in_a_release_and_beside_it(carded, tmp_path, form, monkeypatch):
    """The release itself can write the very page, in any client."""
    path = tmp_path / ("out.duckdb" if form == "duckdb" else "folder")
    ((reported,),) = carded.execute(
        "SELECT card FROM priv.export_release('out', ?, format := ?)", [str(path), form]
    ).fetchall()
    assert reported == str(tmp_path / "out.html" if form == "duckdb" else path / "card.html")
    with duckdb.connect(str(path) if form == "duckdb" else ":memory:") as reader:
        if form == "parquet":
            monkeypatch.chdir(path)
            reader.execute(Path("setup.sql").read_text("utf-8"))
        ((comment,),) = reader.execute(
            "SELECT comment FROM duckdb_views() WHERE view_name = 'card'"
        ).fetchall()
        monkeypatch.chdir(tmp_path)
        reader.execute(comment.partition("To save it: ")[2])
    saved = (tmp_path / "card.html").read_text("utf-8")
    assert saved.rstrip("\n") == Path(reported).read_text("utf-8").rstrip("\n")
    assert "What can be learned of one person" in saved


@pytest.mark.once
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ("DELETE FROM out WHERE rowid = 0", "'out' has [0-9,]+ rows, and [0-9,]+ were published"),
        ("ALTER TABLE out ADD COLUMN mine INTEGER", "'out' has other columns than were published"),
        ("DROP TABLE out", "the table of release 'out' was dropped"),
    ],
)
def test_a_table_that_was_changed_by_hand_is_not_handed_out(out, tmp_path, changed, message):
    """Nobody could verify it, and the counts would be wrong."""
    out.execute(changed)
    asked = ["export_release('out', 'out.duckdb')", "derive('out', 'coarser', epsilon := 0.1)"]
    for call in [*asked, "audit('out')"][: 3 if changed.startswith("DROP") else 2]:
        with pytest.raises(duckdb.Error, match=f"{message}\\nHint: publish it again"):
            out.execute(f"FROM priv.{call}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.once
@pytest.mark.parametrize("what", ["a page", "the card of another", "a folder"])
def test_a_page_that_is_no_card_of_the_release_is_not_replaced(out, tmp_path, what):
    page = tmp_path / "out.html"
    if what == "a folder":
        page.mkdir()
    else:
        other = "<!-- duckdb_priv: the card of out2 -->" if what != "a page" else ""
        page.write_text(f"<!doctype html>\n{other}\n<p>mine</p>")
    refused = "exists and is no card of 'out'\nHint: .*card := false"
    with pytest.raises(duckdb.Error, match=refused):
        export(out, tmp_path / "out.duckdb")
    assert list(tmp_path.iterdir()) == [page]
    out.execute("FROM priv.export_release('out', ?, card := false)", [str(tmp_path / "out.duckdb")])
    assert what == "a folder" or "mine" in page.read_text()


@pytest.mark.once
@pytest.mark.parametrize("form", ["duckdb", "parquet"])
def test_a_pipe_is_refused_at_once(out, tmp_path, form):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(
        duckdb.Error, match="is neither a file nor a folder\nHint: choose another name"
    ):
        export(out, tmp_path / "pipe", form)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


WRITES_AND_DIES = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("SET checkpoint_threshold = '1TB'")
connection.execute("INSERT INTO out SELECT * FROM out")
os._exit(0)
"""


def leave_write_ahead(path: Path) -> Path:
    """Write to a release in a program that dies."""
    subprocess.run([sys.executable, "-c", WRITES_AND_DIES, str(path)], check=True)
    left = path.with_name(path.name + ".wal")
    assert left.stat().st_size
    return left


@pytest.mark.once
def test_what_someone_wrote_to_an_earlier_export_is_not_replayed(out, tmp_path):
    path = tmp_path / "out.duckdb"
    export(out, path)
    leave_write_ahead(path)
    export(out, path)
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "out.html"]
    with duckdb.connect(str(path), read_only=True) as reader:
        assert reader.execute("SELECT count(*) FROM out").fetchall() == [(4000,)]


def test_a_write_ahead_file_without_its_database_is_not_replayed(out, tmp_path):
    path = tmp_path / "out.duckdb"
    export(out, path)
    left = leave_write_ahead(path)
    path.unlink()
    (tmp_path / "out.html").unlink()
    with pytest.raises(duckdb.Error, match=r"is what DuckDB replays when 'out\.duckdb' is opened"):
        export(out, path)
    assert list(tmp_path.iterdir()) == [left]


@pytest.mark.once
def test_what_is_left_of_killed_programs_goes_and_what_others_write_stays(out, tmp_path):
    path, mark = tmp_path / "out.duckdb", placing.MACHINE + "0" * 24
    elsewhere = f"{(int(placing.MACHINE, 16) + 1) % 2**32:08x}" + "0" * 24
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead = [
        f".out.duckdb.{ended.pid}-{mark}.{ending}"
        for ending in ("partial", "partial.wal", "earlier")
    ]
    alive = [
        f".out.duckdb.{os.getppid()}-{mark}.partial",
        f".out.duckdb.{ended.pid}-notes.partial",
        f".out.duckdb.{ended.pid}-{elsewhere}.partial",
        f".other.duckdb.{ended.pid}-{mark}.partial",
    ]
    for name in dead + alive:
        (tmp_path / name).touch()
    writing = placing.begin(path)
    writing.touch()
    export(out, path)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        [*alive, writing.name, path.name, "out.html"]
    )
    placing.give_up(writing)
    assert not writing.exists()


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("INTERVAL", "to_microseconds(i)"),
        ("INTERVAL[]", "[to_days(i::INTEGER)]"),
        ("TIME WITH TIME ZONE", "'10:00:00+05:30'::TIMETZ"),
        ("HUGEINT", "i::HUGEINT"),
    ],
)
def test_a_type_that_parquet_changes_is_refused(con, tmp_path, kind, value):
    con.execute(
        f"CREATE TABLE t AS SELECT i AS id, {value} AS stay, 'd' || i % 3 AS disease FROM range(90) AS r(i)"
    )
    con.execute(
        "FROM priv.publish_uniform('t', 'out', sensitive := 'disease', retention := 0.5, record_id := 'id')"
    )
    with pytest.raises(
        duckdb.Error, match="whose values Parquet would change\nHint: format := 'duckdb'"
    ):
        export(con, tmp_path / "folder", "parquet")
    assert not list(tmp_path.iterdir())
    export(con, tmp_path / "out.duckdb")
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as reader:
        shown = "SELECT stay::VARCHAR FROM out"
        assert reader.execute(shown).fetchall() == con.execute(shown).fetchall()


@pytest.mark.parametrize("name", ["wa\rrd", "a\r\nb"])
def test_a_name_that_a_script_of_lines_would_change_is_refused(con, tmp_path, name):
    con.execute(
        f"CREATE TABLE t AS SELECT i AS id, 'd' || i % 3 AS disease, i % 2 AS \"{name}\" FROM range(90) AS r(i)"
    )
    con.execute(
        "FROM priv.publish_uniform('t', 'out', sensitive := 'disease', retention := 0.5, record_id := 'id')"
    )
    with pytest.raises(duckdb.Error, match=r"a carriage return(.|\n)*format := 'duckdb'"):
        export(con, tmp_path / "folder", "parquet")
    assert not list(tmp_path.iterdir())
    export(con, tmp_path / "out.duckdb")
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as reader:
        assert reader.execute(f'SELECT count("{name}") FROM out').fetchall() == [(90,)]


def test_a_value_that_is_called_like_such_a_type_is_no_reason(con, tmp_path):
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, ['INTERVAL', 'it''s HUGEINT'][1 + i % 2] AS disease FROM range(90) AS r(i)"
    )
    con.execute(
        "FROM priv.publish_uniform('t', 'out', sensitive := 'disease', retention := 0.5, record_id := 'id')"
    )
    export(con, tmp_path / "folder", "parquet")


@pytest.mark.parametrize("name", ["disease", "cause"])
def test_lines_that_end_in_two_characters(con, tmp_path, monkeypatch, name):
    """In a public value, which is data, and in a sensitive one, which is in the script, read as lines."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, 'a' || chr(13) || chr(10) || i % 5 AS note,"
        " ['x', 'y'][1 + i % 2] AS disease,"
        " ['x', 'it''s ' || chr(13) || chr(10) || '\\'][1 + i % 2] AS cause FROM range(90) AS r(i)"
    )
    con.execute(
        f"FROM priv.publish_uniform('t', 'out', sensitive := '{name}', retention := 0.5, record_id := 'id',"
        " public := ['note'])"
    )
    export(con, tmp_path / "folder", "parquet")
    monkeypatch.chdir(tmp_path / "folder")
    questions = [
        f"SELECT note, noisy_{name}::VARCHAR FROM out",
        "SELECT value, estimate FROM priv.reconstructed_distribution('out') ORDER BY value",
    ]
    with duckdb.connect() as reader:
        reader.execute(Path("setup.sql").read_text("utf-8"))
        for question in questions:
            assert reader.execute(question).fetchall() == nearly(con.execute(question).fetchall())


def test_a_release_named_like_one_of_its_public_columns_is_exported_and_answers(con, tmp_path):
    con.execute(VISITS)
    con.execute("UPDATE visits SET age = NULL WHERE id % 9 = 0")
    con.execute(
        "FROM priv.publish_uniform('visits', 'age', sensitive := 'disease', retention := 0.5, record_id := 'id',"
        " public := ['age'])"
    )
    path = tmp_path / "age.duckdb"
    con.execute(f"FROM priv.export_release('age', '{path}')").fetchall()
    assert path.with_suffix(".html").exists()
    con.execute(
        "CREATE TABLE asked AS SELECT row_number() OVER () AS query, {'age': age::VARCHAR} AS conditions,"
        " 'disease' AS attribute, 'flu' AS value FROM visits GROUP BY age"
    )
    answered, true, flu = con.execute(
        "SELECT count(estimate), sum(true_count), (SELECT count(*) FROM visits WHERE disease = 'flu')"
        " FROM priv.evaluate('visits', 'age', workload := 'asked')"
    ).fetchone()
    assert answered == con.execute("SELECT count(*) FROM asked").fetchone()[0]
    assert true == flu
    # The name alone is the column, for every door.
    question = (
        "SELECT age, count(*) FROM age WHERE disease = 'flu' AND age > 80 GROUP BY age ORDER BY age"
    )
    with duckdb.connect(str(path), read_only=True) as release:
        expected = release.execute(
            "SELECT age, priv.reconstructed_count('age', noisy_disease, 'flu') FROM age WHERE age > 80"
            " GROUP BY age ORDER BY age"
        ).fetchall()
        assert duckdb_priv.reconstruct(release, question).fetchall() == nearly(expected)
        release.execute("USE estimated")
        assert release.execute(question).fetchall() == nearly(expected)
        for rows in ("SELECT age FROM age", "SELECT a, count(*) FROM age AS a GROUP BY a"):
            with pytest.raises(duckdb.InvalidInputException, match="not real records"):
                release.execute(rows).fetchall()


def test_a_release_may_be_called_like_a_word_of_sql(con, tmp_path):
    con.execute(VISITS)
    con.execute(
        "FROM priv.publish_uniform('visits', 'in', sensitive := 'disease', retention := 0.5, record_id := 'id')"
    )
    path = tmp_path / "in_clinics.duckdb"
    con.execute(f"FROM priv.export_release('in', '{path}')").fetchall()
    with duckdb.connect(str(path), read_only=True) as release:
        question = "FROM priv.reconstructed_distribution('in', condition := 'age IN (20, 30)')"
        assert release.execute(question).fetchall() == nearly(con.execute(question).fetchall())
