"""Describes a release to third parties, from the catalog and the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duckdb_priv.errors import how_many
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.methods.register import METHODS, Method
from duckdb_priv.publisher.persons import PERSON, RECORDS
from duckdb_priv.release import catalog
from duckdb_priv.release.catalog import Connection, PublishedColumn
from duckdb_priv.release.model import Guarantee


@dataclass(frozen=True)
class Promise:
    """The strength of a promise, and what it protects. A baseline promises nothing, so all is None."""

    unit: str | None = None
    neighbours: str | None = None
    against: str | None = None
    epsilon: float | None = None
    """None if the method has no epsilon."""
    delta: float | None = None


@dataclass(frozen=True)
class Described:
    """The public description of a release."""

    release: str
    row: Mapping[str, Any]
    """The catalog row of the release."""
    method: Method
    population: str
    columns: Sequence[PublishedColumn]
    domains: Mapping[str, Sequence[str | None]]
    """By attribute: the values that its column can show."""
    promise: Promise
    guarantees: Sequence[str]
    unprotected: Sequence[str]
    """What is not protected, one sentence for each point."""

    @property
    def title(self) -> str:
        """The title, or the name of the release if it has none."""
        return str(self.row["title"] or self.release)

    def named(self, *roles: str) -> str:
        """Write the names of the attributes with one of these roles."""
        return ", ".join(each.attribute for each in self.columns if each.role in roles)


def describe(connection: Connection, name: str) -> Described:
    """Describe a release of a publisher's database; raises UnknownRelease."""
    release = catalog.find_release(connection, name)
    row = catalog.release_row(connection, release)
    method = METHODS.named(row["mechanism"])
    columns = catalog.published_columns(connection, release)
    guarantees = catalog.guarantees(connection, release)
    stated = {each.name: each for each in guarantees}
    last = last_of(connection, release)
    sensitive = sum(column.role in ("sensitive", "generalized") for column in columns)
    return Described(
        release=release,
        row=row,
        method=method,
        population=last.population,
        columns=columns,
        domains={
            each.name: each.shown for each in catalog.sensitive_attributes(connection, release)
        },
        promise=_promise(method, stated, last.entries, sensitive),
        guarantees=list(dict.fromkeys(each.statement for each in guarantees)),
        unprotected=list(_unprotected(method, columns, people_named=RECORDS in stated)),
    )


def _promise(
    method: Method,
    stated: Mapping[str, Guarantee],
    entries: Sequence[Mapping[str, Any]],
    sensitive: int,
) -> Promise:
    """Return the promise to the largest unit that has one: a person, a record, or a value."""
    protection = method.protection
    if protection is None:
        return Promise()
    person = stated.get(PERSON)
    if person is not None and person.value is not None:
        records = how_many(int(person.parameters["records"]), "record")
        whole = method.whole_records
        unit, neighbours = (
            (
                f"one person, with up to {records}",
                "all records of one person are there or not"
                if whole
                else "the sensitive values of one person differ, in all records of the person",
            )
            if RECORDS in stated
            else (
                f"one record, with its {sensitive} sensitive values",
                "all sensitive values of one record differ",
            )
        )
        delta = person.parameters["delta"]
        return Promise(unit, neighbours, protection.against, person.value, delta)
    epsilons = [each["epsilon"] for each in entries]
    return Promise(
        protection.unit,
        protection.neighbours,
        protection.against,
        None if None in epsilons else max(filter(None, epsilons), default=0.0),
        max((each["delta"] for each in entries), default=0.0),
    )


def _unprotected(
    method: Method, columns: Sequence[PublishedColumn], *, people_named: bool
) -> Iterator[str]:
    if method.protection is None:
        yield "The method is a baseline for comparison, and protects less than it seems to."
    public = [each.attribute for each in columns if each.role == "public"]
    if public:
        yield (
            f"Public columns are published as they are: {', '.join(public)}. A rare combination of them shows that"
            " someone is in the table."
        )
    if not method.whole_records:
        yield (
            "Presence is not hidden: someone who knows a person's public columns may see that the person is in the"
            " table."
        )
    if not people_named:
        yield (
            "People with several records are protected less: the promise is for one record, and each further one adds"
            " to it."
        )
    yield (
        "Facts about everyone are what a release is for: they are learned from it, also about people who are not in"
        " it."
    )
    yield "Someone who has the secret of the publisher's database can undo the noise."
    if method.refreshing.reported:
        yield f"Someone who compares two versions of the release knows this: {method.refreshing.reported}."
