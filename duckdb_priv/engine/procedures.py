"""Procedures: Python that SQL calls by name, each in its own transaction.

A statement such as ``FROM priv.publish_uniform(…)`` calls a procedure through ``_priv_begin`` and ``_priv_finish``.
``_priv_begin`` does all the work in a transaction on its own cursor and leaves it open. ``_priv_finish``, in a later
pipeline of the same statement, commits. An interrupted statement never reaches ``_priv_finish``, so none of its work is
kept.

``_priv_begin`` occurs twice in the statement, in two independent pipelines (lanes). DuckDB runs each on the calling
thread or on a worker. A worker that waits inside a function cannot help with the work itself. So a call on a worker
gives the calling thread a moment to start the other lane, and then lets it do the work.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa

from duckdb_priv.engine.instance import Instance
from duckdb_priv.engine.private_files import keep_beside, made_for_owner
from duckdb_priv.engine.udfs import Udf
from duckdb_priv.engine.workspace import Caller, Workspace
from duckdb_priv.errors import PrivError, PublicationFailed, echoed
from duckdb_priv.sqltext.quoting import identifier, literal

LANE_WAIT = 1.0
"""Seconds that a worker waits for the calling thread, which needs a millisecond, or longer on a busy machine.

If a worker does the work, DuckDB notices Ctrl-C on the calling thread and shows its own message instead of ours."""
COMMIT_WAIT = 10.0
"""Seconds after which uncommitted work is rolled back: its statement was interrupted."""
TURN_WAIT = 2.0
"""Seconds that other procedures wait for finished work to be committed."""


Procedure = Callable[[Workspace, Mapping[str, Any]], list[dict[str, Any]]]
"""What SQL calls: it takes a workspace and arguments by name, and returns rows."""


@dataclass
class _Statement:
    """One statement of a caller, from its first lane to its commit."""

    lane_taken: bool = False
    lanes_seen: int = 0
    failed: bool = False
    workspace: Workspace | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    finished: float | None = None
    giving_up: threading.Timer | None = None

    def settle(self) -> Workspace | None:
        """Stop the timer, and return the work that is to be committed or rolled back."""
        # A timer that is still running when Python ends makes DuckDB 2 report leaks.
        if self.giving_up is not None:
            self.giving_up.cancel()
        return self.workspace


class Runner:
    """Runs the procedures of one instance."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.guard = threading.Lock()
        self.statements: dict[str, _Statement] = {}

    def functions(self) -> tuple[Udf, ...]:
        """Return the functions that SQL calls."""
        return (
            Udf("_priv_instance", self._name, ("BIGINT",), "VARCHAR"),
            Udf("_priv_begin", self._begin, ("VARCHAR",) * 3, "VARCHAR"),
            Udf("_priv_finish", self._finish, ("VARCHAR",), "VARCHAR"),
            Udf("_priv_ask", self._ask, ("VARCHAR",) * 2, "VARCHAR"),
        )

    def _name(self, rows: pa.ChunkedArray) -> pa.Array:
        return pa.array([self.instance.name] * len(rows))

    def _begin(
        self, statements: pa.ChunkedArray, names: pa.ChunkedArray, arguments: pa.ChunkedArray
    ) -> pa.Array:
        if len(statements) > 1:
            return _refuse_several(len(statements))
        key, name = statements[0].as_py(), names[0].as_py()
        if not self._take_lane(key):
            return pa.array([None], pa.string())
        return pa.array([_answer(lambda: self._work(key, name, arguments[0].as_py()))])

    def _take_lane(self, key: str) -> bool:
        """Return whether this call does the work; otherwise the other lane does it."""
        on_worker = isinstance(threading.current_thread(), threading._DummyThread)
        with self.guard:
            statement = self.statements.setdefault(key, _Statement())
            statement.lanes_seen += 1
            last = statement.lanes_seen == 2
        if on_worker and not last:
            deadline = time.monotonic() + LANE_WAIT
            while time.monotonic() < deadline and not statement.lane_taken:
                time.sleep(0.001)
        with self.guard:
            mine = not statement.lane_taken
            statement.lane_taken = True
            if statement.failed and last:
                self.statements.pop(key, None)
        return mine

    @made_for_owner()
    def _work(self, key: str, name: str, arguments: str) -> str:
        statement = self.statements[key]
        try:
            self._wait_for_turn()
            try:
                caller, given = self._read_call(arguments)
                workspace = open_workspace(caller)
            except BaseException:
                self.instance.turn.release()
                raise
            try:
                self.instance.working.add(workspace.cursor)
                workspace.cursor.execute("BEGIN TRANSACTION")
                statement.rows = self.instance.find(name)(workspace, given)
            except BaseException:
                self._roll_back(workspace)
                raise
            finally:
                self.instance.working.discard(workspace.cursor)
        except BaseException:
            with self.guard:
                # The other lane may start later, and must see that the lane is taken.
                statement.failed = True
                if statement.lanes_seen == 2:
                    self.statements.pop(key, None)
            raise
        statement.workspace = workspace
        statement.finished = time.monotonic()
        statement.giving_up = threading.Timer(COMMIT_WAIT, self._give_up, (key,))
        statement.giving_up.daemon = True
        statement.giving_up.start()
        return key

    def _wait_for_turn(self) -> None:
        """Let one procedure write at a time, and roll back finished work that was never committed."""
        while not self.instance.turn.acquire(timeout=0.05):
            for key, statement in list(self.statements.items()):
                if (
                    statement.finished is not None
                    and time.monotonic() - statement.finished > TURN_WAIT
                ):
                    self._give_up(key)

    def _give_up(self, key: str) -> None:
        with self.guard:
            statement = self.statements.pop(key, None)
        if statement is not None and (workspace := statement.settle()) is not None:
            self._roll_back(workspace)

    def _roll_back(self, workspace: Workspace) -> None:
        try:
            _undo(workspace)
            workspace.cursor.close()
        finally:
            self.instance.turn.release()

    def _finish(self, tickets: pa.ChunkedArray) -> pa.Array:
        if len(tickets) > 1:
            for ticket in tickets.to_pylist():
                self._give_up(ticket)
            return _refuse_several(len(tickets))
        return pa.array([_answer(lambda: self._commit(tickets[0].as_py()))])

    def _commit(self, key: str) -> str:
        with self.guard:
            statement = self.statements.pop(key, None)
        workspace = None if statement is None else statement.settle()
        if statement is None or workspace is None:
            raise PublicationFailed(
                "the statement was interrupted, or another call waited for it, and nothing of it was kept",
                hint="run it again, with one such call in a statement",
            )
        try:
            with made_for_owner():
                _commit(workspace)
        except BaseException:
            self._roll_back(workspace)
            raise
        workspace.cursor.close()
        self.instance.turn.release()
        seconds = round(time.monotonic() - statement.started, 3)
        return json.dumps([{**row, "seconds": seconds} for row in statement.rows], default=str)

    def _ask(self, names: pa.ChunkedArray, arguments: pa.ChunkedArray) -> pa.Array:
        """Return the answer to a question that changes nothing."""
        calls = zip(names.to_pylist(), arguments.to_pylist(), strict=True)
        return pa.array([_answer(partial(self._look, name, text)) for name, text in calls])

    def _look(self, name: str, arguments: str) -> str:
        caller, given = self._read_call(arguments)
        with undone(caller) as workspace:
            return json.dumps(self.instance.find(name)(workspace, given), default=str)

    def _read_call(self, text: str) -> tuple[Caller, Mapping[str, Any]]:
        """Return the caller and the arguments of a call in JSON."""
        given = json.loads(text)
        database, schemas, zone = (given.pop(each) for each in ("_database", "_schemas", "_zone"))
        return Caller(self.instance, database, tuple(schemas), zone), given


def _refuse_several(calls: int) -> pa.Array:
    several = PublicationFailed(
        "one call with several rows of arguments does nothing", hint="call it once for each"
    )
    return pa.array([f"!{several}"] * calls)


def _commit(workspace: Workspace) -> None:
    """Commit, then do what waits for that. An interrupt that is noticed after the commit changes nothing."""
    try:
        workspace.cursor.execute("COMMIT")
    except (KeyboardInterrupt, RuntimeError, duckdb.InterruptException):
        try:
            workspace.cursor.execute("ROLLBACK")
        except duckdb.TransactionException:
            # The commit was complete, and left no transaction.
            pass
        else:
            raise
    for do in workspace.on_commit:
        do()


@contextmanager
def working(caller: Caller) -> Iterator[Workspace]:
    """Open a transaction for a caller in Python; it is committed at the end, or rolled back on an error."""
    with caller.instance.turn, committed(caller) as workspace:
        yield workspace


@contextmanager
def committed(caller: Caller) -> Iterator[Workspace]:
    """Open a transaction for a caller that has the turn; it is committed at the end, or rolled back on an error."""
    with made_for_owner(), _begun(caller) as workspace:
        yield workspace
        _commit(workspace)


@contextmanager
def undone(caller: Caller) -> Iterator[Workspace]:
    """Open a transaction that is always rolled back, and that no procedure waits for."""
    with made_for_owner(), _begun(caller) as workspace:
        yield workspace
        _undo(workspace)


@contextmanager
def _begun(caller: Caller) -> Iterator[Workspace]:
    workspace = open_workspace(caller)
    try:
        caller.instance.working.add(workspace.cursor)
        workspace.cursor.execute("BEGIN TRANSACTION")
        yield workspace
    except BaseException as error:
        _undo(workspace)
        if isinstance(error, PrivError) or not isinstance(error, Exception):
            raise
        raise _explained(error) from None
    finally:
        caller.instance.working.discard(workspace.cursor)
        workspace.cursor.close()


def _undo(workspace: Workspace) -> None:
    """Roll back, and undo changes outside of the transaction."""
    with suppress(duckdb.Error):
        workspace.cursor.execute("ROLLBACK")
    for undo in reversed(workspace.on_rollback):
        undo()


def open_workspace(caller: Caller) -> Workspace:
    """Open a workspace with the caller's database, schemas and time zone."""
    instance = caller.instance
    cursor = instance.cursor()
    if caller.zone is not None:
        # A view that takes the day of a timestamp must see the caller's time zone.
        cursor.execute(f"SET SESSION TimeZone = {literal(caller.zone)}")
    cursor.execute(f"USE {identifier(caller.database)}")
    cursor.execute("SET python_enable_replacements = false")
    keep_beside(cursor)
    if instance.watched:
        show_progress(cursor)
    instance.stage = ""
    return Workspace(instance, caller.database, caller.schemas, caller.zone, cursor=cursor)


def show_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """Let DuckDB record the progress of statements without printing it.

    Does nothing if settings are locked, as in a release file that is opened in confinement.
    """
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = true")
        connection.execute("SET enable_progress_bar_print = false")


TELLING = (
    duckdb.IOException,
    duckdb.OutOfMemoryException,
    duckdb.TransactionException,
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.ParserException,
    duckdb.PermissionException,
)
"""Errors of DuckDB whose text contains names and resources, never values.

NotImplementedException is missing here: DuckDB raises it with the value when a record's value is not a time zone.
"""


def _answer(compute: Callable[[], str]) -> str:
    """Return an answer, or an exclamation mark and the text of an error for SQL to raise.

    An error of DuckDB that may quote a value of the source is replaced by its name.
    """
    try:
        return compute()
    except PrivError as error:
        return f"!{error}"
    except (Exception, KeyboardInterrupt) as error:
        return f"!{_explained(error)}"


def is_interrupt(error: BaseException) -> bool:
    """Return whether someone stopped the work, here or in a called procedure.

    Ctrl-C arrives as one of five exceptions, depending on where DuckDB, Arrow or Python notices it.

    >>> is_interrupt(duckdb.InterruptException("INTERRUPT Error: Interrupted!"))
    True
    """
    return isinstance(error, KeyboardInterrupt | duckdb.InterruptException) or any(
        sign in str(error)
        for sign in (
            "INTERRUPT Error",
            "Query interrupted",
            "KeyboardInterrupt",
            "the statement was interrupted",
        )
    )


def _explained(error: BaseException) -> PublicationFailed:
    """Return the error that ended a procedure; an error that only a defect can cause is raised again."""
    if is_interrupt(error):
        return PublicationFailed(
            "the statement was interrupted, and nothing of it was kept", hint="run it again"
        )
    if isinstance(error, OSError) and error.filename is not None:
        return PublicationFailed(
            f"{error.strerror}: {echoed(str(error.filename))}", hint="nothing was kept"
        )
    if isinstance(error, (*TELLING, OSError)):
        return PublicationFailed(str(error).strip(), hint="nothing was kept")
    if isinstance(error, duckdb.Error):
        return PublicationFailed(
            f"reading the source ended in a {type(error).__name__}, whose text may quote a value",
            hint="nothing was kept; run SELECT max(COLUMNS(*)) FROM the source to see it",
        )
    raise error
