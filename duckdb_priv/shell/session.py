"""The core of the shell: reads lines of SQL, and prints the answers, on any output.

Every statement runs exactly once, since ``FROM priv.publish_…`` has effects. Statements are not logged.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import TextIO

import duckdb
from rich.console import Console

from duckdb_priv.errors import InvalidParameter, visible
from duckdb_priv.shell.database_files import ALONE, MEMORY, Beside, attach_verified, open_publisher
from duckdb_priv.shell.execution import Execution
from duckdb_priv.shell.rendering import BATCH_ROWS, Printer, prepare
from duckdb_priv.shell.statements import is_blank, split, without_prefix

ESTIMATE = "estimate"
"""The word before a query that makes its answer an estimate."""
REPORTS = (["Count"], ["Success"])
"""Column names of the reports that DuckDB 2 returns for statements without result rows."""


Shown = Callable[[duckdb.DuckDBPyRelation], duckdb.DuckDBPyRelation]
"""Formats an answer before it is printed."""


def _unchanged(answer: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    return answer


class Session:
    """A database opened for publishing, with the settings for printing answers."""

    def __init__(
        self, path: str = MEMORY, beside: Beside = ALONE, *, out: TextIO, console: Console
    ) -> None:
        self.console = console
        """The console for progress bars and notes; answers are printed to ``out``."""
        self.timer = False
        self.estimates = False
        """Whether queries on a release are answered by estimates."""
        self._stdout = out
        self._out = out
        self._once = False
        self._pending = ""
        self._reading: list[Path] = []
        self._beside = beside
        self._use(path)
        self.printer = Printer()

    def open(self, path: str) -> None:
        """Open another database, then close the current one. If opening fails, keep the current one."""
        before = self.connection
        self._use(path)
        before.close()

    def _use(self, path: str) -> None:
        connection = open_publisher(path, self._beside)
        # DuckDB must not look up table names among Python's variables.
        connection.execute("SET python_enable_replacements = false")
        prepare(connection)
        self.connection = connection
        self.path = path
        self._execution = Execution(connection, self.console)

    def close(self) -> None:
        """Close the database."""
        self.redirect(None)
        self.connection.close()
        self.printer.close()

    def feed(self, line: str) -> None:
        """Take one line: a piece of SQL that runs as soon as a semicolon ends it."""
        text = self._pending + line
        if ";" not in line:
            self._pending = text
            return
        statements, rest = split(text)
        for statement in statements:
            self.execute(statement)
        self._pending = "" if is_blank(rest) else rest

    @property
    def unfinished(self) -> bool:
        """Whether a statement has begun that no semicolon has ended."""
        return not is_blank(self._pending)

    def finish(self) -> None:
        """Run the last statement, which has no semicolon, at the end of the input."""
        rest, self._pending = self._pending, ""
        if not is_blank(rest):
            self.execute(rest)

    def run(self, lines: Iterable[str]) -> None:
        """Run lines until their end or the first error, and drop an unfinished statement."""
        try:
            for line in lines:
                self.feed(line)
            self.finish()
        finally:
            self._pending = ""

    def run_file(self, path: str) -> None:
        """Run a script."""
        script = Path(path)
        if script.resolve() in self._reading:
            raise InvalidParameter(f"{path!r} reads itself", hint="remove that .read from it")
        self._reading.append(script.resolve())
        try:
            with script.open(encoding="utf-8-sig") as lines:
                self.run(lines)
        finally:
            self._reading.pop()

    def execute(self, statement: str) -> None:
        """Run one statement and print its answer.

        Raises duckdb.Error, or Stopped after Ctrl-C.
        """
        started = time.perf_counter()
        self.printer.width = self.window
        try:
            asked, statement = statement, self._meant(statement)
            if is_attach(self.connection, statement):
                stated: list[str] = []
                self._execution.run(
                    lambda _: stated.extend(attach_verified(self.connection, statement))
                )
                for each in stated:
                    self.console.print(visible(each), markup=False, highlight=False)
                return
            self._execution.run(
                lambda step: print_answer(
                    self.connection,
                    statement,
                    self.printer,
                    self._out,
                    step,
                    self._shown(asked, statement),
                )
            )
        finally:
            if self._once:
                self.redirect(None)
        if self.timer:
            self.write(f"Run Time (s): real {time.perf_counter() - started:.3f}\n")

    def _meant(self, statement: str) -> str:
        """Rewrite a query to estimates if it begins with ESTIMATE or ``.estimates`` is on."""
        query = without_prefix(statement, ESTIMATE)
        if query is None and not self.estimates:
            return statement
        # Imported here because only the optional extra for ordinary SQL installs what this module imports.
        from duckdb_priv.ordinary.rewrite import rewrite_sql

        return rewrite_sql(self.connection, query or statement, intervals=True)

    def _shown(self, asked: str, meant: str) -> Shown:
        """Return the format of an answer: estimates in a box on a terminal are rounded for people."""
        if meant == asked or self.window is None or self.printer.mode != "duckbox":
            return _unchanged
        from duckdb_priv.shell.readable import readable

        return lambda answer: readable(answer, without_prefix(asked, ESTIMATE) or asked)

    @property
    def window(self) -> int | None:
        """Columns of the terminal on which answers are printed; None if they are printed elsewhere."""
        return shutil.get_terminal_size().columns if self._out.isatty() else None

    def write(self, text: str) -> None:
        """Print a text to the output of answers."""
        self._out.write(visible(text) if self._out.isatty() else text)
        self._out.flush()

    def redirect(self, path: str | None, *, once: bool = False) -> None:
        """Print answers to a file, or to the first output if ``path`` is None; ``once`` lasts for one statement."""
        out = self._stdout if path is None else open(path, "w", encoding="utf-8", newline="")  # noqa: SIM115
        if self._out is not self._stdout:
            self._out.close()
        self._out, self._once = out, once


def print_answer(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    printer: Printer,
    out: TextIO,
    step: Callable[[], None],
    shown: Shown = _unchanged,
) -> None:
    """Run a statement once and print its answer; ``step`` is called before every piece.

    >>> import sys
    >>> con, printer = duckdb.connect(), Printer()
    >>> printer.mode = "list"
    >>> print_answer(con, "SELECT 42 AS a", printer, sys.stdout, lambda: None)
    a
    42
    >>> con.close(), printer.close()
    (None, None)
    """
    relation = connection.sql(statement)
    if relation is None:
        return
    with closing(shown(relation).to_arrow_reader(BATCH_ROWS)) as reader:
        if (
            reader.schema.names in REPORTS
            and connection.extract_statements(statement)[-1].type.name != "SELECT"
        ):
            return
        for chunk in printer.chunks(reader):
            step()
            out.write(visible(chunk) if printer.width is not None else chunk)
    out.flush()


def is_attach(connection: duckdb.DuckDBPyConnection, statement: str) -> bool:
    """Return whether a statement attaches a database.

    >>> with duckdb.connect() as con:
    ...     is_attach(con, "ATTACH 'x.duckdb'"), is_attach(con, "SELECT 'ATTACH'"), is_attach(con, "FROM (")
    (True, False, False)
    """
    if "attach" not in statement.lower():
        return False
    try:
        return any(each.type.name == "ATTACH" for each in connection.extract_statements(statement))
    except duckdb.Error:
        return False
