"""``priv.compare``: what a release and an older exported version of it reveal together."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np

from duckdb_priv.engine.source import parse_name
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, PrivError, echoed
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.mechanism.arrays import Matrix, Vector
from duckdb_priv.mechanism.two_looks import of_changed_value, of_one_value
from duckdb_priv.methods.common.operator_audit import drawn_operator
from duckdb_priv.methods.register import METHODS
from duckdb_priv.publisher.comments import SCHEMA
from duckdb_priv.publisher.export import found_in
from duckdb_priv.publisher.placing import place_for
from duckdb_priv.release import catalog
from duckdb_priv.release.arguments import FILE, NAME, Arguments, argument, read
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.release.opening import open_release
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.reading import types_of

MOST_OUTCOMES = 200
"""The largest domain for which posteriors are computed: they take outcomes ** 2 times values numbers."""


@dataclass(frozen=True, kw_only=True)
class CompareArguments(Arguments):
    """A release, and an older release file of it."""

    release: str = argument(NAME, "the release as it is", "'visits_public'")
    older: str = argument(FILE, "an older release file of it", "'visits_2025.duckdb'")


@dataclass(frozen=True)
class File:
    """An older version: its catalog, and its attached table."""

    cursor: duckdb.DuckDBPyConnection
    alias: str
    catalog: Mapping[str, Any]
    attributes: Mapping[str, SensitiveAttribute]
    epsilons: Mapping[str, float | None]


def compare(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Count the rows in both versions, and recompute the posteriors and the epsilon spent.

    Raises InvalidParameter if the file is not a release file of this release.
    """
    (arguments,) = read(given, CompareArguments, of="compare")
    release = catalog.find_release(workspace.cursor, arguments.release)
    path = place_for(arguments.older, "duckdb")
    if found_in(workspace, path) != {release}:
        raise InvalidParameter(
            f"{echoed(str(path))} is no release file of {release!r}, or is open for writing elsewhere",
            hint="name a file that FROM priv.export_release(…) wrote for an earlier version",
        )
    with _attached(workspace, str(path), release) as older:
        rows = [_rows(workspace, older, release)]
        for attribute in catalog.sensitive_attributes(workspace.cursor, release):
            rows += _of_attribute(workspace, older, release, attribute)
    return rows


@contextmanager
def _attached(workspace: Workspace, path: str, release: str) -> Iterator[File]:
    alias = identifier(f"_priv_older_{uuid.uuid4().hex}")
    # The file may have been tampered with, so its code runs confined to the file, or not at all.
    with closing(open_release(path)) as opened:
        _check_table(opened, path, release)
        found = opened.execute("FROM priv.release WHERE release = ?", [release])
        names = [name for name, *_ in found.description]
        (row,) = found.fetchall()
        attributes = {each.name: each for each in catalog.sensitive_attributes(opened, release)}
        epsilons = {name: _epsilon(opened, release, name) for name in attributes}
    with workspace.another_cursor() as cursor:
        cursor.execute(f"ATTACH {literal(path)} AS {alias} (READ_ONLY)")
        try:
            yield File(cursor, alias, dict(zip(names, row, strict=True)), attributes, epsilons)
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


def _tables(workspace: Workspace, older: File, release: str) -> tuple[str, str]:
    name = identifier(release)
    return (
        f"{older.alias}.{SCHEMA}.{name}",
        f"{identifier(workspace.database)}.{SCHEMA}.{name}",
    )


def _columns(workspace: Workspace, older: File, release: str) -> list[str]:
    """List the columns that are in both versions, of any type."""
    both = []
    for table in _tables(workspace, older, release):
        both.append([*types_of(older.cursor, table)])
    return [name for name in both[1] if name in both[0]]


def _key(columns: list[str]) -> str:
    listed = ", ".join(f"{identifier(name)}::VARCHAR" for name in columns)
    return f"to_json([{listed}]::VARCHAR[])::VARCHAR"


def _rows(workspace: Workspace, older: File, release: str) -> dict[str, Any]:
    """Count the rows that are in both versions."""
    key = _key(_columns(workspace, older, release))
    counts = [
        f"SELECT {key} AS key, count(*) AS rows FROM {table} GROUP BY ALL"
        for table in _tables(workspace, older, release)
    ]
    ((kept, before, after),) = older.cursor.execute(
        f"WITH a AS ({counts[0]}), b AS ({counts[1]})"
        " SELECT (SELECT coalesce(sum(least(a.rows, b.rows)), 0) FROM a JOIN b USING (key))::BIGINT,"
        " (SELECT sum(rows) FROM a)::BIGINT, (SELECT sum(rows) FROM b)::BIGINT"
    ).fetchall()
    return _finding(
        "rows_in_both",
        f"Of {before:,} rows of version {older.catalog.get('version', 1)} and {after:,} of version"
        f" {catalog.version(workspace.cursor, release)} this many are in both, equal in all columns. The others are of"
        " records that came, left or changed.",
        float(kept),
    )


def _of_attribute(
    workspace: Workspace, older: File, release: str, attribute: SensitiveAttribute
) -> list[dict[str, Any]]:
    name, before = attribute.name, older.attributes.get(attribute.name)
    if before is None:
        return [_finding("new", "The older version does not have this attribute.", None, name)]
    rows = _followed(workspace, older, release, attribute)
    same = _same_bits(workspace, older, release, attribute)
    epsilons = [_epsilon(workspace.cursor, release, name), older.epsilons[name]]
    changed = rows[1]["value"] > 0
    if None not in epsilons:
        now, then = epsilons
        assert now is not None
        assert then is not None
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
    return [*rows, *_beliefs(workspace, release, before, attribute, same=same)]


def _followed(
    workspace: Workspace, older: File, release: str, attribute: SensitiveAttribute
) -> list[dict[str, Any]]:
    """Count the records with unique public columns in both versions, and those of them that changed."""
    shown = {
        each.name
        for each in catalog.published_columns(workspace.cursor, release)
        if each.role != "public"
    }
    public = [name for name in _columns(workspace, older, release) if name not in shown]
    value = f"{identifier(attribute.column)}::VARCHAR"
    alone = [
        f"SELECT {_key(public)} AS key, any_value({value}) AS shown FROM {table} GROUP BY ALL HAVING count(*) = 1"
        for table in _tables(workspace, older, release)
    ]
    ((followed, changed),) = older.cursor.execute(
        f"SELECT count(*), count(*) FILTER (a.shown IS DISTINCT FROM b.shown) FROM ({alone[0]}) AS a"
        f" JOIN ({alone[1]}) AS b USING (key)"
    ).fetchall()
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


def _same_bits(
    workspace: Workspace, older: File, release: str, attribute: SensitiveAttribute
) -> bool:
    """Return whether an unchanged record shows the same value in both versions."""
    fingerprint = dict(
        workspace.rows(
            "SELECT published_at, coins FROM priv.ledger WHERE release = ? AND attribute = ? AND NOT fresh",
            [release, attribute.name],
        )
    )
    now = workspace.rows("SELECT created_at FROM priv.release WHERE release = ?", [release])[0][0]
    then = older.catalog["created_at"]
    return now in fingerprint and fingerprint.get(then) == fingerprint[now]


def _epsilon(cursor: duckdb.DuckDBPyConnection, release: str, attribute: str) -> float | None:
    rows = cursor.execute(
        "SELECT value FROM priv.guarantee WHERE release = ? AND attribute = ? AND guarantee ="
        " 'local_differential_privacy'",
        [release, attribute],
    ).fetchall()
    return float(rows[0][0]) if rows and rows[0][0] is not None else None


def _beliefs(
    workspace: Workspace,
    release: str,
    before: SensitiveAttribute,
    after: SensitiveAttribute,
    *,
    same: bool,
) -> list[dict[str, Any]]:
    """Recompute the posteriors after both versions, for an attacker who knows the current true frequencies."""
    operators = [operator_of(before), operator_of(after)]
    prior = _frequencies(workspace, release, after)
    (method,) = workspace.rows("SELECT mechanism FROM priv.release WHERE release = ?", [release])[0]
    if (
        METHODS[method].groups
        or prior is None
        or any(each is None or len(each) > MOST_OUTCOMES for each in operators)
        or before.values != after.values
    ):
        return [
            _finding(
                "posterior_rise",
                "It is not computed where records are grouped, where the domain is large or another one, or where the"
                " source cannot be read.",
                None,
                after.name,
            )
        ]
    first, second = operators
    assert first is not None
    assert second is not None
    found = (of_changed_value if same else of_one_value)(first, second, prior)
    who = "a record that is seen to have changed" if same else "any record"
    return [
        _finding(
            "largest_posterior_of_both",
            f"The largest posterior of a true {after.name} of {who} for someone who has both versions and knows the"
            f" true frequencies; after one it is {found.one:.4g}.",
            found.both,
            after.name,
        ),
        _finding(
            "posterior_rise",
            f"The most that the older version adds to the posterior of a true {after.name} of {who}.",
            found.rise,
            after.name,
        ),
    ]


def operator_of(attribute: SensitiveAttribute) -> Matrix | None:
    """Return the matrix Pr[published = y | original = x], with a row for every y; None if the catalog lacks it."""
    blocks = attribute.blocks
    if blocks is None:
        return drawn_operator(attribute)
    places = (
        np.arange(blocks.count)[:, None] - np.arange(attribute.size) * blocks.stride
    ) % blocks.count
    holding, own = len(blocks.first), attribute.numbers["own"][0]
    operator: Matrix = np.where(
        np.isin(places, blocks.first), own / holding, (1 - own) / (blocks.count - holding)
    )
    return operator


def _frequencies(
    workspace: Workspace, release: str, attribute: SensitiveAttribute
) -> Vector | None:
    """Return the frequencies of the true values in the current source; None if it cannot be read."""
    last = last_of(workspace.cursor, release)
    with workspace.another_cursor() as cursor:
        cursor.execute(f"USE {identifier(workspace.database)}")
        try:
            counts = dict(
                cursor.execute(
                    f"SELECT {identifier(attribute.name)}::VARCHAR, count(*) FROM {_quoted(last.source)} GROUP BY ALL"
                ).fetchall()
            )
        except (PrivError, duckdb.Error):
            return None
    found: Vector = np.array([counts.get(value, 0) for value in attribute.values], dtype=np.float64)
    shares: Vector = found / max(found.sum(), 1)
    return shares if found.any() else None


def _quoted(name: str) -> str:
    return ".".join(map(identifier, parse_name(name)))
