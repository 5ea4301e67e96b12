"""What a killed publisher leaves is its owner's alone, and is removed when the database is opened again."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import textwrap
from pathlib import Path

import duckdb
import pytest
from programs import run

import duckdb_priv
from duckdb_priv.engine.private_files import SPILLED

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="files have no such modes here"),
]

ROWS = 20_000
VISITS = f"CREATE TABLE visits AS SELECT i AS id, i % 50 AS ward, 'd' || i % 7 AS disease FROM range({ROWS}) AS t(i)"
PUBLISH = "FROM priv.publish_uniform('visits', 'out', sensitive := 'disease', retention := 0.5, record_id := 'id')"
SPILL = "CREATE TEMP TABLE large AS SELECT i, hash(i)::VARCHAR AS h FROM range(2_000_000) AS t(i)"
COMMAND = "import os; os.umask(0o022); from duckdb_priv.shell.cli import main; main()"
KILLED = textwrap.dedent(
    """
    import os, signal, sys
    import duckdb, duckdb_priv
    from duckdb_priv.engine import procedures

    path, publish, spill = sys.argv[1:]
    os.umask(0o022)
    connection = duckdb_priv.connect(path)
    connection.execute("SET checkpoint_threshold = '1TB'")
    connection.execute("CHECKPOINT; SET memory_limit = '60MB'; SET threads = 1; SET preserve_insertion_order = false")

    def killed(workspace, committed=procedures._commit):
        # DuckDB spills inside of the publication, as it does for a table that does not fit into memory.
        workspace.cursor.execute(spill)
        committed(workspace)
        os.kill(os.getpid(), signal.SIGKILL)

    procedures._commit = killed
    connection.execute(publish)
    """
)


def kill(path: Path) -> None:
    code, _, errors = run(KILLED, path, PUBLISH, SPILL)
    assert code == -signal.SIGKILL, errors


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(scope="module")
def prepared_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("left") / "hospital.duckdb"
    with duckdb_priv.connect(path) as con:
        con.execute(VISITS)
    return path


@pytest.fixture
def database(prepared_database: Path, tmp_path: Path) -> Path:
    """A database of the same mode."""
    return Path(shutil.copy(prepared_database, tmp_path))


def test_what_is_left_is_its_owners_and_goes_at_the_next_opening(database):
    kill(database)
    ahead, folder = Path(f"{database}.wal"), Path(f"{database}.tmp")
    assert ahead.stat().st_size > 0
    spilled = list(folder.glob(SPILLED))
    assert sum(file.stat().st_size for file in spilled) > 1_000_000
    assert {mode(file) for file in (database, ahead, *spilled)} == {0o600}
    assert mode(folder) == 0o700
    assert sorted(each.name for each in database.parent.iterdir()) == [
        database.name, f"{database.name}.tmp", f"{database.name}.wal"
    ]  # fmt: skip
    with duckdb_priv.connect(database) as con:
        assert not folder.exists()
        assert con.execute("SELECT count(*) FROM out").fetchall() == [(ROWS,)]
    assert [each.name for each in database.parent.iterdir()] == [database.name]


def test_what_a_running_publisher_has_spilled_stays(database):
    folder = Path(f"{database}.tmp")
    with duckdb_priv.connect(database) as con:
        con.execute("SET memory_limit = '60MB'; SET threads = 1")
        con.execute(SPILL)
        largest = max(folder.glob(SPILLED), key=lambda file: file.stat().st_size)
        assert largest.stat().st_size > 1_000_000
        with duckdb_priv.connect(database):
            assert largest.exists()
        assert con.execute("SELECT count(DISTINCT h) FROM large").fetchall() == [(2_000_000,)]
        code, _, errors = run(COMMAND, "audit", database)
        assert code == 1
        assert "is open in another program" in errors
        assert largest.exists()


def test_what_is_not_duckdbs_stays(database):
    folder = Path(f"{database}.tmp")
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "duckdb_temp_storage_DEFAULT-0.tmp").write_bytes(b"spilled")
    duckdb_priv.connect(database).close()
    assert [each.name for each in folder.iterdir()] == ["notes.txt"]
    aside = database.with_name("aside")
    folder.rename(aside)
    (aside / "duckdb_temp_storage_DEFAULT-0.tmp").write_bytes(b"of another database")
    os.symlink(aside, folder)
    duckdb_priv.connect(database).close()
    assert len(list(aside.iterdir())) == 2


@pytest.mark.parametrize("command", ["shell", "publish"])
def test_the_command_line_makes_files_for_their_owner_and_releases_for_readers(
    database, command, tmp_path
):
    release = tmp_path / "out.duckdb"
    if command == "shell":
        given = [
            "shell", database,
            "-c", f"{PUBLISH}; CHECKPOINT; CREATE TABLE more AS FROM visits",
            "-c", f"FROM priv.export_release('out', '{release}', metadata := ['dcat'])",
            "-c", f"COPY visits TO '{tmp_path / 'visits.csv'}'",
        ]  # fmt: skip
    else:
        plan = tmp_path / "plan.toml"
        plan.write_text(
            f'database = "{database}"\n[release.out]\nmethod = "uniform"\nsource = "visits"\nsensitive = "disease"\n'
            'retention = 0.5\nrecord_id = "id"\nexport = {path = "out.duckdb", metadata = "dcat"}\n'
        )
        given = ["publish", plan]
    code, _, errors = run(COMMAND, *given)
    assert code == 0, errors
    found = {each.name: mode(each) for each in tmp_path.iterdir() if each.suffix != ".toml"}
    for_readers = {"out.duckdb", "out.html", "out.dcat.json"}
    assert for_readers <= set(found)
    assert {name: found[name] for name in found if name not in for_readers} == {
        name: 0o600 for name in found if name not in for_readers
    }
    assert {found[name] for name in for_readers} == {0o644}
    with duckdb.connect(str(release), read_only=True) as reader:
        assert reader.execute("SELECT count(*) FROM out").fetchall() == [(ROWS,)]
