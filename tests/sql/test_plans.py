"""Publications that are declared in a file: what is new or has changed is published, the rest refreshed."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from duckdb_priv.shell.cli import main
from duckdb_priv.shell.plan import read_plan, toml

PLAN = """
database = "hospital.duckdb"

[attach]
clinic = "clinic.duckdb"

[release.r]
method = "uniform"
source = "clinic.visits"
sensitive = "disease"
record_id = "id"
retention = 0.5
title = "Visits"
export = {path = "r.duckdb", card = false}
"""
MORE = """
[release.s]
method = "uniform"
source = "SELECT id, ward, stage FROM clinic.visits WHERE ward < 5"
sensitive = ["stage"]
record_id = ["id"]
epsilon = 1.0
domain = [0, 1, 2, {null = true}]

[release.p]
method = "splu"
source = "parts/*.parquet"
sensitive = "disease"
record_id = "id"
gamma = 2
"""
VISITS = """
CREATE TABLE visits AS SELECT id, id % 7 AS ward, ['flu', 'cold', 'none'][1 + id * id % 23 % 3] AS disease,
    nullif(id % 4, 3) AS stage FROM range(300) AS t(id)
"""


@pytest.fixture(scope="module", autouse=True)
def plain(without_cards: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    with without_cards():
        yield


@pytest.fixture
def plan(prepared_file: Path, tmp_path: Path) -> Path:
    shutil.copy(prepared_file, tmp_path / "hospital.duckdb")
    change(tmp_path / "clinic.duckdb", VISITS)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path / "plan.toml"


def change(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as con:
        for statement in statements:
            con.execute(statement)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def states(done: Result) -> dict[str, str]:
    assert done.exit_code == 0, done.output
    return {row["release"]: row["state"] for row in map(json.loads, done.stdout.splitlines())}


def test_a_release_is_published_then_refreshed_then_published_as_it_was_changed(plan, tmp_path):
    assert states(run("publish", plan, "--dry-run", "--json")) == {"r": "would be published"}
    assert not (tmp_path / "r.duckdb").exists()
    done = run("publish", plan)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"r: 300 rows published, exported to {tmp_path}/r.duckdb\n"
    assert states(run("publish", plan, "--json")) == {"r": "current"}
    change(tmp_path / "clinic.duckdb", "DELETE FROM visits WHERE id = 7")
    assert states(run("publish", plan, "--json")) == {"r": "refreshed"}
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
        assert con.execute("SELECT version, rows_published FROM priv.release").fetchall() == [
            (2, 299)
        ]
    plan.write_text(
        PLAN.replace("retention = 0.5", "retention = 0.4").replace("r.duckdb", "t.duckdb")
    )
    done = run("publish", plan)
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines()[:2] == ["r: - retention = 0.5", "r: + retention = 0.4"]
    assert (tmp_path / "t.duckdb").exists()
    assert states(run("publish", plan, "--json")) == {"r": "current"}


def test_what_is_declared_is_what_refresh_does_and_can_be_written_again(plan, tmp_path):
    (tmp_path / "parts").mkdir()
    change(
        tmp_path / "clinic.duckdb",
        f"COPY (SELECT id, ward, disease FROM visits) TO '{tmp_path}/parts/a.parquet'",
    )
    plan.write_text(PLAN + 'exclude = ["stage"]\n' + MORE)
    assert set(states(run("publish", plan, "--json")).values()) == {"published"}
    change(
        tmp_path / "clinic.duckdb",
        "DELETE FROM visits WHERE id = 7",
        f"COPY (SELECT 300 + range AS id, range % 7 AS ward, ['flu', 'cold', 'none'][1 + range % 3] AS disease"
        f" FROM range(50)) TO '{tmp_path}/parts/b.parquet'",
    )
    attached = f"clinic={tmp_path}/clinic.duckdb"
    done = run("refresh", tmp_path / "hospital.duckdb", "--attach", attached, "--json")
    assert states(done) == {"p": "refreshed", "r": "refreshed", "s": "refreshed"}
    written = run("declare", tmp_path / "hospital.duckdb")
    assert (written.exit_code, written.stderr) == (0, "")
    again = tmp_path / "again.toml"
    again.write_text(written.stdout.replace("\n\n", '\n[attach]\nclinic = "clinic.duckdb"\n\n', 1))
    before, after = read_plan(str(plan)), read_plan(str(again))
    assert {each.release: each.stated for each in after.releases} == {
        each.release: each.stated for each in before.releases
    }
    assert set(states(run("publish", again, "--json")).values()) == {"current"}
    assert run("declare", tmp_path / "hospital.duckdb", "q").exit_code == 1


def test_one_that_fails_keeps_no_other_and_a_finding_is_3(plan, tmp_path):
    change(
        tmp_path / "clinic.duckdb",
        "ALTER TABLE visits ADD COLUMN name VARCHAR",
        "UPDATE visits SET name = 'n' || id",
    )
    plan.write_text(PLAN + MORE.partition("[release.p]")[0].replace("ward < 5", "nothing"))
    done = run("publish", plan)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("r: not published: blocker: public column 'name'")
    assert "\ns: not published: " in done.stderr
    assert run("publish", plan, "--only", "r").exit_code == 3
    plan.write_text(PLAN + 'exclude = ["name"]\n')
    done = run("publish", plan, "--only", "r", "--fail-on", "warning")
    assert done.exit_code in (0, 3)
    assert run("publish", plan, "--only", "q").exit_code == 1


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("retention", "retentoin", "did you mean 'retention'?"),
        ("database =", "databse =", "did you mean 'database'?"),
        ("card = false", "crad = false", "did you mean 'card'?"),
        ("card = false", "card = 'no'", "card must be true or false"),
        ('"uniform"', '"unifrom"', "unifrom"),
        ("retention = 0.5", "", "retention"),
        ("0.5", "0,5", "is not TOML"),
        ("[release.r]", "[releases.r]", "did you mean 'release'?"),
        ('method = "uniform"', "", "names no method"),
        ("[release.r]", "[release.x]\n[release.r]", "names no method"),
        ("database =", "fail_on = 'x'\ndatabase =", "fail_on must be one of"),
        ("[attach]", "init = 'a.sql'\n[attach]", "init must be a list"),
        ("hospital.duckdb", "no.duckdb", "there is no file"),
        ("clinic.duckdb", "no.duckdb", "there is no file"),
        ("title", "replace = true\ntitle", "has no key 'replace'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_a_sentence(plan, before, after, message):
    plan.write_text(PLAN.replace(before, after, 1))
    kept = {path: path.read_bytes() for path in plan.parent.iterdir()}
    done = run("publish", plan)
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in kept if path.suffix != ".duckdb"} == {
        path: data for path, data in kept.items() if path.suffix != ".duckdb"
    }


def test_values_are_read_as_they_were_written():
    for value in (
        'a"b\\c\n\t\x7fé😀',
        0.1,
        1e300,
        -3,
        True,
        ["a", [1.5]],
        {"a b": "c", "d": [True]},
    ):
        assert tomllib.loads(f"x = {toml(value)}")["x"] == value
