"""What is shown while a procedure is at work."""

from __future__ import annotations

import io
from contextlib import closing
from threading import Event

import pytest
from rich.console import Console

import duckdb_priv
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.shell import execution
from duckdb_priv.shell.execution import Bar, Execution

PUBLISH = "FROM priv.publish_uniform('t', 'r', sensitive := 's', retention := 0.5, public := ['a'])"
SOURCE = "CREATE TABLE t AS SELECT i % 3 AS a, i % 5 AS s FROM range(500) AS r(i)"


def test_progress_is_shown_to_someone_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The publication waits at its last stage until the bar has shown it."""
    shown, seen = [], Event()
    original = Workspace.stage

    def stage(workspace: Workspace, words: str) -> None:
        original(workspace, words)
        if words == "writing the catalog":
            seen.wait(600)

    def update(_bar: Bar, percent: float | None, words: str) -> None:
        shown.append(words)
        assert percent is None or 0 < percent <= 100
        if words == "writing the catalog":
            seen.set()

    monkeypatch.setattr(Workspace, "stage", stage)
    monkeypatch.setattr(Bar, "update", update)
    monkeypatch.setattr(execution, "TICK", 0.01)
    with closing(duckdb_priv.connect(secret=bytes(range(32)))) as connection:
        connection.execute(SOURCE)
        Execution(connection, Console(file=io.StringIO())).fetch(PUBLISH)
    assert seen.is_set()
    assert shown[-1] in ("writing the catalog", "")


def test_stages_come_in_the_order_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[str] = []
    monkeypatch.setattr(Workspace, "stage", lambda _workspace, words: stages.append(words))
    with closing(duckdb_priv.connect(secret=bytes(range(32)))) as connection:
        connection.execute(SOURCE)
        connection.execute(PUBLISH).fetchall()
    assert stages == [
        "reading the source", "marking records", "planning", "checking the columns", "drawing values",
        "writing the catalog",
    ]  # fmt: skip


def test_the_bar_writes_percent_and_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "PATIENCE", 0.0)
    out = io.StringIO()
    bar = Bar(Console(file=out, force_terminal=True, force_interactive=True, width=100))
    bar.update(42.4, "drawing values")
    bar.close()
    assert "42 %" in out.getvalue()
    assert "drawing values" in out.getvalue()
