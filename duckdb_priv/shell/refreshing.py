"""Refreshes all releases of a database that are due."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import duckdb

from duckdb_priv.errors import UnknownRelease, one_line
from duckdb_priv.shell.database_files import EXPECTED, explain
from duckdb_priv.sqltext.calls import call
from duckdb_priv.sqltext.reading import named_rows

FAILED = "failed"


def no_release() -> UnknownRelease:
    """Make the error for a database without a release."""
    return UnknownRelease(
        "this database has no release", hint="FROM priv.publish_uniform(…) publishes one"
    )


def refresh_all(
    connection: duckdb.DuckDBPyConnection, only: Collection[str], *, dry_run: bool
) -> Iterator[dict[str, Any]]:
    """Refresh every release that is due. With ``dry_run``, only report which releases are due.

    Yields one row for each release: its name, a state, a statement, and the receipt if the release was refreshed. If
    one release fails, the others are still refreshed.

    Raises UnknownRelease if the database has no release, or none of a name in ``only``.
    """
    known = [row[0] for row in _listed(connection)]
    if not known:
        raise no_release()
    chosen = {name.lower() for name in only or known}
    for name in only:
        if name.lower() not in {each.lower() for each in known}:
            raise UnknownRelease.among("release", name, known)
    tried = set()
    # A derived release becomes due when the release that it is derived from has been refreshed.
    while not dry_run and (
        due := [
            release
            for release, state, _ in _listed(connection)
            if state == "due" and release not in tried and release.lower() in chosen
        ]
    ):
        for release in due:
            tried.add(release)
            yield _refresh(connection, release)
    for release, state, advice in _listed(connection):
        if release not in tried and release.lower() in chosen:
            yield {
                "release": release,
                "state": FAILED if state == "refused" else state,
                "statement": one_line(advice),
            }


def _listed(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    return connection.execute("SELECT release, state, advice FROM priv.publications()").fetchall()


def _refresh(connection: duckdb.DuckDBPyConnection, release: str) -> dict[str, Any]:
    try:
        (row,) = named_rows(connection, call("refresh", [release], {}))
    except EXPECTED as error:
        return {"release": release, "state": FAILED, "statement": one_line(explain(error))}
    if row["path"] is not None and row["exported"] is False:
        return {**row, "state": FAILED, "statement": one_line(row["warnings"][-1])}
    return {**row, "state": "refreshed", "statement": one_line(row["statement"])}


def sentence(row: Mapping[str, Any]) -> str:
    """Write the result for a release in one line.

    >>> sentence({"release": "r", "state": "current", "statement": "nothing has changed since version 1"})
    'r: nothing has changed since version 1'
    """
    release, state, statement = row["release"], row["state"], row["statement"]
    if state == FAILED:
        what = "not exported" if row.get("exported") is False else "not refreshed"
        return f"{release}: {what}: {statement}"
    if state != "refreshed":
        return f"{release}: {statement}"
    place = f", exported to {row['path']}" if row["exported"] else ""
    return (
        f"{release}: version {row['version']}, {row['rows_published']:,} rows{place}. {statement}"
    )
