"""Reads and writes ``priv.ledger``: what each publication adds to the total of its population."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import itemgetter
from typing import Any

from duckdb_priv.errors import PublicationFailed
from duckdb_priv.ledger import marks
from duckdb_priv.ledger.marks import Marked
from duckdb_priv.ledger.rules import Charge, Comparison, History, charge
from duckdb_priv.release.catalog import Connection
from duckdb_priv.release.model import LedgerEntry, to_json
from duckdb_priv.sqltext.reading import add_rows, named_rows
from duckdb_priv.sqltext.templates import section

IN_WORDS = {"derived_from": "finer release"}
"""Names of parameters in a sentence, where they differ."""


@dataclass(frozen=True)
class Published:
    """A publication, in columns of the ledger."""

    release: str
    population: str
    source: str
    source_version: str | None
    record_id: tuple[str, ...]
    id_types: tuple[str, ...]
    public: tuple[str, ...]
    """The columns published without noise."""
    records: int
    mechanism: str
    parameters: Mapping[str, Any]
    """The parameters of the release, including those that only the publisher may see."""
    person: tuple[str, ...]
    persons: int | None
    person_rows: int | None
    max_rows: int | None

    def differs_from(self, earlier: Published) -> str:
        """Return how the definition of this noise differs from an earlier one with other random bits."""
        if not self.record_id:
            return "no record id was given, so every record is drawn once more"
        if self.mechanism != earlier.mechanism:
            return "another mechanism"
        if self.record_id != earlier.record_id:
            return "another record id"
        mine, theirs = self.parameters, earlier.parameters
        if other := [
            each for each in sorted({*mine, *theirs}) if mine.get(each) != theirs.get(each)
        ]:
            return f"another {' and '.join(IN_WORDS.get(each, each) for each in other)}"
        return "another domain, unless the secret is another one; domain := […] keeps it"


COLUMNS = [each.name for each in fields(Published)]


@dataclass(frozen=True)
class Last(Published):
    """The latest publication of a release or of an attribute."""

    publication: int
    level: int | None
    entries: Sequence[Mapping[str, Any]]
    """Its entries: rows of the ledger."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes with noise."""
        return tuple(each["attribute"] for each in self.entries)

    @property
    def draws(self) -> dict[str, str]:
        """The fingerprint of each attribute's draw."""
        return {each["attribute"]: each["coins"] for each in self.entries}

    @property
    def fresh(self) -> bool:
        """Whether the noise was drawn for this publication only."""
        return any(each["fresh"] for each in self.entries)


def last_of(connection: Connection, release: str) -> Last:
    """Return the latest publication of a release."""
    return _read(connection, section("ledger", "last_of_release"), [release])[0]


def _read(connection: Connection, sql: str, given: Sequence[Any]) -> list[Last]:
    """Return the publication that some entries describe, in a list; the list is empty without entries."""
    if not (rows := named_rows(connection, sql, given)):
        return []
    described = {name: rows[0][name] for name in (*COLUMNS, "publication", "level")}
    described |= {name: tuple(each) for name, each in described.items() if isinstance(each, list)}
    described["parameters"] = json.loads(rows[0]["parameters"])
    return [Last(**described, entries=rows)]


@dataclass(frozen=True)
class Charged:
    """A ledger entry with its charge."""

    entry: LedgerEntry
    charge: Charge
    person_adds: int
    """How many draws it adds for one person."""
    seen: Comparison | None = None
    """How its records compare with earlier ones of the same draw; None if there are none, or no record ids."""
    digest: str | None = None


def history_of(
    connection: Connection, draw: str | None, population: str = "", grouped: Collection[str] = ()
) -> History | None:
    """Return the charges of a draw, or of some ``grouped`` attributes of a population, since the last full charge."""
    given = [draw, population, [name.lower() for name in grouped]]
    if not (rows := named_rows(connection, section("ledger", "history"), given)):
        return None
    rows.sort(key=itemgetter("number"))
    full = [n for n, row in enumerate(rows) if row["whole"]]
    recent = rows[full[-1] if full else 0 :]
    return History(
        rows[-1]["release"],
        rows[-1]["mechanism"],
        charges=sum(row["adds"] for row in recent),
        came=sum(row["came"] for row in recent if not row["whole"]),
        largest=max(row["records"] for row in rows),
        epoch=len(full),
        person_adds=sum(row["person_adds"] for row in recent),
        publications=[(row["publication"], row["digest"], row["grouping"]) for row in rows],
    )


def compared(
    connection: Connection, entry: LedgerEntry, marked: Marked | None, n: int
) -> tuple[History | None, Comparison | None]:
    """Return the charges of an entry's draw, and compare its records with those drawn before."""
    history = None if entry.fresh else history_of(connection, entry.fingerprint)
    if history is None or marked is None:
        return history, None
    return history, marks.compare(connection, entry.fingerprint, marked, n, history)


def charge_entry(
    connection: Connection,
    publication: Published,
    entry: LedgerEntry,
    marked: Marked | None,
    n: int,
    *,
    keeps: bool = True,
) -> Charged:
    """Return the charge of one attribute, and store the marks of records drawn for the first time.

    No marks are stored if ``keeps`` is false: the method then draws nothing for single records.
    """
    draw = entry.fingerprint
    history, seen = compared(connection, entry, marked, n)
    mine = replace(
        publication,
        parameters=json.loads(to_json({**publication.parameters, **entry.notes})),
        record_id=() if entry.fresh else publication.record_id,
    )
    before = _read(
        connection,
        section("ledger", "last_of_attribute"),
        [publication.population, entry.attribute],
    )
    decided = charge(history, seen, mine.differs_from(before[0]) if before else None)
    epoch = (history.epoch if history else 0) + decided.whole
    if marked is not None and not entry.fresh and keeps:
        if decided.whole:
            marks.keep(connection, draw, marked, n, epoch=epoch)
        elif seen is not None and (seen.new or seen.corrected):
            marks.keep_fresh(connection, draw, epoch=epoch)
    digest = marked.digests[n] if marked and not entry.fresh else None
    # One person is charged for the draws that the last full charge and later ones left out.
    adds = (publication.person_rows or 0) if decided.adds else 0
    if publication.person_rows is not None and not decided.whole:
        looks = marks.looks_of_person(connection, draw, epoch=epoch)
        if looks is not None and history is not None:
            adds = max(0, looks - history.person_adds)
    return Charged(entry, decided, adds, seen, digest)


def write(
    connection: Connection,
    publication: Published,
    charged: Sequence[Charged],
    marked: Marked | None,
    time: Any,
) -> None:
    """Write the entries of a publication, and store its sample.

    Raises PublicationFailed if its fresh noise was used before.
    """
    fresh = [each.entry.fingerprint for each in charged if each.entry.fresh]
    ((last, used, same, number),) = connection.execute(
        section("ledger", "numbers"),
        [
            publication.population,
            marked.digests if marked else [],
            marked.level if marked else None,
            publication.public,
            publication.release,
            charged[0].entry.fingerprint,
            fresh,
        ],
    ).fetchall()
    if used:
        raise PublicationFailed(
            "this noise was drawn for another publication, and would reveal what it hides",
            hint="nothing was kept; publish again, with noise of its own",
        )
    # An identical earlier publication passes on its number and its sample.
    held = (
        marked is not None and same is not None and marks.holds_the_same(connection, marked, same)
    )
    number = same if held else number or last + 1
    rows = [
        {
            **{name: getattr(publication, name) for name in COLUMNS},
            "number": last + place,
            "publication": number,
            **({"record_id": [], "id_types": []} if each.entry.fresh else {}),
            "attribute": each.entry.attribute,
            "mechanism": each.entry.mechanism or publication.mechanism,
            "parameters": to_json({**publication.parameters, **each.entry.notes}),
            "epsilon": each.entry.epsilon,
            "delta": each.entry.delta,
            "fresh": each.entry.fresh,
            "grouped": each.entry.grouped,
            "coins": each.entry.fingerprint,
            **vars(each.charge),
            "published_at": time,
            "new_records": each.seen.new if each.seen else None,
            "changed": each.seen.corrected if each.seen else None,
            "digest": each.digest,
            "level": marked.level if marked else None,
            "person_adds": each.person_adds,
        }
        for place, each in enumerate(charged, start=1)
    ]
    add_rows(connection, "priv.ledger", rows)
    if marked is not None and not held:
        marks.keep_seen(connection, number)


def receipt(connection: Connection, population: str, release: str) -> str:
    """Write the total spent before the latest publication of a release, what this adds, and why."""
    rows = connection.execute(section("ledger", "receipt"), [release, population]).fetchall()
    before = next((total for mine, total, *_ in reversed(rows) if not mine), 0.0)
    added = [row for row in rows if row[0]]
    adds = sum(epsilon for *_, epsilon, _ in added)
    spent = f"epsilon {_figure(before)}" if before else "nothing"
    now = f"{_figure(adds)}, which makes {_figure(added[-1][1])}" if adds else "nothing"
    why = ". ".join(_added(*entry) for _, _, *entry in added)
    return f"Population {population!r} had spent {spent}; this adds {now}. {why}."


def _added(attribute: str, epsilon: float, reason: str) -> str:
    """Return the epsilon that an entry adds, and the reason.

    >>> _added("disease", 0.0, "same draw as visits_public")
    'disease: same draw as visits_public: 0'
    >>> _added("disease", 1.0, "72% of the ids are new; if these are other people, name another population")
    'disease: 72% of the ids are new: adds 1; if these are other people, name another population'
    """
    why, _, advice = reason.partition("; ")
    of = "" if attribute == "*" else f"{attribute}: "
    adds = f"adds {_figure(epsilon)}" if epsilon else "0"
    return f"{of}{why}: {adds}" + (f"; {advice}" if advice else "")


def _figure(epsilon: float) -> str:
    return "infinity" if epsilon == float("inf") else f"{epsilon:.4g}"
