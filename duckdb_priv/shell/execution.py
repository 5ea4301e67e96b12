"""Runs a statement on a thread of its own, so that the terminal can stop it and show how far it is.

Ctrl-C stops the statement, and the procedures that it called: they work on cursors of their own. The bar is
what DuckDB says of the statement; while a procedure is at work, what it is doing, and how far its own statement is.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event, Lock
from types import FrameType
from typing import Any, TypeVar

import duckdb
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from duckdb_priv.engine.instance import Instance, find
from duckdb_priv.engine.procedures import show_progress

TICK = 0.1
"""Seconds between two looks at a statement at work."""
PATIENCE = 2.0
"""Seconds after which the bar appears."""


class Stopped(Exception):
    """The user stopped the statement."""


T = TypeVar("T")
ResultSet = tuple[list[str], list[tuple[Any, ...]]]
"""The names of columns, and rows."""


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

    def fetch(self, statement: str, parameters: Mapping[str, Any] | None = None) -> ResultSet:
        """Run a statement and fetch everything; raises as run() does.

        >>> con = duckdb.connect()
        >>> Execution(con, Console()).fetch("SELECT $a AS a", {"a": 1})
        (['a'], [(1,)])
        >>> con.close()
        """

        def work(_step: Callable[[], None]) -> ResultSet:
            result = self._connection.execute(statement, parameters or {})
            return [column[0] for column in result.description], result.fetchall()

        return self.run(work)

    def run(self, work: Callable[[Callable[[], None]], T]) -> T:
        """Do the work on another thread; it calls what it is given before it prints, and between its steps.

        Raises what the work raises, Stopped if the user stopped it, and KeyboardInterrupt if that came too late.
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
        # Again at every tick: an interrupt that comes before the first task of a query is forgotten.
        self._connection.interrupt()
        if self._instance is not None:
            self._instance.interrupt()

    def _progress(self) -> tuple[float | None, str]:
        """Return how far it is, in percent where that is known, and with what."""
        if self._instance is not None and self._instance.working:
            return self._instance.progress(), self._instance.stage
        percent = self._connection.query_progress()
        return percent if percent > 0 else None, ""


def watched(connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """Do work that asks a connection many things, which Ctrl-C stops, and show on a terminal how far it is."""
    return Execution(connection, Console(stderr=True)).run(lambda _step: work())


@contextmanager
def on_ctrl_c(act: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C do this, and nothing else; for the main thread only.

    Where it is ignored, as in what a shell runs in the background, it stays so.
    """
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        yield
        return

    def handle(_signal: int, _frame: FrameType | None) -> None:
        act()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def instance_of(connection: duckdb.DuckDBPyConnection) -> Instance | None:
    """Return what runs the procedures of a connection, if duckdb_priv has prepared it."""
    try:
        (name,) = connection.execute("SELECT _priv_instance(1)").fetchall()[0]
    except duckdb.CatalogException:
        return None
    return find(name)


class Bar:
    """How far a statement is, on a terminal, while it takes long and prints nothing."""

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
        """Show the bar, or only that something is at work, and what is being done, if it is time."""
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
        """Wipe the bar away, for good."""
        with self._lock:
            if self._open:
                self._open = False
                self._progress.stop()
