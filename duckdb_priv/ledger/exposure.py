"""Once sensitive, always sensitive: an attribute with noise is not published without noise in the same population.

Nor does an attribute get noise after it was published without. A release may override this once: it names the attribute
in ``public``, or passes ``republish``. Its later versions need no further consent, nor do those of a release that
existed before. In either order, the ledger charges the attribute without limit. An attribute is recognized by its name,
or by its values if most records with equal ids have equal values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duckdb_priv.errors import GuaranteeViolated
from duckdb_priv.ledger.marks import SameColumn, names_of
from duckdb_priv.release.catalog import Connection
from duckdb_priv.sqltext.templates import section


@dataclass(frozen=True)
class EarlierColumn:
    """A column that releases of a population published, with or without noise."""

    name: str
    """Its name in lower case."""
    noisy: bool
    release: str
    """The latest of these releases."""
    own: bool
    """Whether the release to publish is one of them."""
    publication: int | None
    """The latest publication with a sample of its values; None if there is none."""


def earlier_columns(connection: Connection, population: str, release: str) -> list[EarlierColumn]:
    """Return the published columns of a population; a column may be there with noise and without."""
    rows = connection.execute(section("ledger", "earlier_columns"), [population, release])
    return [EarlierColumn(*row) for row in rows.fetchall()]


def exposed(
    earlier: Sequence[EarlierColumn],
    public: Sequence[str],
    sensitive: Sequence[str],
    same: Sequence[SameColumn],
    named: Sequence[str],
    *,
    republish: bool,
) -> dict[str, str]:
    """Return the columns that have noise in one release of a population and none in another, each with the reason.

    ``same`` lists columns whose values equal those of an earlier column. ``named`` lists the public columns that the
    publisher named. Raises GuaranteeViolated for an unnamed public column that the release has not published without
    noise before. Without ``republish``, also raises it for a sensitive column that the release has not published with
    noise before.
    """
    noisy = {each.name: each.release for each in earlier if each.noisy}
    clear = {each.name: each.release for each in earlier if not each.noisy}
    own = {(False, name.lower()) for name in named}
    own |= {(each.noisy, each.name) for each in earlier if each.own}
    found = {}
    for name in public:
        other = next(names_of(name, same, sensitive=True), name.lower())
        if other not in noisy:
            continue
        holds = "" if other == name.lower() else f", which holds what {other!r} holds,"
        what = f"{name!r}{holds} has noise in release {noisy[other]!r}"
        if (False, name.lower()) not in own:
            raise GuaranteeViolated(
                f"{what}, and would be published as it is",
                hint=f"write exclude := [{name!r}]; or name it in public := […], which is charged without limit",
            )
        found[name] = f"{what}, and is published as it is"
    for name in sensitive:
        other = next(names_of(name, same, sensitive=False), name.lower())
        if other not in clear:
            continue
        holds = "" if other == name.lower() else f" as {other!r}"
        what = f"{name!r} was published as it is{holds} in release {clear[other]!r}"
        if not republish and (True, name.lower()) not in own:
            raise GuaranteeViolated(
                f"{what}, so noise protects nothing of it there",
                hint="write population := '…' if these are other people; or republish := true, which protects records"
                " that are new and is charged without limit",
            )
        found[name] = what
    return found
