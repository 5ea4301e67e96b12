"""Stores the card, a page that explains a release: as one row in the release, and as a file next to it.

The caller of the export passes the function that makes its content.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path

import duckdb

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.publisher.placing import replaceable
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import section

SAVE = "COPY (FROM priv.card) TO 'card.html' (FORMAT csv, HEADER false, QUOTE '', ESCAPE '');"
VIEW = "priv.card"
DOCTYPE = "<!doctype html>\n"

Maker = Callable[[duckdb.DuckDBPyConnection, str], str]
"""A function that returns the card of a release in the current database, as HTML."""


def named(html: str, release: str) -> str:
    """Return the page with a first line that names its release.

    >>> print(named("<!doctype html>\\n<p>…</p>", "visits_public"))
    <!doctype html>
    <!-- duckdb_priv: the card of visits_public -->
    <p>…</p>
    """
    return _beginning(release) + html.removeprefix(DOCTYPE)


def _beginning(release: str) -> str:
    # The name has no ">" after escaping, so it cannot end the comment.
    return f"{DOCTYPE}<!-- duckdb_priv: the card of {escape(release)} -->\n"


def statements(html: str) -> list[str]:
    """Return the SQL that stores a page in the release of the current database."""
    return [
        section("publishing", "page", view=VIEW, html=literal(html)),
        f"COMMENT ON VIEW {VIEW} IS "
        + literal(f"What this release is, for people: one page of HTML. To save it: {SAVE}"),
    ]


def check_replaceable(place: Path, release: str) -> None:
    """Refuse to overwrite anything but an earlier page of the same release."""
    if not replaceable(place, _beginning(release)):
        raise InvalidParameter(
            f"{str(place)!r} exists and is no card of {release!r}",
            hint="choose another name, remove it first, or write card := false",
        )
