"""A signed release proves itself: every change of it is noticed, no honest copy is accused, and nothing of it runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import duckdb_priv
from duckdb_priv.errors import InvalidParameter, InvalidReleaseFile, NotVerified
from duckdb_priv.publisher.signing import new_key, public_key
from duckdb_priv.shell.cli import main

ROOT = Path(__file__).parents[2]
OLDEST = ROOT / ".venv" / "duckdb-1.5.6"
PUBLISH = """
    CREATE TABLE visits AS SELECT id, id % 7 AS ward, DATE '2020-01-01' + (id % 9)::INTEGER AS day,
        id % 4 = 0 AS urgent, (id % 11) / 4.0 AS score, ['a', 'bb', NULL][1 + id % 5 % 3]::ENUM('bb', 'a') AS kind,
        TIMESTAMP '2020-01-01' + INTERVAL 1 DAY * (id % 6) AS seen, (id % 3)::DECIMAL(9, 2) AS price,
        ['asthma', 'cold', 'it''s; "flu"', NULL][1 + id * id % 23 % 4] AS disease, id * id % 11 % 5 AS stage
    FROM range(2000) AS t(id);
    COMMENT ON COLUMN visits.ward IS 'where it was';
    FROM priv.publish_uniform('visits', 'r', sensitive := ['disease', 'stage'], retention := 0.4, record_id := 'id',
        public := ['ward', 'day', 'urgent', 'score', 'kind', 'seen', 'price'], title := 'Visits');
"""
EXPORT = "FROM priv.export_release('r', ?, format := ?, sign := ?, key_file := ?)"


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory,
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    for_files: Callable[[], AbstractContextManager[None]],
) -> Path:
    """A folder with a key, and a release that is signed with it, as a file and as Parquet, and one that is not."""
    place = tmp_path_factory.mktemp("signed")
    for name in ("key", "other"):
        new_key(place / name)
    key = str(place / "key")
    with for_files(), prepared() as con:
        con.execute(PUBLISH)
        for path, form in (("r.duckdb", "duckdb"), ("r", "parquet")):
            ((*_, signed_with),) = con.execute(
                EXPORT, [str(place / path), form, True, key]
            ).fetchall()
            assert signed_with == public_key(place / "key.pub")
        con.execute(EXPORT, [str(place / "plain.duckdb"), "duckdb", False, None]).fetchall()
    return place


def change(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as con:
        for statement in statements:
            con.execute(statement)


# Honest copies


def copied(folder: Path, place: Path) -> Path:
    return Path(shutil.copy(folder / "r.duckdb", place / "another name.duckdb"))


def copied_as_database(folder: Path, place: Path) -> Path:
    with duckdb.connect() as con:
        con.execute(
            f"ATTACH '{folder}/r.duckdb' AS one (READ_ONLY); ATTACH '{place}/copy.duckdb' AS two"
        )
        con.execute("COPY FROM DATABASE one TO two; DETACH one; DETACH two")
    return place / "copy.duckdb"


def as_parquet(folder: Path, place: Path) -> Path:
    return Path(shutil.copytree(folder / "r", place / "copied"))


def set_up_from_parquet(folder: Path, place: Path) -> Path:
    script = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute(open('setup.sql').read())"
    path = place / "built.duckdb"
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, cwd=folder / "r")
    return path


COPIES = [copied, copied_as_database, as_parquet, set_up_from_parquet]


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: copy.__name__)
def test_an_honest_copy_is_verified(folder, tmp_path, copy):
    found = duckdb_priv.verify(copy(folder, tmp_path), folder / "key.pub")
    assert (found.release, found.signed_by) == ("r", public_key(folder / "key.pub"))
    assert len(found.checked) == 3
    assert not found.unchecked


OTHER = """
import sys, duckdb, duckdb_priv
from pathlib import Path
from duckdb_priv.card import export
export.analyst_card = lambda *_: "<!doctype html>\\n<p>No card.</p>\\n"
folder, place = map(Path, sys.argv[1:3])
assert duckdb_priv.verify(folder / "r.duckdb", folder / "key.pub").signed_by
with duckdb_priv.connect(secret=bytes(range(32))) as con:
    con.execute(sys.argv[3])
    con.execute(sys.argv[4], [str(place / "r.duckdb"), "duckdb", True, str(folder / "key")]).fetchall()
"""


@pytest.mark.skipif(
    not OLDEST.is_dir(), reason="the oldest DuckDB is not installed beside this one"
)
def test_releases_of_one_duckdb_are_verified_by_another(folder, tmp_path):
    if duckdb.__version__.startswith("1."):
        pytest.skip("this is the oldest")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(OLDEST)])}
    command = [sys.executable, "-c", OTHER, str(folder), str(tmp_path), PUBLISH, EXPORT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(duckdb_priv.verify(tmp_path / "r.duckdb", folder / "key.pub").checked) == 3


# Changes

REWRITTEN = (
    "CREATE OR REPLACE MACRO priv.weight(_release, _column, _value, weight := NULL) AS (SELECT content FROM"
    " read_text('/etc/hostname'))"
)
CHANGES = {
    "a value of a row": "UPDATE r SET ward = ward + 1 WHERE rowid = 7",
    "the order of rows": "CREATE TABLE k AS FROM r ORDER BY rowid DESC; DELETE FROM r;"
    " INSERT INTO r FROM k; DROP TABLE k",
    "a number": "UPDATE priv.coefficient SET own = own * 0.99 WHERE position = 1",
    "a title": "UPDATE priv.release SET title = 'Visit'",
}
"""Changes of rows and catalog: only the signature shows them. ``benchmarks/signatures.py`` makes a thousand others."""
PLANTED = {
    "a macro": REWRITTEN,
    "a default of a parameter": "CREATE OR REPLACE MACRO estimated.arbitrary(x, y := 1, z := NULL) AS x",
    "a table function more": "CREATE MACRO more() AS TABLE FROM read_text('/etc/hostname')",
    "a view": "CREATE OR REPLACE VIEW priv.example AS SELECT 1 AS number",
    "a table more": "CREATE TABLE more(a INTEGER)",
    "a type": "CREATE TYPE more AS ENUM ('a')",
    "a comment": "COMMENT ON COLUMN r.ward IS 'call 0900 1234'",
    "the release as a view": "ALTER TABLE r RENAME TO s; CREATE VIEW r AS FROM s",
    "a computed column": "CREATE TABLE k AS FROM r; DROP TABLE r; CREATE TABLE r (ward BIGINT,"
    " noisy_disease VARCHAR GENERATED ALWAYS AS (upper('x')));",
    "the catalog as a view": "ALTER TABLE priv.guarantee RENAME TO g; CREATE VIEW priv.guarantee AS FROM priv.g",
}
"""Objects that are not what the library writes: noticed without a key, too."""


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_what_was_signed_is_noticed(folder, tmp_path, what):
    path = copied(folder, tmp_path)
    change(path, CHANGES[what])
    with pytest.raises(NotVerified, match="is not verified: "):
        duckdb_priv.verify(path, folder / "key.pub")


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_object_is_noticed_without_a_key(folder, tmp_path, what):
    path = Path(shutil.copy(folder / "plain.duckdb", tmp_path / "r.duckdb"))
    change(path, PLANTED[what])
    with pytest.raises((NotVerified, InvalidReleaseFile)):
        duckdb_priv.verify(path)


DISAGREEING = {
    "a row more": ("INSERT INTO r FROM r LIMIT 1", "it has 2,001 rows, and its catalog says 2,000"),
    "a value outside": (
        "ALTER TABLE r ALTER noisy_stage TYPE ENUM('0', '1', '3', '4', '9');"
        " UPDATE r SET noisy_stage = '9' WHERE rowid < 2",
        "'noisy_stage' has another domain",
    ),
    "a column less": ("ALTER TABLE r DROP seen", "it has other columns than its catalog says"),
    "another type": ("ALTER TABLE r ALTER ward TYPE INTEGER", "'ward' has another type"),
}


@pytest.mark.parametrize("what", DISAGREEING)
def test_rows_agree_with_the_catalog(folder, tmp_path, what):
    path = Path(shutil.copy(folder / "plain.duckdb", tmp_path / "r.duckdb"))
    statement, message = DISAGREEING[what]
    change(path, statement)
    with pytest.raises(NotVerified, match=message):
        duckdb_priv.verify(path)


@pytest.mark.once
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DROP VIEW priv.signature", "it is not signed"),
        (
            "CREATE OR REPLACE VIEW priv.signature AS FROM (VALUES ('{}', 'a', 'b')) AS t(signed, signature, k)",
            "its signature is damaged",
        ),
    ],
)
def test_a_signature_that_is_none_is_refused(folder, tmp_path, statement, message):
    path = copied(folder, tmp_path)
    change(path, statement)
    with pytest.raises(NotVerified, match=message):
        duckdb_priv.verify(path, folder / "key.pub")


@pytest.mark.once
def test_the_signature_of_another_release_is_refused(folder, tmp_path):
    path = Path(shutil.copy(folder / "plain.duckdb", tmp_path / "r.duckdb"))
    with duckdb.connect(str(folder / "r.duckdb"), read_only=True) as con:
        ((sql,),) = con.execute(
            "SELECT sql FROM duckdb_views() WHERE view_name = 'signature'"
        ).fetchall()
    change(path, sql, "UPDATE priv.release SET title = 'Other'")
    with pytest.raises(NotVerified, match="its signature is of another catalog"):
        duckdb_priv.verify(path)


def add_to(file: Path, text: str) -> None:
    file.write_text(file.read_text("utf-8") + text, "utf-8")


def other_rows(file: Path) -> None:
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS FROM '{file}'")
        con.execute(
            f"COPY (SELECT * REPLACE (ward + 1 AS ward) FROM t) TO '{file}' (FORMAT parquet)"
        )


@pytest.mark.once
@pytest.mark.parametrize(
    ("what", "do"),
    [
        ("a file more", lambda place: (place / "more.sql").write_text("SELECT 1")),
        ("no catalog", lambda place: (place / "catalog" / "release.parquet").unlink()),
        ("a statement more", lambda place: add_to(place / "setup.sql", "SELECT 1;")),
        ("other rows", lambda place: other_rows(place / "data.parquet")),
    ],
)
def test_a_changed_folder_is_noticed(folder, tmp_path, what, do):
    place = as_parquet(folder, tmp_path)
    do(place)
    with pytest.raises(NotVerified):
        duckdb_priv.verify(place, folder / "key.pub")


@pytest.mark.once
def test_nothing_of_a_release_runs(folder, tmp_path):
    """A file whose views and macros would write, read or never end."""
    path, note = copied(folder, tmp_path), tmp_path / "note.txt"
    note.write_text("a note of the analyst")
    change(
        path,
        f"CREATE MACRO note() AS (SELECT content FROM read_text('{note}'))",
        "CREATE MACRO count(a) AS note(); CREATE MACRO lower(a) AS note(); CREATE MACRO sum(a) AS note()",
        f"CREATE OR REPLACE VIEW priv.card AS SELECT content AS html FROM read_text('{note}')",
        "CREATE VIEW endless AS SELECT sum(a.range) FROM range(1000000000) a, range(1000000000) b",
    )
    for key in (None, folder / "key.pub"):
        with pytest.raises(NotVerified) as refused:
            duckdb_priv.verify(path, key)
        assert "a note" not in str(refused.value)


# Keys


@pytest.mark.once
def test_another_key_is_refused_and_none_says_what_was_not_checked(folder):
    path = folder / "r.duckdb"
    with pytest.raises(NotVerified, match="signed with another key"):
        duckdb_priv.verify(path, folder / "other.pub")
    with pytest.raises(NotVerified, match="it is not signed"):
        duckdb_priv.verify(folder / "plain.duckdb", folder / "key.pub")
    found = duckdb_priv.verify(path)
    assert found.signed_by is None
    assert "give the key that its publisher gave you" in found.unchecked[0]
    assert "it is not signed" in duckdb_priv.verify(folder / "plain.duckdb").unchecked[0]
    with pytest.raises(InvalidParameter, match="this is a private key"):
        duckdb_priv.verify(path, folder / "key")


@pytest.mark.once
@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_the_commands_make_a_key_sign_and_verify(prepared_file, tmp_path, without_cards, for_files):
    def run(*arguments: object) -> tuple[int, str, str]:
        done = CliRunner().invoke(main, list(map(str, arguments)))
        return done.exit_code, done.stdout, done.stderr

    database = shutil.copy(prepared_file, tmp_path / "hospital.duckdb")
    with for_files(), duckdb_priv.connect(database, secret=bytes(range(32))) as con:
        con.execute(PUBLISH)
    key, out = tmp_path / "hospital.key", tmp_path / "out.duckdb"
    code, public, words = run("key", "new", key)
    assert (code, public_key(public.strip())) == (0, public_key(tmp_path / "hospital.key.pub"))
    assert "give " in words
    assert key.stat().st_mode & 0o777 == 0o600
    assert run("key", "new", key)[0] == 1
    options = ["--secret-command", f"printf %s {bytes(range(32)).hex()}"]
    with without_cards():
        code, stated, _ = run("export", database, "r", out, "--sign", "--key-file", key, *options)
    assert (code, public.strip() in stated) == (0, True)
    code, stated, words = run("verify", out, "--key", f"{key}.pub")
    assert (code, words) == (0, "")
    assert "is verified: its rows agree with its catalog; every macro" in stated
    code, _, words = run("verify", out)
    assert code == 0
    assert words.startswith("not checked: who made it")
    code, stated, words = run("verify", out, "--key", tmp_path)
    assert (code, stated) == (1, "")
    assert "is neither a public Ed25519 key" in words
    change(out, "DELETE FROM r WHERE rowid = 1")
    code, stated, words = run("verify", out, "--key", f"{key}.pub")
    assert (code, stated) == (1, "")
    assert "its signature is of other rows" in words
    key.chmod(0o640)
    code, _, words = run("export", database, "r", out, "--sign", "--key-file", key, *options)
    assert code == 1
    assert "other users of this machine may read it" in words


@pytest.mark.once
def test_our_tools_say_whether_what_they_open_was_verified(folder, tmp_path, caplog):
    def run(*arguments: object) -> tuple[int, str]:
        done = CliRunner().invoke(main, list(map(str, arguments)))
        return done.exit_code, done.stderr

    card, changed = tmp_path / "card.html", copied(folder, tmp_path)
    change(changed, "UPDATE r SET ward = ward + 1 WHERE rowid = 7")
    report = ["report", "-o", card, "--release-file"]
    code, words = run(*report, folder / "r.duckdb", "--key", folder / "key.pub")
    assert (code, words.count("\n")) == (0, 1)
    assert words.startswith("release r is verified: ")
    code, words = run(*report, changed)
    assert (code, "is not verified: its signature is of other rows; hint: do not" in words) == (
        0,
        True,
    )
    card.unlink()
    code, words = run(*report, changed, "--key", folder / "key.pub")
    assert (code, "its signature is of other rows" in words) == (1, True)
    assert not card.exists()
    attach = f"ATTACH '{folder / 'r.duckdb'}' AS one (READ_ONLY)"
    code, words = run("shell", "-c", attach)
    assert code == 0
    assert "one: release r is verified: " in words.replace("\n", " ")
    assert "one: not checked: who made it" in words.replace("\n", " ")
    with caplog.at_level("INFO", "duckdb_priv"):
        duckdb_priv.open_release(folder / "r.duckdb").close()
    assert "was not verified: duckdb_priv.verify(path, key) does that" in caplog.text


@pytest.mark.once
def test_without_a_key_nothing_is_signed(prepared, tmp_path, monkeypatch, for_files):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "text.key").write_text("no key")
    (tmp_path / "text.key").chmod(0o600)
    with for_files(), prepared() as con:
        con.execute(PUBLISH)
        path = str(tmp_path / "r.duckdb")
        for key, message in (
            (None, "there is no key to sign with"),
            ("text.key", "holds no private Ed25519 key"),
        ):
            file = key and str(tmp_path / key)
            with pytest.raises(duckdb.Error, match=message):
                con.execute(EXPORT, [path, "duckdb", True, file]).fetchall()
        with pytest.raises(duckdb.Error, match="key_file is for what is signed"):
            con.execute(EXPORT, [path, "duckdb", False, "x"]).fetchall()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["text.key"]


@pytest.mark.once
def test_a_release_of_a_newer_version_is_refused(folder, tmp_path):
    path = copied(folder, tmp_path)
    change(path, "UPDATE priv.release SET library_version = '99.1.0'")
    with pytest.raises(InvalidReleaseFile, match=r"was written by duckdb_priv 99\.1"):
        duckdb_priv.verify(path)
