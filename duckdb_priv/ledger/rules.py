"""What a publication adds to what its population had spent: everything, unless less is proven.

Keyed noise is a function of the id, the true value and what defines the draw. So a record that was published with the
same draw, the same id and the same value shows what it showed, and adds nothing. A record whose value was corrected is
a second look at it; a record with a new id is a first look at another one. The last holds only as long as ids behave as
ids of people do: few of them are new at a time, and few belong to other public values than before. A table whose ids
were made once more looks like a table of newcomers, and is charged in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PUBLIC = "public"
"""The mechanism of an attribute that has noise elsewhere and is published as it is."""
TURNOVER = 0.2
"""The largest share of records that are new or changed, among those of a version."""


@dataclass(frozen=True)
class Comparison:
    """What the ledger sees of a publication beside what was drawn before in the same way."""

    records: int
    new: int
    """Records whose id was never drawn."""
    corrected: int
    """Records whose id was drawn for other values only."""
    moved: int
    """Records whose id was drawn beside other public values."""
    looks: int
    """The most values of one id since the last full charge, with those that are drawn now."""
    known: bool = True
    """Whether the ids of all earlier records are kept."""

    @property
    def same(self) -> bool:
        """Whether every record shows what it showed."""
        return self.known and not (self.new or self.corrected or self.moved)


@dataclass(frozen=True)
class History:
    """What was charged for one draw since its last full charge."""

    release: str
    """The release that was drawn in this way last."""
    charges: int
    """How often it was charged, the full charge included."""
    came: int
    """Records that came since."""
    largest: int
    """Records of its largest version."""


@dataclass(frozen=True)
class Charge:
    """What a publication adds."""

    adds: bool
    whole: bool
    """Whether every record is charged, and newcomers and corrections are counted from here on."""
    reason: str


FIRST = Charge(adds=True, whole=True, reason="first publication of it")


def turned_over(seen: Comparison, came: int, largest: int) -> str | None:
    """Return why the ids of a version cannot be those of the same people and a few new ones; None where they can.

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
    """Decide what a keyed draw adds.

    ``history`` is what was drawn in the same way, ``others`` says how it differs from what was drawn otherwise.
    """
    if history is None or seen is None:
        return FIRST if others is None else Charge(adds=True, whole=True, reason=others)
    if why := turned_over(seen, history.came, history.largest):
        return Charge(
            adds=True,
            whole=True,
            reason=f"{why}; if these are other people, name another population",
        )
    same = f"same draw as {history.release}"
    if seen.looks > history.charges:
        return Charge(
            adds=True,
            whole=False,
            reason=f"{same}, but one record now has {seen.looks} values in turn",
        )
    if seen.new or seen.corrected:
        same += f", with {seen.new:,} new and {seen.corrected:,} corrected records"
    return Charge(adds=False, whole=False, reason=same)


@dataclass(frozen=True)
class Definition:
    """What defines the noise of a release, in words that the publisher gave."""

    mechanism: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    record_id: Sequence[str] = ()

    def differs_from(self, earlier: Definition) -> str:
        """Return how it differs from an earlier one, which has other random bits.

        >>> Definition("some", {"retention": 0.3}, ["id"]).differs_from(Definition("some", {"retention": 0.2}, ["id"]))
        'another retention'
        >>> Definition("some", {}, ["ssn"]).differs_from(Definition("some", {}, ["id"]))
        'another record id'
        """
        if not self.record_id:
            return "no record id was given, so every record is drawn once more"
        if self.mechanism != earlier.mechanism:
            return "another mechanism"
        if list(self.record_id) != list(earlier.record_id):
            return "another record id"
        names = sorted({*self.parameters} | {*earlier.parameters})
        other = [
            name for name in names if self.parameters.get(name) != earlier.parameters.get(name)
        ]
        if other:
            return f"another {' and '.join(other)}"
        return "another domain, unless the secret is another one; domain := […] keeps it"
