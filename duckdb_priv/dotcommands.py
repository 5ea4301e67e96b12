"""The dot commands of the shell, named as DuckDB's shell names them."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Protocol

import duckdb

from duckdb_priv import sqlfiles
from duckdb_priv.database_files import MEMORY
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.rendering import MODES, Printer
from duckdb_priv.sqlfiles import literal


class Shell(Protocol):
    """What a dot command needs of the shell."""

    connection: duckdb.DuckDBPyConnection
    printer: Printer
    timer: bool

    def open(self, path: str) -> None:
        """Open another database."""

    def execute(self, statement: str) -> None:
        """Run a statement and print its answer."""

    def run_file(self, path: str) -> None:
        """Run a script."""

    def write(self, text: str) -> None:
        """Print a text."""

    def redirect(self, path: str | None) -> None:
        """Send answers elsewhere."""


class Leave(Exception):
    """The user leaves the shell."""


@dataclass(frozen=True)
class DotCommand:
    """A dot command: what may follow its name, what it does, and how."""

    usage: str
    meaning: str
    function: Callable[..., None]
    fewest: int
    most: int


COMMANDS: dict[str, DotCommand] = {}


def command(
    usage: str, meaning: str, *, fewest: int = 0, most: int = 1
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a dot command; it takes the shell, and as many words as may follow."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        COMMANDS[function.__name__.rstrip("_")] = DotCommand(usage, meaning, function, fewest, most)
        return function

    return register


def run(shell: Shell, line: str) -> None:
    """Run one dot command.

    Raises InvalidParameter for an unknown command, or wrong words behind a known one.
    """
    try:
        name, *words = shlex.split(line.strip().rstrip(";")[1:]) or [""]
    except ValueError as error:
        raise InvalidParameter(f"{line.strip()!r} has a quote that nothing closes") from error
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean .{near[0]}? " if near else ""
        raise InvalidParameter(
            f"there is no command '.{name}'", hint=f"{hint}.help lists all commands"
        )
    found = COMMANDS[name]
    if not found.fewest <= len(words) <= found.most:
        raise InvalidParameter(
            f".{name} takes other words", hint=f"write .{name} {found.usage}".rstrip()
        )
    found.function(shell, *words)


def switch(text: str) -> bool:
    """Read on or off.

    >>> switch("on"), switch("OFF")
    (True, False)
    """
    if text.lower() not in ("on", "off"):
        raise InvalidParameter(f"{text!r} is neither on nor off")
    return text.lower() == "on"


@command("[PATTERN]", "Describe the dot commands and priv.*, or those whose name holds PATTERN")
def help_(shell: Shell, pattern: str = "") -> None:
    """Describe the dot commands, and what the schema priv has."""
    pattern = pattern.lower().removeprefix("priv.").removeprefix(".")
    commands = [
        (f".{name} {found.usage}".rstrip(), found.meaning)
        for name, found in COMMANDS.items()
        if pattern in name
    ]
    functions = shell.connection.execute(
        "SELECT DISTINCT 'priv.' || function_name, coalesce(comment, '') FROM duckdb_functions()"
        " WHERE schema_name = 'priv' AND contains(function_name, ?) ORDER BY ALL",
        [pattern],
    ).fetchall()
    if not commands and not functions:
        raise InvalidParameter(f"nothing is called {pattern!r}", hint=".help lists everything")
    if len(functions) == 1 and not commands:
        shell.write(reference(functions[0][0].removeprefix("priv.")) or aligned(functions))
        return
    blocks = [aligned(entries) for entries in (commands, functions) if entries]
    shell.write("\n".join(blocks))


def aligned(entries: Sequence[tuple[str, str]]) -> str:
    """Write two columns.

    >>> print(aligned([(".quit", "Leave"), (".read FILE", "Run")]), end="")
    .quit       Leave
    .read FILE  Run
    """
    width = max(len(usage) for usage, _ in entries)
    return "".join(f"{usage:<{width}}  {meaning}\n" for usage, meaning in entries)


def reference(name: str) -> str:
    """Return the reference entry of a function, the head of its SQL file; nothing for a function of the user's.

    >>> print(reference("ldp_epsilon").splitlines()[0])
    priv.ldp_epsilon(retention, m) -> DOUBLE
    """
    for folder in ("publisher", "analyst"):
        if name in sqlfiles.names(folder):
            lines = sqlfiles.read(folder, name).splitlines()
            head = takewhile(lambda line: line.startswith("--"), lines)
            return "".join(line[2:].removeprefix(" ") + "\n" for line in head)
    return ""


@command("[PATTERN]", "List tables and views, those of the schema priv aside")
def tables(shell: Shell, pattern: str = "%") -> None:
    """List tables and views."""
    shell.execute(
        "SELECT schema_name AS schema, name, kind, columns, comment FROM ("
        " SELECT schema_name, table_name AS name, 'table' AS kind, column_count AS columns, comment"
        " FROM duckdb_tables() WHERE database_name = current_database() UNION ALL"
        " SELECT schema_name, view_name, 'view', column_count, comment"
        " FROM duckdb_views() WHERE database_name = current_database() AND NOT internal)"
        f" WHERE schema_name <> 'priv' AND name LIKE {literal(pattern)} ORDER BY ALL"
    )


@command("[PATTERN]", "Show the CREATE statements of tables and views")
def schema(shell: Shell, pattern: str = "%") -> None:
    """Show how tables and views were made."""
    statements = shell.connection.execute(
        "SELECT sql FROM (SELECT schema_name, table_name AS name, sql FROM duckdb_tables()"
        " WHERE database_name = current_database() UNION ALL"
        " SELECT schema_name, view_name, sql FROM duckdb_views()"
        " WHERE database_name = current_database() AND NOT internal)"
        " WHERE schema_name <> 'priv' AND name LIKE ? ORDER BY schema_name, name",
        [pattern],
    ).fetchall()
    shell.write("".join(f"{sql.strip()}\n" for (sql,) in statements))


@command("[MODE]", f"Show or set how answers are printed: {', '.join(MODES)}")
def mode(shell: Shell, name: str = "") -> None:
    """Show or set the output mode."""
    if not name:
        shell.write(f"current output mode: {shell.printer.mode}\n")
    elif name in MODES:
        shell.printer.mode = name
    else:
        raise InvalidParameter(
            f"there is no output mode {name!r}", hint=f"take one of {', '.join(MODES)}"
        )


@command("on|off", "Print the names of the columns, in the modes csv, tabs and list", fewest=1)
def headers(shell: Shell, state: str) -> None:
    """Turn the names of columns on or off."""
    shell.printer.headers = switch(state)


@command("on|off", "Print how long each statement takes", fewest=1)
def timer(shell: Shell, state: str) -> None:
    """Turn the timer on or off."""
    shell.timer = switch(state)


@command("[FILE]", "Print answers to FILE, or again here")
def output(shell: Shell, path: str | None = None) -> None:
    """Send answers elsewhere."""
    shell.redirect(path)


@command("FILE", "Run the statements and dot commands of FILE", fewest=1)
def read(shell: Shell, path: str) -> None:
    """Run a script."""
    shell.run_file(path)


@command("[FILE]", "Close the database and open FILE, or one in memory")
def open_(shell: Shell, path: str = MEMORY) -> None:
    """Open another database."""
    shell.open(path)


@command("", "Leave the shell", most=0)
def quit_(shell: Shell) -> None:
    """Leave."""
    raise Leave


@command("", "Leave the shell", most=0)
def exit_(shell: Shell) -> None:
    """Leave."""
    raise Leave
