"""All releases of a database that are due are refreshed, one line of plain text for each."""

from __future__ import annotations

from collections.abc import Callable

import duckdb

from duckdb_priv.errors import one_line
from duckdb_priv.shell.database_files import EXPECTED, explain


def refresh_all(connection: duckdb.DuckDBPyConnection, say: Callable[[str], object]) -> bool:
    """Refresh every release for which it is advised; return whether nothing was in the way.

    A release that cannot be refreshed keeps no other from it.
    """
    whole, tried = True, set()
    # What is derived from another release is due when that one has been refreshed.
    while due := [row for row in _listed(connection) if row[1] == "due" and row[0] not in tried]:
        for release, *_ in due:
            tried.add(release)
            whole = _refresh(connection, release, say) and whole
    others = [row for row in _listed(connection) if row[0] not in tried]
    for release, state, advice in others:
        refused = state == "refused"
        whole = whole and not refused
        say(f"{release}: {'not refreshed: ' if refused else ''}{one_line(advice)}")
    if not others and not tried:
        say("no release stands in this database")
    return whole


def _listed(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    return connection.execute("SELECT release, state, advice FROM priv.publications()").fetchall()


def _refresh(
    connection: duckdb.DuckDBPyConnection, release: str, say: Callable[[str], object]
) -> bool:
    try:
        ((version, rows, statement, warnings, path, exported),) = connection.execute(
            "SELECT version, rows_published, statement, warnings, path, exported FROM priv.refresh(?)",
            [release],
        ).fetchall()
    except EXPECTED as error:
        say(f"{release}: not refreshed: {one_line(explain(error))}")
        return False
    if path is not None and exported is False:
        say(f"{release}: not exported: {one_line(warnings[-1])}")
        return False
    place = f", exported to {path}" if exported else ""
    say(f"{release}: version {version}, {rows:,} rows{place}. {one_line(statement)}")
    return True
