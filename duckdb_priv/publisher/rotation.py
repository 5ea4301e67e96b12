"""``priv.rotate_secret``: replaces the secret of a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duckdb_priv.engine import secrets
from duckdb_priv.engine.private_files import take_from_others
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.release.arguments import read


def rotate_secret(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Replace the secret of the database, and return what that costs."""
    read(given, of="rotate_secret")
    cursor = workspace.cursor
    if secrets.stored_secret(cursor) is None:
        raise InvalidParameter(
            "the secret of this database is kept by its owner, and not here",
            hint="DELETE FROM priv.secret, then call duckdb_priv.install(con, secret=…) with the new one",
        )
    ((releases,),) = workspace.rows(
        "SELECT count(DISTINCT release) FROM priv.ledger WHERE NOT fresh"
    )
    take_from_others(cursor)
    mark = secrets.write_new(cursor)
    workspace.on_commit.insert(0, lambda: secrets.empty_write_ahead(cursor))
    return [{"fingerprint": mark, "releases": releases, "statement": _cost(releases)}]


FROM_NOW_ON = (
    "The same records show other values from now on, so that publishing them again adds the whole epsilon to what was"
    " published, as FROM priv.ledger() says; in new decoy groups they are refused, unless republish := true."
)


def _cost(releases: int) -> str:
    if not releases:
        return "Nothing was published with the former secret, so this costs nothing."
    several = (
        f"{releases} releases were published with the former secret, and stay as they are: who has it can undo their"
        if releases > 1
        else "One release was published with the former secret, and stays as it is: who has it can undo its"
    )
    return f"{several} noise, now as before. {FROM_NOW_ON}"
