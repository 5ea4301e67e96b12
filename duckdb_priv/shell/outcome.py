"""Prints a command's results on stdout and its messages on stderr, and sets its exit code."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from duckdb_priv.engine.procedures import is_interrupt
from duckdb_priv.errors import visible
from duckdb_priv.shell.database_files import EXPECTED, explain
from duckdb_priv.shell.execution import Stopped
from duckdb_priv.shell.interrupts import INTERRUPTED, STOPPED

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
