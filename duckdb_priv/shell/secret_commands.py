"""The commands that make, identify, replace and back up a secret."""

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
    """Manage the secret from which noise is derived. No command prints the secret."""


@secret_commands.command("new")
@click.argument("file")
@results_options
def new(file: str, results: Results) -> None:
    """Write a new secret to the new FILE, which only you can read, for --secret-file."""
    made = new_secret()
    write_for_owner(Path(file), written(made), "a secret")
    mark = fingerprint(made)
    results.row({"file": file, "fingerprint": mark}, mark)


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
        (row,) = (
            tried(connection, "rotate_secret", {}) if dry_run else call(connection, "rotate_secret")
        )
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
    write_for_owner(Path(to), written(kept), "a secret")
    results.row({"file": to, "fingerprint": fingerprint(kept)}, fingerprint(kept))
