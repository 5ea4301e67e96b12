"""The dot commands of the shell, with the names of DuckDB's shell."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from itertools import takewhile

from duckdb_priv.errors import InvalidParameter, UnknownName
from duckdb_priv.shell.database_files import MEMORY
from duckdb_priv.shell.rendering import MODES
from duckdb_priv.shell.session import Session
from duckdb_priv.shell.topics import grouped
from duckdb_priv.sqltext import templates
from duckdb_priv.sqltext.quoting import identifier, literal


class Leave(Exception):
    """The user quits the shell."""


@dataclass(frozen=True)
class DotCommand:
    """A dot command."""

    usage: str
    """Its arguments, as .help shows them."""
    function: Callable[..., None]
    """Takes the shell, and the words after the command's name."""

    @property
    def meaning(self) -> str:
        """Its description: the docstring of its function."""
        return " ".join((self.function.__doc__ or "").split()).removesuffix(".")


COMMANDS: dict[str, DotCommand] = {}


def command(usage: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a dot command."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        COMMANDS[function.__name__.rstrip("_")] = DotCommand(usage, function)
        return function

    return register


BARE = ("help", "exit", "quit")
"""Commands that work without their dot, since none of these words is an SQL statement."""


def meant(line: str) -> str | None:
    """Return the dot command in a line; None if the line is not a dot command.

    >>> meant(".tables"), meant("exit;"), meant("SELECT 1;")
    ('.tables', '.exit', None)
    """
    word = line.strip().rstrip(";").rstrip().lower()
    return line if line.startswith(".") else f".{word}" if word in BARE else None


class Shell(Session):
    """A session that also runs dot commands."""

    def feed(self, line: str) -> None:
        """Take one line: a dot command, or a piece of SQL as ``Session`` takes it.

        Raises UnknownName for an unknown command, and InvalidParameter for wrong arguments of a known one.
        """
        if not self.unfinished and (command := meant(line)):
            run(self, command)
        else:
            super().feed(line)


def run(shell: Session, line: str) -> None:
    """Run one dot command."""
    try:
        name, *words = shlex.split(line.strip().rstrip(";")[1:]) or [""]
    except ValueError as error:
        raise InvalidParameter(f"{line.strip()!r} has a quote without an end") from error
    if name not in COMMANDS:
        raise UnknownName.among(
            "command",
            f".{name}",
            (f".{each}" for each in COMMANDS),
            also=".help lists all commands",
        )
    found = COMMANDS[name]
    try:
        signature(found.function).bind(shell, *words)
    except TypeError:
        raise InvalidParameter(
            f".{name} has too few or too many arguments",
            hint=f"write .{name} {found.usage}".rstrip(),
        ) from None
    found.function(shell, *words)


def switch(text: str) -> bool:
    """Read on or off.

    >>> switch("on"), switch("OFF")
    (True, False)
    """
    if text.lower() not in ("on", "off"):
        raise InvalidParameter(f"{text!r} is neither on nor off")
    return text.lower() == "on"


@command("[PATTERN]")
def help_(shell: Session, pattern: str = "") -> None:
    """List functions of priv and commands by task; describe a single function with its example."""
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
        raise InvalidParameter(
            f"no command or function is called {pattern!r}", hint=".help lists all of them"
        )
    only = reference(functions[0][0]) if len(functions) == 1 and not commands else ""
    shell.write(only or grouped(commands, functions, shell.window))


def reference(name: str) -> str:
    """Return the header of a function's SQL file; an empty text for a function that the library does not have.

    >>> print(reference("ldp_epsilon").splitlines()[0])
    priv.ldp_epsilon(retention, m) -> DOUBLE
    """
    for folder in ("publisher", "analyst"):
        if name in templates.names(folder):
            lines = templates.read(folder, name).splitlines()
            head = takewhile(lambda line: line.startswith("--"), lines)
            return "".join(line[2:].removeprefix(" ") + "\n" for line in head)
    return ""


LISTED = """(
    SELECT schema_name AS schema, table_name AS name, 'table' AS kind, column_count AS columns, comment, sql
    FROM duckdb_tables() WHERE database_name = current_database()
    UNION ALL SELECT schema_name, view_name, 'view', column_count, comment, sql
    FROM duckdb_views() WHERE database_name = current_database() AND NOT internal
) WHERE schema <> 'priv'"""
"""The tables and views outside the schema priv."""


@command("[PATTERN]")
def tables(shell: Session, pattern: str = "%") -> None:
    """List tables and views outside the schema priv."""
    shell.execute(
        f"SELECT * EXCLUDE (sql) FROM {LISTED} AND name LIKE {literal(pattern)} ORDER BY ALL"
    )


@command("[PATTERN]")
def schema(shell: Session, pattern: str = "%") -> None:
    """Show the CREATE statements of tables and views."""
    statements = shell.connection.execute(
        f"SELECT sql FROM {LISTED} AND name LIKE ? ORDER BY schema, name", [pattern]
    ).fetchall()
    shell.write("".join(f"{sql.strip()}\n" for (sql,) in statements))


@command("[MODE]")
def mode(shell: Session, name: str = "") -> None:
    """Show or set the output mode: duckbox, csv, tabs, json, jsonlines, markdown, line, list, trash."""
    if not name:
        shell.write(f"current output mode: {shell.printer.mode}\n")
    elif name in MODES:
        shell.printer.mode = name
    else:
        raise InvalidParameter(
            f"there is no output mode {name!r}", hint=f"write one of {', '.join(MODES)}"
        )


@command("on|off")
def headers(shell: Session, state: str) -> None:
    """Print the names of the columns, in the modes csv, tabs and list."""
    shell.printer.headers = switch(state)


@command("on|off")
def timer(shell: Session, state: str) -> None:
    """Print the time that each statement takes."""
    shell.timer = switch(state)


@command("on|off")
def estimates(shell: Session, state: str) -> None:
    """Answer queries on a release by estimates; for a single query write ESTIMATE SELECT …"""
    shell.estimates = switch(state)


@command("[FILE]")
def output(shell: Session, path: str | None = None) -> None:
    """Print answers to FILE; without FILE, print them here again."""
    shell.redirect(path)


@command("FILE")
def once(shell: Session, path: str) -> None:
    """Print the next answer to FILE."""
    shell.redirect(path, once=True)


@command("[ROWS]")
def maxrows(shell: Session, rows: str = "") -> None:
    """Show or set the number of rows that a box shows."""
    if not rows:
        shell.write(f"current maximum of rows: {shell.printer.max_rows}\n")
    elif rows.isdecimal() and int(rows) > 0:
        shell.printer.max_rows = int(rows)
    else:
        raise InvalidParameter(
            f"{rows!r} is not a number of rows", hint="write a whole number of at least 1"
        )


READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".csv.gz": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
}
"""The DuckDB function that reads files with this suffix."""


@command("FILE TABLE")
def import_(shell: Session, path: str, table: str) -> None:
    """Read a CSV, Parquet or JSON file into a new table."""
    reader = next((READERS[end] for end in READERS if path.lower().endswith(end)), None)
    if reader is None:
        raise InvalidParameter(
            f"{path!r} has no known file suffix",
            hint=f"known are {', '.join(READERS)};"
            f" else write CREATE TABLE {identifier(table)} AS FROM read_csv({literal(path)})",
        )
    shell.execute(f"CREATE TABLE {identifier(table)} AS FROM {reader}({literal(path)})")
    shell.execute(f"DESCRIBE {identifier(table)}")


@command("")
def databases(shell: Session) -> None:
    """List the open databases."""
    shell.execute(
        "SELECT database_name AS name, coalesce(path, 'in memory') AS path, readonly FROM duckdb_databases()"
        " WHERE NOT internal ORDER BY database_oid"
    )


@command("FILE")
def read(shell: Session, path: str) -> None:
    """Run the statements and dot commands of FILE."""
    shell.run_file(path)


@command("[FILE]")
def open_(shell: Session, path: str = MEMORY) -> None:
    """Close the database and open FILE, or one in memory."""
    shell.open(path)


@command("")
def quit_(shell: Session) -> None:
    """Leave the shell."""
    raise Leave


COMMANDS["exit"] = COMMANDS["quit"]
