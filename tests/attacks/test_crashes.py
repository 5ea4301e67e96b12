"""Killed, interrupted, out of space: what was published before stays, and nothing half-made is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import textwrap
import threading
import time
from pathlib import Path

import duckdb
import pytest
from programs import Program, run

import duckdb_priv
from duckdb_priv.engine import procedures, randomness
from duckdb_priv.engine.instance import instance_of
from duckdb_priv.publisher import steps

ROWS = 12_000
PUBLISH = "FROM priv.publish_uniform('stays', 'later', sensitive := 'disease', retention := 0.5, record_id := 'id')"
HOOK = textwrap.dedent(
    """
    import os, sys, time
    from pathlib import Path
    import duckdb, duckdb_priv
    from duckdb_priv.estimator import macros
    from duckdb_priv.publisher import export
    from duckdb_priv.engine import procedures
    from duckdb_priv.release import catalog
    from duckdb_priv.engine import randomness

    def stop(owner, name, calls=1):
        '''Say so at the given call of a function, and stay there until a signal comes.'''
        function, left = getattr(owner, name), [calls]
        def stopping(*arguments, **named):
            left[0] -= 1
            if left[0] == 0:
                print("here", flush=True)
                time.sleep(PATIENCE)
            return function(*arguments, **named)
        setattr(owner, name, stopping)

    path, moment, statement = sys.argv[1:4]
    PATIENCE = float(sys.argv[4])
    connection = duckdb_priv.connect(path)
    connection.execute("SET threads = 2")
    {
        "in the middle of the rows": lambda: stop(randomness.KeyedBits, "draw_for_integers", 3),
        "before the catalog": lambda: stop(catalog, "write"),
        "before the macros": lambda: (stop(macros, "add"), stop(macros, "create")),
        "before the commit": lambda: stop(procedures, "_commit"),
        "while the script is written": lambda: stop(export, "script_text"),
        "before the new one takes its place": lambda: stop(Path, "replace"),
    }[moment]()
    """
)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a publisher's database of one release, which has been exported in both forms."""
    folder = tmp_path_factory.mktemp("earlier")
    with duckdb_priv.connect(folder / "publisher.duckdb") as con:
        con.execute(
            "CREATE TABLE stays AS SELECT i AS id, ['flu', 'cancer', 'none'][1 + i % 3] AS disease,"
            f" (hash(i) % 100)::INTEGER AS age FROM range({ROWS}) t(i)"
        )
        con.execute(PUBLISH.replace("later", "earlier")).fetchall()
        con.execute("FROM priv.export_release('earlier', ?)", [str(folder / "file.duckdb")])
        con.execute(
            "FROM priv.export_release('earlier', ?, format := 'parquet')", [str(folder / "folder")]
        )
    return folder


@pytest.fixture
def database(earlier: Path, tmp_path: Path) -> Path:
    shutil.copytree(earlier, tmp_path, dirs_exist_ok=True)
    return tmp_path / "publisher.duckdb"


def contents(path: Path) -> dict[str, bytes]:
    """Read a file, or every file of a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def assert_only_the_earlier_release(database: Path) -> None:
    with duckdb.connect(str(database)) as con:
        tables = con.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY ALL"
        ).fetchall()
        assert tables == [("earlier",), ("stays",)]
        for table in ("release", "attribute", "coefficient", "guarantee", "ledger"):
            assert con.execute(f"SELECT DISTINCT release FROM priv.{table}").fetchall() == [
                ("earlier",)
            ]
        ((estimate,),) = con.execute(
            "SELECT priv.reconstructed_count('earlier', noisy_disease, 'flu') FROM earlier"
        ).fetchall()
        # The secret is fresh. The standard deviation is 89: one run of 5e10 is further away.
        assert abs(estimate - ROWS / 3) < ROWS / 20


def assert_published_again(database: Path) -> None:
    """Only the earlier release is there, and the later one is published."""
    assert_only_the_earlier_release(database)
    with duckdb_priv.connect(database) as con:
        assert con.execute(PUBLISH).fetchall()[0][0] == "later"


def start(database: Path, moment: str, statement: str, end: str, patience: float) -> Program:
    """Run a statement in another process, up to a moment."""
    child = Program(HOOK + end, database, moment, statement, patience)
    child.wait_until_it_prints("here")
    return child


@pytest.mark.parametrize(
    "moment",
    ["in the middle of the rows", "before the catalog", "before the macros", "before the commit"],
)
def test_killed_while_publishing(database, moment):
    child = start(database, moment, PUBLISH, "connection.execute(statement).fetchall()", 60)
    child.kill()
    assert_published_again(database)


@pytest.mark.parametrize(
    ("form", "moment"),
    [
        ("duckdb", "before the macros"),
        ("duckdb", "before the commit"),
        ("duckdb", "before the new one takes its place"),
        ("parquet", "while the script is written"),
        ("parquet", "before the commit"),
        ("parquet", "before the new one takes its place"),
    ],
)
def test_killed_while_exporting(database, tmp_path, without_cards, form, moment):
    place = tmp_path / {"duckdb": "file.duckdb", "parquet": "folder"}[form]
    before = contents(place)
    statement = f"FROM priv.export_release('earlier', '{place}', format := '{form}')"
    child = start(database, moment, statement, "connection.execute(statement).fetchall()", 60)
    child.kill()
    # A folder cannot be exchanged for another in one step: between two renames the earlier one is beside it.
    kept = place if place.exists() else next(tmp_path.glob(f".{place.name}.*.earlier"))
    assert contents(kept) == before
    assert form == "parquet" or kept == place
    assert_only_the_earlier_release(database)
    # What the killed program was writing goes with the next export to the same place, and nothing else does.
    stranger = tmp_path / f".{place.name}.partial"
    stranger.touch()
    with without_cards(), duckdb_priv.connect(database) as con:
        con.execute(statement).fetchall()
    assert list(tmp_path.glob(".*")) == [stranger]
    assert place.exists()


def test_killed_at_any_moment(database):
    """Without hooks: three moments that nobody chose."""
    for part in range(1, 4):
        child = Program(HOOK_FREE, database, PUBLISH)
        child.wait_until_it_prints("here")
        time.sleep(0.05 * part)
        child.kill()
        with duckdb_priv.connect(database) as con:
            names = con.execute("SELECT release FROM priv.release ORDER BY release").fetchall()
            assert names in ([("earlier",)], [("earlier",), ("later",)])
            if len(names) == 2:
                con.execute(
                    "SELECT priv.reconstructed_count('later', noisy_disease, 'flu') FROM later"
                ).fetchall()
                con.execute("FROM priv.drop_release('later')").fetchall()


HOOK_FREE = """
import sys, duckdb_priv
connection = duckdb_priv.connect(sys.argv[1])
print("here", flush=True)
connection.execute(sys.argv[2]).fetchall()
"""

AFTER_INTERRUPT = textwrap.dedent(
    """
    import json
    try:
        connection.execute(statement).fetchall()
    except (KeyboardInterrupt, RuntimeError, duckdb.Error) as error:
        told = repr(error)
    else:
        told = "nothing"
    left = connection.execute("SELECT release FROM priv.release ORDER BY release").fetchall()
    connection.execute(statement[:-1] + ", replace := true)").fetchall()
    print(json.dumps([told, left]), flush=True)
    connection.close()
    """
)


@pytest.mark.parametrize(
    "moment", ["in the middle of the rows", "before the catalog", "before the macros"]
)
def test_ctrl_c_in_a_script(database, moment):
    reported, left = interrupted(database, moment)
    assert "the statement was interrupted, and nothing of it was kept" in reported
    assert left == [["earlier"]]


def test_ctrl_c_in_the_moment_of_the_commit(database):
    """All of it or nothing, and the error, where there is one, does not say otherwise."""
    reported, left = interrupted(database, "before the commit")
    assert left in ([["earlier"]], [["earlier"], ["later"]])
    if "nothing of it was kept" in reported:
        assert left == [["earlier"]]
    if reported == "nothing":
        assert left == [["earlier"], ["later"]]


def interrupted(database: Path, moment: str) -> tuple[str, list[list[str]]]:
    """Press Ctrl-C while a script publishes; it goes on and publishes again."""
    child = start(database, moment, PUBLISH, AFTER_INTERRUPT, 2)
    child.interrupt()
    code, answer, errors = child.end()
    assert code == 0, errors
    # On a slow machine, DuckDB's progress bar is before it.
    reported, left = json.loads(answer.splitlines()[-1])
    return reported, left


@pytest.fixture
def con(prepared):
    connection = prepared(secret=None)
    connection.execute("SET threads = 2")
    connection.execute(
        "CREATE TABLE stays AS SELECT i AS id, ['flu', 'cancer', 'none'][1 + i % 3] AS disease"
        f" FROM range({ROWS}) t(i)"
    )
    yield connection
    connection.close()


def at_the_third_piece(monkeypatch, do) -> None:
    """Do something, once, in another thread, while the rows are drawn."""
    draw, pieces = randomness.KeyedBits.draw_for_integers, iter(range(10**9))

    def drawing(self, ids, codes):
        if next(pieces) == 2:
            worker = threading.Thread(target=do)
            worker.start()
            worker.join()
        return draw(self, ids, codes)

    monkeypatch.setattr(randomness.KeyedBits, "draw_for_integers", drawing)


def left_behind(con) -> list:
    return con.execute(
        "SELECT release FROM priv.ledger UNION ALL SELECT release FROM priv.release UNION ALL"
        " SELECT table_name FROM duckdb_tables() WHERE table_name = 'later'"
    ).fetchall()


def test_interrupted_from_another_thread(con, monkeypatch):
    at_the_third_piece(monkeypatch, con.interrupt)
    with pytest.raises(duckdb.InterruptException):
        con.execute(PUBLISH).fetchall()
    assert left_behind(con) == []
    assert con.execute(PUBLISH).fetchall()[0][0] == "later"


def test_interrupted_by_a_front_end(con, monkeypatch):
    # A call that has to wait waits for minutes, however loaded the machine is.
    monkeypatch.setattr(procedures, "TURN_WAIT", 600.0)
    monkeypatch.setattr(procedures, "COMMIT_WAIT", 600.0)
    at_the_third_piece(monkeypatch, instance_of(con).interrupt)
    with pytest.raises(
        duckdb.Error, match="the statement was interrupted, and nothing of it was kept"
    ):
        con.execute(PUBLISH).fetchall()
    assert left_behind(con) == []
    started = time.monotonic()
    assert con.execute(PUBLISH).fetchall()[0][0] == "later"
    assert time.monotonic() - started < 500


def test_a_defect_in_the_middle_leaves_nothing(con, monkeypatch):
    def fail(*arguments):
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(steps.macros, "add", fail)
    with pytest.raises(duckdb.Error, match="ZeroDivisionError"):
        con.execute(PUBLISH).fetchall()
    monkeypatch.undo()
    assert left_behind(con) == []
    assert con.execute(PUBLISH).fetchall()[0][0] == "later"


LIMITED = textwrap.dedent(
    """
    import resource, sys, duckdb, duckdb_priv
    path, statement, limit = sys.argv[1:4]
    connection = duckdb_priv.connect(path)
    connection.execute("SET threads = 2")
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    try:
        connection.execute(statement).fetchall()
    except duckdb.Error as error:
        print(error)
    """
)


def run_limited(database: Path, statement: str, limit: int) -> str:
    """Run a statement where no file may grow beyond a limit."""
    return run(LIMITED, database, statement, limit)[1]


def test_a_full_disk_during_the_publication(database):
    reported = run_limited(database, PUBLISH, 50_000)
    assert "File too large" in reported
    assert_published_again(database)


@pytest.mark.parametrize("form", ["duckdb", "parquet"])
def test_a_full_disk_during_the_export(database, tmp_path, form):
    place = tmp_path / {"duckdb": "file.duckdb", "parquet": "folder"}[form]
    before = contents(place)
    reported = run_limited(
        database, f"FROM priv.export_release('earlier', '{place}', format := '{form}')", 10_000
    )
    assert "File too large" in reported
    assert contents(place) == before
    assert not list(tmp_path.glob(".*"))
    assert_only_the_earlier_release(database)


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of 48 megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk(small_disk):
    path = small_disk / "publisher.duckdb"
    with duckdb_priv.connect(path) as con:
        con.execute(
            "CREATE TABLE stays AS SELECT i AS id, ['flu', 'cancer', 'none'][1 + i % 3] AS disease,"
            f" (hash(i) % 100)::INTEGER AS age FROM range({ROWS}) t(i)"
        )
        con.execute(PUBLISH.replace("later", "earlier")).fetchall()
    with duckdb_priv.connect(path) as con:
        space = os.statvfs(small_disk)
        (small_disk / "filler").write_bytes(bytes(space.f_bavail * space.f_frsize))
        for statement in (
            PUBLISH,
            f"FROM priv.export_release('earlier', '{small_disk}/file.duckdb')",
        ):
            with pytest.raises(duckdb.Error, match="No space left"):
                con.execute(statement).fetchall()
    (small_disk / "filler").unlink()
    assert not list(small_disk.glob("*file.duckdb*"))
    assert_published_again(path)
