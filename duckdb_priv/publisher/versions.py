"""Compares a version with the previous one: what it keeps, how many records changed, and which rows both share.

The published comparison is a function of the two published tables, so it reveals nothing new to someone who has both.
The only exception is the largest number of rows that moved, which is rounded up. With keyed noise the same record shows
the same value, so averaging releases does not help. The guarantees state the price: a record that shows another value
has changed, with certainty.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import duckdb

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.workspace import SCHEMA, Workspace
from duckdb_priv.errors import GuaranteeViolated
from duckdb_priv.ledger.entries import Last, last_of
from duckdb_priv.ledger.marks import Marked, Moved, moved
from duckdb_priv.methods.common.memory import Memory
from duckdb_priv.methods.register import METHODS, Method
from duckdb_priv.publisher.records import digest_of_rows
from duckdb_priv.release.catalog import EarlierVersion, Version, release_row
from duckdb_priv.release.model import Guarantee, to_json
from duckdb_priv.sqltext.quoting import identifiers
from duckdb_priv.sqltext.reading import count_of, types_of
from duckdb_priv.sqltext.templates import section

FOLLOWED = 400
"""The most earlier versions that are listed, each with its distance to the last one: a year of daily versions."""


@dataclass
class Succession:
    """The previous version, and what is found about it while the next one is published."""

    release: str
    method: Method
    last: Last
    """Its publication in the ledger."""
    remembered: bool = False
    """Whether the published value of each of its records is known."""
    moved: Moved | None = field(default=None)
    waiting: int = 0
    """The number of new records that wait for a complete group."""

    def check(self, workspace: Workspace, plan: Plan, marked: Marked | None) -> None:
        """Count the records that moved, and refuse to redraw all records.

        Raises GuaranteeViolated if the noise differs from that of the previous version.
        """
        if self.remembered:
            self.waiting = plan.left_out or 0
        self.moved = moved(workspace.cursor, marked, self.last.publication, self.last.level)
        if not self.method.refreshing.keeps:
            return
        for entry in plan.ledger:
            if self.last.draws.get(entry.attribute) != entry.fingerprint:
                raise GuaranteeViolated(
                    f"a refresh of {self.release!r} would redraw {entry.attribute!r} of every record, a second look"
                    " at all of them: its domain, its operator, the record id or the secret has changed",
                    hint="declare a domain := […] with every value that could occur, and publish once more with"
                    " replace := true and what that costs",
                )


def succeed(workspace: Workspace, release: str) -> Succession:
    """Return the previous version that the next version of a release follows.

    Raises GuaranteeViolated if its noise was fresh: every version would be a second look at all records.
    """
    last = last_of(workspace.cursor, release)
    method = METHODS[last.mechanism]
    if method.sensitive and last.fresh:
        raise GuaranteeViolated(
            f"{release!r} was published without record_id, so every version would redraw all records, and their"
            " average would reveal the true values",
            hint="publish it once more with record_id := …, replace := true and what that costs",
        )
    remembered = method.refreshing.remembers and bool(Memory(workspace, release))
    return Succession(release, method, last, remembered)


def existing_kind(cursor: duckdb.DuckDBPyConnection, database: str, name: str) -> str | None:
    """Return TABLE or VIEW; None if nothing has this name, for example a release dropped by hand."""
    found = cursor.execute(
        section("publishing", "kind_of_relation"), [database, SCHEMA, name]
    ).fetchone()
    return None if found is None else str(found[0])


def version_of(
    workspace: Workspace,
    release: str,
    former: str | None,
    table: str,
    plan: Plan,
    follows: Succession | None,
) -> Version:
    """Return the version of the rows in ``table``: its number, and the rows shared with the previous version.

    ``former`` is the published name of the previous version; None if there is none.
    """
    ((earlier,),) = workspace.rows(
        "SELECT count(DISTINCT published_at) FROM priv.ledger WHERE lower(release) = lower(?)",
        [release],
    )
    if former is None:
        return Version(earlier + 1)
    row = release_row(workspace.cursor, former)
    at, rows = row["created_at"], row["rows_published"]
    same = follows is not None or (row["mechanism"], to_json(row["parameters"])) == (
        plan.mechanism,
        to_json(plan.parameters),
    )
    kept = _shared(workspace, former, table) if same else None
    if follows is None or follows.moved is None or not follows.method.refreshing.keeps:
        return Version(earlier + 1, at, rows, kept)
    changed, placed = follows.moved.rows(), follows.moved.rows(placed=True)
    # A record that moved twice counts twice.
    followed = [
        EarlierVersion(
            each["published_at"], each["rows_moved"] + changed, each["rows_placed"] + placed
        )
        for each in (row["earlier"] or [])[: FOLLOWED - 1]
    ]
    return Version(
        earlier + 1, at, rows, kept, changed, [EarlierVersion(at, changed, placed), *followed]
    )


def _shared(workspace: Workspace, release: str, table: str) -> int | None:
    """Return the number of rows in both versions; None if their columns differ, or one version is gone."""
    before = workspace.table(release)
    kind = existing_kind(workspace.cursor, workspace.database, release)
    if kind is None or (kind == "VIEW" and not _is_there(workspace, before)):
        return None
    types, earlier = (types_of(workspace.cursor, each) for each in (table, before))
    if [*types.items()] != [*earlier.items()]:
        return None
    columns = identifiers(types)
    digests = [digest_of_rows(workspace, columns, each) for each in (table, before)]
    if digests[0] == digests[1]:
        return count_of(workspace.cursor, table)
    query = section("publishing", "shared_rows", columns=columns, table=table, before=before)
    ((kept,),) = workspace.rows(query)
    return int(kept)


def _is_there(workspace: Workspace, view: str) -> bool:
    """Return whether the files of a view can still be read."""
    # Use another cursor: an error would abort the transaction.
    with workspace.another_cursor() as cursor:
        try:
            types_of(cursor, view)
        except duckdb.IOException:
            return False
    return True


def with_comparison(method: Method, plan: Plan) -> Plan:
    """Add to the first guarantee of each attribute with keyed noise what a comparison of versions reveals."""
    if method.groups or method.afresh or method.baseline:
        return plan
    sentences = {
        entry.attribute: _sentence_of_comparison(
            entry.attribute, plan.provenance.get(entry.attribute)
        )
        for entry in plan.ledger
        if not entry.fresh
    }
    guarantees: list[Guarantee] = []
    for each in plan.guarantees:
        stated = sentences.pop(each.attribute or "", None)
        guarantees.append(replace(each, statement=f"{each.statement} {stated}") if stated else each)
    return replace(plan, guarantees=guarantees)


def _sentence_of_comparison(attribute: str, provenance: str | None) -> str:
    certain = (
        "Someone who compares two releases with this noise knows with certainty that a record which shows another"
        f" {attribute} has changed."
    )
    if provenance == "source":
        return (
            f"{certain} The domain is what occurs in the source, so a value that is new to it redraws all records: a"
            " second look."
        )
    return f"{certain} The domain was declared, so no other record is redrawn."
