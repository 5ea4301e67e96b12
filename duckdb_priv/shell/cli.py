"""The command ``duckdb-priv``."""

from __future__ import annotations

import shutil
import sys
import webbrowser
from contextlib import closing, suppress
from pathlib import Path

import click
import duckdb
from rich.console import Console

from duckdb_priv.engine.private_files import for_readers
from duckdb_priv.errors import NotVerified, one_line, visible
from duckdb_priv.release.opening import open_release
from duckdb_priv.shell import operations
from duckdb_priv.shell.database_files import (
    MEMORY,
    Beside,
    open_for_reading,
    open_known,
    require_catalog,
)
from duckdb_priv.shell.dotcommands import Leave
from duckdb_priv.shell.execution import Execution, watched
from duckdb_priv.shell.options import beside_options, key_option
from duckdb_priv.shell.outcome import one_sentence
from duckdb_priv.shell.rendering import MODES, Printer, prepare
from duckdb_priv.shell.secret_commands import secret_commands
from duckdb_priv.shell.session import Shell, print_answer
from duckdb_priv.version import __version__


@click.group()
@click.version_option(__version__, message="%(version)s")
def main() -> None:
    """Publish tables about people from DuckDB, and count on what was published."""


for each in (*operations.COMMANDS, secret_commands):
    main.add_command(each)


@main.command()
@click.argument("file", default=MEMORY)
@click.option(
    "-c", "commands", metavar="SQL", multiple=True, help="Run SQL, and leave; repeatable."
)
@click.option("-f", "scripts", metavar="SCRIPT", multiple=True, help="Run a script before any -c.")
@click.option("--mode", type=click.Choice(list(MODES)), default="duckbox", help="How answers look.")
@click.option("--history/--no-history", default=True, help="Remember what is typed, in a file.")
@beside_options
def shell(
    file: str,
    commands: tuple[str, ...],
    scripts: tuple[str, ...],
    mode: str,
    history: bool,
    beside: Beside,
) -> None:
    """Publish in SQL: open FILE, or a database in memory, as DuckDB's shell does.

    Without -c and -f, reads from the terminal, or from a pipe up to the first error.
    """
    with one_sentence():
        opened = Shell(file, beside, out=sys.stdout, console=Console(stderr=True))
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


def say_verified(file: str, key: str | None) -> None:
    """Print on stderr whether a release is what its publisher signed; raises NotVerified where it must be."""
    # What writes macros and views takes a moment to load.
    from duckdb_priv.publisher.verify import verify

    try:
        stated = verify(file, key).sentences
    except NotVerified as error:
        if key is not None:
            raise
        stated = [one_line(str(error))]
    for each in stated:
        click.echo(visible(each), err=True)


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
        require_catalog(connection, file)
        show(connection, LIST, mode)


@main.command()
@click.argument("file", required=False)
@click.argument("release", required=False)
@click.option("--release-file", metavar="FILE", help="A release: the card says what FILE says.")
@click.option("-o", "path", metavar="PATH", default="card.html", help="Where the card goes.")
@click.option(
    "--explorer",
    metavar="URL",
    help="With --release-file: the address of its explorer, to which the card then links.",
)
@key_option
@beside_options
def report(
    file: str | None,
    release: str | None,
    release_file: str | None,
    path: str,
    explorer: str | None,
    key: str | None,
    beside: Beside,
) -> None:
    """Write a card on RELEASE of the database FILE: one HTML page, beside the truth.

    With --release-file instead of FILE and RELEASE, the card is computed from the release alone, and can be
    handed out with it.
    """
    # numpy and jinja2 take a moment to load.
    from duckdb_priv.card.report import analyst_card, publisher_card, write

    if (release is None) == (release_file is None) or (file is None) == (release_file is None):
        raise click.UsageError("name FILE and RELEASE, or --release-file FILE")
    if key is not None and release_file is None:
        raise click.UsageError("--key is for a release: name --release-file")
    if explorer is not None and release_file is None:
        raise click.UsageError("--explorer is for the card that is handed out: name --release-file")
    with one_sentence():
        if release_file is not None:
            say_verified(release_file, key)
            with closing(open_release(release_file)) as connection:
                html = watched(connection, lambda: analyst_card(connection, explorer=explorer))
        elif file is not None and release is not None:
            with closing(open_known(file, beside)) as connection:
                html = watched(connection, lambda: publisher_card(connection, release))
        write(html, Path(path))
        if release_file is not None:
            for_readers(Path(path))
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
    "--write",
    "folder",
    metavar="DIR",
    help="Write the page into a new folder, for any web server; with FILE, which it then opens.",
)
@key_option
def explore(
    file: str | None,
    question: str,
    browser: bool,
    install: bool,
    folder: str | None,
    key: str | None,
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
        if file is not None:
            open_release(file).close()
            say_verified(file, key)
        if folder is not None:
            parts.write(Path(folder), None if file is None else Path(file))
            click.echo(folder)
        if folder is not None or (file is None and install):
            return
        with Explorer(parts.parts(), None if file is None else Path(file)) as server:
            address = server.address(question)
            click.echo(f"{address}\nThe page is there until Ctrl-C.")
            if browser:
                webbrowser.open(address)
            with suppress(KeyboardInterrupt):
                server.serve_forever()


@main.command()
@click.option("--rows", type=click.IntRange(min=1_000), default=500_000, help="How many people.")
@click.option("--seed", type=int, default=1, help="Which people; the perturbation is always fresh.")
@click.option("--keep", metavar="DIR", help="Keep the database and the release in this folder.")
def demo(rows: int, seed: int, keep: str | None) -> None:
    """Publish a census of made-up people, and compare what an analyst counts with the truth."""
    from duckdb_priv.shell.demo import run

    with one_sentence():
        run(Console(highlight=False), rows=rows, seed=seed, keep=keep)


def show(connection: duckdb.DuckDBPyConnection, statement: str, mode: str) -> None:
    """Run a statement and print what it returns."""
    prepare(connection)
    execution = Execution(connection, Console(stderr=True))
    with closing(Printer()) as printer:
        printer.mode = mode
        printer.width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        execution.run(lambda step: print_answer(connection, statement, printer, sys.stdout, step))
