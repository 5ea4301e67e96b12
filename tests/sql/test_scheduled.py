"""A publication as a scheduler runs it: what is on stdout, on stderr and on disk, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import duckdb_priv
from duckdb_priv.shell.cli import main

PRIVATE = "Zxqv"
PLAN = """
database = "hospital.duckdb"

[release.visits_public]
method = "uniform"
source = "SELECT id, ward, disease FROM visits"
sensitive = "disease"
record_id = "id"
retention = 0.5
title = "Visits"
export = {path = "out/visits_public.duckdb", metadata = ["datapackage"]}
"""


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.out.splitlines()]


def cron(*given: object, **environment: str) -> Done:
    """Run a command as cron does: in no folder of its own, without a terminal, with few variables."""
    done = subprocess.run(
        [sys.executable, "-c", "from duckdb_priv.shell.cli import main; main()", *map(str, given)],
        cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
    )  # fmt: skip
    assert PRIVATE not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def here(*given: object, **environment: str) -> Done:
    """Run a command in this process, which saves the second in which another one starts."""
    done = CliRunner().invoke(main, list(map(str, given)), env=environment)
    assert PRIVATE not in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return Done(done.exit_code, done.stdout, done.stderr)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for each in folder.rglob("*")
        if each.is_file()
    }


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    with duckdb_priv.connect(tmp_path / "hospital.duckdb") as con:
        con.execute(
            f"CREATE TABLE visits AS SELECT id, '{PRIVATE}' || id AS name, id % 7 AS ward,"
            f" '{PRIVATE}' || hash(id) % 4 AS disease FROM range(400) AS t(id)"
        )
    (tmp_path / "out").mkdir()
    plan = tmp_path / "hospital.toml"
    plan.write_text(PLAN)
    return plan


def change(plan: Path, *statements: str) -> None:
    with duckdb.connect(str(plan.with_name("hospital.duckdb"))) as con:
        for statement in statements:
            con.execute(statement)


def test_nights_of_a_publication(plan):
    folder, release = plan.parent, plan.parent / "out" / "visits_public.duckdb"

    tried = here("publish", plan, "--dry-run", "--json")
    assert (tried.code, tried.err) == (0, "")
    assert tried.rows[0]["state"] == "would be published"
    assert not release.exists()

    first = cron("publish", plan, "--json")
    assert (first.code, first.err) == (0, "")
    (row,) = first.rows
    assert (row["release"], row["state"], row["rows_published"]) == (
        "visits_public",
        "published",
        400,
    )
    assert sorted(each.name for each in release.parent.iterdir()) == [
        "visits_public.datapackage.json", "visits_public.duckdb", "visits_public.html"
    ]  # fmt: skip
    assert sorted(each.name for each in folder.iterdir()) == [
        "hospital.duckdb",
        "hospital.toml",
        "out",
    ]

    before = files(release.parent)
    second = here("publish", plan, "--quiet")
    assert (second.code, second.err) == (0, "")
    assert second.out == "visits_public: nothing has changed since version 1\n"
    assert files(release.parent) == before

    change(plan, "DELETE FROM visits WHERE id = 7")
    third = cron("refresh", folder / "hospital.duckdb", "--only", "visits_public", "--json")
    assert (third.code, third.err) == (0, "")
    assert [(row["state"], row["version"]) for row in third.rows] == [("refreshed", 2)]
    described = json.loads((release.parent / "visits_public.datapackage.json").read_text("utf-8"))
    assert described["version"] == "2.0.0"
    assert described["resources"][0]["bytes"] == release.stat().st_size
    with duckdb.connect(str(release), read_only=True) as reader:
        assert reader.execute("SELECT version FROM priv.release").fetchall() == [(2,)]

    plan.write_text(PLAN.replace('"Visits"', '"All visits"'))
    fourth = here("publish", plan)
    assert fourth.code == 0
    assert fourth.err == (
        'visits_public: - title = "Visits"\nvisits_public: + title = "All visits"\n'
    )
    assert fourth.out.startswith("visits_public: 399 rows published, exported to ")


def test_eight_failures(plan):
    """Each ends with its code, says so in a line on stderr, prints nothing on stdout and changes no file."""
    assert cron("publish", plan).code == 0
    database = plan.with_name("hospital.duckdb")
    wrong = plan.with_name("wrong.toml")
    change(plan, "CREATE VIEW broken AS SELECT * REPLACE (disease::INTEGER AS disease) FROM visits")
    kept = files(plan.parent)

    def declared(before: str, after: str) -> Path:
        wrong.write_text(PLAN.replace(before, after))
        return wrong

    def fails(code: int, message: str, *given: object, run=here, **environment: str) -> None:
        done = run(*given, **environment)
        assert (done.code, done.out) == (code, ""), done
        assert message in done.err
        assert {**files(plan.parent), "wrong.toml": b""} == {**kept, "wrong.toml": b""}

    fails(1, "there is no file", "publish", declared("hospital.duckdb", "nowhere.duckdb"))
    fails(1, "did you mean 'retention'?", "publish", declared("retention", "retentoin"))
    fails(1, "text may quote a value", "publish", declared("FROM visits", "FROM broken"))
    fails(1, "the folder", "publish", declared("out/", "nowhere/"))
    fails(
        3,
        "visits_public: not published: blocker: ",
        "publish",
        declared("id, ward", "id, name, ward"),
    )
    fails(2, "No such option", "publish", plan, "--dry")
    fails(1, "is not 32 bytes long", "refresh", database, DUCKDB_PRIV_SECRET="abc")
    with duckdb.connect(str(database)):
        fails(1, "is open in another program", "publish", plan, run=cron)
