"""Records are published in groups once, by whatever method and under whatever name.

Decoy groups, the groups of Anatomy and the samples of reconstruction privacy each promise something of a record that
has one group. A second one, of the same method or of another, narrows its value down, so it is refused unless the
publisher says ``republish := true``; the ledger and the receipt then say what it costs.

A method that knows the marks of its own records (``methods/common/republication.py``) refuses in its plan already, to
the record. Here records are those that the ledger recognizes, so that a copy, another table, other ids or another
method make no difference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.recognition import Known, Recognition
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import GuaranteeViolated
from duckdb_priv.methods.register import METHODS
from duckdb_priv.release.model import GROUPED_BY, LedgerEntry

REPUBLISHED, SAME = "republish := true", "the same"
"""How reasons begin: the publisher was told and insisted; every record has the group that it had."""


@dataclass(frozen=True)
class Grouped:
    """An earlier publication of an attribute in groups."""

    release: str
    mechanism: str
    coins: str
    source: int
    parameters: Mapping[str, Any]
    marked: bool
    """Whether its method knows its records by marks that are made with the secret, under this name of the attribute."""


def group_once(
    workspace: Workspace, plan: Plan, recognition: Recognition, *, republish: bool, extends: bool
) -> tuple[Plan, list[str]]:
    """Write into the ledger of a plan why its records may be published in groups, and say what that costs.

    Where a plan ``extends`` a release, its method has left out by their marks what it published before.
    Raises GuaranteeViolated where some are published in other groups, or may be, unless told to ``republish``.
    """
    entries, warnings = [], []
    for entry in plan.ledger:
        earlier = _earlier(workspace, recognition, entry)
        if extends:
            earlier = [
                each for each in earlier if not (each.marked and each.mechanism == plan.mechanism)
            ]
        others = [each for each in earlier if not _same_groups(each, entry, recognition)]
        if others:
            what, why = _told(others[0], plan, recognition)
            if not republish:
                raise GuaranteeViolated(
                    what, hint=f"{why}; write republish := true to publish nevertheless"
                )
            warnings.append(f"{what}: {why}")
            entries.append(_because(entry, REPUBLISHED, f"{REPUBLISHED}, although {what}: {why}"))
        elif extends:
            entries.append(entry)
        elif earlier:
            entries.append(
                _because(entry, SAME, f"{SAME} groups as before, which tell nothing new")
            )
        else:
            once = METHODS[plan.mechanism].once
            entries.append(
                _because(entry, "", f"its records in other groups are refused from now on: {once}")
            )
    return replace(plan, ledger=entries), warnings


def _because(entry: LedgerEntry, told: str, reason: str) -> LedgerEntry:
    """Give an entry a reason, unless its method, which knows single records, has told one that begins so."""
    known = entry.reason is not None and entry.reason.startswith(told)
    return entry if known else replace(entry, reason=reason)


def _told(earlier: Grouped, plan: Plan, recognition: Recognition) -> tuple[str, str]:
    """Say which records have other groups already, and what a second one does."""
    known = {each.number: each for each in recognition.known}
    what = (
        f"{_overlap(known[earlier.source], recognition)} are already published by"
        f" publish_{earlier.mechanism}, in release {earlier.release!r}"
    )
    whys = {METHODS[name].once for name in (earlier.mechanism, plan.mechanism)}
    return what, "; ".join(sorted(whys))


def _earlier(workspace: Workspace, recognition: Recognition, entry: LedgerEntry) -> list[Grouped]:
    """List the publications of an attribute in groups, of sources that share records with this one."""
    rows = workspace.rows(
        "SELECT release, mechanism, coins, source_number, parameters, coalesce(lower(attribute) = lower(?)"
        " AND NOT fresh AND published_at >= (SELECT created_at FROM priv.secret), false) FROM priv.ledger"
        " WHERE attribute_number = ? AND list_contains(?, mechanism) AND list_contains(?, source_number)"
        " ORDER BY number",
        [
            entry.attribute,
            recognition.attributes[entry.attribute],
            [name for name, method in METHODS.items() if method.groups],
            [each.number for each in recognition.known],
        ],
    )
    return [
        Grouped(release, mechanism, coins, source, json.loads(parameters), marked)
        for release, mechanism, coins, source, parameters, marked in rows
    ]


def _same_groups(earlier: Grouped, entry: LedgerEntry, recognition: Recognition) -> bool:
    """Say whether every record had the group before that it is to have now."""
    if earlier.coins != entry.coins:
        return False
    # Coins of groups of records name the records; those of groups of public columns hold for any.
    if GROUPED_BY not in entry.notes:
        return True
    return (
        earlier.source == recognition.number
        and earlier.parameters.get(GROUPED_BY) == entry.notes[GROUPED_BY]
    )


def _overlap(known: Known, recognition: Recognition) -> str:
    """Say which records, or persons, are in an earlier publication, or that it cannot be told."""
    source = recognition.source
    if known.shared is not None:
        seen = min(recognition.seen_in([known.number]).records, source.rows)
        about = "about " if recognition.level else ""
        return f"{about}{seen} of {source.rows} records of {source.name!r}"
    if known.persons:
        return f"persons of {source.name!r}"
    return f"records of {source.name!r}, which cannot be told apart without the same record id,"
