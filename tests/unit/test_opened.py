"""open_release says in one sentence what is wrong with a file."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.errors import InvalidReleaseFile


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, secret: bytes) -> Path:
    """A folder with a publisher's database, and a release from it."""
    folder = tmp_path_factory.mktemp("exported")
    with duckdb_priv.connect(folder / "publisher.duckdb", secret=secret) as publisher:
        publisher.execute("CREATE TABLE t AS SELECT range AS id, range % 3 AS s FROM range(90)")
        publisher.execute(
            "FROM priv.publish_uniform('t', 'r', sensitive := 's', retention := 0.5, record_id := 'id')"
        ).fetchall()
        publisher.execute("FROM priv.export_release('r', ?)", [str(folder / "r.duckdb")]).fetchall()
    return folder


@pytest.fixture
def release(exported: Path, tmp_path: Path) -> Path:
    """A copy of the release, beside a copy of the publisher's database."""
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    return tmp_path / "r.duckdb"


def test_a_release_opens_read_only_and_needs_nothing_else(release: Path) -> None:
    with duckdb_priv.open_release(release) as connection:
        answer = connection.execute(
            "SELECT priv.reconstructed_count('r', noisy_s, 1) FROM r"
        ).fetchall()
        assert 0 < answer[0][0] < 90
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            connection.execute("DROP TABLE r")


def refuses(path: Path, words: str) -> None:
    with pytest.raises(InvalidReleaseFile, match=words):
        duckdb_priv.open_release(path)


def test_what_is_no_release_is_refused(release: Path) -> None:
    folder = release.parent
    refuses(folder / "missing.duckdb", "there is no file")
    refuses(folder, "there is no file")
    refuses(folder / "publisher.duckdb", "publisher's database")
    with duckdb.connect(str(folder / "other.duckdb")) as other:
        other.execute("CREATE TABLE t AS SELECT 1 AS a")
    refuses(folder / "other.duckdb", "but no release")
    (folder / "text.duckdb").write_text("This is no database. " * 1000)
    refuses(folder / "text.duckdb", "no whole file that DuckDB .* can open")
    cut = release.read_bytes()
    (folder / "cut.duckdb").write_bytes(cut[: len(cut) // 3])
    refuses(folder / "cut.duckdb", "no whole file that DuckDB .* can open")
    (folder / "short.duckdb").write_bytes(cut[:-4096])
    refuses(folder / "short.duckdb", "no whole file that DuckDB .* can open")


def test_a_release_of_a_newer_library_is_refused(release: Path) -> None:
    with duckdb.connect(str(release)) as connection:
        connection.execute("UPDATE priv.release SET library_version = '99.0.0'")
    refuses(release, "written by duckdb_priv 99.0")


def test_a_damaged_block_is_not_taken_for_a_lock(release: Path) -> None:
    damaged = bytearray(release.read_bytes())
    damaged[100] ^= 1
    release.write_bytes(damaged)
    refuses(release, "no whole file that DuckDB .* can open")
