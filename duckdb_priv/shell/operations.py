"""The commands for pipelines, such as check, audit, refresh and export, whose results programs can read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import duckdb

from duckdb_priv.engine.procedures import undone
from duckdb_priv.engine.workspace import Caller
from duckdb_priv.errors import UnknownRelease, one_line
from duckdb_priv.procedures import find_procedure
from duckdb_priv.shell.database_files import Beside, must_exist, open_known, open_publisher
from duckdb_priv.shell.execution import Row, watched
from duckdb_priv.shell.options import (
    LEVELS,
    Results,
    beside_options,
    dry_run_option,
    fail_on_option,
    is_at_least,
    key_option,
    only_option,
    results_options,
)
from duckdb_priv.shell.refreshing import FAILED, no_release, refresh_all, sentence
from duckdb_priv.sqltext.calls import call
from duckdb_priv.sqltext.reading import named_rows

RELEASES = "SELECT release FROM priv.release ORDER BY created_at, release"


@click.command()
@click.argument("file")
@click.argument("source")
@click.option("--sensitive", multiple=True, required=True, help="A column to protect; repeatable.")
@click.option("--record-id", multiple=True, help="A column of the record id; repeatable.")
@click.option("--person", multiple=True, help="A column that identifies the person; repeatable.")
@click.option("--public", multiple=True, help="A column to publish unchanged; repeatable.")
@click.option("--exclude", multiple=True, help="A column to leave out; repeatable.")
@click.option("--retention", type=float, help="The planned retention probability.")
@click.option("--epsilon", type=float, help="The planned epsilon.")
@click.option("--rho1", type=float, help="The planned bound on the prior.")
@click.option("--rho2", type=float, help="The planned bound on the posterior.")
@fail_on_option
@beside_options
@results_options
def check(
    file: str, source: str, fail_on: str, beside: Beside, results: Results, **options: Any
) -> None:
    """Check SOURCE, a table of the database FILE, for problems before it is published.

    Prints a line for each finding, the worst first.
    """
    must_exist(file)
    with closing(open_publisher(file, beside)) as connection:
        findings = asked(connection, "check_source", source, **given(options), details=True)
    for finding in findings:
        results.row(finding, finding_sentence(finding))
    results.found = any(is_at_least(finding, fail_on) for finding in findings)
    if not findings:
        results.say(f"no problem was found in {source}")


@click.command()
@click.argument("file")
@only_option
@beside_options
@results_options
def audit(file: str, only: tuple[str, ...], beside: Beside, results: Results) -> None:
    """Recompute the guarantees of the releases of the database FILE from their operators and sources.

    The exit code is 3 if a guarantee does not hold.
    """
    with closing(open_known(file, beside)) as connection:
        for release, rows in _asked(connection, "audit", only):
            for row in rows:
                results.row({"release": release, **row}, _audit_sentence(release, row))
            results.found |= any(row["holds"] is False for row in rows)


@click.command()
@click.argument("file")
@only_option
@dry_run_option
@beside_options
@results_options
def refresh(
    file: str, only: tuple[str, ...], dry_run: bool, beside: Beside, results: Results
) -> None:
    """Publish and export the next version of every release of FILE whose source has changed.

    Prints a line for each release. The exit code is 1 if a release could not be refreshed or exported.
    """
    with closing(open_known(file, beside)) as connection:
        rows = refresh_all(connection, only, dry_run=dry_run)
        while row := watched(connection, lambda: next(rows, None)):
            if row["state"] == FAILED:
                results.fail(sentence(row))
            if results.as_json or row["state"] != FAILED:
                results.row(row, sentence(row))


@click.command()
@click.argument("file")
@only_option
@beside_options
@results_options
def registry(file: str, only: tuple[str, ...], beside: Beside, results: Results) -> None:
    """Describe the releases of the database FILE for a public registry and an impact assessment.

    The description is computed from the catalog and the ledger.
    """
    with closing(open_known(file, beside)) as connection:
        for _, (row,) in _asked(connection, "registry", only):
            results.row(row, _registry_text(row))


@click.command()
@click.argument("file")
@click.argument("release")
@click.argument("path")
@click.option(
    "--format",
    type=click.Choice(["duckdb", "parquet"]),
    default="duckdb",
    help="Format of PATH.",
)
@click.option(
    "--metadata",
    type=click.Choice(["croissant", "dcat", "datapackage"]),
    multiple=True,
    help="Also write a description in this metadata format; repeatable.",
)
@click.option(
    "--dialect",
    "dialects",
    type=click.Choice(["spark", "postgres", "bigquery", "trino", "snowflake"]),
    multiple=True,
    help="Also write views of estimates for this database; repeatable.",
)
@click.option("--sign", is_flag=True, help="Sign the file with a key from duckdb-priv key new.")
@click.option("--key-file", metavar="KEY", help="Sign with this key instead of the default key.")
@dry_run_option
@beside_options
@results_options
def export(
    file: str,
    release: str,
    path: str,
    dry_run: bool,
    beside: Beside,
    results: Results,
    **options: Any,
) -> None:
    """Write RELEASE of the database FILE to PATH, a file that you can share."""
    named = given(options)
    with closing(open_known(file, beside)) as connection:
        export_release = tried if dry_run else asked
        (row,) = export_release(connection, "export_release", release=release, path=path, **named)
    signed = f", signed with {row['signed_with']}" if row["signed_with"] else ""
    done = "would be exported" if dry_run else "exported"
    results.row(row, f"{row['release']}: {done} to {row['path']}{signed}")


@click.command()
@click.argument("file")
@key_option
@fail_on_option
@results_options
def verify(file: str, key: str | None, fail_on: str, results: Results) -> None:
    """Check that the release FILE, or a folder of Parquet files, is what its publisher signed.

    No SQL of the release is run. Every macro and view must equal the one that this library writes for the catalog.
    Without --key, the command lists what it could not check, which is a warning for --fail-on.
    """
    from duckdb_priv.publisher.verify import verify as verified

    found = verified(file, key)
    stated, *unsaid = found.sentences
    results.row(asdict(found), f"{file}: {stated}")
    for each in unsaid:
        results.say(each)
    results.found = bool(found.unchecked) and fail_on == LEVELS[1]


@click.group("key")
def key_commands() -> None:
    """Manage keys for signing releases."""


@key_commands.command("new")
@click.argument("file", required=False)
@results_options
def new(file: str | None, results: Results) -> None:
    """Make a private key in FILE, which only you can read, and its public key in FILE.pub.

    Without FILE, the key becomes the default key of sign := true.
    """
    from duckdb_priv.publisher.signing import default_place, new_key

    place = Path(file) if file else default_place()
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = new_key(place)
    results.row({"file": str(place), "public_key": made.public}, made.public)
    results.say(f"the key is in {place}; give {place}.pub to those who verify your releases")


@click.command()
@click.argument("plan")
@only_option
@dry_run_option
@click.option(
    "--fail-on", type=click.Choice(LEVELS), help="Overrides fail_on of the file; as in check."
)
@beside_options
@results_options
def publish(
    plan: str,
    only: tuple[str, ...],
    dry_run: bool,
    fail_on: str | None,
    beside: Beside,
    results: Results,
) -> None:
    """Publish the new and changed releases that the TOML file PLAN declares, and refresh its other releases.

    Changes of a declaration are shown as a diff. A release is not published if a finding in its source is at least as
    severe as --fail-on; the exit code is then 3.
    """
    from duckdb_priv.shell.plan import read_plan
    from duckdb_priv.shell.publishing import FOUND, publish_all

    declared = read_plan(plan)
    beside = replace(
        beside,
        attached=(*declared.attached, *beside.attached),
        scripts=(*declared.scripts, *beside.scripts),
    )
    must_exist(declared.database)
    with closing(open_publisher(declared.database, beside)) as connection:
        rows = publish_all(
            connection,
            declared,
            Path(plan).resolve().parent,
            only,
            fail_on=fail_on or declared.fail_on,
            dry_run=dry_run,
        )
        while row := watched(connection, lambda: next(rows, None)):
            for line in row.get("changes") or ():
                results.say(f"{row['release']}: {line}")
            if row["state"] == FAILED:
                results.fail(f"{row['release']}: not published: {row['statement']}")
            elif row["state"] == FOUND:
                results.found = True
                click.echo(f"{row['release']}: not published: {row['statement']}", err=True)
            if results.as_json or row["state"] not in (FAILED, FOUND):
                results.row(row, sentence(row))


@click.command()
@click.argument("file")
@click.argument("releases", nargs=-1)
@results_options
def declare(file: str, releases: tuple[str, ...], results: Results) -> None:
    """Write a file for publish that declares RELEASES, or all releases, of the database FILE."""
    from duckdb_priv.methods.register import METHODS
    from duckdb_priv.publisher.declared import all_declared
    from duckdb_priv.shell.plan import stated, written
    from duckdb_priv.shell.publishing import arguments_of_call

    with closing(open_known(file)) as connection:
        known = {
            each.release: each for each in all_declared(connection) if each.mechanism in METHODS
        }
        for name in releases:
            if name not in known:
                raise UnknownRelease.among("release", name, known)
        found = {}
        for name in releases or known:
            each = known[name]
            arguments = arguments_of_call(connection, each)
            found[name] = stated(METHODS[each.mechanism], arguments, each.export)
    if results.as_json:
        for name, what in found.items():
            results.row({"release": name, **what}, name)
    else:
        click.echo(written(str(Path(file).resolve()), found), nl=False)


COMMANDS = (check, publish, declare, audit, registry, refresh, export, verify, key_commands)


def asked(
    connection: duckdb.DuckDBPyConnection, function: str, *values: Any, **named: Any
) -> list[Row]:
    """Call a table function of the schema priv with a progress bar, and return its rows. Ctrl-C stops it."""
    return watched(connection, partial(named_rows, connection, call(function, values, named)))


def tried(connection: duckdb.DuckDBPyConnection, name: str, **given: Any) -> list[Row]:
    """Run a procedure as ``asked`` does, and roll it back."""

    def run() -> list[Row]:
        with undone(Caller.of(connection)) as workspace:
            return find_procedure(name)(workspace, given)

    return watched(connection, run)


def given(options: Mapping[str, Any]) -> Row:
    """Return the options that were given, as arguments of a function.

    >>> given({"sensitive": ("a", "b"), "public": (), "epsilon": None})
    {'sensitive': ['a', 'b']}
    """
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in options.items()
        if value not in (None, ())
    }


def finding_sentence(finding: Mapping[str, Any]) -> str:
    """Write a finding in one line."""
    return one_line(
        f"{finding['severity']}: {finding['finding']}: {finding['what']}\nHint: {finding['do']}"
    )


def _audit_sentence(release: str, row: Mapping[str, Any]) -> str:
    verdict = {True: "holds", False: "DOES NOT HOLD", None: "note"}[row["holds"]]
    of = f" of {row['attribute']}" if row["attribute"] else ""
    value = "" if row["value"] is None else f" = {row['value']:.6g} {row['unit'] or ''}".rstrip()
    return one_line(f"{release}: {verdict}: {row['guarantee']}{of}{value}: {row['statement']}")


def _registry_text(row: Mapping[str, Any]) -> str:
    """Write each entry for the registry on a line, then the impact assessment."""
    stated = {
        name: "; ".join(value) if isinstance(value, list) else value
        for name, value in row.items()
        if name not in ("guarantees", "not_protected", "impact_assessment") and value is not None
    }
    lines = "\n".join(f"{name}: {value}" for name, value in stated.items())
    return f"{lines}\n\n{row['impact_assessment']}\n"


def _asked(
    connection: duckdb.DuckDBPyConnection, function: str, only: Sequence[str]
) -> Iterator[tuple[str, list[Row]]]:
    """Call a function for each release, or for those in ``only``; yield the release and the rows."""
    releases = only or [row["release"] for row in named_rows(connection, RELEASES)]
    if not releases:
        raise no_release()
    for release in releases:
        yield release, asked(connection, function, release)
