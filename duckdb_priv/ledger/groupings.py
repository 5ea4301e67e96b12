"""Each attribute of a population is published in groups only once, under any method and any name.

Decoy groups, the groups of Anatomy and the samples of reconstruction privacy protect a record that is in one group. A
second group narrows its value down. So the same groups may be published again. New records may form their own groups,
within the limits for new ids. Any other grouping is refused, unless the publisher passes ``republish := true``
and the ledger charges it.
"""

from __future__ import annotations

from collections.abc import Collection

from duckdb_priv.errors import GuaranteeViolated
from duckdb_priv.ledger.entries import history_of
from duckdb_priv.ledger.rules import Charge, Comparison, turned_over
from duckdb_priv.release.catalog import Connection
from duckdb_priv.release.model import GROUPED_BY, LedgerEntry

ANOTHER = "write population := '…' if these are other people, or republish := true to publish nevertheless"


def charge_groups(
    connection: Connection,
    population: str,
    entry: LedgerEntry,
    others: Collection[str],
    same: str | None,
    joining: Comparison | None,
    *,
    why: str,
    republish: bool,
) -> Charge | None:
    """Return the charge of a publication in groups; None if its records are charged one by one.

    ``others`` are other names of the attribute. ``same`` is the release in which every record has the same group.
    ``joining`` compares the records with those of the previous version of the release. ``why`` states the harm of a
    second grouping. Raises GuaranteeViolated for a second grouping, unless ``republish`` is true.
    """
    if same is not None:
        return Charge(f"the same groups as in {same}")
    before = history_of(connection, None, population, {entry.attribute, *others})
    if joining is not None and (elsewhere := history_of(connection, None, population, others)):
        # Records grouped under another name of the attribute are not new, in any release.
        before, joining = elsewhere, None
    if before is None:
        return None
    if joining is not None:
        if reason := turned_over(joining, before.came, before.largest):
            raise GuaranteeViolated(
                f"{entry.attribute!r} cannot be grouped further: {reason}, so these may be people who have groups"
                " already",
                hint=ANOTHER,
            )
        if GROUPED_BY in entry.notes:
            # Rows of samples are drawn one by one, so corrections are counted.
            return None
        return Charge(f"a further batch, of {joining.new:,} new records alone")
    what = (
        f"{entry.attribute!r} of this population is already published in groups by publish_{before.mechanism}, in"
        f" release {before.release!r}"
    )
    if not republish:
        raise GuaranteeViolated(what, hint=f"{why}; {ANOTHER}")
    return Charge(f"republish := true, although {what}: {why}", adds=True, whole=True)
