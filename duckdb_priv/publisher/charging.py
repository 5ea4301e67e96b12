"""Asks the ledger what a publication adds, before it is written and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duckdb_priv.engine import randomness
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.ledger import entries, exposure, groupings, marks
from duckdb_priv.ledger.entries import PUBLIC, Charged, Published
from duckdb_priv.ledger.marks import Marked
from duckdb_priv.ledger.rules import Charge, Comparison
from duckdb_priv.methods.register import Method
from duckdb_priv.release.model import GROUPED_BY, LedgerEntry
from duckdb_priv.release.request import Request


@dataclass(frozen=True)
class Charging:
    """What the ledger has to say of a publication before its rows are written."""

    publication: Published
    marked: Marked | None
    groups: dict[str, Charge]
    """By attribute: what a publication in groups adds, where that was decided."""
    exposed: dict[str, str]
    """The columns that have noise in one release and none in another, with the reason."""
    warnings: Sequence[str]


def open_charging(
    workspace: Workspace,
    method: Method,
    request: Request,
    source: Source,
    plan: Plan,
    marked: Marked | None,
    arguments: Any,
    *,
    extends: bool,
) -> Charging:
    """Look up what was published of the population.

    Raises GuaranteeViolated for a second grouping, and for a column that has noise elsewhere.
    """
    public = tuple(name for name, role in plan.columns.items() if role == "public")
    publication = Published(
        request.release,
        source.population,
        source.name,
        source.record_id,
        tuple(source.types[name] for name in source.record_id),
        public,
        source.rows,
        source.person,
        source.persons,
        source.rows_of_person,
        request.max_rows,
        plan.mechanism,
        plan.parameters,
    )
    groups: dict[str, Charge] = {}
    if method.groups:
        joining = _joining(workspace, request.release, marked) if extends else None
        for n, entry in enumerate(plan.ledger):
            decided = _of_groups(
                workspace, method, source, entry, marked, n, joining, republish=arguments.republish
            )
            if decided is not None:
                groups[entry.attribute] = decided
    found = exposure.exposed(
        workspace.cursor,
        source.population,
        public,
        source.sensitive,
        marked,
        request.public or (),
    )
    warnings = [
        *(each.reason for each in groups.values() if each.whole),
        *(f"{why}: together they protect nothing of it" for why in found.values()),
    ]
    return Charging(publication, marked, groups, found, warnings)


def _joining(workspace: Workspace, release: str, marked: Marked | None) -> Comparison | None:
    """Compare the records with those of the last version of a release; None where ids do not tell."""
    last = entries.last_of(workspace.cursor, release)
    if marked is None or last is None or last.level is None:
        return None
    found = marks.moves(workspace.cursor, last.publication, marked.level, last.level)
    level = max(marked.level, last.level)
    return Comparison(marked.records, found.arrived << level, found.changed << level, 0, 0)


def _of_groups(
    workspace: Workspace,
    method: Method,
    source: Source,
    entry: LedgerEntry,
    marked: Marked | None,
    n: int,
    joining: Comparison | None,
    *,
    republish: bool,
) -> Charge | None:
    """Decide what the groups of an attribute add; None where its records are charged one by one."""
    same = _same_groups(workspace, entry, marked, n)
    name = entry.attribute.lower()
    found = marks.same_columns(workspace.cursor, source.population, marked) if marked else []
    others = {of for mine, _, of, was in found if was and mine == name}
    before = groupings.grouped_before(workspace.cursor, source.population, {name, *others})
    if joining is not None and (
        elsewhere := groupings.grouped_before(workspace.cursor, source.population, others)
    ):
        # Records that have groups under another name of the attribute are not new, whatever their release is.
        before, joining = elsewhere, None
    decided = groupings.charge_groups(
        entry.attribute, before, same, joining, why=method.once, republish=republish
    )
    # The rows of samples are drawn one by one, so that corrections are counted.
    by_record = joining is not None and GROUPED_BY in entry.notes
    return None if by_record and same is None else decided


def _same_groups(
    workspace: Workspace, entry: LedgerEntry, marked: Marked | None, n: int
) -> str | None:
    """Return the release in which every record has the same group; None where there is none."""
    cursor, draw = workspace.cursor, entry.coins
    seen = entries.compared(cursor, entry, marked, n)
    history = entries.history_of(cursor, draw)
    if marked is None or history is None or seen is None or not seen.same:
        return None
    if GROUPED_BY in entry.notes:
        # Groups of public columns are the same where these are, and hold the same.
        columns = entry.notes[GROUPED_BY]
        earlier = entries.grouped_by(cursor, draw, marked.digests[n], GROUPED_BY, columns)
        found = [marks.moves(cursor, each, marked.level, marked.level) for each in earlier]
        if not any(each.nothing for each in found):
            return None
    return history[0].release


def decide(workspace: Workspace, charging: Charging, plan: Plan) -> tuple[list[Charged], list[str]]:
    """Say what every entry of a plan adds, keep the marks of its records, and say what there is to warn of."""
    charged, warnings = [], []
    for n, entry in enumerate(plan.ledger):
        decided = charging.groups.get(entry.attribute)
        if decided is not None:
            rows = charging.publication.person_rows or 0
            digest = charging.marked.digests[n] if charging.marked else None
            charged.append(Charged(entry, decided, None, digest, rows if decided.adds else 0))
            continue
        # A method that groups all records together keeps the marks of those that have a group itself.
        keeps = not entry.grouped or GROUPED_BY in entry.notes
        found = entries.charge_entry(
            workspace.cursor, charging.publication, entry, charging.marked, n, keeps=keeps
        )
        charged.append(found)
        if found.changed:
            warnings.append(
                f"{found.changed:,} records have another {entry.attribute!r} than before: someone who has both versions"
                " knows with certainty that they changed"
            )
    for name, reason in charging.exposed.items():
        fresh = randomness.fingerprint(randomness.new_secret())
        entry = LedgerEntry(name, None, fresh, fresh=True, mechanism=PUBLIC)
        rows = charging.publication.person_rows or 0
        charged.append(
            Charged(entry, Charge(adds=True, whole=True, reason=reason), None, None, rows)
        )
    return charged, warnings
