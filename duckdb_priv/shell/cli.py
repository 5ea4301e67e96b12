"""The command ``duckdb-priv``."""

from __future__ import annotations

import shutil
import sys
import webbrowser
from contextlib import closing, suppress
from pathlib import Path

import click
from rich.console import Console

from duckdb_priv.engine.private_files import for_readers
from duckdb_priv.engine.randomness import fingerprint, new_secret
from duckdb_priv.engine.secrets import stored_secret, write_for_owner
from duckdb_priv.errors import InvalidParameter, NotVerified, one_line, visible
from duckdb_priv.release.opening import open_release
from duckdb_priv.shell import operations
from duckdb_priv.shell.database_files import (
    MEMORY,
    Beside,
    open_for_reading,
    open_known,
    require_catalog,
)
from duckdb_priv.shell.dotcommands import Leave, Shell
from duckdb_priv.shell.execution import Execution, watched
from duckdb_priv.shell.given_secret import written
from duckdb_priv.shell.operations import asked, tried
from duckdb_priv.shell.options import (
    CommandGroup,
    Results,
    beside_options,
    dry_run_option,
    key_option,
    results_options,
)
from duckdb_priv.shell.rendering import MODES, Printer, prepare
from duckdb_priv.shell.session import print_answer
from duckdb_priv.version import __version__


@click.group(cls=CommandGroup)
@click.version_option(__version__, message="%(version)s")
def main() -> None:
    """Publish tables about people from DuckDB, and count on what was published."""


for each in operations.COMMANDS:
    main.add_command(each)


@main.command()
@click.argument("file", default=MEMORY)
@click.option("-c", "commands", metavar="SQL", multiple=True, help="Run SQL and exit; repeatable.")
@click.option("-f", "scripts", metavar="SCRIPT", multiple=True, help="Run a script before any -c.")
@click.option("--mode", type=click.Choice(list(MODES)), default="duckbox", help="Output format.")
@click.option(
    "--history/--no-history", default=True, help="Keep a history of statements in a file."
)
@beside_options
def shell(
    file: str,
    commands: tuple[str, ...],
    scripts: tuple[str, ...],
    mode: str,
    history: bool,
    beside: Beside,
) -> None:
    """Open the database FILE, or one in memory, in an SQL shell that can publish.

    Without -c and -f, the shell reads statements from the terminal, or from a pipe until the first error.
    """
    opened = Shell(file, beside, out=sys.stdout, console=Console(stderr=True))
    opened.printer.mode = mode
    with closing(opened), suppress(Leave):
        for script in scripts:
            opened.run_file(script)
        for command in commands:
            opened.run(command.splitlines(keepends=True))
        if not commands and not scripts:
            if sys.stdin.isatty() and sys.stdout.isatty():
                # Imported here because prompt_toolkit is slow to load.
                from duckdb_priv.shell.terminal import interact

                interact(opened, keep_history=history)
            else:
                opened.run(sys.stdin)


def say_verified(file: str, key: str | None) -> None:
    """Verify a release's signature and print the result on stderr. Raises NotVerified only if a key is given."""
    # Imported here because this module is slow to load.
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
@click.option("--mode", type=click.Choice(list(MODES)), default="duckbox", help="Output format.")
def releases(file: str, mode: str) -> None:
    """List the releases published from the database FILE, or the release in a release file."""
    with closing(open_for_reading(file)) as connection:
        require_catalog(connection, file)
        prepare(connection)
        execution = Execution(connection, Console(stderr=True))
        with closing(Printer()) as printer:
            printer.mode = mode
            printer.width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
            execution.run(lambda step: print_answer(connection, LIST, printer, sys.stdout, step))


@main.command()
@click.argument("file", required=False)
@click.argument("release", required=False)
@click.option(
    "--release-file", metavar="FILE", help="A release file to describe without its source."
)
@click.option(
    "-o", "path", metavar="PATH", default="card.html", help="Write the card to this file."
)
@click.option(
    "--explorer",
    metavar="URL",
    help="With --release-file: link the card to the release's explorer at this address.",
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
    """Write a card about RELEASE of the database FILE: one HTML page that compares estimates with the truth.

    With --release-file instead of FILE and RELEASE, the card is computed from the release file only. You can share
    that card together with the file.
    """
    # Imported here because numpy and jinja2 are slow to load.
    from duckdb_priv.card.report import analyst_card, publisher_card, write

    if (release is None) == (release_file is None) or (file is None) == (release_file is None):
        raise click.UsageError("name FILE and RELEASE, or --release-file FILE")
    if key is not None and release_file is None:
        raise click.UsageError("--key needs --release-file")
    if explorer is not None and release_file is None:
        raise click.UsageError("--explorer needs --release-file")
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
    help="Show this question first: the text after # in a link that the page gave you.",
)
@click.option(
    "--browser/--no-browser", default=True, help="Open the page, or only print its address."
)
@click.option("--install", is_flag=True, help="Download the page's DuckDB, once, with npm: 36 MB.")
@click.option(
    "--write",
    "folder",
    metavar="DIR",
    help="Write the page, and FILE if given, into a new folder for any web server.",
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

    Only this machine can open the page. All questions are answered inside the browser. Without FILE, the page asks
    for a file.
    """
    from duckdb_priv.explorer import parts
    from duckdb_priv.explorer.server import Explorer

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
        click.echo(f"{address}\nPress Ctrl-C to stop serving the page.")
        if browser:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


@main.command()
@click.option("--rows", type=click.IntRange(min=1_000), default=500_000, help="Number of people.")
@click.option("--seed", type=int, default=1, help="Seed of the people; the noise is always new.")
@click.option("--keep", metavar="DIR", help="Keep the database and the release in this folder.")
def demo(rows: int, seed: int, keep: str | None) -> None:
    """Publish a census of made-up people, and compare estimates from the release with the true counts."""
    from duckdb_priv.shell.demo import run

    run(Console(highlight=False), rows=rows, seed=seed, keep=keep)


@main.group("secret")
def secret_commands() -> None:
    """Manage the secret from which noise is derived. No command prints the secret."""


@secret_commands.command("new")
@click.argument("file")
@results_options
def new(file: str, results: Results) -> None:
    """Write a new secret to the new FILE, which only you can read, for --secret-file."""
    write_secret(file, new_secret(), results)


@secret_commands.command("show-fingerprint")
@click.argument("file")
@beside_options
@results_options
def show_fingerprint(file: str, beside: Beside, results: Results) -> None:
    """Print the fingerprint of the secret of the database FILE."""
    with closing(open_known(file, beside)) as connection:
        ((mark,),) = connection.execute("SELECT fingerprint FROM priv.secret").fetchall()
    results.row({"file": file, "fingerprint": mark}, mark)


@secret_commands.command("rotate")
@click.argument("file")
@dry_run_option
@beside_options
@results_options
def rotate(file: str, dry_run: bool, beside: Beside, results: Results) -> None:
    """Give the database FILE a new secret, and print what that costs."""
    with closing(open_known(file, beside)) as connection:
        (row,) = (tried if dry_run else asked)(connection, "rotate_secret")
    if dry_run:
        # The fingerprint belongs to a secret that was not kept.
        del row["fingerprint"]
        results.row(row, row["statement"])
    else:
        results.row(row, f"{row['fingerprint']}: {row['statement']}")


@secret_commands.command("backup")
@click.argument("file")
@click.argument("to")
@results_options
def backup(file: str, to: str, results: Results) -> None:
    """Write the secret of the database FILE to the new file TO, which only you can read."""
    with closing(open_known(file)) as connection:
        kept = stored_secret(connection)
    if kept is None:
        raise InvalidParameter(
            "this database does not contain its secret: its owner keeps it elsewhere",
            hint="copy the file that you give to --secret-file",
        )
    write_secret(to, kept, results)


def write_secret(file: str, secret: bytes, results: Results) -> None:
    """Write a secret to a new file, and print its fingerprint."""
    write_for_owner(Path(file), written(secret), "a secret")
    mark = fingerprint(secret)
    results.row({"file": file, "fingerprint": mark}, mark)
