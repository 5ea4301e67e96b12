"""The secret: who can read it, what is too weak to be one, how it is changed, and files that are encrypted."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import duckdb
import pytest
from answers import named_row

import duckdb_priv
from duckdb_priv.engine import private_files
from duckdb_priv.errors import InvalidParameter, NotInstalled
from duckdb_priv.publisher import rotation

pytestmark = pytest.mark.usefixtures("plain_files")

VISITS = "CREATE TABLE visits AS SELECT i AS id, i % 5 AS ward, 'd' || i % 7 AS disease FROM range(700) AS t(i)"
UNIFORM = "FROM priv.publish_uniform('visits', '{}', sensitive := 'disease', retention := 0.5, record_id := 'id')"
SPLU = "FROM priv.publish_splu('visits', '{}', sensitive := 'disease', gamma := 3, record_id := 'id'{})"

posix = pytest.mark.skipif(os.name != "posix", reason="files have no such modes here")


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    assert os.umask(before) == 0o022


@posix
@pytest.mark.usefixtures("usual_umask")
class TestFiles:
    def test_a_file_that_is_made_is_its_owners(self, tmp_path):
        with duckdb_priv.connect(tmp_path / "hospital.duckdb") as con:
            assert modes(tmp_path) == {0o600}
            con.execute("FROM priv.rotate_secret()")
            assert modes(tmp_path) == {0o600}
        assert modes(tmp_path) == {0o600}

    def test_a_file_that_was_there_is_its_owners_before_it_has_a_secret(self, tmp_path):
        path = tmp_path / "hospital.duckdb"
        with duckdb.connect(str(path)) as con:
            con.execute("SET checkpoint_threshold = '1TB'")
            con.execute(VISITS)
            assert modes(tmp_path) == {0o644}
            duckdb_priv.install(con)
            assert modes(tmp_path) == {0o600}
            ((key,),) = con.execute("SELECT key FROM priv.secret").fetchall()
            # The write-ahead file, in which it stood first, is made again with the next statement.
            assert not any(key in file.read_bytes() for file in tmp_path.glob("*.wal"))
        path.chmod(0o640)
        duckdb_priv.connect(path).close()
        assert modes(tmp_path) == {0o640}, "what the owner decides later stays"

    def test_an_attached_file_is_its_owners(self, tmp_path):
        with duckdb.connect() as con:
            con.execute(f"ATTACH '{tmp_path / 'hospital.duckdb'}' AS hospital; USE hospital")
            duckdb_priv.install(con)
        assert modes(tmp_path) == {0o600}

    def test_where_it_cannot_be_so_there_is_no_secret(self, tmp_path, monkeypatch):
        def refuse(path, mode):
            raise PermissionError(1, "Operation not permitted", str(path))

        path = tmp_path / "hospital.duckdb"
        duckdb.connect(str(path)).close()
        with monkeypatch.context() as patched:
            patched.setattr(Path, "chmod", refuse)
            with pytest.raises(
                NotInstalled,
                match="readable by its owner only: Operation not permitted\nHint: keep",
            ):
                duckdb_priv.connect(path)
        with duckdb.connect(str(path)) as con:
            assert con.execute("SELECT count(*) FROM priv.secret").fetchall() == [(0,)]

    def test_what_the_owner_decides_holds_for_what_is_beside(self, tmp_path):
        path = tmp_path / "hospital.duckdb"
        duckdb_priv.connect(path).close()
        path.chmod(0o640)
        with duckdb_priv.connect(path) as con:
            con.execute("CHECKPOINT")
            con.execute(VISITS)
            con.execute(UNIFORM.format("out"))
            assert modes(tmp_path) <= {0o640, 0o600}
        with duckdb_priv.connect(path) as con:
            con.execute("CHECKPOINT")
            con.execute("DROP TABLE visits")
            assert modes(tmp_path) == {0o640, 0o644}, "DuckDB makes the write-ahead file by itself"
            con.execute("FROM priv.publications()")
            assert modes(tmp_path) == {0o640}

    def test_a_release_is_for_everyone(self, tmp_path):
        with duckdb_priv.connect() as con:
            con.execute(VISITS)
            con.execute(UNIFORM.format("out"))
            con.execute("FROM priv.export_release('out', ?)", [str(tmp_path / "out.duckdb")])
        assert modes(tmp_path) == {0o644}

    def test_two_threads_leave_the_umask_as_it_was(self):
        inside, leave = threading.Event(), threading.Event()

        def first():
            with private_files.made_for_owner():
                inside.set()
                leave.wait(600)

        thread = threading.Thread(target=first)
        thread.start()
        inside.wait(600)
        with private_files.made_for_owner():
            leave.set()
            thread.join(600)
            assert os.umask(0o077) == 0o077


@pytest.mark.parametrize(
    "weak",
    [
        bytes(32),
        b"x" * 32,
        b"correct horse battery staple 123",
        b"correct-Horse_battery=staple!123",
        bytes(range(8)) * 4,
    ],
)
def test_a_weak_secret_is_refused_and_not_shown(weak, tmp_path):
    with pytest.raises(
        InvalidParameter, match=r"can be guessed\nHint: make one with secrets\.token_bytes"
    ) as refused:
        duckdb_priv.connect(tmp_path / "hospital.duckdb", secret=weak)
    assert weak.hex() not in str(refused.value)
    assert "battery" not in str(refused.value)


class TestRotation:
    @pytest.fixture
    def con(self, prepared):
        with prepared(secret=None) as connection:
            connection.execute(VISITS)
            yield connection

    def rotate(self, con):
        return named_row(con, "FROM priv.rotate_secret()")

    def test_nothing_published_costs_nothing(self, con):
        before = con.execute("SELECT key, fingerprint FROM priv.secret").fetchall()
        reported = self.rotate(con)
        after = con.execute("SELECT key, fingerprint FROM priv.secret").fetchall()
        assert len(after) == 1
        assert before[0][0] != after[0][0]
        assert (reported["fingerprint"], reported["releases"]) == (after[0][1], 0)
        assert "costs nothing" in reported["statement"]

    def test_published_again_it_costs_its_epsilon(self, con):
        con.execute(UNIFORM.format("one"))
        con.execute(UNIFORM.format("two"))
        reported = self.rotate(con)
        assert reported["releases"] == 2
        assert reported["statement"].startswith(
            "2 releases were published with the former secret, and stay as they are"
        )
        con.execute(UNIFORM.format("three"))
        assert con.execute("SELECT adds > 0 FROM priv.ledger()").fetchall() == [
            (True,), (False,), (True,),
        ]  # fmt: skip
        ((first, last, one),) = con.execute(
            "SELECT min(total), max(total), any_value(epsilon) FROM priv.ledger()"
        ).fetchall()
        assert (first, last) == (pytest.approx(one), pytest.approx(2 * one))
        assert (
            con.execute("SELECT count(*) FROM (FROM one EXCEPT ALL FROM three)").fetchone()[0] > 0
        )

    def test_records_in_decoy_groups_stay_guarded(self, con):
        con.execute(SPLU.format("one", ""))
        self.rotate(con)
        with pytest.raises(duckdb.Error, match="already published"):
            con.execute(SPLU.format("two", ""))
        con.execute("DELETE FROM visits WHERE id < 70")
        with pytest.raises(duckdb.Error, match="already published"):
            con.execute(SPLU.format("two", ""))
        con.execute(SPLU.format("two", ", republish := true"))

    def test_an_error_leaves_the_secret(self, con, monkeypatch):
        before = con.execute("FROM priv.secret").fetchall()

        def fail(connection):
            raise ZeroDivisionError("a defect")

        monkeypatch.setattr(rotation, "take_from_others", fail)
        with pytest.raises(duckdb.Error):
            self.rotate(con)
        assert con.execute("FROM priv.secret").fetchall() == before

    def test_a_secret_that_its_owner_keeps_is_not_changed_here(self, tmp_path):
        one, other = bytes(range(100, 132)), bytes(range(101, 133))
        with duckdb_priv.connect(tmp_path / "hospital.duckdb", secret=one) as con:
            with pytest.raises(
                duckdb.Error,
                match=r"kept by its owner, and not here\nHint: DELETE FROM priv\.secret",
            ):
                con.execute("FROM priv.rotate_secret()")
            con.execute("DELETE FROM priv.secret")
            duckdb_priv.install(con, secret=other)
            con.execute(VISITS)
            con.execute(UNIFORM.format("out"))


class TestEncryption:
    @pytest.fixture
    def encrypting(self, monkeypatch):
        """What DuckDB does without its extension: it is not secure, and the same otherwise."""
        monkeypatch.setattr(private_files, "ENCRYPTING", "SET force_mbedtls_unsafe = true")

    @pytest.mark.usefixtures("encrypting")
    @pytest.mark.parametrize("name", ["hospital.duckdb", "memory.db", 'a "b" c', "system"])
    def test_what_is_written_can_be_read_with_the_key_alone(self, tmp_path, without_cards, name):
        path = tmp_path / name
        with without_cards(), duckdb_priv.connect(path, encryption_key="sesame") as con:
            con.execute(VISITS.replace("'d'", "'diagnosis '"))
            con.execute(UNIFORM.format("one"))
            con.execute("CHECKPOINT")
            shown = con.execute("FROM one").fetchall()
            con.execute("FROM priv.export_release('one', ?)", [str(tmp_path / "one.duckdb")])
        assert b"diagnosis" not in path.read_bytes()
        assert os.name != "posix" or stat.S_IMODE(path.stat().st_mode) == 0o600
        with duckdb_priv.connect(path, encryption_key="sesame") as con:
            assert con.execute("FROM one").fetchall() == shown
        with pytest.raises(
            InvalidParameter, match="is no database that this encryption key opens"
        ) as refused:
            duckdb_priv.connect(path, encryption_key="open please")
        assert "open please" not in str(refused.value)
        with duckdb_priv.open_release(tmp_path / "one.duckdb") as reader:
            assert len(reader.execute("FROM one").fetchall()) == len(shown)

    @pytest.mark.parametrize("key", ["", 7, b"bytes", "a\0b"])
    def test_what_is_no_key_is_refused(self, tmp_path, key):
        with pytest.raises(
            InvalidParameter, match="an encryption key is a text that is not empty\nHint: "
        ):
            duckdb_priv.connect(tmp_path / "hospital.duckdb", encryption_key=key)
        assert not list(tmp_path.iterdir())

    def test_a_database_in_memory_has_none(self):
        with pytest.raises(InvalidParameter, match="a database in memory is not encrypted"):
            duckdb_priv.connect(encryption_key="sesame")

    def test_a_duckdb_that_cannot_encrypt_says_so(self, tmp_path, monkeypatch):
        monkeypatch.setattr(private_files, "ENCRYPTING", "LOAD '/nowhere/httpfs.duckdb_extension'")
        with pytest.raises(
            NotInstalled, match="is not installed here\nHint: run INSTALL httpfs once"
        ):
            duckdb_priv.connect(tmp_path / "hospital.duckdb", encryption_key="sesame")
        assert not list(tmp_path.iterdir())
