"""A release follows its source: versions, what they keep, what they cost, and what is in the way."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest
from answers import named_row, named_rows
from click.testing import CliRunner

import duckdb_priv
from duckdb_priv.shell.cli import main

pytestmark = pytest.mark.usefixtures("plain_files", "unasked")

PUBLISH = (
    "FROM priv.publish_uniform('visits', 'r', sensitive := 'disease', retention := 0.3, record_id := 'id',"
    " domain := ['asthma', 'cold', 'cough', 'flu', 'measles', NULL], title := 'Visits')"
)
CHANGE = """
    UPDATE visits SET disease = 'measles' WHERE id < 5;
    DELETE FROM visits WHERE id IN (100, 101);
    INSERT INTO visits VALUES (9999, 20, 'male', 'cold')
"""


def refreshed(con, release: str = "r") -> dict:
    return named_row(con, "FROM priv.refresh(?)", release)


def listed(con) -> dict:
    return named_row(con, "FROM priv.publications()")


def shown(con) -> list[tuple]:
    return con.execute("SELECT age, gender, noisy_disease::VARCHAR FROM r").fetchall()


def _declare(con) -> None:
    con.execute(
        "CREATE TABLE visits AS SELECT i AS id, 18 + i * 37 % 70 AS age, ['female', 'male'][1 + i % 2] AS gender,"
        " ['asthma', 'cold', 'cough', 'flu', NULL][1 + i * i % 23 % 5] AS disease FROM range(2000) AS t(i)"
    )
    con.execute(PUBLISH)


@pytest.fixture
def declared(made):
    with made(_declare) as connection:
        yield connection


def test_a_refresh_shows_what_was_shown_but_for_what_changed(declared, tmp_path):
    before = sorted(shown(declared), key=str)
    declared.execute("FROM priv.export_release('r', ?)", [str(tmp_path / "r.duckdb")])
    ages = declared.execute("SELECT age FROM visits WHERE id < 5 OR id IN (100, 101)").fetchall()
    declared.execute(CHANGE)
    reported = listed(declared)
    assert (reported["new_records"], reported["gone_records"], reported["changed_records"]) == (
        1,
        2,
        5,
    )
    assert (reported["state"], reported["advised"], reported["version"]) == ("due", True, 1)
    row = refreshed(declared)
    assert (row["version"], row["rows_published"], row["exported"]) == (2, 1999, True)
    assert (row["new_records"], row["gone_records"], row["changed_records"]) == (1, 2, 5)
    others = {*(age for (age,) in ages), 20}
    kept = [row for row in before if row[0] not in others]
    assert kept == [row for row in sorted(shown(declared), key=str) if row[0] not in others]
    assert listed(declared)["state"] == "current"
    with duckdb_priv.open_release(tmp_path / "r.duckdb") as analyst:
        ((title, version, rows, previous, unchanged),) = analyst.execute(
            "SELECT title, version, rows_published, previous_rows, rows_kept FROM priv.release"
        ).fetchall()
    after = shown(declared)
    assert (title, version, rows, previous) == ("Visits", 2, 1999, 2000)
    assert unchanged == sum(min(before.count(row), after.count(row)) for row in {*before})


def test_a_record_is_charged_once_for_each_of_its_values(declared):
    """Whichever records change, the price is that of the one that was drawn most often."""
    for change, adds, draws in (
        ("UPDATE visits SET disease = 'measles' WHERE id = 1", True, 2),
        ("UPDATE visits SET disease = 'measles' WHERE id = 2", False, 2),
        ("INSERT INTO visits VALUES (7777, 20, 'male', 'cold')", False, 2),
        ("UPDATE visits SET disease = 'flu' WHERE id = 2", True, 3),
        ("UPDATE visits SET disease = 'measles' WHERE id = 2", False, 3),
        ("DELETE FROM visits WHERE id = 3", False, 3),
    ):
        declared.execute(change)
        row = refreshed(declared)
        assert (row["adds"], change) == (adds, change)
        assert row["epsilon"] == pytest.approx(draws * spent_once(declared))
    ((total,),) = declared.execute("SELECT max(total) FROM priv.ledger()").fetchall()
    assert total == pytest.approx(3 * spent_once(declared))


def spent_once(con) -> float:
    return con.execute("SELECT max(epsilon) FROM priv.ledger()").fetchall()[0][0]


def test_a_refresh_with_nothing_to_do_does_nothing(declared, inventory):
    before = inventory(declared)
    row = refreshed(declared)
    assert row["version"] == 1
    assert "nothing was published" in row["statement"]
    assert inventory(declared) == before


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ("ALTER TABLE visits DROP disease", "disease"),
        ("ALTER TABLE visits DROP id", "'id'"),
        ("ALTER TABLE visits DROP gender", "'gender' is not there"),
        (
            "ALTER TABLE visits ADD COLUMN ward INTEGER DEFAULT 3",
            "'ward' would be published for the first time",
        ),
        ("DROP TABLE visits", "visits"),
        ("DELETE FROM visits", "has no rows"),
        ("UPDATE visits SET disease = 'gout' WHERE id = 1", "1 value that the given domain lacks"),
        ("ALTER TABLE visits ALTER id TYPE VARCHAR", "7 and '7' are two ids"),
        ("INSERT INTO visits FROM visits", "not unique"),
    ],
)
def test_what_is_wrong_with_the_source_is_reported_and_the_release_stays(
    declared, inventory, change, reported
):
    declared.execute(change)
    before = inventory(declared)
    with pytest.raises(duckdb.Error, match=reported):
        refreshed(declared)
    assert inventory(declared) == before
    row = listed(declared)
    assert row["version"] == 1
    assert reported in row["advice"] or row["state"] == "due"


def test_a_table_that_was_dropped_by_hand_is_published_again(declared):
    declared.execute("DROP TABLE r")
    assert refreshed(declared)["version"] == 1
    declared.execute(CHANGE)
    assert refreshed(declared)["version"] == 2
    assert len(shown(declared)) == 1999


def test_a_rotated_secret_and_fresh_noise_are_refused(declared):
    declared.execute(
        "FROM priv.publish_uniform('visits', 'fresh', sensitive := 'disease', retention := 0.3, exclude := ['id'])"
    )
    declared.execute("INSERT INTO visits VALUES (9999, 20, 'male', 'cold')")
    with pytest.raises(duckdb.Error, match="published without record_id"):
        refreshed(declared, "fresh")
    assert {
        row["release"]: row["state"] for row in named_rows(declared, "FROM priv.publications()")
    } == {
        "r": "due",
        "fresh": "refused",
    }


def test_what_was_published_before_arguments_were_kept_is_reported(declared):
    declared.execute("DELETE FROM priv.publication")
    assert listed(declared)["state"] == "refused"
    with pytest.raises(duckdb.Error, match=r"publish it once more with replace := true"):
        refreshed(declared)
    declared.execute(PUBLISH.replace("title", "replace := true, title"))
    assert listed(declared)["version"] == 2
    assert refreshed(declared)["version"] == 2


def test_a_file_that_cannot_be_written_is_reported_and_written_later(declared, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    declared.execute("FROM priv.export_release('r', ?)", [str(folder / "r.duckdb")])
    folder.rename(tmp_path / "elsewhere")
    declared.execute(CHANGE)
    row = refreshed(declared)
    assert (row["version"], row["exported"]) == (2, False)
    assert "does not exist" in row["warnings"][-1]
    assert listed(declared)["advised"]
    (tmp_path / "elsewhere").rename(folder)
    row = refreshed(declared)
    assert (row["version"], row["exported"]) == (2, True)
    with duckdb_priv.open_release(folder / "r.duckdb") as analyst:
        assert analyst.execute("SELECT version FROM priv.release").fetchall() == [(2,)]
    assert not listed(declared)["advised"]


HELD = """
import sys
import duckdb
with duckdb.connect(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_file_that_another_program_writes_to_is_reported_and_written_later(declared, tmp_path):
    file = str(tmp_path / "r.duckdb")
    declared.execute("FROM priv.export_release('r', ?)", [file])
    declared.execute(CHANGE)
    command = [sys.executable, "-c", HELD, file]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"open\n"
        row = refreshed(declared)
        other.stdin.close()
    assert (row["version"], row["exported"]) == (2, False)
    assert "another program writes to it" in row["warnings"][-1]
    assert refreshed(declared)["exported"] is True


def test_two_refreshes_at_once_publish_one_version(declared):
    declared.execute(CHANGE)
    gate, found = threading.Barrier(2), []

    def run() -> None:
        with declared.cursor() as cursor:
            gate.wait()
            found.append(refreshed(cursor))

    workers = [threading.Thread(target=run) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [row["version"] for row in found] == [2, 2]
    assert sorted(row["new_records"] for row in found) == [0, 1]


def test_a_killed_refresh_leaves_the_old_version_whole(declared, monkeypatch):
    """Killed while it writes the catalog, which is the last thing that it does."""
    from duckdb_priv.publisher import steps

    before = shown(declared)
    declared.execute(CHANGE)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(steps.declared, "keep", killed)
    with pytest.raises(duckdb.Error, match="interrupted"):
        refreshed(declared)
    monkeypatch.undo()
    assert shown(declared) == before
    assert listed(declared)["version"] == 1
    assert refreshed(declared)["version"] == 2


@pytest.mark.parametrize(
    ("publish", "reported"),
    [
        ("shuffled('v', 'r', sensitive := 'disease', epsilon := 1.0, delta := 1e-6, record_id := 'id')",
         "no budget says when to stop"),
        ("anatomy('v', 'r', sensitive := 'disease', l := 2, record_id := 'id')", "baseline"),
    ],
)  # fmt: skip
def test_methods_that_cannot_be_refreshed_say_why(con, publish, reported):
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 2 AS gender, 'd' || i * i % 23 % 5 AS disease FROM range(600) AS t(i)"
    )
    con.execute(f"FROM priv.publish_{publish}")
    con.execute("DELETE FROM v WHERE id = 7")
    with pytest.raises(duckdb.Error, match=reported):
        refreshed(con)
    assert listed(con)["state"] == "refused"


def test_new_records_of_decoy_groups_wait_until_there_are_enough(con):
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 2 AS gender, 'd' || i % 5 AS disease FROM range(100) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_splu('v', 'r', sensitive := 'disease', gamma := 2, record_id := 'id')"
    )
    con.execute("INSERT INTO v SELECT i, i % 2, 'd' || i % 5 FROM range(100, 110) AS t(i)")
    assert (listed(con)["state"], listed(con)["new_records"]) == ("waiting", 10)
    row = refreshed(con)
    assert (row["version"], row["new_records"]) == (1, 10)
    assert "wait until there are 20" in row["statement"]
    con.execute("INSERT INTO v SELECT i, i % 2, 'd' || i % 5 FROM range(110, 125) AS t(i)")
    row = refreshed(con)
    assert (row["version"], row["rows_published"]) == (2, 124)
    assert "1 record waits" in row["statement"]
    # Who waits depends on the values of others, so the number that the release says has no epsilon.
    assert con.execute("SELECT epsilon, release FROM priv.noisy_count").fetchall() == [(None, "r")]
    ((stated,),) = con.execute(
        "SELECT statement FROM priv.guarantee WHERE guarantee = 'records_left_out'"
    ).fetchall()
    assert (
        "not here yet, since there are too few others" in stated or "Few records or none" in stated
    )
    con.execute("DELETE FROM v WHERE id = 3")
    assert refreshed(con)["rows_published"] == 123
    con.execute("DELETE FROM priv.shown_record; DELETE FROM priv.shown_pair")
    con.execute("DELETE FROM v WHERE id = 5")
    with pytest.raises(duckdb.Error, match="what records show was not kept"):
        refreshed(con)


def test_who_leaves_a_decoy_group_leaves_it_whole_for_the_others(con):
    """Two attributes: what stays shows what it showed, and who has an old value again shows what it showed for that."""
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i AS seat, 'd' || i % 5 AS disease, 's' || i % 3 AS stay"
        " FROM range(150) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_splu('v', 'r', sensitive := ['disease', 'stay'], gamma := 2, record_id := 'id',"
        " public := ['seat'])"
    )

    def now() -> dict:
        rows = con.execute("SELECT seat, noisy_disease, noisy_stay FROM r").fetchall()
        return {seat: tuple(shown) for seat, *shown in rows}

    first = now()
    con.execute("FROM priv.withdraw(9)")
    con.execute("DELETE FROM v WHERE id < 4")
    con.execute("UPDATE v SET disease = 'd4' WHERE id IN (10, 11)")
    row = refreshed(con)
    assert (row["gone_records"], row["changed_records"], row["rows_published"]) == (5, 2, 143)
    assert "2 records wait" in row["statement"]
    left = {0, 1, 2, 3, 9, 10, 11}
    assert now() == {seat: shown for seat, shown in first.items() if seat not in left}
    ((kept,),) = con.execute("SELECT parameters ->> 'rows' FROM priv.release").fetchall()
    assert int(kept) == 150
    found = dict(con.execute("SELECT guarantee, holds FROM priv.audit('r')").fetchall())
    assert found["left_their_groups"]
    assert found["decoy_group"]
    con.execute("UPDATE v SET disease = 'd0' WHERE id = 10")
    con.execute(
        "INSERT INTO v SELECT i, i, 'd' || i % 5, 's' || i % 3 FROM range(200, 225) AS t(i)"
    )
    assert refreshed(con)["rows_published"] >= 168
    third = now()
    # Record 10 has again the value that it had; record 11 is new for its own, and shows the stay that it showed.
    assert third[10] == first[10]
    assert 11 not in third or third[11][1] == first[11][1]
    assert all(third[seat] == shown for seat, shown in first.items() if seat not in left)
    assert 9 not in third


def test_the_command_refreshes_all_that_are_due(prepared_file: Path, tmp_path: Path):
    path = str(shutil.copy(prepared_file, tmp_path / "hospital.duckdb"))
    with duckdb_priv.connect(path) as con:
        _declare(con)
        con.execute("FROM priv.export_release('r', ?)", [str(tmp_path / "r.duckdb")])
    run = CliRunner().invoke
    done = run(main, ["refresh", path])
    assert (done.exit_code, done.output) == (0, "r: nothing has changed since version 1\n")
    with duckdb_priv.connect(path) as con:
        con.execute(CHANGE)
    done = run(main, ["refresh", path])
    assert done.exit_code == 0
    assert done.output.startswith("r: version 2, 1,999 rows, exported to ")
    assert done.output.count("\n") == 1
    with duckdb_priv.connect(path) as con:
        con.execute("ALTER TABLE visits DROP disease")
    done = run(main, ["refresh", path])
    assert done.exit_code == 1
    assert done.output.startswith("r: not refreshed: ")


KILLED = """
import os, sys
import duckdb_priv
from duckdb_priv.publisher import {module}
{module}.{function} = lambda *_, **__: os._exit(9)
with duckdb_priv.connect(sys.argv[1]) as con:
    con.execute("FROM priv.refresh('r')").fetchall()
"""


@pytest.mark.parametrize(
    ("module", "function", "version"), [("declared", "keep", 1), ("refresh", "_export", 2)]
)
def test_a_program_that_is_killed_leaves_whole_versions(
    prepared_file, tmp_path, module, function, version
):
    """Before the version is committed, and between that and the file that is handed out."""
    path = shutil.copy(prepared_file, tmp_path / "hospital.duckdb")
    file = tmp_path / "r.duckdb"
    with duckdb_priv.connect(path) as con:
        _declare(con)
        con.execute("FROM priv.export_release('r', ?)", [str(file)])
        con.execute(CHANGE)
    program = KILLED.format(module=module, function=function)
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == 9
    with duckdb_priv.open_release(file) as analyst:
        assert analyst.execute("SELECT version, rows_published FROM priv.release").fetchall() == [
            (1, 2000)
        ]
    with duckdb_priv.connect(path) as con:
        row = listed(con)
        assert (row["version"], row["exported"], row["advised"]) == (version, 1, True)
        assert len(shown(con)) == row["rows_published"]
        row = refreshed(con)
        assert (row["version"], row["exported"]) == (2, True)
    with duckdb_priv.open_release(file) as analyst:
        assert analyst.execute("SELECT version FROM priv.release").fetchall() == [(2,)]


@pytest.mark.every
@pytest.mark.usefixtures("asked", "whole_files")
def test_a_batch_of_other_values_is_counted_by_decoys_of_its_own(con, tmp_path):
    """Nearly all records of one value leave, and others come with values that no group of the first batch has."""

    def rows(sql: str) -> list[tuple]:
        return con.execute(sql).fetchall()

    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 3 = 0 AS young,"
        " 'v' || (CASE WHEN i % 10 < 3 THEN 0 ELSE 1 + i % 5 END) AS disease FROM range(3000) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_splu('v', 'r', sensitive := 'disease', gamma := 2, record_id := 'id')"
    )
    con.execute("DELETE FROM v WHERE disease = 'v0' AND id % 100 > 0")
    con.execute("INSERT INTO v SELECT i, i % 3 = 0, 'w' || i % 4 FROM range(3000, 3400) AS t(i)")
    con.execute("FROM priv.refresh('r')").fetchall()
    assert rows("SELECT form FROM priv.attribute WHERE role = 'sensitive'") == [("batches",)]
    assert rows("SELECT value FROM priv.guarantee WHERE guarantee = 'several_batches'") == [(2,)]
    assert rows("FROM priv.audit('r') WHERE NOT holds") == []
    found = {
        value: (estimate, low, high)
        for value, estimate, low, high in rows(
            "SELECT value, estimate, low, high FROM priv.reconstructed_distribution('r')"
        )
    }
    # Only the second batch shows these, and none of it left: its rows count as they are.
    assert sum(found[f"w{n}"][0] for n in range(4)) == pytest.approx(400)
    assert sum(estimate for estimate, _, _ in found.values()) == pytest.approx(2530)
    for value, true in rows("SELECT disease, count(*) FROM v GROUP BY ALL"):
        _, low, high = found[value]
        assert low <= true <= high
    path = tmp_path / "r.duckdb"
    con.execute("FROM priv.export_release('r', ?)", [str(path)]).fetchall()
    question = "SELECT count(*) AS n FROM r WHERE young AND disease = 'w1'"
    with duckdb.connect(str(path), read_only=True) as reader:
        ((one, summed, share),) = reader.execute(
            "SELECT priv.reconstructed_count('r.disease', noisy_disease, 'w1'),"
            " sum(priv.weight('r.disease', noisy_disease, 'w1')),"
            " count(*) * priv.reconstructed_share('r', noisy_disease, ['w1']).estimate FROM r WHERE young"
        ).fetchall()
        ((rewritten, _, low, high),) = duckdb_priv.reconstruct(
            reader, question, intervals=True
        ).fetchall()
        reader.execute("USE estimated")
        ((view,),) = reader.execute(question).fetchall()
        assert [summed, share, rewritten, view] == pytest.approx([one] * 4)
        assert low <= 33 <= high


def test_counts_of_batches_that_have_too_many_values_are_warned_of(con):
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 3 AS ward, 'v' || i % 101 AS disease FROM range(1010) AS t(i)"
    )
    publish = "SELECT warnings FROM priv.publish_splu('v', 'r', sensitive := 'disease', gamma := 2, record_id := 'id')"
    ((before,),) = con.execute(publish).fetchall()
    con.execute("DELETE FROM v WHERE id % 101 = 7 AND id > 200")
    con.execute("INSERT INTO v SELECT i, i % 3, 'v' || i % 50 FROM range(1010, 1110) AS t(i)")
    after = refreshed(con)["warnings"]
    ((stated,),) = con.execute(
        "SELECT statement FROM priv.guarantee WHERE guarantee = 'several_batches'"
    ).fetchall()
    assert (
        "Counts of all its values are reconstructed as if the batches had the same frequencies, since"
        in stated
    )
    assert stated in after
    assert not any("same frequencies" in each for each in before)


def test_a_release_goes_on_with_a_public_column_that_got_noise_elsewhere(con):
    """A new release of it is refused until the column is named; the old one was asked for nothing, and is charged."""
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 3 AS ward, 'd' || i % 5 AS disease FROM range(300) AS t(i)"
    )
    publish = "FROM priv.publish_uniform('v', '{}', sensitive := '{}', epsilon := 1.0, record_id := 'id'{})"
    con.execute(publish.format("r", "disease", ""))
    with pytest.raises(
        duckdb.Error, match="'ward' was published as it is in release 'r', so noise"
    ):
        con.execute(publish.format("noisy", "ward", ", exclude := 'disease'"))
    more = ", exclude := 'disease', republish := true"
    reported = con.execute(publish.format("noisy", "ward", more)).fetchall()[0]
    assert "'ward' was published as it is in release 'r'" in str(reported)
    with pytest.raises(duckdb.Error, match="'ward' has noise in release 'noisy', and would be"):
        con.execute(publish.format("other", "disease", ""))
    con.execute("DELETE FROM v WHERE id = 3")
    warnings = refreshed(con)["warnings"]
    assert any("'ward' has noise in release 'noisy'" in each for each in warnings)
    assert con.execute(
        "SELECT adds FROM priv.ledger() WHERE release = 'r' AND attribute = 'ward'"
    ).fetchall() == [(math.inf,)]
