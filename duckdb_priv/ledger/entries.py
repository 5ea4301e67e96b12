"""Reads and writes ``priv.ledger``: what each publication adds to the total of its population."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from duckdb_priv.errors import PublicationFailed
from duckdb_priv.ledger import marks
from duckdb_priv.ledger.marks import Marked
from duckdb_priv.ledger.rules import PUBLIC, Charge, Comparison, Definition, History, charge
from duckdb_priv.release.catalog import Connection
from duckdb_priv.release.model import LedgerEntry, to_json


@dataclass(frozen=True)
class Published:
    """A publication as the ledger describes it."""

    release: str
    population: str
    source: str
    source_version: str | None
    record_id: tuple[str, ...]
    id_types: tuple[str, ...]
    public: tuple[str, ...]
    """The columns published without noise."""
    records: int
    person: tuple[str, ...] = ()
    persons: int | None = None
    person_rows: int | None = None
    max_rows: int | None = None
    mechanism: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Charged:
    """A ledger entry with its charge."""

    entry: LedgerEntry
    charge: Charge
    seen: Comparison | None
    """How its records compare with earlier ones of the same draw; None if there are none, or no record ids."""
    digest: str | None
    person_adds: int

    @property
    def changed(self) -> int:
        """The number of records whose value visibly changed."""
        return self.seen.corrected if self.seen else 0


def history_of(connection: Connection, draw: str) -> tuple[History, int] | None:
    """Return the charges of a draw since its last full charge, and its number of full charges."""
    rows = connection.execute(
        "WITH entry AS (SELECT *, count(*) FILTER (whole) OVER (ORDER BY number) AS epoch FROM priv.ledger"
        " WHERE coins = ?), last AS (SELECT max(epoch) AS epoch FROM entry)"
        " SELECT arg_max(release, number), count(*) FILTER (adds AND entry.epoch = last.epoch),"
        " coalesce(sum(new_records) FILTER (NOT whole AND entry.epoch = last.epoch), 0)::BIGINT, max(records),"
        " any_value(last.epoch) FROM entry, last HAVING count(*) > 0",
        [draw],
    ).fetchall()
    if not rows:
        return None
    release, charges, came, largest, epoch = rows[0]
    return History(release, charges, came, largest), int(epoch)


def earlier_draw(connection: Connection, population: str, attribute: str) -> Definition | None:
    """Return the latest noise definition of an attribute in a population; None if it never had noise."""
    rows = connection.execute(
        "SELECT mechanism, parameters, record_id FROM priv.ledger WHERE population = ? AND mechanism <> ?"
        " AND lower(attribute) = lower(?) ORDER BY number DESC LIMIT 1",
        [population, PUBLIC, attribute],
    ).fetchall()
    if not rows:
        return None
    mechanism, parameters, record_id = rows[0]
    return Definition(mechanism, json.loads(parameters), record_id)


@dataclass(frozen=True)
class Last:
    """The latest publication of a release."""

    publication: int
    population: str
    level: int | None
    draws: Mapping[str, str]
    """The fingerprint of each attribute's draw."""


def last_of(connection: Connection, release: str) -> Last | None:
    """Return the latest publication of a release; None if there is none."""
    rows = connection.execute(
        "SELECT publication, population, level, attribute, coins FROM priv.ledger"
        " WHERE lower(release) = lower($1) AND mechanism <> $2 AND published_at ="
        " (SELECT max(published_at) FROM priv.ledger WHERE lower(release) = lower($1))",
        [release, PUBLIC],
    ).fetchall()
    if not rows:
        return None
    publication, population, level, *_ = rows[0]
    return Last(publication, population, level, {row[3]: row[4] for row in rows})


def publications_with(connection: Connection, draw: str) -> list[int]:
    """List the publications that used this draw."""
    sql = "SELECT DISTINCT publication FROM priv.ledger WHERE coins = ?"
    return [number for (number,) in connection.execute(sql, [draw]).fetchall()]


def grouped_by(
    connection: Connection, draw: str, digest: str, note: str, columns: Sequence[str]
) -> list[int]:
    """List the publications of exactly these ids and values whose groups come from these columns."""
    rows = connection.execute(
        "SELECT publication, parameters FROM priv.ledger WHERE coins = ? AND digest = ?",
        [draw, digest],
    ).fetchall()
    return [
        number for number, parameters in rows if json.loads(parameters).get(note) == list(columns)
    ]


def has_digest(connection: Connection, draw: str, digest: str) -> bool:
    """Return whether a publication with this draw had exactly these ids and values."""
    sql = "SELECT 1 FROM priv.ledger WHERE coins = ? AND digest = ? LIMIT 1"
    return bool(connection.execute(sql, [draw, digest]).fetchall())


def compared(
    connection: Connection, entry: LedgerEntry, marked: Marked | None, n: int
) -> Comparison | None:
    """Compare the records of a publication with earlier ones of the same draw; None if there are none."""
    found = history_of(connection, entry.fingerprint)
    if entry.fresh or marked is None or found is None:
        return None
    return marks.compare(
        connection,
        entry.fingerprint,
        marked,
        n,
        epoch=found[1],
        same=has_digest(connection, entry.fingerprint, marked.digests[n]),
        publications=publications_with(connection, entry.fingerprint),
    )


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
    found = None if entry.fresh else history_of(connection, draw)
    seen = compared(connection, entry, marked, n)
    before = earlier_draw(connection, publication.population, entry.attribute)
    parameters = json.loads(to_json({**publication.parameters, **entry.notes}))
    mine = Definition(
        publication.mechanism, parameters, () if entry.fresh else publication.record_id
    )
    others = None if before is None else mine.differs_from(before)
    decided = charge(found[0] if found else None, seen, others)
    epoch = (found[1] if found else 0) + decided.whole
    if marked is not None and not entry.fresh and keeps:
        if decided.whole:
            marks.keep(connection, draw, marked, n, epoch=epoch)
        elif seen is not None and (seen.new or seen.corrected):
            marks.keep_fresh(connection, draw, epoch=epoch)
    return Charged(
        entry,
        decided,
        seen,
        marked.digests[n] if marked and not entry.fresh else None,
        _person_adds(connection, publication, draw, decided, epoch),
    )


def _person_adds(
    connection: Connection, publication: Published, draw: str, decided: Charge, epoch: int
) -> int:
    """Return how many more draws to charge to one person, beyond those charged since the last full charge."""
    rows = publication.person_rows
    if rows is None:
        return 0
    if decided.whole:
        return rows
    looks = marks.looks_of_person(connection, draw, epoch=epoch)
    if looks is None:
        return rows if decided.adds else 0
    ((charged,),) = connection.execute(
        "SELECT coalesce(sum(person_adds), 0)::BIGINT FROM priv.ledger WHERE coins = $1"
        " AND number >= (SELECT max(number) FROM priv.ledger WHERE coins = $1 AND whole)",
        [draw],
    ).fetchall()
    return max(0, looks - int(charged))


def write(
    connection: Connection,
    publication: Published,
    charged: Sequence[Charged],
    marked: Marked | None,
    time: Any,
) -> None:
    """Write the entries of a publication, and store its sample."""
    _refuse_used(connection, [each.entry for each in charged if each.entry.fresh])
    ((last,),) = connection.execute("SELECT coalesce(max(number), 0) FROM priv.ledger").fetchall()
    known, held = _number(connection, publication, charged[0].entry.fingerprint, marked)
    number = known or last + 1
    rows = [
        (
            last + place,
            number,
            publication.population,
            publication.release,
            publication.source,
            publication.source_version,
            [] if each.entry.fresh else list(publication.record_id),
            [] if each.entry.fresh else list(publication.id_types),
            each.entry.attribute,
            each.entry.mechanism or publication.mechanism,
            to_json({**publication.parameters, **each.entry.notes}),
            each.entry.epsilon,
            each.entry.delta,
            each.entry.fresh,
            each.entry.grouped,
            each.entry.fingerprint,
            each.charge.adds,
            each.charge.whole,
            each.charge.reason,
            time,
            publication.records,
            each.seen.new if each.seen else None,
            each.seen.corrected if each.seen else None,
            each.digest,
            marked.level if marked else None,
            list(publication.public),
            publication.persons,
            publication.person_rows,
            each.person_adds,
            list(publication.person),
            publication.max_rows,
        )
        for place, each in enumerate(charged, start=1)
    ]
    places = ", ".join("?" * len(rows[0]))
    connection.executemany("INSERT INTO priv.ledger VALUES (" + places + ")", rows)
    if marked is not None and not held:
        marks.keep_seen(connection, number)


def _number(
    connection: Connection, publication: Published, draw: str, marked: Marked | None
) -> tuple[int | None, bool]:
    """Return the number of this publication (None if new), and whether its sample is already stored.

    An identical earlier publication passes on its number. Otherwise the release keeps its previous number, unless
    another release shares it.
    """
    same = connection.execute(
        "SELECT max(publication) FROM priv.ledger"
        " WHERE population = ? AND list_contains(?, digest) AND level = ? AND public = ?",
        [
            publication.population,
            marked.digests if marked else [],
            marked.level if marked else None,
            publication.public,
        ],
    ).fetchall()[0][0]
    if same is not None and marks.holds_the_same(connection, same):
        return int(same), True
    ((number,),) = connection.execute(
        "SELECT min(publication) FROM priv.ledger AS entry WHERE lower(release) = lower($1) AND coins = $2"
        " AND NOT EXISTS (FROM priv.ledger AS other WHERE other.publication = entry.publication"
        " AND lower(other.release) <> lower($1))",
        [publication.release, draw],
    ).fetchall()
    return None if number is None else int(number), False


def _refuse_used(connection: Connection, fresh: Sequence[LedgerEntry]) -> None:
    """Refuse to publish with a sample or with noise that was used before."""
    if connection.execute(
        "SELECT release FROM priv.ledger WHERE list_contains(?, coins)",
        [[each.fingerprint for each in fresh]],
    ).fetchall():
        raise PublicationFailed(
            "this noise was drawn for another publication, and would reveal what it hides",
            hint="nothing was kept; publish again, with noise of its own",
        )


@dataclass(frozen=True)
class Added:
    """The epsilon that a ledger entry adds, and the reason."""

    attribute: str
    epsilon: float
    reason: str

    def __str__(self) -> str:
        """Return the epsilon added, and the reason.

        >>> str(Added("disease", 0.0, "same draw as visits_public"))
        'disease: same draw as visits_public: 0'
        >>> str(Added("disease", 1.0, "72% of the ids are new; if these are other people, name another population"))
        'disease: 72% of the ids are new: adds 1; if these are other people, name another population'
        """
        why, _, advice = self.reason.partition("; ")
        of = "" if self.attribute == "*" else f"{self.attribute}: "
        adds = f"adds {_figure(self.epsilon)}" if self.epsilon else "0"
        return f"{of}{why}: {adds}" + (f"; {advice}" if advice else "")


@dataclass(frozen=True)
class Total:
    """The total of a population before and after a publication."""

    before: float
    entries: Sequence[Added]
    after: float


def total(connection: Connection, population: str, release: str) -> Total:
    """Return from the ledger what the latest publication of a release added."""
    rows = connection.execute(
        "SELECT release IS NOT DISTINCT FROM ? AND published_at = max(published_at) OVER (), total, attribute, adds,"
        " reason FROM priv.ledger(details := true) WHERE population = ?",
        [release, population],
    ).fetchall()
    mine = [row for row in rows if row[0]]
    others = [after for is_mine, after, *_ in rows if not is_mine]
    return Total(
        others[-1] if others else 0.0, [Added(*entry) for _, _, *entry in mine], mine[-1][1]
    )


def described(found: Total, population: str) -> str:
    """Write the total spent before, what the publication adds, and why.

    >>> print(described(Total(1.0, [Added("disease", 1.0, "another retention")], 2.0), "main"))
    Population 'main' had spent epsilon 1; this adds 1, which makes 2. disease: another retention: adds 1.
    """
    adds = sum(each.epsilon for each in found.entries)
    spent = f"epsilon {_figure(found.before)}" if found.before else "nothing"
    now = f"{_figure(adds)}, which makes {_figure(found.after)}" if adds else "nothing"
    why = ". ".join(map(str, found.entries))
    return f"Population {population!r} had spent {spent}; this adds {now}. {why}."


def _figure(epsilon: float) -> str:
    return "infinity" if epsilon == float("inf") else f"{epsilon:.4g}"
