"""Each attribute of a population is published in groups only once, under any method and any name.

Decoy groups, the groups of Anatomy and the samples of reconstruction privacy protect a record that is in one group. A
second group narrows its value down. So the same groups may be published again. New records may form their own groups,
within the limits for new ids. Any other grouping is refused, unless the publisher passes ``republish := true``
and the ledger charges it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from duckdb_priv.errors import GuaranteeViolated
from duckdb_priv.ledger.rules import Charge, Comparison, turned_over
from duckdb_priv.release.catalog import Connection

ANOTHER = "write population := '…' if these are other people, or republish := true to publish nevertheless"


@dataclass(frozen=True)
class Grouped:
    """The latest publication of an attribute in groups."""

    release: str
    mechanism: str
    came: int
    """Records that joined the groups since."""
    largest: int


def grouped_before(
    connection: Connection, population: str, attributes: Collection[str]
) -> Grouped | None:
    """Return the latest grouping of an attribute, under any of its names; None if there is none."""
    rows = connection.execute(
        "SELECT arg_max(release, number), arg_max(mechanism, number),"
        " coalesce(sum(new_records) FILTER (NOT whole), 0)::BIGINT, max(records) FROM priv.ledger"
        " WHERE grouped AND population = ? AND list_contains(?, lower(attribute))"
        " HAVING count(*) > 0",
        [population, [name.lower() for name in attributes]],
    ).fetchall()
    return Grouped(*rows[0]) if rows else None


def charge_groups(
    attribute: str,
    before: Grouped | None,
    same: str | None,
    joining: Comparison | None,
    *,
    why: str,
    republish: bool,
) -> Charge | None:
    """Return the charge of a publication in groups; None if its records are charged one by one.

    ``same`` is the release in which every record has the same group. ``joining`` compares the records with those of the
    previous version of the release. ``why`` states the harm of a second grouping. Raises GuaranteeViolated for a second
    grouping, unless ``republish`` is true.
    """
    if same is not None:
        return Charge(adds=False, whole=False, reason=f"the same groups as in {same}")
    if before is None:
        return None
    if joining is not None:
        if reason := turned_over(joining, before.came, before.largest):
            raise GuaranteeViolated(
                f"{attribute!r} cannot be grouped further: {reason}, so these may be people who have groups already",
                hint=ANOTHER,
            )
        return Charge(
            adds=False, whole=False, reason=f"a further batch, of {joining.new:,} new records alone"
        )
    what = (
        f"{attribute!r} of this population is already published in groups by publish_{before.mechanism}, in release"
        f" {before.release!r}"
    )
    if not republish:
        raise GuaranteeViolated(what, hint=f"{why}; {ANOTHER}")
    return Charge(adds=True, whole=True, reason=f"republish := true, although {what}: {why}")
