"""What several commands share: options, printed results, and exit codes.

Results are printed on stdout, and messages on stderr.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from duckdb_priv.engine.private_files import made_for_owner
from duckdb_priv.engine.procedures import is_interrupt
from duckdb_priv.errors import visible
from duckdb_priv.shell.database_files import EXPECTED, Beside, explain
from duckdb_priv.shell.execution import Stopped
from duckdb_priv.shell.given_secret import VARIABLE, given_secret
from duckdb_priv.shell.interrupts import INTERRUPTED, STOPPED

Command = Callable[..., Any]

LEVELS = ("blocker", "warning")
"""Severities for --fail-on, worst first."""


def is_at_least(finding: Mapping[str, Any], level: str) -> bool:
    """Return whether a finding is at least as severe as a level of --fail-on."""
    return finding["severity"] in LEVELS[: LEVELS.index(level) + 1]


FAILED, FOUND = 1, 3
"""Exit codes: an error; a finding at or above --fail-on. Click uses 2 for wrong usage."""


@dataclass
class Results:
    """Prints a command's results, one a line, and ends the command with its exit code."""

    as_json: bool = False
    quiet: bool = False
    failed: bool = False
    found: bool = False

    def row(self, row: Mapping[str, Any], sentence: str) -> None:
        """Print a result as a JSON object or as a sentence."""
        click.echo(visible(json_line(row) if self.as_json else sentence))

    def say(self, words: str) -> None:
        """Print a message on stderr, unless --quiet."""
        if not self.quiet:
            click.echo(visible(words), err=True)

    def fail(self, words: str) -> None:
        """Print an error on stderr, and make the exit code 1."""
        self.failed = True
        click.echo(visible(words), err=True)

    def end(self) -> None:
        """End the command with exit code 1 after an error, else with 3 after a finding."""
        if self.failed or self.found:
            raise click.exceptions.Exit(FAILED if self.failed else FOUND)


def json_line(row: Mapping[str, Any]) -> str:
    """Write a row as JSON; infinity and NaN, which JSON lacks, become texts.

    >>> print(json_line({"epsilon": float("inf"), "release": "é"}))
    {"epsilon": "Infinity", "release": "é"}
    """
    finite = {
        name: str(value).replace("inf", "Infinity").replace("nan", "NaN")
        if isinstance(value, float) and not math.isfinite(value)
        else value
        for name, value in row.items()
    }
    return json.dumps(finite, ensure_ascii=False, default=str, allow_nan=False)


class CommandGroup(click.Group):
    """A group of commands. Errors that are expected end the program with a message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command of this context."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, Stopped) or is_interrupt(error):
                click.echo(STOPPED, err=True)
                raise click.exceptions.Exit(INTERRUPTED) from None
            if isinstance(error, EXPECTED):
                raise click.ClickException(explain(error)) from error
            raise


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
