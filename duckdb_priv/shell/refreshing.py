"""All releases of a database that are due are refreshed, one line of plain text for each."""

from __future__ import annotations

from collections.abc import Callable

import duckdb

from duckdb_priv.shell.database_files import EXPECTED, explain


def refresh_all(connection: duckdb.DuckDBPyConnection, say: Callable[[str], object]) -> bool:
    """Refresh every release for which it is advised; return whether nothing was in the way.

    A release that cannot be refreshed keeps no other from it.
    """
    whole = True
    listed = connection.execute(
        "SELECT release, state, advised, advice FROM priv.publications()"
    ).fetchall()
    if not listed:
        say("no release stands in this database")
    for release, state, advised, advice in listed:
        if not advised:
            refused = state == "refused"
            whole = whole and not refused
            say(f"{release}: {'not refreshed: ' if refused else ''}{one_line(advice)}")
            continue
        try:
            ((version, rows, statement, warnings, path, exported),) = connection.execute(
                "SELECT version, rows_published, statement, warnings, path, exported FROM priv.refresh(?)",
                [release],
            ).fetchall()
        except EXPECTED as error:
            whole = False
            say(f"{release}: not refreshed: {one_line(explain(error))}")
            continue
        if path is not None and exported is False:
            whole = False
            say(f"{release}: not exported: {one_line(warnings[-1])}")
            continue
        place = f", exported to {path}" if exported else ""
        say(f"{release}: version {version}, {rows:,} rows{place}. {one_line(statement)}")
    return whole


def one_line(text: str) -> str:
    """Write a message with its hint in one line.

    >>> one_line("a\\nHint: b")
    'a; hint: b'
    """
    return text.strip().replace("\n      ", " ").replace("\nHint: ", "; hint: ").replace("\n", " ")
