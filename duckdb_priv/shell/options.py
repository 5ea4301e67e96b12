"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import click

from duckdb_priv.engine.private_files import made_for_owner
from duckdb_priv.shell.database_files import Beside
from duckdb_priv.shell.given_secret import VARIABLE, given_secret
from duckdb_priv.shell.outcome import Results

Command = Callable[..., Any]

LEVELS = ("blocker", "warning")
"""Severities for --fail-on, worst first."""


def is_at_least(finding: Mapping[str, Any], level: str) -> bool:
    """Return whether a finding is at least as severe as a level of --fail-on."""
    return finding["severity"] in LEVELS[: LEVELS.index(level) + 1]


def beside_options(command: Command) -> Command:
    """Add the options for opening a publisher's database to a command, as its argument ``beside``."""

    @click.option(
        "--attach",
        "attached",
        metavar="[NAME=]PATH",
        multiple=True,
        help="Attach a database to read sources from; repeatable.",
    )
    @click.option(
        "--init",
        "first",
        metavar="SCRIPT",
        multiple=True,
        help="Run this SQL file first; repeatable.",
    )
    @click.option(
        "--secret-file", metavar="FILE", help="A file with the secret, which only you can read."
    )
    @click.option(
        "--secret-command",
        metavar="COMMAND",
        help=f"A command that prints the secret. Without both, ${VARIABLE} is used.",
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
        secret = given_secret(secret_file, secret_command)
        # Files that scripts and DuckDB write meanwhile are readable only by their owner, too.
        with made_for_owner():
            return command(*arguments, beside=Beside(secret, first, attached), **options)

    return wrapped


def results_options(command: Command) -> Command:
    """Add the options for printing to a command, as its argument ``results``, and set its exit code."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
    @click.option("--quiet", is_flag=True, help="Print only results and errors.")
    @wraps(command)
    def wrapped(*arguments: Any, as_json: bool, quiet: bool, **options: Any) -> Any:
        results = Results(as_json, quiet)
        command(*arguments, results=results, **options)
        results.end()

    return wrapped


only_option = click.option(
    "--only", metavar="RELEASE", multiple=True, help="Only this release; repeatable."
)
key_option = click.option(
    "--key", metavar="PUBLIC", help="The public key of the publisher, or a file with this key."
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Print what would be done, and change nothing."
)
fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(LEVELS),
    default=LEVELS[0],
    show_default=True,
    help="Exit with code 3 if a finding is at least this severe.",
)
