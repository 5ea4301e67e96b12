"""Charges a publication to the ledger: earlier entries are read before rows are written, the charge comes after."""

from __future__ import annotations

import json
from collections.abc import Sequence

from duckdb_priv.engine import randomness
from duckdb_priv.errors import how_many
from duckdb_priv.ledger import entries, exposure, groupings, marks
from duckdb_priv.ledger.budget import require_budget
from duckdb_priv.ledger.entries import Charged, Published
from duckdb_priv.ledger.marks import Moved, SameColumn
from duckdb_priv.ledger.rules import PUBLIC, Charge, Comparison
from duckdb_priv.publisher.publication import Publication
from duckdb_priv.release.model import GROUPED_BY, LedgerEntry
from duckdb_priv.sqltext.templates import section


def look_up(p: Publication) -> None:
    """Find the earlier publications of the population.

    Raises GuaranteeViolated for a second grouping, and for a column that has noise elsewhere.
    """
    source, plan, request = p.source, p.plan, p.request
    public = tuple(name for name, role in plan.columns.items() if role == "public")
    p.published = Published(
        release=p.release,
        population=source.population,
        source=source.name,
        source_version=source.version,
        record_id=source.record_id,
        id_types=tuple(source.types[name] for name in source.record_id),
        public=public,
        records=source.rows,
        mechanism=plan.mechanism,
        parameters=plan.parameters,
        person=source.person,
        persons=source.persons,
        person_rows=source.rows_of_person,
        max_rows=request.max_rows,
    )
    earlier = exposure.earlier_columns(p.workspace.cursor, source.population, p.release)
    latest = {(each.name, each.noisy): each.publication for each in earlier}
    same = marks.same_columns(p.workspace.cursor, latest, p.marked)
    found = {
        entry.attribute: _of_groups(p, entry, n, same)
        for n, entry in enumerate(plan.ledger if p.method.groups else ())
    }
    p.groups = {name: decided for name, decided in found.items() if decided is not None}
    p.exposed = exposure.exposed(
        earlier,
        public,
        source.sensitive,
        same,
        request.public or (),
        republish=request.republish,
    )


def warnings_of_charges(p: Publication) -> list[str]:
    """Return warnings about charges that are already known."""
    return [
        *(each.reason for each in p.groups.values() if each.whole),
        *(f"{why}: together they protect nothing of it" for why in p.exposed.values()),
    ]


def warnings_of_shared_ids(p: Publication) -> list[str]:
    """Return warnings about ids shared with another population, whose totals are separate."""
    if p.marked is None:
        return []
    about = "about " if p.marked.level else ""
    return [
        f"{about}{ids:,} of {p.marked.records:,} ids are also in population {name!r}: if they are the same people,"
        f" write population := {name!r}, since what is published of two populations is not added up"
        for name, ids in marks.shared_ids(p.workspace.cursor, p.source.population, p.marked)
    ]


def _of_groups(
    p: Publication, entry: LedgerEntry, n: int, same_columns: Sequence[SameColumn]
) -> Charge | None:
    """Return the charge of an attribute's groups; None if its records are charged one by one."""
    cursor, marked, joining = p.workspace.cursor, p.marked, None
    if marked is not None and p.extends:
        last = entries.last_of(cursor, p.release)
        if moved := marks.moved(cursor, marked, last.publication, last.level):
            joining = Comparison(marked.records, moved.arrived, moved.changed, 0, 0)
    return groupings.charge_groups(
        cursor,
        p.source.population,
        entry,
        {*marks.names_of(entry.attribute, same_columns, sensitive=True)},
        _same_groups(p, entry, n),
        joining,
        why=p.method.once,
        republish=p.request.republish,
    )


def _same_groups(p: Publication, entry: LedgerEntry, n: int) -> str | None:
    """Return a release in which every record has the same group; None if there is none."""
    cursor, marked = p.workspace.cursor, p.marked
    history, seen = entries.compared(cursor, entry, marked, n)
    if marked is None or history is None or seen is None or not seen.same:
        return None
    if GROUPED_BY in entry.notes and not any(
        # Groups made of public columns are the same if the columns and their values are.
        digest == marked.digests[n]
        and json.loads(parameters or "{}").get(GROUPED_BY) == entry.notes[GROUPED_BY]
        and marks.moved(cursor, marked, number, marked.level) == Moved(0, 0, 0, 0, marked.level)
        for number, digest, parameters in history.publications
    ):
        return None
    return history.release


def charge(p: Publication) -> None:
    """Charge every entry of a plan: write the ledger and the marks of the records.

    Raises GuaranteeViolated if the new total exceeds the budget of the population.
    """
    cursor, rows = p.workspace.cursor, p.published.person_rows or 0
    p.charged = [_charged(p, entry, n) for n, entry in enumerate(p.plan.ledger)]
    p.warnings += [
        f"{how_many(each.seen.corrected, 'record')} {'has' if each.seen.corrected == 1 else 'have'} another"
        f" {each.entry.attribute!r} than before: someone who has both versions knows with certainty that they changed"
        for each in p.charged
        if each.seen and each.seen.corrected
    ]
    for name, reason in p.exposed.items():
        fresh = randomness.fingerprint(randomness.new_secret())
        entry = LedgerEntry(name, None, fresh, fresh=True, mechanism=PUBLIC)
        p.charged.append(Charged(entry, Charge(reason, adds=True, whole=True), rows))
    write_entries(p)
    if p.absent and p.absent.charged:
        of_publication = {
            "population": p.published.population,
            "time": p.time,
            "release": p.release,
        }
        cursor.execute(
            section("ledger", "keep_noisy_count"), {**p.absent.charged, **of_publication}
        )
    require_budget(cursor, p.published.population, p.release)


def _charged(p: Publication, entry: LedgerEntry, n: int) -> Charged:
    """Return the charge of one entry, and store the marks of its records."""
    decided = p.groups.get(entry.attribute)
    if decided is None:
        # A method that groups all records together stores the marks of grouped records itself.
        keeps = not entry.grouped or GROUPED_BY in entry.notes
        return entries.charge_entry(
            p.workspace.cursor, p.published, entry, p.marked, n, keeps=keeps
        )
    digest = p.marked.digests[n] if p.marked else None
    rows = (p.published.person_rows or 0) if decided.adds else 0
    return Charged(entry, decided, rows, digest=digest)


def write_entries(p: Publication) -> None:
    """Write the charged entries into the ledger."""
    entries.write(p.workspace.cursor, p.published, p.charged, p.marked, p.time)
