"""The commands for the secret: make one, say which one a database has, change it, keep a copy."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from duckdb_priv.engine.randomness import fingerprint, new_secret
from duckdb_priv.engine.secrets import stored_secret, write_for_owner
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.shell.database_files import Beside, open_known
from duckdb_priv.shell.given_secret import written
from duckdb_priv.shell.operations import call, tried
from duckdb_priv.shell.options import beside_options, dry_run_option, results_options
from duckdb_priv.shell.outcome import Results


@click.group("secret")
def secret_commands() -> None:
    """The secret that noise is derived from. No command prints it."""


@secret_commands.command("new")
@click.argument("file")
@results_options
def new(file: str, results: Results) -> None:
    """Make a secret in the new FILE, which only you may read, for --secret-file."""
    made = new_secret()
    write_for_owner(Path(file), written(made), "a secret")
    mark = fingerprint(made)
    results.row({"file": file, "fingerprint": mark}, mark)


@secret_commands.command("show-fingerprint")
@click.argument("file")
@beside_options
@results_options
def show_fingerprint(file: str, beside: Beside, results: Results) -> None:
    """Print the fingerprint of the secret that the database FILE publishes with."""
    with closing(open_known(file, beside)) as connection:
        ((mark,),) = connection.execute("SELECT fingerprint FROM priv.secret").fetchall()
    results.row({"file": file, "fingerprint": mark}, mark)


@secret_commands.command("rotate")
@click.argument("file")
@dry_run_option
@beside_options
@results_options
def rotate(file: str, dry_run: bool, beside: Beside, results: Results) -> None:
    """Give the database FILE a new secret, and say what that costs."""
    with closing(open_known(file, beside)) as connection:
        (row,) = (
            tried(connection, "rotate_secret", {}) if dry_run else call(connection, "rotate_secret")
        )
    if dry_run:
        # Of a secret that nobody has.
        del row["fingerprint"]
        results.row(row, row["statement"])
    else:
        results.row(row, f"{row['fingerprint']}: {row['statement']}")


@secret_commands.command("backup")
@click.argument("file")
@click.argument("to")
@results_options
def backup(file: str, to: str, results: Results) -> None:
    """Write the secret that the database FILE keeps to the new file TO, which only you may read."""
    with closing(open_known(file)) as connection:
        kept = stored_secret(connection)
    if kept is None:
        raise InvalidParameter(
            "the secret of this database is kept by its owner, and not in it",
            hint="copy the file that --secret-file takes",
        )
    write_for_owner(Path(to), written(kept), "a secret")
    results.row({"file": to, "fingerprint": fingerprint(kept)}, fingerprint(kept))
