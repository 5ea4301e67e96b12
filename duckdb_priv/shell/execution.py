"""Runs a statement on its own thread, so that the main thread can stop it and show its progress.

Ctrl-C stops the statement and the procedures that it called, which run statements on cursors of their own. The
progress bar shows DuckDB's progress of the statement. While a procedure runs, the bar shows the procedure's stage and
the progress of its current statement.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event, Lock
from typing import Any, TypeVar

import duckdb
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from duckdb_priv.engine.instance import instance_of
from duckdb_priv.engine.procedures import show_progress
from duckdb_priv.shell.interrupts import on_ctrl_c
from duckdb_priv.sqltext.reading import named_rows

TICK = 0.1
"""Seconds between two updates of the progress bar."""
PATIENCE = 2.0
"""Seconds after which the progress bar appears."""


class Stopped(Exception):
    """The user stopped the statement."""


T = TypeVar("T")
Row = dict[str, Any]
"""The values of a row by column."""


class Execution:
    """Runs the statements of one connection, one at a time, from the main thread."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, console: Console) -> None:
        self._connection = connection
        self._console = console
        self._instance = instance_of(connection)
        self._stop = Event()
        show_progress(connection)
        if self._instance is not None:
            self._instance.watched = True

    def fetch(self, statement: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Run a statement and fetch all rows; raises as run() does.

        >>> con = duckdb.connect()
        >>> Execution(con, Console()).fetch("SELECT $a AS a", {"a": 1})
        [{'a': 1}]
        >>> con.close()
        """
        return self.run(lambda _step: named_rows(self._connection, statement, parameters))

    def run(self, work: Callable[[Callable[[], None]], T]) -> T:
        """Call ``work`` on another thread. Its argument is a function to call before printing and between steps.

        Raises the exceptions of ``work``, Stopped if Ctrl-C stopped it, and KeyboardInterrupt if Ctrl-C came too late.
        """
        self._stop.clear()
        bar = Bar(self._console)

        def step() -> None:
            bar.close()
            if self._stop.is_set():
                raise Stopped

        with ThreadPoolExecutor(1) as pool, on_ctrl_c(self._stop.set):
            future = pool.submit(work, step)
            while not wait([future], timeout=TICK).done:
                if self._stop.is_set():
                    self._interrupt()
                else:
                    bar.update(*self._progress())
        bar.close()
        error = future.exception()
        if self._stop.is_set():
            raise KeyboardInterrupt if error is None else Stopped from error
        return future.result()

    def _interrupt(self) -> None:
        # Repeated at every tick: DuckDB forgets an interrupt that comes before the first task of a query.
        self._connection.interrupt()
        if self._instance is not None:
            self._instance.interrupt()

    def _progress(self) -> tuple[float | None, str]:
        """Return the progress in percent, None if unknown, and the stage of the running procedure."""
        if self._instance is not None and self._instance.working:
            return self._instance.progress(), self._instance.stage
        percent = self._connection.query_progress()
        return percent if percent > 0 else None, ""


def watched(connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """Call ``work``, which runs statements on a connection, with a progress bar. Ctrl-C stops it."""
    return Execution(connection, Console(stderr=True)).run(lambda _step: work())


class Bar:
    """A progress bar on a terminal, shown until the statement prints."""

    def __init__(self, console: Console) -> None:
        self._started = time.monotonic()
        self._lock = Lock()
        self._open = console.is_interactive
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(),
            TextColumn("{task.fields[percent]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[stage]}"),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, percent="", stage="")

    def update(self, percent: float | None, stage: str) -> None:
        """Show the progress and the stage, once PATIENCE is over; a spinner if the progress is unknown."""
        with self._lock:
            if not self._open or time.monotonic() - self._started < PATIENCE:
                return
            self._progress.update(
                self._task,
                total=None if percent is None else 100,
                completed=percent or 0,
                percent="" if percent is None else f"{percent:.0f} %",
                stage=stage,
            )
            self._progress.start()

    def close(self) -> None:
        """Remove the bar for good."""
        with self._lock:
            if self._open:
                self._open = False
                self._progress.stop()
