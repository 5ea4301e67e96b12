"""Finds a release whose table is as it was published.

Rows or columns that were changed since make every count wrong, and nobody could verify a file of them.
"""

from __future__ import annotations

from typing import Any

import duckdb

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource
from duckdb_priv.release import catalog
from duckdb_priv.sqltext.reading import count_of, types_of

AGAIN = "publish it again with replace := true; a release is not changed by hand"


def find_present(workspace: Workspace, name: Any) -> tuple[str, set[str]]:
    """Return the published spelling of a release's name, and the columns of its table; refuse one that was dropped."""
    release = catalog.find_release(workspace.cursor, name)
    try:
        return release, {*types_of(workspace.cursor, workspace.table(release))}
    except duckdb.CatalogException:
        raise InvalidSource(
            f"the table of release {release!r} was dropped",
            hint="publish it again with replace := true, or forget it: FROM priv.drop_release(…)",
        ) from None


def find_intact(workspace: Workspace, name: Any) -> str:
    """Return the published spelling of a release's name; refuse one whose table was dropped or changed."""
    release, columns = find_present(workspace, name)
    if columns != {each.name for each in catalog.published_columns(workspace.cursor, release)}:
        raise InvalidSource(f"{release!r} has other columns than were published", hint=AGAIN)
    stated = catalog.release_row(workspace.cursor, release)["rows_published"]
    if (rows := count_of(workspace.cursor, workspace.table(release))) != stated:
        raise InvalidSource(
            f"{release!r} has {rows:,} rows, and {stated:,} were published", hint=AGAIN
        )
    return release
