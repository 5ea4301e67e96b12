"""Writes the card of a release: one HTML page that describes its accuracy and its privacy, without network access."""

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
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.release import catalog

ADDRESS = re.compile(r"https?://[!-~]+")
"""An http or https address without blanks."""


def analyst_card(
    connection: duckdb.DuckDBPyConnection, release: str | None = None, explorer: str | None = None
) -> str:
    """Return the card of a release, computed only from published data.

    Without a name, the file must contain exactly one release; raises InvalidParameter otherwise. ``explorer`` is the
    address of the release's explorer page, to which the card then links.
    """
    if explorer is not None and not ADDRESS.fullmatch(explorer):
        raise InvalidParameter(
            f"{echoed(explorer)} is not the address of a page",
            hint="write a complete address: https://data.example.org/visits/",
        )
    if release is None:
        releases = catalog.releases(connection)
        if len(releases) != 1:
            raise InvalidParameter(
                f"a card describes one release, and this file contains {len(releases)}",
                hint="name one of them, or export the release to a separate file",
            )
        (release,) = releases
    return render(read_card(connection, release), explorer)


def publisher_card(connection: duckdb.DuckDBPyConnection, release: str) -> str:
    """Return the card of a release that compares it with its source; it must not be shared.

    If the source is gone or does not fit the release, the card says so, and is computed from the release alone.

    Raises UnknownRelease.
    """
    name = catalog.find_release(connection, release)
    try:
        truth, missing = read_truth(connection, name), None
    except duckdb.Error as error:
        if is_interrupt(error):
            raise
        # The error's text may quote a true value, so the card does not show it.
        truth, missing = None, last_of(connection, name).source
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
    """Write a share as a percentage with three significant digits; shares near 0 or 1 never become 0% or 100%.

    >>> share(0.12345), share(0.00012), share(0.99999), share(1e-9), share(0.0)
    ('12.3%', '0.012%', 'more than 99.9%', 'less than 0.001%', '0%')
    """
    if 0.9995 <= value < 1:
        return "more than 99.9%"
    return "less than 0.001%" if 0 < value < 1e-5 else f"{100 * value:.3g}%"


def whole(value: float) -> str:
    """Write a count with commas between thousands.

    >>> whole(1234567.6)
    '1,234,568'
    """
    return f"{value:,.0f}"


def possible(estimate: float, high: float) -> str:
    """Write an estimate as the nearest possible whole number of records.

    >>> possible(-20.3, 68.2), possible(1234.6, 1300.0)
    ('0', '1,235')
    """
    return whole(max(0.0, min(estimate, high)))


def interval(low: float, high: float) -> str:
    """Write the interval of a count in whole records.

    >>> interval(-5.0, 68.2), interval(180.5, 221.2)
    ('not above 69', '180 to 222')
    """
    least, most = math.floor(max(low, 0)), whole(math.ceil(high))
    return f"not above {most}" if least == 0 else f"{whole(least)} to {most}"


def write(html: str, path: Path) -> None:
    """Write a page to a temporary file, and move it to its path when it is complete."""
    if not path.parent.is_dir():
        raise InvalidParameter(
            f"the folder {str(path.parent)!r} does not exist",
            hint="create the folder, or name another one",
        )
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        part.write_text(html, encoding="utf-8")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
