"""The commands of a pipeline, as a scheduler runs them: exit codes, what is on stdout and what on stderr."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

import duckdb_priv
from duckdb_priv.engine.randomness import fingerprint
from duckdb_priv.shell.cli import main
from duckdb_priv.shell.given_secret import parsed

SECRET = bytes(range(100, 132))
PRIVATE = "Zxqv"
"""In every value of a record, and nowhere else."""
VISITS = f"""
CREATE TABLE visits AS SELECT id, '{PRIVATE}' || id AS name, id % 7 AS ward, '{PRIVATE}' || id * id % 23 % 4 AS disease
FROM range(300) AS t(id)
"""
PUBLISH = """FROM priv.publish_uniform('{source}', '{release}', sensitive := 'disease', retention := 0.5,
    record_id := 'id', exclude := 'name')"""


@pytest.fixture(scope="module", autouse=True)
def plain(without_cards: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    with without_cards():
        yield


@pytest.fixture(scope="module")
def published(prepared_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a release that is exported, as `visits.duckdb`."""
    folder = tmp_path_factory.mktemp("published")
    path = shutil.copy(prepared_file, folder / "hospital.duckdb")
    with duckdb_priv.connect(path) as con:
        con.execute(VISITS)
        con.execute(PUBLISH.format(source="visits", release="r"))
    return Path(path)


@pytest.fixture
def hospital(published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(published, tmp_path / "hospital.duckdb"))


def run(*arguments: object, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), env=env)


def rows(done: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def change(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as con:
        for statement in statements:
            con.execute(statement)


# What is printed, and the exit code


def test_check_ends_with_3_where_something_is_found(hospital):
    asked = ["check", hospital, "visits", "--sensitive", "disease", "--record-id", "id"]
    done = run(*asked, "--json")
    assert (done.exit_code, done.stderr) == (3, "")
    assert {"severity", "finding", "columns", "figure", "what", "do"} <= set(rows(done)[0])
    assert done.stdout.count("\n") == len(rows(done)) > 1
    reported = run(*asked)
    assert (reported.exit_code, reported.stderr) == (3, "")
    assert len(reported.stdout.splitlines()) == len(rows(done))
    mild = run(*asked, "--exclude", "name", "--json")
    assert mild.exit_code == 0
    assert any(row["severity"] == rows(done)[-1]["severity"] for row in rows(mild))


def test_audit_says_by_its_exit_code_whether_claims_hold(hospital):
    done = run("audit", hospital, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert (rows(done)[0]["release"], rows(done)[0]["guarantee"]) == ("r", "verdict")
    change(hospital, "UPDATE r SET noisy_disease = (SELECT max(noisy_disease) FROM r)")
    assert run("audit", hospital, "--only", "r").exit_code == 3


def test_refresh_writes_what_is_due_and_says_what_is_not(hospital, tmp_path):
    place = tmp_path / "r.duckdb"
    done = run("export", hospital, "r", place, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert rows(done)[0]["path"] == str(place)
    change(hospital, "DELETE FROM visits WHERE id = 7")
    before = place.read_bytes()
    (row,) = rows(run("refresh", hospital, "--dry-run", "--json"))
    assert (row["release"], row["state"]) == ("r", "due")
    assert place.read_bytes() == before
    (row,) = rows(run("refresh", hospital, "--json"))
    assert (row["state"], row["version"], row["exported"]) == ("refreshed", 2, True)
    assert place.read_bytes() != before
    (row,) = rows(run("refresh", hospital, "--json"))
    assert row["state"] == "current"


def test_what_failed_is_on_stderr_and_keeps_no_other(hospital):
    with duckdb_priv.connect(hospital) as con:
        con.execute("CREATE TABLE others AS FROM visits")
        con.execute(PUBLISH.format(source="others", release="s"))
        con.execute("DELETE FROM visits WHERE id = 7")
        con.execute("ALTER TABLE others DROP disease")
    done = run("refresh", hospital)
    assert done.exit_code == 1
    assert done.stdout.startswith("r: version 2")
    assert done.stderr.startswith("s: not refreshed: ")
    assert run("refresh", hospital, "--only", "r").exit_code == 0
    states = {row["release"]: row["state"] for row in rows(run("refresh", hospital, "--json"))}
    assert states == {"r": "current", "s": "failed"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("refresh", "{folder}/no.duckdb"), 1, "there is no file"),
        (("refresh", "{folder}/empty.duckdb"), 1, "is an empty file"),
        (("refresh", "{folder}/text.duckdb"), 1, "is not a DuckDB database"),
        (("refresh", "{folder}/plain.duckdb"), 1, "nothing was ever published from"),
        (("refresh", "{folder}/release.duckdb"), 1, "is a release file"),
        (("refresh", "{folder}/none.duckdb"), 1, "this database has no release"),
        (("refresh", "{folder}/hospital.duckdb", "--only", "rr"), 1, "did you mean 'r'?"),
        (("audit", "{folder}/plain.duckdb"), 1, "nothing was ever published from"),
        (("check", "{folder}/plain.duckdb", "nope", "--sensitive", "a"), 1, "'nope'"),
        (("check", "{folder}/empty.duckdb", "nope", "--sensitive", "a"), 1, "is an empty file"),
        (("check", "{folder}/hospital.duckdb", "visits"), 2, "Missing option '--sensitive'"),
        (("refresh",), 2, "Missing argument"),
        (("refresh", "{folder}/hospital.duckdb", "--fail-on", "x"), 2, "No such option"),
        (("audit", "{folder}/hospital.duckdb", "--attach", "{folder}/no.duckdb"), 1, "no file"),
        (("audit", "{folder}/hospital.duckdb", "--init", "{folder}/no.sql"), 1, "no such file"),
    ],
)
def test_a_wrong_file_is_a_failure_that_writes_nothing(
    hospital, prepared_file, tmp_path, arguments, code, message
):
    (tmp_path / "empty.duckdb").touch()
    (tmp_path / "text.duckdb").write_text("no database " * 1000)
    duckdb.connect(str(tmp_path / "plain.duckdb")).close()
    shutil.copy(prepared_file, tmp_path / "none.duckdb")
    if "release" in arguments[-1]:
        assert run("export", hospital, "r", tmp_path / "release.duckdb").exit_code == 0
    kept = {
        path: path.read_bytes()
        for path in tmp_path.iterdir()
        if path.name not in ("plain.duckdb", "none.duckdb")
    }
    done = run(*(each.format(folder=tmp_path) for each in arguments))
    assert (done.exit_code, done.stdout) == (code, "")
    assert message in done.stderr
    assert {path: path.read_bytes() for path in kept} == kept


def test_quiet_says_no_words(hospital):
    asked = ["check", hospital, "one", "--sensitive", "disease", "--public", "ward"]
    change(hospital, "CREATE VIEW one AS SELECT ward, disease FROM visits")
    assert run(*asked, "--quiet").stderr == ""


def test_what_is_only_tried_changes_nothing(hospital, tmp_path):
    place, kept = tmp_path / "out.duckdb", hospital.read_bytes()
    asked = ["export", hospital, "r", place, "--metadata", "dcat"]
    (row,) = rows(run(*asked, "--dry-run", "--json"))
    assert row["path"] == str(place)
    assert run(*asked, "--dry-run").stdout == f"r: would be exported to {place}\n"
    refused = run("export", hospital, "r", tmp_path / "out.csv", "--dry-run")
    assert (refused.exit_code, "ends in .csv" in refused.stderr) == (1, True)
    mark = run("secret", "show-fingerprint", hospital).stdout
    reported = run("secret", "rotate", hospital, "--dry-run", "--json")
    assert "published with the former secret" in rows(reported)[0]["statement"]
    assert "fingerprint" not in rows(reported)[0]
    assert run("secret", "show-fingerprint", hospital).stdout == mark
    assert [each.name for each in tmp_path.iterdir()] == [hospital.name]
    assert hospital.read_bytes() == kept
    assert run(*asked).exit_code == 0
    assert {each.name for each in tmp_path.iterdir()} == {
        hospital.name, "out.duckdb", "out.html", "out.dcat.json"
    }  # fmt: skip


def test_what_could_not_be_verified_is_a_warning(hospital, tmp_path):
    place = tmp_path / "out.duckdb"
    assert run("export", hospital, "r", place).exit_code == 0
    done = run("verify", place)
    assert (done.exit_code, done.stderr.startswith("not checked: who made it")) == (0, True)
    done = run("verify", place, "--fail-on", "warning", "--quiet", "--json")
    assert (done.exit_code, done.stderr) == (3, "")
    assert rows(done)[0]["signed_by"] is None


def test_what_is_declared_is_a_row_of_each_release(hospital):
    (row,) = rows(run("declare", hospital, "--json"))
    assert (row["release"], row["method"], row["retention"]) == ("r", "uniform", 0.5)


# What is beside the database


def test_a_source_in_another_database_is_refreshed(hospital, tmp_path):
    clinic, script = tmp_path / "clinic.duckdb", tmp_path / "first.sql"
    change(clinic, VISITS)
    script.write_text("CREATE OR REPLACE TEMP MACRO first() AS 1; SET threads = 1;")
    with duckdb_priv.connect(hospital) as con:
        con.execute("DROP TABLE r; DROP TABLE visits; DELETE FROM priv.release")
        con.execute(f"ATTACH '{clinic}' AS c (READ_ONLY)")
        con.execute(PUBLISH.format(source="c.visits", release="t"))
    change(clinic, "DELETE FROM visits WHERE id = 7")
    assert run("refresh", hospital, "--only", "t").exit_code == 1
    (row,) = rows(run("refresh", hospital, "--attach", f"c={clinic}", "--init", script, "--json"))
    assert (row["state"], row["gone_records"]) == ("refreshed", 1)
    with duckdb.connect(str(clinic)) as con:
        assert con.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(1,)]


@pytest.fixture(scope="module")
def with_secret_outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("outside") / "outside.duckdb"
    with duckdb_priv.connect(path, secret=SECRET) as con:
        con.execute(VISITS)
        con.execute(PUBLISH.format(source="visits", release="r"))
        con.execute("DELETE FROM visits WHERE id = 7")
    return path


@pytest.fixture
def outside(with_secret_outside: Path, tmp_path: Path) -> Path:
    """A database whose secret is kept outside of it."""
    return Path(shutil.copy(with_secret_outside, tmp_path / "outside.duckdb"))


def kept_in(path: Path, data: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(data)
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    "written", [SECRET, SECRET.hex().encode() + b"\n", base64.b64encode(SECRET)]
)
def test_a_secret_is_read_in_three_forms(written):
    assert parsed(written, "it") == SECRET


@pytest.mark.parametrize("how", ["file", "command", "variable"])
def test_a_secret_that_is_kept_outside_is_given(outside, tmp_path, how):
    place = kept_in(tmp_path / "secret", SECRET.hex().encode())
    options, env = {
        "file": (["--secret-file", place], None),
        "command": (["--secret-command", f"cat '{place}'"], None),
        "variable": ([], {"DUCKDB_PRIV_SECRET": SECRET.hex()}),
    }[how]
    done = run("refresh", outside, *options, "--json", env=env)
    assert done.exit_code == 0, done.stderr
    assert rows(done)[0]["state"] == "refreshed"


def test_without_its_secret_nothing_is_refreshed(outside):
    done = run("refresh", outside)
    assert done.exit_code == 1
    assert "the secret of this database is kept by its owner" in done.stderr


@pytest.mark.parametrize(
    ("data", "mode", "message"),
    [
        (SECRET[:31], 0o600, "is not 32 bytes long"),
        (SECRET.hex().encode()[:-1], 0o600, "is not 32 bytes long"),
        (b"", 0o600, "is not 32 bytes long"),
        (SECRET, 0o640, "other users of this machine may read it"),
        (SECRET[::-1], 0o600, "not the one that this database has published with"),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_a_wrong_secret_is_refused_and_not_shown(outside, tmp_path, data, mode, message):
    place = kept_in(tmp_path / "secret", data, mode)
    done = run("refresh", outside, "--secret-file", place)
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr
    for secret in (data, SECRET):
        assert not secret or secret.hex() not in done.output
        assert not secret or secret.decode("latin-1") not in done.output


def test_a_first_look_at_a_database_decides_nothing(prepared_file, tmp_path):
    """A check makes an empty catalog with a secret, on which nothing depends yet."""
    database = Path(shutil.copy(prepared_file, tmp_path / "hospital.duckdb"))
    change(database, VISITS)
    looked = run(
        "check", database, "visits", "--sensitive", "disease", "--record-id", "id", "--quiet"
    )
    assert looked.exit_code in (0, 3)
    for command in ("audit", "refresh", "registry"):
        done = run(command, database)
        assert (done.exit_code, done.stdout) == (1, "")
        assert "this database has no release" in done.stderr
    with duckdb_priv.connect(database, secret=SECRET) as con:
        con.execute(PUBLISH.format(source="visits", release="r"))
    with pytest.raises(duckdb_priv.PrivError, match="not the one that this database"):
        duckdb_priv.connect(database, secret=SECRET[::-1])
    place = kept_in(tmp_path / "secret", SECRET.hex().encode())
    assert run("audit", database, "--secret-file", place).exit_code == 0


@pytest.mark.parametrize(("command", "message"), [("exit 4", "ended with 4"), ("true", "32 bytes")])
def test_a_command_that_gives_no_secret_is_refused(outside, command, message):
    done = run("refresh", outside, "--secret-command", command)
    assert done.exit_code == 1
    assert message in done.stderr


def test_a_secret_is_given_once(outside, tmp_path):
    done = run("refresh", outside, "--secret-file", tmp_path, "--secret-command", "true")
    assert done.exit_code == 1
    assert "by a file and by a command" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_a_secret_is_made_named_changed_and_kept_in_another_place(hospital, tmp_path):
    place, copy = tmp_path / "new", tmp_path / "copy"
    made = run("secret", "new", place)
    assert (made.exit_code, made.stdout.strip()) == (
        0,
        fingerprint(parsed(place.read_bytes(), "it")),
    )
    assert run("secret", "new", place).exit_code == 1
    first = run("secret", "show-fingerprint", hospital).stdout
    assert run("secret", "backup", hospital, copy).stdout == first
    assert fingerprint(parsed(copy.read_bytes(), "it")) == first.strip()
    assert {path.stat().st_mode & 0o777 for path in (place, copy)} == {0o600}
    assert run("secret", "rotate", hospital).stdout.startswith(
        run("secret", "show-fingerprint", hospital).stdout.strip()
    )
    assert run("secret", "show-fingerprint", hospital).stdout != first
    assert place.read_text().strip() not in made.output


# What messages hold


REFUSED: dict[str, Callable[[Path], tuple[object, ...]]] = {
    "a domain that lacks values": lambda path: (
        "shell",
        path,
        "-c",
        PUBLISH.format(source="visits", release="x")[:-1] + ", domain := ['a', 'b'])",
    ),
    "a matrix that lacks values": lambda path: (
        "shell",
        path,
        "-c",
        "CREATE TABLE m AS SELECT o AS original, p AS published, 0.5 AS probability"
        " FROM unnest(['a', 'b']) AS t(o), unnest(['a', 'b']) AS u(p);"
        "FROM priv.publish_matrix('visits', 'x', sensitive := 'disease', matrix := 'm', record_id := 'id',"
        " exclude := 'name')",
    ),
    "requirements that lack values": lambda path: (
        "shell",
        path,
        "-c",
        "CREATE TABLE q AS SELECT 'a' AS value, 0.1 AS rho1, 0.5 AS rho2;"
        "FROM priv.publish_fine_grain('visits', 'x', sensitive := 'disease', requirements := 'q', record_id := 'id',"
        " exclude := 'name')",
    ),
    "a hierarchy that lacks values": lambda path: (
        "shell",
        path,
        "-c",
        "CREATE TABLE h AS SELECT 'name' AS attribute, 'a' AS value, 1 AS level, 'b' AS generalized;"
        "FROM priv.publish_safe_k('visits', 'x', k := 5, beta := 0.1, record_id := 'id', hierarchies := 'h',"
        " levels := {'name': 1, 'disease': 0, 'ward': 0})",
    ),
    "a column that identifies": lambda path: (
        "shell",
        path,
        "-c",
        PUBLISH.format(source="visits", release="x").replace(", exclude := 'name'", ""),
    ),
    "a view that cannot be read": lambda path: (
        "shell",
        path,
        "-c",
        "CREATE VIEW w AS SELECT * REPLACE (disease::INTEGER AS disease) FROM visits;"
        + PUBLISH.format(source="w", release="x"),
    ),
    "ids that are no ids": lambda path: (
        "shell",
        path,
        "-c",
        "CREATE TABLE twice AS FROM visits UNION ALL FROM visits;"
        "FROM priv.publish_uniform('twice', 'x', sensitive := 'disease', retention := 0.5, record_id := 'name')",
    ),
    "a check": lambda path: ("check", path, "visits", "--sensitive", "disease"),
    "a check of a view that cannot be read": lambda path: (
        "check",
        path,
        "w",
        "--sensitive",
        "disease",
    ),
    "a refresh of a domain that grew": lambda path: ("refresh", path),
    "an audit": lambda path: ("audit", path),
    "an audit of a source that cannot be read": lambda path: ("audit", path),
    "a publication of a file": lambda path: ("publish", declared(path, "SELECT * FROM visits")),
    "a publication of a view that cannot be read": lambda path: (
        "publish",
        declared(path, "SELECT id, ward, disease::INTEGER AS disease FROM visits"),
    ),
    "a publication whose domain lacks values": lambda path: (
        "publish",
        declared(path, "SELECT id, ward, disease FROM visits", "domain = ['a', 'b']"),
    ),
    "an export to a folder that is not there": lambda path: (
        "export",
        path,
        "r",
        path.parent / "no" / "r.duckdb",
    ),
    "a description": lambda path: ("registry", path),
    "a declaration": lambda path: ("declare", path),
    "a list of releases": lambda path: ("releases", path),
    "a card of a source that cannot be read": lambda path: (
        "report",
        path,
        "r",
        "-o",
        path.parent / "card.html",
    ),
    "a verification of a database": lambda path: ("verify", path),
    "the page of a database": lambda path: ("explore", path),
    "a secret": lambda path: ("secret", "show-fingerprint", path),
}
UNREAD = {name for name in REFUSED if name.endswith("of a source that cannot be read")}
ANSWERED = {
    "an audit",
    "an audit of a source that cannot be read",
    "a description",
    "a declaration",
    "a list of releases",
    "a card of a source that cannot be read",
    "a secret",
}
"""What is no refusal."""


def declared(path: Path, source: str, more: str = "") -> Path:
    plan = path.with_name("plan.toml")
    plan.write_text(
        f'database = "{path}"\n[release.x]\nmethod = "uniform"\nsource = "{source}"\nsensitive = "disease"\n'
        f'retention = 0.5\nrecord_id = "id"\n{more}\n'
    )
    return plan


def test_every_command_that_opens_a_database_is_tried(tmp_path):
    tried = {str(arguments(tmp_path / "x.duckdb")[0]) for arguments in REFUSED.values()}
    assert set(main.commands) - tried == {"key", "demo"}


@pytest.mark.parametrize("what", REFUSED)
def test_no_message_holds_a_value_of_a_record(hospital, what):
    change(
        hospital,
        "CREATE VIEW w AS SELECT * REPLACE (disease::INTEGER AS disease) FROM visits"
        if what == "a check of a view that cannot be read"
        else "SELECT 1",
        f"UPDATE visits SET disease = '{PRIVATE}new' WHERE id < 3"
        if what == "a refresh of a domain that grew"
        else "SELECT 1",
    )
    if what in UNREAD:
        change(
            hospital,
            "ALTER TABLE visits RENAME TO private",
            "CREATE VIEW visits AS SELECT * REPLACE (disease::INTEGER AS disease) FROM private",
        )
    done = run(*REFUSED[what](hospital))
    assert (done.exit_code in (1, 3)) == (what not in ANSWERED), done.output
    assert PRIVATE not in done.output


def test_registry_describes_every_release(hospital):
    done = run("registry", hospital, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    (row,) = rows(done)
    assert (row["release"], row["unit_of_privacy"]) == ("r", "one sensitive value of one record")
    words = run("registry", hospital, "--only", "r").stdout
    assert row["impact_assessment"] in words
    assert PRIVATE not in done.stdout + words
    missing = run("registry", hospital, "--only", "rr")
    assert (missing.exit_code, "did you mean 'r'" in missing.stderr) == (1, True)
