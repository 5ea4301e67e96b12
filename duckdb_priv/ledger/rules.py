"""Decides what a publication adds to the total of its population: the full cost, unless less is proven.

Keyed noise is a function of the id, the true value and the definition of the draw. So a record with the same draw, id
and value shows the same noisy value, and adds nothing. A corrected value is a second look at its record. A new id is a
first look at another record. This holds only if ids are stable: few are new at a time, and few get other public values.
A table with regenerated ids looks like a table of new records, and is charged in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PUBLIC = "public"
"""The mechanism of an attribute that has noise elsewhere and is published without noise here."""
TURNOVER = 0.2
"""The largest share of new or changed records in a version."""


@dataclass(frozen=True)
class Comparison:
    """How the records of a publication compare with earlier ones of the same draw."""

    records: int
    new: int
    """Records whose id is new."""
    corrected: int
    """Records whose id was drawn before, but only for other values."""
    moved: int
    """Records whose id had other public values before."""
    looks: int
    """The most values drawn for one id since the last full charge, including this publication."""
    known: bool = True
    """Whether the marks of all earlier records are stored."""

    @property
    def same(self) -> bool:
        """Whether every record shows the same value as before."""
        return self.known and not (self.new or self.corrected or self.moved)


@dataclass(frozen=True)
class History:
    """The charges of one draw, or of the groups of one attribute, since its last full charge."""

    release: str
    """The latest release."""
    mechanism: str
    """Its mechanism."""
    charges: int
    """The number of charges, including the full charge."""
    came: int
    """Records that arrived since."""
    largest: int
    """Records of its largest version."""
    epoch: int
    """The number of full charges."""
    person_adds: int
    """Draws charged to one person since."""
    publications: Sequence[tuple[int, str | None, str | None]]
    """All its publications: number, digest of ids and values, and the parameters of groups."""


@dataclass(frozen=True)
class Charge:
    """What a publication adds to the total, and why."""

    reason: str
    adds: bool = False
    whole: bool = False
    """Whether this is a full charge: every record is charged, and the counts of new and corrected records restart."""


def turned_over(seen: Comparison, came: int, largest: int) -> str | None:
    """Return why the ids of a version cannot be the same people plus a few new ones; None if they can.

    >>> turned_over(Comparison(1000, new=30, corrected=30, moved=0, looks=1), came=0, largest=1000)
    >>> turned_over(Comparison(1000, new=720, corrected=0, moved=0, looks=1), came=0, largest=1000)
    '72% of the ids are new'
    >>> turned_over(Comparison(1000, new=100, corrected=0, moved=0, looks=1), came=950, largest=1000)
    'more ids came since the last full charge (1,050) than the largest version has (1,000)'
    """
    if not seen.known:
        return "the ids of earlier records are not kept"
    changed = seen.new + seen.corrected + seen.moved
    if changed > TURNOVER * seen.records:
        shares = {
            "of the ids are new": seen.new,
            "have another value": seen.corrected,
            "have other public values": seen.moved,
        }
        return " and ".join(
            f"{count / seen.records:.0%} {words}" for words, count in shares.items() if count
        )
    if came + seen.new > max(largest, seen.records):
        return (
            f"more ids came since the last full charge ({came + seen.new:,}) than the largest version has"
            f" ({max(largest, seen.records):,})"
        )
    return None


def charge(history: History | None, seen: Comparison | None, others: str | None) -> Charge:
    """Return the charge of a keyed draw.

    ``history`` has the earlier charges of the same draw. ``others`` states how the draw differs from the latest other
    draw.
    """
    if history is None or seen is None:
        return Charge(others or "first publication of it", adds=True, whole=True)
    if why := turned_over(seen, history.came, history.largest):
        reason = f"{why}; if these are other people, name another population"
        return Charge(reason, adds=True, whole=True)
    same = f"same draw as {history.release}"
    if seen.looks > history.charges:
        return Charge(f"{same}, but one record now has {seen.looks} values in turn", adds=True)
    if seen.new or seen.corrected:
        same += f", with {seen.new:,} new and {seen.corrected:,} corrected records"
    return Charge(same)
