"""``priv.compare``: what a release and an older exported version of it reveal together."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import numpy as np

from duckdb_priv.engine.source import quoted_name
from duckdb_priv.engine.workspace import SCHEMA, Workspace
from duckdb_priv.errors import InvalidParameter, PrivError, echoed
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.two_looks import of_changed_value, of_one_value
from duckdb_priv.methods.common.operator_audit import operator_of
from duckdb_priv.methods.register import METHODS
from duckdb_priv.publisher.export import found_in
from duckdb_priv.publisher.persons import OF_VALUE
from duckdb_priv.publisher.placing import place_for
from duckdb_priv.release import catalog
from duckdb_priv.release.arguments import FILE, NAME, Arguments, argument, read
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.release.opening import open_release
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.reading import counts_of, types_of
from duckdb_priv.sqltext.templates import section

MOST_OUTCOMES = 200
"""The largest domain for which posteriors are computed: they take outcomes ** 2 times values numbers."""


@dataclass(frozen=True, kw_only=True)
class CompareArguments(Arguments):
    """A release, and an older release file of it."""

    release: str = argument(NAME, "the release as it is", "'visits_public'")
    older: str = argument(FILE, "an older release file of it", "'visits_2025.duckdb'")


@dataclass(frozen=True)
class Versions:
    """The current version of a release, and an older one in an attached file."""

    workspace: Workspace
    release: str
    cursor: duckdb.DuckDBPyConnection
    """Sees the tables of both versions."""
    tables: Mapping[str, str]
    """Its tables: ``older`` and ``current``."""
    older: Mapping[str, Any]
    """The catalog row of the older version."""
    attributes: Mapping[str, SensitiveAttribute]
    """The attributes of the older version, by name."""
    epsilons: Mapping[str, float | None]
    """The epsilon of each attribute in the older version."""

    @cached_property
    def current(self) -> Mapping[str, Any]:
        """The catalog row of the current version."""
        return catalog.release_row(self.workspace.cursor, self.release)

    @cached_property
    def columns(self) -> list[str]:
        """The columns that are in both versions, of any type."""
        before, now = (types_of(self.cursor, self.tables[name]) for name in ("older", "current"))
        return [name for name in now if name in before]


def compare(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Count the rows in both versions, and recompute the posteriors and the epsilon spent.

    Raises InvalidParameter if the file is not a release file of this release.
    """
    (arguments,) = read(given, CompareArguments, of="compare")
    release = catalog.find_release(workspace.cursor, arguments.release)
    path = place_for(arguments.older, "duckdb")
    if found_in(path) != {release}:
        raise InvalidParameter(
            f"{echoed(str(path))} is no release file of {release!r}, or is open for writing elsewhere",
            hint="name a file that FROM priv.export_release(…) wrote for an earlier version",
        )
    with _attached(workspace, str(path), release) as versions:
        rows = [_rows(versions)]
        for attribute in catalog.sensitive_attributes(workspace.cursor, release):
            rows += _of_attribute(versions, attribute)
    return rows


@contextmanager
def _attached(workspace: Workspace, path: str, release: str) -> Iterator[Versions]:
    alias = identifier(f"_priv_older_{uuid.uuid4().hex}")
    # The file may have been tampered with, so its code runs confined to the file, or not at all.
    with closing(open_release(path)) as opened:
        _check_table(opened, path, release)
        row = catalog.release_row(opened, release)
        attributes = {each.name: each for each in catalog.sensitive_attributes(opened, release)}
        epsilons = {name: _epsilon(opened, release, name) for name in attributes}
    older = f"{alias}.{SCHEMA}.{identifier(release)}"
    tables = {"older": older, "current": workspace.table(release)}
    with workspace.another_cursor() as cursor:
        cursor.execute(f"ATTACH {literal(path)} AS {alias} (READ_ONLY)")
        try:
            yield Versions(workspace, release, cursor, tables, row, attributes, epsilons)
        finally:
            with suppress(duckdb.Error):
                cursor.execute(f"DETACH {alias}")


def _check_table(opened: duckdb.DuckDBPyConnection, path: str, release: str) -> None:
    """Require a plain table: a view or a computed column could read anything."""
    tables = opened.execute(
        "SELECT sql FROM system.main.duckdb_tables() WHERE schema_name = ? AND table_name = ?",
        [SCHEMA, release],
    ).fetchall()
    if not tables or "GENERATED ALWAYS" in tables[0][0]:
        raise InvalidParameter(
            f"{release!r} is no plain table in {echoed(path)}: the file was tampered with",
            hint="name the file as FROM priv.export_release(…) wrote it",
        )


def _finding(
    name: str, statement: str, value: float | None, attribute: str | None = None
) -> dict[str, Any]:
    return {"attribute": attribute, "finding": name, "statement": statement, "value": value}


def _key(columns: list[str]) -> str:
    listed = ", ".join(f"{identifier(name)}::VARCHAR" for name in columns)
    return f"to_json([{listed}]::VARCHAR[])::VARCHAR"


def _rows(versions: Versions) -> dict[str, Any]:
    """Count the rows that are in both versions."""
    query = section("publishing", "rows_in_both", key=_key(versions.columns), **versions.tables)
    ((kept, before, after),) = versions.cursor.execute(query).fetchall()
    return _finding(
        "rows_in_both",
        f"Of {before:,} rows of version {versions.older.get('version', 1)} and {after:,} of version"
        f" {versions.current['version']} this many are in both, equal in all columns. The others are of records that"
        " came, left or changed.",
        float(kept),
    )


def _of_attribute(versions: Versions, attribute: SensitiveAttribute) -> list[dict[str, Any]]:
    name = attribute.name
    if name not in versions.attributes:
        return [_finding("new", "The older version does not have this attribute.", None, name)]
    rows = _followed(versions, attribute)
    same = _same_bits(versions, attribute)
    now = _epsilon(versions.workspace.cursor, versions.release, name)
    then = versions.epsilons[name]
    changed = rows[1]["value"] > 0
    if now is not None and then is not None:
        looks = f"is redrawn if it has another value: {now:.4g} for a record that did not change"
        rows.append(
            _finding(
                "epsilon_of_both",
                f"What a record shows {looks}, and for one that did, of both its values."
                if same
                else "The noise differs, so each is a look at every record.",
                now if same and not changed else now + then,
                name,
            )
        )
    return [*rows, *_beliefs(versions, attribute, same=same)]


def _followed(versions: Versions, attribute: SensitiveAttribute) -> list[dict[str, Any]]:
    """Count the records with unique public columns in both versions, and those of them that changed."""
    columns = catalog.published_columns(versions.workspace.cursor, versions.release)
    shown = {each.name for each in columns if each.role != "public"}
    key = _key([name for name in versions.columns if name not in shown])
    value = f"{identifier(attribute.column)}::VARCHAR"
    query = section("publishing", "followed_records", key=key, value=value, **versions.tables)
    ((followed, changed),) = versions.cursor.execute(query).fetchall()
    return [
        _finding(
            "followed_records",
            "This many records are unique in their public columns in both versions, so it can be seen which row of one"
            " is which of the other.",
            float(followed),
            attribute.name,
        ),
        _finding(
            "seen_to_have_changed",
            f"This many of them show another {attribute.name}: with the same noise, they certainly changed.",
            float(changed),
            attribute.name,
        ),
    ]


def _same_bits(versions: Versions, attribute: SensitiveAttribute) -> bool:
    """Return whether an unchanged record shows the same value in both versions."""
    fingerprint = dict(
        versions.workspace.rows(
            "SELECT published_at, coins FROM priv.ledger WHERE release = ? AND attribute = ? AND NOT fresh",
            [versions.release, attribute.name],
        )
    )
    now, then = versions.current["created_at"], versions.older["created_at"]
    return now in fingerprint and fingerprint.get(then) == fingerprint[now]


def _epsilon(cursor: duckdb.DuckDBPyConnection, release: str, attribute: str) -> float | None:
    stated = catalog.guarantees(cursor, release)
    named = [each for each in stated if each.name == OF_VALUE and each.attribute == attribute]
    return named[0].value if named else None


def _beliefs(
    versions: Versions, attribute: SensitiveAttribute, *, same: bool
) -> list[dict[str, Any]]:
    """Recompute the posteriors after both versions, for an attacker who knows the current true frequencies."""
    before = versions.attributes[attribute.name]
    first, second = operator_of(before), operator_of(attribute)
    prior = _frequencies(versions, attribute)
    if (
        METHODS[versions.current["mechanism"]].groups
        or prior is None
        or first is None
        or second is None
        or max(len(first), len(second)) > MOST_OUTCOMES
        or before.values != attribute.values
    ):
        return [
            _finding(
                "posterior_rise",
                "It is not computed where records are grouped, where the domain is large or another one, or where the"
                " source cannot be read.",
                None,
                attribute.name,
            )
        ]
    found = (of_changed_value if same else of_one_value)(first, second, prior)
    who = "a record that is seen to have changed" if same else "any record"
    return [
        _finding(
            "largest_posterior_of_both",
            f"The largest posterior of a true {attribute.name} of {who} for someone who has both versions and knows the"
            f" true frequencies; after one it is {found.one:.4g}.",
            found.both,
            attribute.name,
        ),
        _finding(
            "posterior_rise",
            f"The most that the older version adds to the posterior of a true {attribute.name} of {who}.",
            found.rise,
            attribute.name,
        ),
    ]


def _frequencies(versions: Versions, attribute: SensitiveAttribute) -> Vector | None:
    """Return the frequencies of the true values in the current source; None if it cannot be read."""
    workspace = versions.workspace
    source = last_of(workspace.cursor, versions.release).source
    with workspace.another_cursor() as cursor:
        cursor.execute(f"USE {identifier(workspace.database)}")
        try:
            counts = dict(counts_of(cursor, identifier(attribute.name), quoted_name(source)))
        except (PrivError, duckdb.Error):
            return None
    found: Vector = np.array([counts.get(value, 0) for value in attribute.values], dtype=np.float64)
    shares: Vector = found / max(found.sum(), 1)
    return shares if found.any() else None
