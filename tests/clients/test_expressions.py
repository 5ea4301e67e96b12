"""An analyst who never writes SQL: expressions of SQLAlchemy, read as rows and as a pandas frame."""

from __future__ import annotations

import json
import subprocess
import sys

import duckdb
import pytest

from clients.installation import PROGRAMS, Missing, with_packages


def test_expressions_of_sqlalchemy(releases) -> None:
    try:
        environ = with_packages()
    except Missing as reason:
        pytest.skip(str(reason))
    path = str(releases["uniform"].path)
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "ask_core.py"), path],
        capture_output=True, text=True, timeout=600, check=False, env=environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows, frame, values = json.loads(done.stdout)
    with duckdb.connect(path, read_only=True) as reader:
        by_ward = reader.execute(
            "SELECT ward, priv.reconstructed_count('uniform', noisy_disease, 'flu') FROM uniform WHERE age > 30"
            " GROUP BY ward ORDER BY ward"
        ).fetchall()
        by_value = reader.execute(
            "SELECT value, estimate FROM priv.reconstructed_distribution('uniform')"
        ).fetchall()
    assert rows == frame == [list(row) for row in by_ward]
    assert values == sorted((list(row) for row in by_value), key=str)
