"""The command ``duckdb-priv``."""

from __future__ import annotations

import shutil
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import click
import duckdb
from rich.console import Console

from duckdb_priv.errors import UnknownRelease
from duckdb_priv.release.opening import open_release
from duckdb_priv.shell.database_files import (
    EXPECTED,
    MEMORY,
    explain,
    must_exist,
    open_for_reading,
    open_publisher,
)
from duckdb_priv.shell.dotcommands import Leave
from duckdb_priv.shell.execution import Execution, Stopped
from duckdb_priv.shell.rendering import MODES, Printer, prepare
from duckdb_priv.shell.session import Shell, print_answer
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.version import __version__

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

T = TypeVar("T")


@click.group()
@click.version_option(__version__, message="%(version)s")
def main() -> None:
    """Publish tables about persons from DuckDB, and count on what was published."""


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn what may go wrong into a message and an exit code."""
    try:
        yield
    except (Stopped, KeyboardInterrupt):
        raise _stopped() from None
    except BrokenPipeError:
        raise
    except EXPECTED as error:
        raise click.ClickException(explain(error)) from error
    except RuntimeError as error:
        # So DuckDB names a Ctrl-C that reaches it on the main thread, where only short statements run.
        if "interrupted" in str(error).lower():
            raise _stopped() from None
        raise


def _stopped() -> click.exceptions.Exit:
    click.echo("stopped", err=True)
    return click.exceptions.Exit(INTERRUPTED)


@main.command()
@click.argument("file", default=MEMORY)
@click.option(
    "-c", "commands", metavar="SQL", multiple=True, help="Run SQL, and leave; repeatable."
)
@click.option("-f", "scripts", metavar="SCRIPT", multiple=True, help="Run a script before any -c.")
@click.option("--mode", type=click.Choice(list(MODES)), default="duckbox", help="How answers look.")
@click.option("--history/--no-history", default=True, help="Remember what is typed, in a file.")
def shell(
    file: str, commands: tuple[str, ...], scripts: tuple[str, ...], mode: str, history: bool
) -> None:
    """Publish in SQL: open FILE, or a database in memory, as DuckDB's shell does.

    Without -c and -f, reads from the terminal, or from a pipe up to the first error.
    """
    with one_sentence():
        opened = Shell(file, out=sys.stdout, console=Console(stderr=True))
        opened.printer.mode = mode
        with closing(opened), suppress(Leave):
            for script in scripts:
                opened.run_file(script)
            for command in commands:
                opened.run(command.splitlines(keepends=True))
            if not commands and not scripts:
                if sys.stdin.isatty() and sys.stdout.isatty():
                    # prompt_toolkit takes a moment to load.
                    from duckdb_priv.shell.terminal import interact

                    interact(opened, keep_history=history)
                else:
                    opened.run(sys.stdin)


LIST = """
    SELECT release, mechanism, parameters, rows_published AS rows, created_at AS created
    FROM priv.release ORDER BY created_at, release
"""


@main.command()
@click.argument("file")
@click.option("--mode", type=click.Choice(list(MODES)), default="duckbox", help="How it looks.")
def releases(file: str, mode: str) -> None:
    """List what FILE has published, or holds if it is a release."""
    with one_sentence(), closing(open_for_reading(file)) as connection:
        known = connection.execute(
            "SELECT 1 FROM system.main.duckdb_tables() WHERE schema_name = 'priv' AND table_name = 'release'"
        ).fetchall()
        if not known:
            raise UnknownRelease(
                f"nothing was ever published from {file!r}",
                hint=f"duckdb-priv shell {file} opens it for publishing",
            )
        show(connection, LIST, mode)


@main.command()
@click.argument("file")
@click.argument("release")
@click.argument("path")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["duckdb", "parquet"]),
    default="duckdb",
    help="Of PATH.",
)
def export(file: str, release: str, path: str, format_: str) -> None:
    """Write RELEASE of the database FILE to PATH, to hand it out."""
    with one_sentence():
        must_exist(file)
        with closing(open_publisher(file)) as connection:
            arguments = ", ".join(map(literal, (release, path)))
            statement = f"FROM priv.export_release({arguments}, format := {literal(format_)})"
            show(connection, statement, "duckbox")


@main.command()
@click.argument("file")
def refresh(file: str) -> None:
    """Publish the next version of every release of FILE whose source has changed, and export it again.

    Prints a line for each release. The exit code is 1 where one could not be refreshed or exported, so that a
    scheduler notices.
    """
    from duckdb_priv.shell.refreshing import refresh_all

    with one_sentence():
        must_exist(file)
        with closing(open_publisher(file)) as connection:
            whole = _run(connection, lambda each: refresh_all(each, click.echo))
    if not whole:
        raise click.exceptions.Exit(1)


@main.command()
@click.argument("file", required=False)
@click.argument("release", required=False)
@click.option("--release-file", metavar="FILE", help="A release: the card says what FILE says.")
@click.option("-o", "path", metavar="PATH", default="card.html", help="Where the card goes.")
def report(file: str | None, release: str | None, release_file: str | None, path: str) -> None:
    """Write a card on RELEASE of the database FILE: one HTML page, beside the truth.

    With --release-file instead of FILE and RELEASE, the card is computed from the release alone, and can be
    handed out with it.
    """
    # numpy and jinja2 take a moment to load.
    from duckdb_priv.card.report import analyst_card, publisher_card, write

    if (release is None) == (release_file is None) or (file is None) == (release_file is None):
        raise click.UsageError("name FILE and RELEASE, or --release-file FILE")
    with one_sentence():
        if release_file is not None:
            with closing(open_release(release_file)) as connection:
                html = _run(connection, analyst_card)
        elif file is not None and release is not None:
            must_exist(file)
            with closing(open_publisher(file)) as connection:
                html = _run(connection, partial(publisher_card, release=release))
        write(html, Path(path))
    click.echo(path)


@main.command()
@click.argument("file", required=False)
@click.option(
    "--question",
    metavar="TEXT",
    default="",
    help="Ask this first, as the page writes it for you to share.",
)
@click.option(
    "--browser/--no-browser", default=True, help="Open the page, or only say where it is."
)
@click.option(
    "--install", is_flag=True, help="Fetch what the page counts with: 36 MB, once, with npm."
)
@click.option(
    "--write", "folder", metavar="DIR", help="Write the page into a new folder, for any web server."
)
def explore(
    file: str | None, question: str, browser: bool, install: bool, folder: str | None
) -> None:
    """Explore the release FILE in a browser, without SQL: bars and trends with intervals.

    The page is given out to this machine alone, and counts by itself: no question leaves the browser. Without FILE it
    asks for one.
    """
    from duckdb_priv.explorer import parts
    from duckdb_priv.explorer.server import Explorer

    with one_sentence():
        if install:
            click.echo(parts.install())
        if folder is not None:
            parts.write(Path(folder))
            click.echo(folder)
        if file is None and (install or folder is not None):
            return
        if file is not None:
            open_release(file).close()
        with Explorer(parts.parts(), None if file is None else Path(file)) as server:
            address = server.address(question)
            click.echo(f"{address}\nThe page is there until Ctrl-C.")
            if browser:
                webbrowser.open(address)
            with suppress(KeyboardInterrupt):
                server.serve_forever()


@main.command()
@click.option("--rows", type=click.IntRange(min=1_000), default=500_000, help="How many persons.")
@click.option(
    "--seed", type=int, default=1, help="Which persons; the perturbation is always fresh."
)
@click.option("--keep", metavar="DIR", help="Keep the database and the release in this folder.")
def demo(rows: int, seed: int, keep: str | None) -> None:
    """Publish a census of made-up persons, and compare what an analyst counts with the truth."""
    from duckdb_priv.shell.demo import run

    with one_sentence():
        run(Console(highlight=False), rows=rows, seed=seed, keep=keep)


def _run(
    connection: duckdb.DuckDBPyConnection, work: Callable[[duckdb.DuckDBPyConnection], T]
) -> T:
    """Do work that asks a connection many things, under the eyes of the terminal."""
    return Execution(connection, Console(stderr=True)).run(lambda _step: work(connection))


def show(connection: duckdb.DuckDBPyConnection, statement: str, mode: str) -> None:
    """Run a statement and print what it returns."""
    prepare(connection)
    execution = Execution(connection, Console(stderr=True))
    with closing(Printer()) as printer:
        printer.mode = mode
        printer.width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        execution.run(lambda step: print_answer(connection, statement, printer, sys.stdout, step))
