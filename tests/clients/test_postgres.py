"""PostgreSQL counts by the script that an export writes for it as the functions of the release do."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.elsewhere import differ, export, read_csv

pytestmark = pytest.mark.once

FOUND = shutil.which("initdb") or next(
    map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)), None
)


@pytest.fixture
def server() -> Iterator[Path]:
    """Start a PostgreSQL of its own, which listens on a socket in a folder; it refuses to be run by root."""
    if FOUND is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    programs = Path(FOUND).resolve().parent
    folder = Path(tempfile.mkdtemp(prefix="priv_pg_"))
    user = "nobody" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)

    def run(*command: str) -> None:
        subprocess.run(
            [str(programs / command[0]), *command[1:]],
            user=user, cwd=folder, check=True, capture_output=True, timeout=600,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    data = str(folder / "data")
    try:
        run(
            "initdb", "-D", data, "-U", "reader", "-A", "trust", "-N", "-E", "UTF8", "--locale", "C"
        )
        asked = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run("pg_ctl", "-D", data, "-o", asked, "-l", str(folder / "log"), "-w", "start")
        try:
            yield folder
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


def test_postgres_counts_as_the_functions_do(con, without_cards, server: Path, tmp_path: Path):
    with without_cards():
        scripts, rows = export(con, tmp_path)
    psql = str(Path(str(FOUND)).resolve().parent / "psql")

    def run(*arguments: str, given: str | None = None) -> str:
        done = subprocess.run(
            [psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(server), "-U", "reader", "postgres", *arguments],
            input=given, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-c", 'CREATE TABLE visits ("gen der" TEXT, "noisy_dis/ease" TEXT)')
    run(
        "-c", "COPY visits FROM STDIN (FORMAT csv, HEADER, NULL 'NULL')",
        given=rows.read_text("utf-8"),
    )  # fmt: skip
    run("-f", str(scripts["postgres"]))

    def ask(view: str, names: list[str]) -> list[tuple[object, ...]]:
        columns = ", ".join(f'"{name}"' for name in names)
        return read_csv(
            run("--csv", "-t", "-P", "null=NULL", "-c", f'SELECT {columns} FROM "{view}"')
        )

    assert max(differ(con, ask).values()) < 1e-9
