"""The dot commands of the shell, named as DuckDB's shell names them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Protocol

import duckdb

from duckdb_priv.errors import InvalidParameter, UnknownName
from duckdb_priv.shell.database_files import MEMORY
from duckdb_priv.shell.rendering import MODES, Printer
from duckdb_priv.shell.topics import grouped
from duckdb_priv.sqltext import templates
from duckdb_priv.sqltext.quoting import identifier, literal


class Controls(Protocol):
    """What a dot command needs of the shell."""

    connection: duckdb.DuckDBPyConnection
    printer: Printer
    timer: bool
    estimates: bool

    @property
    def window(self) -> int | None:
        """Columns of the terminal that answers go to; None where they go elsewhere."""

    def open(self, path: str) -> None:
        """Open another database."""

    def execute(self, statement: str) -> None:
        """Run a statement and print its answer."""

    def run_file(self, path: str) -> None:
        """Run a script."""

    def write(self, text: str) -> None:
        """Print a text."""

    def redirect(self, path: str | None, *, once: bool = False) -> None:
        """Send answers elsewhere, or only the next one."""


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


BARE = ("help", "exit", "quit")
"""Commands that people type without their dot; no statement of SQL is such a word alone."""


def meant(line: str) -> str | None:
    """Return the dot command that a line is meant as, if it is one.

    >>> meant(".tables"), meant("exit;"), meant("SELECT 1;")
    ('.tables', '.exit', None)
    """
    word = line.strip().rstrip(";").rstrip().lower()
    return line if line.startswith(".") else f".{word}" if word in BARE else None


def run(shell: Controls, line: str) -> None:
    """Run one dot command.

    Raises UnknownName for an unknown command, and InvalidParameter for wrong words behind a known one.
    """
    try:
        name, *words = shlex.split(line.strip().rstrip(";")[1:]) or [""]
    except ValueError as error:
        raise InvalidParameter(f"{line.strip()!r} has a quote that nothing closes") from error
    if name not in COMMANDS:
        raise UnknownName.among(
            "command",
            f".{name}",
            (f".{each}" for each in COMMANDS),
            also=".help lists all commands",
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


@command(
    "[PATTERN]",
    "List priv.* and these commands by what one wants to do; one function with its example",
)
def help_(shell: Controls, pattern: str = "") -> None:
    """Describe the dot commands, and what the schema priv has."""
    pattern = pattern.lower().removeprefix("priv.").removeprefix(".")
    commands = [
        (f".{name} {found.usage}".rstrip(), found.meaning)
        for name, found in COMMANDS.items()
        if pattern in name
    ]
    functions = shell.connection.execute(
        "SELECT DISTINCT function_name, coalesce(comment, '') FROM duckdb_functions()"
        " WHERE schema_name = 'priv' AND NOT starts_with(function_name, '_')"
        " AND contains(function_name, ?) ORDER BY ALL",
        [pattern],
    ).fetchall()
    if not commands and not functions:
        raise InvalidParameter(f"nothing is called {pattern!r}", hint=".help lists everything")
    only = reference(functions[0][0]) if len(functions) == 1 and not commands else ""
    shell.write(only or grouped(commands, functions, shell.window))


def reference(name: str) -> str:
    """Return the reference entry of a function, the head of its SQL file; nothing for a function of the user's.

    >>> print(reference("ldp_epsilon").splitlines()[0])
    priv.ldp_epsilon(retention, m) -> DOUBLE
    """
    for folder in ("publisher", "analyst"):
        if name in templates.names(folder):
            lines = templates.read(folder, name).splitlines()
            head = takewhile(lambda line: line.startswith("--"), lines)
            return "".join(line[2:].removeprefix(" ") + "\n" for line in head)
    return ""


@command("[PATTERN]", "List tables and views, those of the schema priv aside")
def tables(shell: Controls, pattern: str = "%") -> None:
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
def schema(shell: Controls, pattern: str = "%") -> None:
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
def mode(shell: Controls, name: str = "") -> None:
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
def headers(shell: Controls, state: str) -> None:
    """Turn the names of columns on or off."""
    shell.printer.headers = switch(state)


@command("on|off", "Print how long each statement takes", fewest=1)
def timer(shell: Controls, state: str) -> None:
    """Turn the timer on or off."""
    shell.timer = switch(state)


@command(
    "on|off",
    "Read queries as if a release were the true table; for one: ESTIMATE SELECT …",
    fewest=1,
)
def estimates(shell: Controls, state: str) -> None:
    """Turn estimates on or off."""
    shell.estimates = switch(state)


@command("[FILE]", "Print answers to FILE, or again here")
def output(shell: Controls, path: str | None = None) -> None:
    """Send answers elsewhere."""
    shell.redirect(path)


@command("FILE", "Print the next answer to FILE", fewest=1)
def once(shell: Controls, path: str) -> None:
    """Send one answer elsewhere."""
    shell.redirect(path, once=True)


@command("[ROWS]", "Show or set how many rows a box shows")
def maxrows(shell: Controls, rows: str = "") -> None:
    """Show or set the height of a box."""
    if not rows:
        shell.write(f"current maximum of rows: {shell.printer.max_rows}\n")
    elif rows.isdecimal() and int(rows) > 0:
        shell.printer.max_rows = int(rows)
    else:
        raise InvalidParameter(
            f"{rows!r} is no number of rows", hint="write a whole number from 1 on"
        )


READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".csv.gz": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
}
"""By the end of a file's name: what reads it."""


@command("FILE TABLE", "Read a CSV, Parquet or JSON file into a new table", fewest=2, most=2)
def import_(shell: Controls, path: str, table: str) -> None:
    """Make a table from a file."""
    reader = next((READERS[end] for end in READERS if path.lower().endswith(end)), None)
    if reader is None:
        raise InvalidParameter(
            f"{path!r} has no ending that says how to read it",
            hint=f"it may end in {', '.join(READERS)};"
            f" else write CREATE TABLE {identifier(table)} AS FROM read_csv({literal(path)})",
        )
    shell.execute(f"CREATE TABLE {identifier(table)} AS FROM {reader}({literal(path)})")
    shell.execute(f"DESCRIBE {identifier(table)}")


@command("", "List the databases that are open", most=0)
def databases(shell: Controls) -> None:
    """List databases."""
    shell.execute(
        "SELECT database_name AS name, coalesce(path, 'in memory') AS path, readonly FROM duckdb_databases()"
        " WHERE NOT internal ORDER BY database_oid"
    )


@command("FILE", "Run the statements and dot commands of FILE", fewest=1)
def read(shell: Controls, path: str) -> None:
    """Run a script."""
    shell.run_file(path)


@command("[FILE]", "Close the database and open FILE, or one in memory")
def open_(shell: Controls, path: str = MEMORY) -> None:
    """Open another database."""
    shell.open(path)


@command("", "Leave the shell", most=0)
def quit_(shell: Controls) -> None:
    """Leave."""
    raise Leave


@command("", "Leave the shell", most=0)
def exit_(shell: Controls) -> None:
    """Leave."""
    raise Leave
