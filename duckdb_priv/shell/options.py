"""Options that commands share, each said once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from duckdb_priv.engine.private_files import made_for_owner
from duckdb_priv.shell.database_files import Beside
from duckdb_priv.shell.given_secret import VARIABLE, given_secret
from duckdb_priv.shell.outcome import Results, one_sentence

Command = Callable[..., Any]

LEVELS = ("blocker", "warning")
"""Severities at which a command may end with 3, worst first."""


def beside_options(command: Command) -> Command:
    """Give a command the options that say what a publisher's database is opened with, as ``beside``."""

    @click.option(
        "--attach",
        "attached",
        metavar="[NAME=]PATH",
        multiple=True,
        help="Attach a database that sources are in, for reading; repeatable.",
    )
    @click.option(
        "--init",
        "first",
        metavar="SCRIPT",
        multiple=True,
        help="Run a file of SQL before anything else; repeatable.",
    )
    @click.option(
        "--secret-file", metavar="FILE", help="A file with the secret, readable by you alone."
    )
    @click.option(
        "--secret-command",
        metavar="COMMAND",
        help=f"A command that prints the secret. Without both, ${VARIABLE} is taken.",
    )
    @wraps(command)
    def wrapped(
        *arguments: Any,
        attached: tuple[str, ...],
        first: tuple[str, ...],
        secret_file: str | None,
        secret_command: str | None,
        **options: Any,
    ) -> Any:
        with one_sentence():
            secret = given_secret(secret_file, secret_command)
        # Also what the statements of scripts write, and what DuckDB spills for them.
        with made_for_owner():
            return command(*arguments, beside=Beside(secret, first, attached), **options)

    return wrapped


def results_options(command: Command) -> Command:
    """Give a command the options that say how it prints, as ``results``, and its exit code."""

    @click.option("--json", "as_json", is_flag=True, help="Print a JSON object a line.")
    @click.option("--quiet", is_flag=True, help="Print no words beside results and errors.")
    @wraps(command)
    def wrapped(*arguments: Any, as_json: bool, quiet: bool, **options: Any) -> Any:
        results = Results(as_json, quiet)
        with one_sentence():
            command(*arguments, results=results, **options)
        results.end()

    return wrapped


only_option = click.option(
    "--only", metavar="RELEASE", multiple=True, help="Only this release; repeatable."
)
key_option = click.option(
    "--key", metavar="PUBLIC", help="The public key of its publisher, or a file with it."
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Say what would be done, and write nothing."
)
fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(LEVELS),
    default=LEVELS[0],
    show_default=True,
    help="End with 3 where a finding is at least so severe.",
)
