"""What a publication adds to what its earlier ones tell of the same records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.recognition import Known, Recognition
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.methods.register import Method
from duckdb_priv.publisher.draws import count_draws
from duckdb_priv.release.catalog import Charge
from duckdb_priv.release.model import GROUPED_BY, LedgerEntry


@dataclass(frozen=True)
class Earlier:
    """An entry of the ledger with the same coins."""

    release: str
    source: int


def charges(
    workspace: Workspace, method: Method, plan: Plan, recognition: Recognition
) -> tuple[list[Charge], list[str]]:
    """Say of every entry of a plan what it adds, and what there is to warn of."""
    overlap = recognition.overlap
    seen = None if overlap is None else min(overlap.records, recognition.source.rows)
    persons = recognition.persons
    most = recognition.source.persons or recognition.source.rows
    persons_seen = None if persons is None else min(persons.records, most)
    found, warnings = [], []
    for entry in plan.ledger:
        earlier = _earlier(workspace, recognition, entry)
        changes = {
            each.release: recognition.changed(each.source, entry.attribute) for each in earlier
        }
        changed = max(changes.values(), default=0)
        draws = count_draws(workspace, method, recognition, entry)
        if draws is None or (method.groups and not recognition.goes_on):
            # A second sample of the same records is charged whole, though its values are drawn already.
            same = _shows_the_same(method, recognition, entry, earlier, changed)
            alike = same and _all_shown(recognition, earlier)
        else:
            same, alike = draws.after == draws.before, draws.anew == 0
            if draws.of_person is not None:
                alike = draws.of_person <= _charged_rows(workspace, recognition, entry)
        found.append(
            Charge(
                adds=not same,
                attribute_number=recognition.attributes[entry.attribute],
                source_number=recognition.number,
                records=recognition.source.rows,
                seen=seen,
                changed=changed,
                persons=recognition.source.persons,
                persons_seen=persons_seen,
                person_rows=recognition.source.rows_of_person,
                person_adds=not alike,
            )
        )
        if changed:
            release = max(changes, key=lambda name: changes[name])
            warnings.append(
                f"{_about(changed, recognition)} records have another {entry.attribute!r} than when release {release!r}"
                " was published with the same coins: who has both releases knows with certainty that they changed"
            )
        elif other := _redrawn(workspace, plan, recognition, entry):
            spent = _spent(workspace, recognition, entry)
            warnings.append(
                f"the domain of {entry.attribute!r} is another than that of release {other!r}, so every record is drawn"
                f" anew: epsilon was {spent:.3g}, and is {spent + (entry.epsilon or math.inf):.3g} for who has both;"
                " domain := […] with every value that could occur, also later, draws nothing anew"
            )
    return found, warnings


def _redrawn(
    workspace: Workspace, plan: Plan, recognition: Recognition, entry: LedgerEntry
) -> str | None:
    """Name the last keyed release of the same attribute by the same mechanism, if only its domain is another."""
    values = {each.name: list(each.values) for each in plan.attributes}
    if entry.fresh or not recognition.known or entry.attribute not in values:
        return None
    releases = workspace.rows(
        "SELECT entry.release, entry.attribute FROM priv.ledger AS entry"
        " JOIN priv.source AS known ON known.number = entry.source_number"
        " SEMI JOIN priv.coefficient AS of ON of.release = entry.release AND of.attribute = entry.attribute"
        " WHERE known.population = ? AND entry.attribute_number = ? AND entry.mechanism = ? AND NOT entry.fresh"
        " AND lower(entry.attribute) = lower(?) ORDER BY entry.number DESC LIMIT 1",
        [
            recognition.population,
            recognition.attributes[entry.attribute],
            plan.mechanism,
            entry.attribute,
        ],
    )
    for release, attribute in releases:
        domain = workspace.rows(
            "SELECT value FROM priv.coefficient WHERE release = ? AND attribute = ? ORDER BY position",
            [release, attribute],
        )
        if [value for (value,) in domain] != values[entry.attribute]:
            return str(release)
    return None


def _spent(workspace: Workspace, recognition: Recognition, entry: LedgerEntry) -> float:
    """Add up what was published of an attribute before."""
    ((spent,),) = workspace.rows(
        "SELECT coalesce(sum(coalesce(epsilon, 'inf'::DOUBLE)) FILTER (adds), 0) FROM priv.ledger"
        " JOIN priv.source ON priv.source.number = source_number WHERE population = ? AND attribute_number = ?",
        [recognition.population, recognition.attributes[entry.attribute]],
    )
    return float(spent)


def _charged_rows(workspace: Workspace, recognition: Recognition, entry: LedgerEntry) -> int:
    """Count for how many records each person was charged by entries with the same coins."""
    ((rows,),) = workspace.rows(
        "SELECT coalesce(sum(person_rows) FILTER (person_adds), 0)::BIGINT FROM priv.ledger"
        " JOIN priv.source AS known ON known.number = source_number WHERE coins = ? AND population = ?",
        [entry.coins, recognition.population],
    )
    return int(rows)


def _about(records: int, recognition: Recognition) -> str:
    return f"{'about ' if recognition.level else ''}{records:,}"


def _earlier(workspace: Workspace, recognition: Recognition, entry: LedgerEntry) -> list[Earlier]:
    """List earlier entries of the same attribute with the same keyed coins, the latest of each source."""
    if entry.fresh or not recognition.known:
        return []
    return [
        Earlier(*row)
        for row in workspace.rows(
            "SELECT arg_max(entry.release, entry.number), entry.source_number FROM priv.ledger AS entry"
            " JOIN priv.source AS known ON known.number = entry.source_number"
            " WHERE entry.coins = ? AND entry.attribute_number = ? AND known.population = ? AND NOT entry.fresh"
            " GROUP BY entry.source_number ORDER BY max(entry.number)",
            [entry.coins, recognition.attributes[entry.attribute], recognition.population],
        )
    ]


def _shows_the_same(
    method: Method,
    recognition: Recognition,
    entry: LedgerEntry,
    earlier: Sequence[Earlier],
    changed: int,
) -> bool:
    """Say whether every record that was published before shows what it showed."""
    if not earlier or changed:
        return False
    if method.groups:
        # What a record shows hangs on the others as well, unless the coins name the records that were grouped.
        return GROUPED_BY not in entry.notes or any(
            each.source == recognition.number for each in earlier
        )
    known = {each.number: each for each in recognition.known}
    return any(_shared(known.get(each.source)) for each in earlier)


def _shared(known: Known | None) -> bool:
    """Say whether records have the same ids as before; otherwise they may be the same under new ones."""
    return known is not None and known.shared is not None


def _all_shown(recognition: Recognition, earlier: Sequence[Earlier]) -> bool:
    """Say whether every record is certain to have been published before, so that no person has one that is new."""
    sources = [each.source for each in earlier]
    if recognition.number in sources:
        return True
    return recognition.level == 0 and recognition.seen_in(sources).hits == recognition.source.rows
