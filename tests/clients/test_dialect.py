"""SQLAlchemy's dialect of releases: expressions and frames as over the true table."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import duckdb
import pytest

from clients.installation import PROGRAMS, Missing, with_packages

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def answers(releases) -> list:
    try:
        environ = with_packages(ROOT)
    except Missing as reason:
        pytest.skip(str(reason))
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "ask_dialect.py"), str(releases["uniform"].path)],
        capture_output=True, text=True, timeout=600, check=False, env=environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_expressions_are_answered_by_estimates(answers, releases) -> None:
    rows, frame, columns, unchanged, refusal, confined = answers
    with duckdb.connect(str(releases["uniform"].path), read_only=True) as reader:
        expected = reader.execute(
            "SELECT ward, unnest(priv.reconstructed_interval('uniform', noisy_disease, 'flu', confidence := 0.9))"
            " FROM uniform WHERE age > 30 GROUP BY ward ORDER BY ward"
        ).fetchall()
        (records,) = reader.execute("SELECT count(*) FROM uniform").fetchone()
    assert [ward for ward, _ in rows] == [row[0] for row in expected]
    assert [n for _, n in rows] == pytest.approx([row[1] for row in expected])
    assert frame["columns"] == ["ward", "flu", "flu_stderr", "flu_low", "flu_high"]
    for found, right in zip(frame["data"], expected, strict=True):
        assert found[1:] == pytest.approx(right[1:], rel=1e-6)
    assert "disease" in columns
    assert "noisy_disease" not in columns
    assert unchanged == records
    assert refusal.startswith("QueryRefused: ")
    assert "has no value 'Flu'" in refusal
    assert "Permission Error" in confined or "QueryRefused" in confined


def test_the_dialect_is_found_by_its_name() -> None:
    names = PROJECT["entry-points"]["sqlalchemy.dialects"]
    assert set(names) == {"duckdb_priv", "duckdb.priv"}
    for place in names.values():
        module, _, name = place.partition(":")
        source = (ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8")
        assert f"class {name}(" in source
