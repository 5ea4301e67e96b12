"""A record has one group: a second one, of other values, would narrow its true value down.

Each release with a decoy group of its own per record is like a guess at the value among other wrong answers: forty of
them identify 63 to 96 percent of the values. Where the values of a group are published as they are, two are often
enough. What is published once is not grouped again, unless the publisher says so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from duckdb_priv.engine import randomness
from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import GuaranteeViolated, InvalidParameter, InvalidSource
from duckdb_priv.methods.common.dealing import Dealt, Grouping
from duckdb_priv.methods.common.decoys import Key
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.perturbation import open_coins
from duckdb_priv.release import catalog
from duckdb_priv.release.model import LedgerEntry
from duckdb_priv.sqltext.quoting import identifier, in_types, literal


@dataclass(frozen=True)
class Rule:
    """How a mechanism groups records, and why it does so once."""

    mechanism: str
    groups: str
    """What its groups are called."""
    why: str
    remedy: str


def ledger_entries(
    source: Source, domains: Sequence[Domain], keys: Sequence[Key], why: Sequence[str]
) -> list[LedgerEntry]:
    """Write, for the ledger, which coins grouped the records of each attribute, and why they may."""
    return [
        LedgerEntry(
            domain.attribute, None, key.fingerprint, fresh=not source.record_id, reason=reason
        )
        for domain, key, reason in zip(domains, keys, why, strict=True)
    ]


def open_marks(workspace: Workspace, source: Source, rule: Rule) -> randomness.KeyedBits | None:
    """Derive what records are known by later: keyed hashes of their tables and ids; None without ids."""
    if not source.record_id:
        return None
    context: dict[str, object] = {
        "purpose": f"records of {rule.groups}",
        "origins": list(source.origins),
        "columns": [name.lower() for name in source.record_id],
    }
    bits = open_coins(workspace, source, context).bits
    return bits if isinstance(bits, randomness.KeyedBits) else None


def reasons(
    workspace: Workspace,
    source: Source,
    domains: Sequence[Domain],
    keys: Sequence[Key],
    dealt: Dealt,
    rule: Rule,
    *,
    republish: bool,
) -> list[str]:
    """Say, for the ledger, why the records may be published in these groups, attribute by attribute.

    Raises GuaranteeViolated where they have other groups already, or may have, unless told to ``republish``.
    """
    found = []
    for domain, key in zip(domains, keys, strict=True):
        earlier = _earlier(workspace, source, domain, rule)
        if any(coins == key.fingerprint for _, coins, _ in earlier):
            found.append(f"the same {rule.groups} as before, which tell nothing new")
            continue
        grouped = _grouped(workspace, source, domain, earlier, dealt, rule)
        if grouped is None:
            found.append(f"its records in other {rule.groups} are refused from now on: {rule.why}")
        elif republish:
            found.append(f"republish := true, although {grouped}: {rule.why}")
        else:
            raise GuaranteeViolated(grouped, hint=f"{rule.why}; {rule.remedy}")
    return found


def _earlier(
    workspace: Workspace, source: Source, domain: Domain, rule: Rule
) -> list[tuple[str, str, bool]]:
    """List earlier publications of an attribute: release, coins, and whether their records can be told apart."""
    return [
        (release, coins, bool(comparable and not fresh and source.record_id))
        for release, coins, fresh, comparable in workspace.rows(
            "SELECT release, coins, fresh, origins = ? AND list_transform(record_id, lambda x: lower(x)) = ?"
            # Marks that were made with another secret say nothing.
            " AND published_at >= (SELECT created_at FROM priv.secret)"
            " FROM priv.ledger WHERE mechanism = ? AND lower(attribute) = lower(?) AND list_has_any(origins, ?)",
            [
                list(source.origins),
                [name.lower() for name in source.record_id],
                rule.mechanism,
                domain.attribute,
                list(source.origins),
            ],
        )
    ]


def _grouped(
    workspace: Workspace,
    source: Source,
    domain: Domain,
    earlier: Sequence[tuple[str, str, bool]],
    dealt: Dealt,
    rule: Rule,
) -> str | None:
    """Say which records have groups already, or that it cannot be told; None where none has."""
    for release, _, comparable in earlier:
        if not comparable:
            return (
                f"{domain.attribute!r} of {source.name!r} is already published by {rule.groups}, in release"
                f" {release!r}, and which records are new cannot be told without the same record id"
            )
    if not earlier:
        return None
    (known,) = workspace.rows(
        f"SELECT count(*) FROM {dealt.answers.marks()} WHERE {_is_known([domain])}"
    )[0]
    if not known:
        return None
    return (
        f"{known} of {source.rows} records of {source.name!r} are already published by {rule.groups} of"
        f" {domain.attribute!r}"
    )


def remember(
    workspace: Workspace,
    source: Source,
    domains: Sequence[Domain],
    dealt: Dealt,
    kept: str = "true",
) -> None:
    """Keep the marks of the records that were dealt; ``kept`` are those that are published, as a condition."""
    if source.record_id:
        for domain in domains:
            number = _number_of(workspace, domain.attribute.lower())
            workspace.cursor.execute(
                f"INSERT INTO priv.grouped_record SELECT {number}::UINTEGER, mark"
                f" FROM {dealt.answers.marks(kept)} WHERE NOT {_is_known([domain])}"
            )


def _number_of(workspace: Workspace, attribute: str) -> int:
    """Return the number that the marks of an attribute have: a text beside each would take most of the time."""
    find = "SELECT number FROM priv.grouped_attribute WHERE name = ?"
    if not (rows := workspace.rows(find, [attribute])):
        rows = workspace.rows(
            "INSERT INTO priv.grouped_attribute SELECT coalesce(max(number), 0) + 1, ? FROM priv.grouped_attribute"
            " RETURNING number",
            [attribute],
        )
    ((number,),) = rows
    return int(number)


def drop_known(source: Source, domains: Sequence[Domain], dealt: Dealt) -> None:
    """Leave out of the records that were dealt what has been published before."""
    if not dealt.answers.leave_out(_known_sql(domains)):
        raise InvalidSource(
            f"every record of {source.name!r} is already published", hint="nothing was changed"
        )


def _is_known(domains: Sequence[Domain]) -> str:
    return f"mark IN ({_known_sql(domains)})"


def _known_sql(domains: Sequence[Domain]) -> str:
    """Write the query of the marks of records that have a group by one of some attributes."""
    attributes = ", ".join(literal(domain.attribute.lower()) for domain in domains)
    return (
        "SELECT mark FROM priv.grouped_record WHERE attribute IN"
        f" (SELECT number FROM priv.grouped_attribute WHERE name IN ({attributes}))"
    )


def domains_of_both(
    workspace: Workspace, source: Source, release: str, grouping: Grouping
) -> dict[str, list[str | None]]:
    """Check that a source fits to a release, and list the values that either has, by sensitive attribute."""
    release = catalog.find_release(workspace.cursor, release)
    mechanism, text = workspace.rows(
        "SELECT mechanism, parameters FROM priv.release WHERE release = ?", [release]
    )[0]
    parameters = json.loads(text)
    given = {"gamma": grouping.gamma, "grouping": grouping.name}
    if mechanism != grouping.mechanism or any(parameters[name] != given[name] for name in given):
        raise InvalidParameter(
            f"release {release!r} was published by {mechanism} with other parameters than {given}",
            hint="append with the gamma and grouping of the release, or choose another name",
        )
    last = catalog.last_publication(workspace.cursor, release)
    lower = [name.lower() for name in source.record_id]
    if not lower or last.fresh or [name.lower() for name in last.record_id] != lower:
        raise InvalidParameter(
            "which records are new cannot be told without the record id that the release was published with",
            hint="publish with a record_id from the start, and append with the same",
        )
    ((marked,),) = workspace.rows(
        "SELECT min(published_at) >= (SELECT created_at FROM priv.secret) FROM priv.ledger WHERE release = ?",
        [release],
    )
    if not marked:
        raise InvalidParameter(
            f"which records are new to release {release!r} cannot be told: the secret is another one since"
            " it was published",
            hint="publish the table anew, with republish := true and what that costs",
        )
    roles = dict(
        workspace.rows("SELECT attribute, role FROM priv.attribute WHERE release = ?", [release])
    )
    columns = dict.fromkeys(source.public, "public") | dict.fromkeys(source.sensitive, "sensitive")
    if roles != columns or source.origins != _origins(workspace, release):
        raise InvalidParameter(
            f"release {release!r} has other columns, or comes from other tables, than {source.name!r}",
            hint="append from the same table, with the same sensitive and excluded columns",
        )
    answers = aggregates_of(workspace, source)
    return {
        name: list(
            dict.fromkeys(
                value
                for value, *_ in (
                    *workspace.rows(
                        "SELECT value FROM priv.coefficient WHERE release = ? AND attribute = ?",
                        [release, name],
                    ),
                    *answers.histogram(name),
                )
            )
        )
        for name in source.sensitive
    }


def _origins(workspace: Workspace, release: str) -> tuple[str, ...]:
    rows = workspace.rows(
        "SELECT origins FROM priv.ledger WHERE release = ? ORDER BY number DESC LIMIT 1", [release]
    )
    return tuple(rows[0][0])


def earlier_rows(
    workspace: Workspace, source: Source, domains: Sequence[Domain], release: str
) -> tuple[str, int]:
    """Keep the rows of a release that is extended, in the types that it will have: a query of them, and how many."""
    release = catalog.find_release(workspace.cursor, release)
    table = f"{identifier(workspace.database)}.main.{identifier(release)}"
    published = {
        of.attribute: identifier(of.name)
        for of in catalog.published_columns(workspace.cursor, release)
    }
    columns = [
        f"{column}::VARCHAR::{domain.published_type} AS {column}"
        for domain in domains
        for column in [published[domain.attribute]]
    ]
    columns.append(in_types({name: source.types[name] for name in source.public}))
    kept = aggregates_of(workspace, source).set_aside(
        f"SELECT {', '.join(filter(None, columns))} FROM {table}"
    )
    ((rows,),) = workspace.rows(f"SELECT count(*) {kept}")
    return kept, rows
