"""The release card: one HTML page, without network, that says what a release is good for and what it hides."""

from __future__ import annotations

import math
import os
import re
import uuid
from functools import cache
from pathlib import Path

import duckdb
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from duckdb_priv.card.card import Card, read_card, read_truth
from duckdb_priv.engine.procedures import is_interrupt
from duckdb_priv.errors import InvalidParameter, echoed
from duckdb_priv.release import catalog

ADDRESS = re.compile(r"https?://[!-~]+")
"""An address of a page: of the web, and without blanks."""


def analyst_card(
    connection: duckdb.DuckDBPyConnection, release: str | None = None, explorer: str | None = None
) -> str:
    """Return the card of a release, computed from nothing but what is published of it.

    Without a name it is the only one of the file; raises InvalidParameter where that holds several. ``explorer`` is the
    address of the page that counts on the release in a browser, to which the card then links.
    """
    if explorer is not None and not ADDRESS.fullmatch(explorer):
        raise InvalidParameter(
            f"{echoed(explorer)} is no address of a page",
            hint="write it whole: https://data.example.org/visits/",
        )
    if release is None:
        releases = catalog.releases(connection)
        if len(releases) != 1:
            raise InvalidParameter(
                f"a card is for one release, and this file holds {len(releases)}",
                hint="name one of them, or export the release to a file of its own",
            )
        (release,) = releases
    return render(read_card(connection, release), explorer)


def publisher_card(connection: duckdb.DuckDBPyConnection, release: str) -> str:
    """Return the card of a release beside the truth: not to be handed out.

    Where the source is gone, or does not show what the release shows, the card says so, and is computed from the
    release alone.

    Raises UnknownRelease.
    """
    name = catalog.find_release(connection, release)
    try:
        truth, missing = read_truth(connection, name), None
    except duckdb.Error as error:
        if is_interrupt(error):
            raise
        # The text of the error may quote a true value, and what is left of the card holds none.
        truth, missing = None, catalog.last_publication(connection, name).source
    return render(read_card(connection, name, truth, missing))


def render(card: Card, explorer: str | None = None) -> str:
    """Write a card as HTML; names and values are escaped."""
    return _template().render(card=card, explorer=explorer)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("duckdb_priv.card"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {each.__name__: each for each in (share, whole, possible, interval)}
    return environment.get_template("card.html")


def share(value: float) -> str:
    """Write a share as a percentage with three digits that count, and never as all or nothing.

    >>> share(0.12345), share(0.00012), share(0.99999), share(1e-9), share(0.0)
    ('12.3%', '0.012%', 'more than 99.9%', 'less than 0.001%', '0%')
    """
    if 0.9995 <= value < 1:
        return "more than 99.9%"
    return "less than 0.001%" if 0 < value < 1e-5 else f"{100 * value:.3g}%"


def whole(value: float) -> str:
    """Write a count with its thousands apart.

    >>> whole(1234567.6)
    '1,234,568'
    """
    return f"{value:,.0f}"


def possible(estimate: float, high: float) -> str:
    """Write an estimate in whole records, the nearest that is possible.

    >>> possible(-20.3, 68.2), possible(1234.6, 1300.0)
    ('0', '1,235')
    """
    return whole(max(0.0, min(estimate, high)))


def interval(low: float, high: float) -> str:
    """Write what a count is between, in whole records.

    >>> interval(-5.0, 68.2), interval(180.5, 221.2)
    ('not above 69', '180 to 222')
    """
    least, most = math.floor(max(low, 0)), whole(math.ceil(high))
    return f"not above {most}" if least == 0 else f"{whole(least)} to {most}"


def write(html: str, path: Path) -> None:
    """Write a page beside its place, and move it there when it is complete."""
    if not path.parent.is_dir():
        raise InvalidParameter(
            f"the folder {str(path.parent)!r} does not exist", hint="make it, or choose another"
        )
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        part.write_text(html, encoding="utf-8")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
