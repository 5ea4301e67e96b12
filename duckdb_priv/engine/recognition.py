"""Which records were published before, whatever their table, file or columns are called now.

A source is what it holds. Its records are known by keyed fingerprints of their ids, and where they have none, or
others than before, by fingerprints of what they hold; of a large table a sample is kept (``mechanism/sketch.md``).
Sources that share records, or that read the same tables, are of one population, for which the ledger adds up. Numbers
such as 1, 2, 3 are ids in many tables: that they are shared counts only where the values of the records agree as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from duckdb_priv.engine.attributes import number_attributes
from duckdb_priv.engine.fingerprints import Fingerprints, take_fingerprints
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.sketch import Overlap
from duckdb_priv.release.catalog import now
from duckdb_priv.sqltext.quoting import literal

FALSE_ALARM = 1e-6
"""Probability that the values of unrelated records agree as often as is asked for."""
AGREEING = 0.5
"""Share of the records, beyond chance, whose values must agree."""
CONTENT, ENOUGH = 0.5, 10
"""Share of what records hold, and number of such contents, that as many records must hold."""


@dataclass(frozen=True)
class Known:
    """A source that was published before and shares records with this one."""

    number: int
    population: int
    shared: Overlap | None
    """Records with the same ids; None where they are known by what they hold, or by their tables alone."""
    same: bool
    """Whether it has exactly the same records."""
    persons: bool
    """Whether it shares persons with this one, under the same ids."""
    alike: bool
    """Whether as many records hold the same, for most of what records of it hold."""


@dataclass(frozen=True)
class Recognition:
    """What a source is known as."""

    fingerprints: Fingerprints
    number: int
    """Its number among the sources; a new one unless exactly its records, with these values, were published before."""
    new: bool
    population: int
    known: tuple[Known, ...]
    attributes: dict[str, int]
    """By sensitive column: the number of the attribute, which is the same under any name."""
    goes_on: bool = False
    """Whether it is a known source that goes on with other records, and keeps its number."""

    @property
    def source(self) -> Source:
        """The source."""
        return self.fingerprints.source

    @property
    def level(self) -> int:
        """The zero bits that the hash of a record begins with, if it was looked at."""
        return self.fingerprints.level

    @property
    def overlap(self) -> Overlap | None:
        """How many of its records were published before, as far as ids tell."""
        with_ids = {each.number: each.shared for each in self.known if each.shared is not None}
        if not with_ids or not self.source.record_id:
            return None
        if len(with_ids) == 1:
            return next(iter(with_ids.values()))
        level = max(self.level, *(shared.level for shared in with_ids.values()))
        return Overlap(self._seen(with_ids, level), level)

    @property
    def persons(self) -> Overlap | None:
        """How many of its persons, or of its records as persons, had records published before, as far as ids tell."""
        sharing = [each.number for each in self.known if each.persons]
        if not sharing:
            return Overlap(0, self.level) if self.source.person else None
        sources = ", ".join(map(str, sharing))
        ((level,),) = self.fingerprints.workspace.rows(
            f"SELECT greatest(max(level), {self.level}) FROM priv.source WHERE number IN ({sources})"
        )
        ((seen,),) = self.fingerprints.query("seen_persons", sources=sources, level=str(level))
        return Overlap(seen, level)

    def seen_in(self, sources: Sequence[int]) -> Overlap:
        """Estimate how many of its records are among those of known sources."""
        return Overlap(self._seen(sources, self.level), self.level)

    def changed(self, known: int, attribute: str) -> int:
        """Estimate how many records have another value of an attribute than when a source was published."""
        if attribute not in self.source.sensitive:
            return 0
        if known == self.number and not (self.new or self.goes_on):
            # Otherwise it would be another source.
            return 0
        return _changed(self.fingerprints, known, attribute) << self.level

    def _seen(self, sources: Iterable[int], level: int) -> int:
        listed = ", ".join(map(str, sources)) or "NULL"
        ((seen,),) = self.fingerprints.query("seen", sources=listed, level=str(level))
        return int(seen)

    def persist(self) -> None:
        """Keep what the records are known by, in the transaction of the publication."""
        if self.goes_on:
            self.fingerprints.renew(self.number)
            return
        if self.new:
            self.fingerprints.workspace.cursor.execute(
                "INSERT INTO priv.source VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    self.number,
                    self.population,
                    self.source.name,
                    self.fingerprints.origins,
                    self.source.rows,
                    self.level,
                    "id" if self.source.record_id else "content",
                    now(),
                ],
            )
            self.fingerprints.keep(self.number)
        self.fingerprints.keep_values(self.number, new=self.new)


def recognize(workspace: Workspace, source: Source, going_on: int | None = None) -> Recognition:
    """Say which of the sources that were published before a source is, or shares records with.

    ``going_on`` is the known source that it is, whatever records came and left. Reads the source twice and writes
    temporary tables; ``Recognition.persist`` keeps what was found.
    """
    taken = take_fingerprints(workspace, source)
    known = _known(taken)
    number, new = _number(taken, known)
    population = _population(workspace, known)
    sharing = {each.number for each in known if each.shared is not None}
    attributes = number_attributes(taken, sharing, population if known else None)
    found = Recognition(taken, number, new, population, tuple(known), attributes)
    if not new or going_on not in {each.number for each in known}:
        return found
    return replace(found, number=going_on, new=False, goes_on=True)


def _known(taken: Fingerprints) -> list[Known]:
    """Find the sources that share records or tables with this one."""
    sources = taken.workspace.rows(
        "SELECT number, population, list_has_any(origins, ?) FROM priv.source", [taken.origins]
    )
    if not sources:
        return []
    by_origin = {number: population for number, population, same in sources if same}
    rows = taken.query("shared", level=str(taken.level))
    alike = _alike(taken, rows)
    persons = _persons(taken, rows)
    shared = {number: Overlap(hits, at) for number, _, _, kind, at, hits in rows if kind == "id"}
    linked = {*by_origin} | alike | persons
    linked |= _confirmed(taken, shared.keys() - linked)
    populations = by_origin | {number: population for number, population, *_ in rows}
    same = _same(taken, shared)
    return [
        Known(
            number,
            populations[number],
            shared.get(number),
            number in same,
            number in persons,
            number in alike,
        )
        for number in sorted(linked)
    ]


def _alike(taken: Fingerprints, rows: Sequence[tuple[Any, ...]]) -> set[int]:
    """Return the sources that hold what this one holds, as often."""
    alike = {number: hits for number, _, _, kind, _, hits in rows if kind == "content"}
    if not alike:
        return set()
    kept = dict(taken.query("kept", level=str(taken.level), sources=", ".join(map(str, alike))))
    return {
        number
        for number, hits in alike.items()
        if hits >= max(ENOUGH, CONTENT * min(taken.contents, kept.get(number, 0)))
    }


def _confirmed(taken: Fingerprints, sharing: Iterable[int]) -> set[int]:
    """Return those of the sources with some of the same ids whose records are not shared by accident."""
    ids = {*sharing}
    if not ids or taken.records.telling:
        return ids
    return {
        number
        for number, records, agreeing, expected in taken.query(
            "agreement", sources=", ".join(map(str, ids))
        )
        if _beyond_chance(records, agreeing, expected)
    }


def _persons(taken: Fingerprints, rows: Sequence[tuple[Any, ...]]) -> set[int]:
    """Return the sources that share persons: named in both, or named in one while ids of the other tell as much."""
    sharing = {
        asked: {number for number, _, _, kind, _, _ in rows if kind == asked}
        for asked in ("person", "person of id", "id of person")
    }
    found = sharing["person"]
    if sharing["person of id"] and taken.persons.telling:
        found |= sharing["person of id"]
    if sharing["id of person"] and taken.records.telling:
        found |= sharing["id of person"]
    return found


def _beyond_chance(records: int, agreeing: int, expected: float) -> bool:
    """Say whether more values agree than chance allows (Chernoff), in a good share of the records."""
    if agreeing <= expected or expected >= records:
        return False
    log_chance = agreeing - expected - agreeing * math.log(agreeing / max(expected, 1e-300))
    share = (agreeing - expected) / (records - expected)
    return log_chance < math.log(FALSE_ALARM) and share >= AGREEING


def _same(taken: Fingerprints, shared: Mapping[int, Overlap]) -> set[int]:
    """Return the known sources that have exactly these records."""
    if not shared:
        return set()
    counted = taken.workspace.rows(
        "SELECT number, count(*) FROM priv.source JOIN priv.fingerprint ON source = number AND kind = 'id'"
        f" WHERE number IN ({', '.join(map(str, shared))}) AND records = ? AND priv.source.level = ?"
        " GROUP BY number",
        [taken.source.rows, taken.level],
    )
    mine = taken.records.marks if counted else 0
    return {number for number, theirs in counted if shared[number].hits == mine == theirs}


def _number(taken: Fingerprints, known: Sequence[Known]) -> tuple[int, bool]:
    """Return the number of the source that has these records with these values, or a new one."""
    for each in known:
        if each.same and not any(
            _changed(taken, each.number, name) for name in taken.source.sensitive
        ):
            return each.number, False
    ((last,),) = taken.workspace.rows("SELECT coalesce(max(number), 0) FROM priv.source")
    return last + 1, True


def _changed(taken: Fingerprints, known: int, attribute: str) -> int:
    """Count the fingerprints of a sensitive attribute that are other ones than those that a source has."""
    ((changed,),) = taken.query(
        "changed",
        known=str(known),
        attribute=literal(attribute.lower()),
        number=str(taken.source.sensitive.index(attribute) + 1),
    )
    return int(changed)


def _population(workspace: Workspace, known: Sequence[Known]) -> int:
    """Return the population of the known sources, which become one; a new one where there is none."""
    found = sorted({each.population for each in known})
    if not found:
        ((last,),) = workspace.rows("SELECT coalesce(max(population), 0) FROM priv.source")
        return int(last) + 1
    for other in found[1:]:
        workspace.cursor.execute(
            "UPDATE priv.source SET population = ? WHERE population = ?", [found[0], other]
        )
    return found[0]
