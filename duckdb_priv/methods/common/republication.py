"""Finding the records of a population that already have a group, for methods that extend published groups.

A decoy group contains a record's true value among wrong ones. With a new group in each release, forty releases identify
63 to 96 percent of the values. If a group's values are published unchanged, two releases often suffice. So the ledger
refuses a second grouping; records without a group may be grouped among themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.ledger.marks import number_of
from duckdb_priv.methods.common.assigning import Assigned, Grouping
from duckdb_priv.methods.common.decoys import Key
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.release import catalog
from duckdb_priv.release.model import LedgerEntry
from duckdb_priv.sqltext.quoting import identifier, in_types, listed, literal
from duckdb_priv.sqltext.reading import count_of, select
from duckdb_priv.sqltext.templates import section


def ledger_entries(
    source: Source, domains: Sequence[Domain], keys: Sequence[Key]
) -> list[LedgerEntry]:
    """Return the ledger's entries of the keys that grouped the records, by attribute."""
    return [
        LedgerEntry(
            domain.attribute, None, key.fingerprint, fresh=not source.record_id, grouped=True
        )
        for domain, key in zip(domains, keys, strict=True)
    ]


def remember(
    workspace: Workspace,
    source: Source,
    domains: Sequence[Domain],
    keys: Sequence[Key],
    assigned: Assigned,
    kept: str = "true",
) -> None:
    """Store the marks of assigned records; ``kept`` is the condition on the published ones."""
    if source.record_id:
        for domain, key in zip(domains, keys, strict=True):
            query = section(
                "kernels",
                "remember_grouped",
                draw=str(number_of(key.fingerprint)),
                marks=assigned.answers.marks(kept),
                grouped=grouped_sql(source, [domain]),
            )
            workspace.cursor.execute(query)


def drop_known(source: Source, domains: Sequence[Domain], assigned: Assigned) -> None:
    """Leave out the records that were published before."""
    if not assigned.answers.leave_out(grouped_sql(source, domains)):
        raise InvalidSource(
            f"every record of {source.name!r} is already published", hint="nothing was changed"
        )


def grouped_sql(source: Source, domains: Sequence[Domain]) -> str:
    """Return the query of the marks of records that already have a group for one of some attributes."""
    attributes = listed(domain.attribute.lower() for domain in domains)
    population = literal(source.population)
    return section("kernels", "grouped", population=population, attributes=attributes)


def domains_of_both(
    workspace: Workspace, source: Source, release: str, grouping: Grouping
) -> dict[str, list[str | None]]:
    """Check that a source fits a release, and return the values of both, by sensitive attribute."""
    release = catalog.find_release(workspace.cursor, release)
    row = catalog.release_row(workspace.cursor, release)
    mechanism, parameters = row["mechanism"], row["parameters"]
    given = {"gamma": grouping.gamma, "grouping": grouping.name}
    if mechanism != grouping.mechanism or any(parameters[name] != given[name] for name in given):
        raise InvalidParameter(
            f"release {release!r} was published by {mechanism} with other parameters than {given}",
            hint="append with the gamma and grouping of the release, or choose another name",
        )
    last = last_of(workspace.cursor, release)
    lower = [name.lower() for name in source.record_id]
    if not lower or last.fresh or [name.lower() for name in last.record_id] != lower:
        raise InvalidParameter(
            "without the record id that the release was published with, it is unknown which records are new",
            hint="publish with a record_id from the start, and append with the same",
        )
    published = catalog.published_columns(workspace.cursor, release)
    roles = {of.attribute: of.role for of in published}
    columns = dict.fromkeys(source.public, "public") | dict.fromkeys(source.sensitive, "sensitive")
    if roles != columns:
        raise InvalidParameter(
            f"release {release!r} has other columns than {source.name!r}",
            hint="append with the same sensitive and excluded columns",
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


def earlier_rows(
    workspace: Workspace, source: Source, domains: Sequence[Domain], release: str
) -> tuple[str, int]:
    """Store the rows of a release that is extended, with its new types; return their query and their number."""
    release = catalog.find_release(workspace.cursor, release)
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
        select(filter(None, columns), workspace.table(release))
    )
    return kept, count_of(workspace.cursor, f"({kept})")
