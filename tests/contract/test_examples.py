"""Every example session is run as its reader would run it."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.sqltext import templates


@pytest.fixture
def folder(prepared_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(prepared_file, "hospital.duckdb")
    with duckdb_priv.connect("hospital.duckdb") as publisher:
        answers(publisher, "1_publisher")
    return tmp_path


def answers(connection: duckdb.DuckDBPyConnection, example: str) -> list[list[tuple[object, ...]]]:
    return [
        connection.execute(statement).fetchall()
        for statement in connection.extract_statements(templates.read("examples", example))
    ]


def test_every_example_is_tested() -> None:
    assert templates.names("examples") == [
        "1_publisher",
        "2_analyst_shell",
        "3_analyst_script",
        "4_bi_tool",
    ]


def test_the_analysts_sessions_agree(folder: Path) -> None:
    with duckdb_priv.open_release("visits_public.duckdb") as release:
        statements, counts, intervals = answers(release, "2_analyst_shell")
        by_value, by_gender, weights = answers(release, "4_bi_tool")
    with duckdb.connect() as elsewhere:
        _, total, distribution = answers(elsewhere, "3_analyst_script")
    assert statements
    assert [
        abs(count - row[1]) <= 0.501 for (_, count), row in zip(counts, intervals, strict=True)
    ] == [True] * 2
    # Views show whole records.
    in_view = {value: (estimate, low, high, rows) for value, estimate, low, high, rows in by_value}
    for value, estimate, low, high, _, rows in distribution:
        shown, exact = in_view[value], (estimate, low, high, rows)
        assert all(abs(a - b) < 1 for a, b in zip(shown, exact, strict=True))
    assert round(total[0][0]) == in_view["flu"][0]
    flu = sum(row[2] for row in by_gender if row[1] == "flu")
    assert abs(flu - total[0][0]) <= 1
    assert len(weights) == 8
