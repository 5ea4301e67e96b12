"""Reads and writes the rows of the catalog, and migrates its tables."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import duckdb

from duckdb_priv.errors import NotInstalled, UnknownRelease
from duckdb_priv.release.model import (
    LISTS,
    NUMBERS,
    Blocks,
    Guarantee,
    SensitiveAttribute,
)
from duckdb_priv.sqltext import templates
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.reading import named_rows
from duckdb_priv.sqltext.templates import body, fill, read, section
from duckdb_priv.version import __version__

PUBLIC = ("release", "attribute", "coefficient", "guarantee")
"""The catalog tables that are exported with a release, each keyed by its column ``release``."""

MACROS = "macros "
"""Prefix of the name of the row in priv.migration that identifies the macros of the database."""

FIRST = (
    "CREATE SCHEMA IF NOT EXISTS priv",
    "CREATE TABLE priv.migration (name VARCHAR PRIMARY KEY, applied_at TIMESTAMP NOT NULL)",
    "COMMENT ON TABLE priv.migration IS 'The changes that brought this catalog up to date.'",
)
"""The statements that run before all migrations."""

Connection = duckdb.DuckDBPyConnection


def now() -> dt.datetime:
    """Return the time in UTC, without a zone: DuckDB needs an extension to print a TIMESTAMPTZ."""
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


def migrate(connection: Connection, database: str) -> None:
    """Migrate the schema priv of a database. One transaction contains each migration and its record.

    Raises NotInstalled if the schema holds other objects, or is from a newer library.
    """
    present = _tables(connection, database)
    if not present:
        _refuse_others(connection, database)
    elif not {"migration", "ledger", *PUBLIC} <= present:
        what = (
            "is a release file"
            if {"release", "coefficient"} <= present
            else "is taken by other tables"
        )
        raise NotInstalled(
            f"the schema priv of {database!r} {what}",
            hint="a release is read with plain DuckDB; publish from another database",
        )
    done = (
        {
            name
            for (name,) in connection.execute("SELECT name FROM priv.migration").fetchall()
            if not name.startswith(MACROS)
        }
        if present
        else set()
    )
    known = templates.names("migrations")
    if unknown := sorted(done - set(known)):
        raise NotInstalled(
            f"the catalog of {database!r} has the migration {unknown[-1]!r} of a newer duckdb_priv",
            hint=f"this is version {__version__}; upgrade duckdb_priv",
        )
    for name in known:
        if name not in done:
            _apply(connection, name, () if present or name != known[0] else FIRST)


def _apply(connection: Connection, name: str, first: Iterable[str]) -> None:
    """Apply a migration and record it, or do neither."""
    connection.execute("BEGIN TRANSACTION")
    try:
        for statement in (*first, fill(body(read("migrations", name)), table_definitions())):
            connection.execute(statement)
        connection.execute("INSERT INTO priv.migration VALUES (?, ?)", [name, now()])
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _refuse_others(connection: Connection, database: str) -> None:
    """Refuse a schema priv that has functions, but not the tables of this library."""
    found = connection.execute(
        "SELECT 1 FROM duckdb_schemas() WHERE database_name = ? AND schema_name = 'priv'",
        [database],
    )
    # To find some functions, DuckDB lists all of them, which is slow.
    if not found.fetchall():
        return
    others = connection.execute(
        "SELECT function_name FROM duckdb_functions() WHERE database_name = ? AND schema_name = 'priv'",
        [database],
    ).fetchall()
    if others:
        raise NotInstalled(
            f"the schema priv of {database!r} holds {others[0][0]!r}, which is not of duckdb_priv",
            hint="rename that schema, or install into another database",
        )


def record_macros(connection: Connection, mark: str) -> None:
    """Record the macros of the database. Unlike other migrations, they are applied again when they change."""
    connection.execute(
        "DELETE FROM priv.migration WHERE starts_with(name, ?) AND name <> ?", [MACROS, mark]
    )
    connection.execute("INSERT OR IGNORE INTO priv.migration VALUES (?, ?)", [mark, now()])


def table_definitions() -> dict[str, str]:
    """Return the SQL that creates each table of the catalog."""
    return {name: body(read("catalog", name)) for name in templates.names("catalog")}


def _tables(connection: Connection, database: str) -> set[str]:
    return {
        row[0]
        for row in connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = ? AND schema_name = 'priv'"
            " UNION ALL SELECT view_name FROM duckdb_views()"
            " WHERE database_name = ? AND schema_name = 'priv' AND NOT internal",
            [database, database],
        ).fetchall()
    }


def releases(connection: Connection) -> list[str]:
    """List the published releases."""
    rows = connection.execute("SELECT release FROM priv.release ORDER BY release").fetchall()
    return [row[0] for row in rows]


def known_release(connection: Connection, name: str) -> str | None:
    """Return the published spelling of a release's name, ignoring case; None if there is no such release."""
    return {known.lower(): known for known in releases(connection)}.get(name.lower())


def find_release(connection: Connection, name: str) -> str:
    """Return the published spelling of a release's name, ignoring case; raises UnknownRelease."""
    if (found := known_release(connection, str(name))) is None:
        raise UnknownRelease.among(
            "release", name, releases(connection), also="FROM priv.release lists every release"
        )
    return found


def release_row(connection: Connection, release: str) -> dict[str, Any]:
    """Return the row of a release in ``priv.release``, by column; ``parameters`` and ``domain_provenance`` are read."""
    (row,) = named_rows(connection, "FROM priv.release WHERE release = ?", [release])
    return row | {name: json.loads(row[name]) for name in ("parameters", "domain_provenance")}


def guarantees(connection: Connection, release: str) -> list[Guarantee]:
    """Return the guarantees of a release, in the order in which they were written."""
    return [
        Guarantee(
            row["guarantee"],
            row["statement"],
            row["value"],
            row["attribute"],
            json.loads(row["parameters"]),
        )
        for row in named_rows(connection, "FROM priv.guarantee WHERE release = ?", [release])
    ]


Labels = Mapping[str, Sequence[tuple[str | None, str]]]
"""By attribute: the values with labels, as text, each with its label."""


@dataclass(frozen=True)
class PublishedColumn:
    """A column of a published table, and its attribute."""

    release: str
    attribute: str
    name: str
    role: str
    type: str
    domain_size: int | None
    form: str | None
    blocks: Mapping[str, Any] | None
    """The catalog's description of the blocks; None if the column does not show blocks."""
    description: str | None
    """The comment on the column of the source."""
    labels: Sequence[tuple[str | None, str]]
    """The labels of its codes: values as text, each with its label."""


def published_columns(connection: Connection, release: str | None = None) -> list[PublishedColumn]:
    """List the published columns of one release or of all, with their attributes."""
    names, found = _read(connection, "FROM priv.attribute", release, "release", "attribute")
    rows = [dict(zip(names, row, strict=True)) for row in found]
    return [
        PublishedColumn(
            row["release"],
            row["attribute"],
            row["column_name"],
            row["role"],
            row["type"],
            row["domain_size"],
            row["form"],
            row["blocks"],
            row["description"],
            [(each["value"], each["label"]) for each in row["labels"] or ()],
        )
        for row in rows
    ]


def _read(
    connection: Connection, select: str, release: str | None, *order: str
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return column names and rows, of one release or of all."""
    # The query is short and Python sorts the rows: planning takes longer than reading.
    found = (
        connection.execute(select)
        if release is None
        else connection.execute(section("publishing", "of_release", query=select), [release])
    )
    names = [name for name, *_ in found.description]
    rows = found.fetchall()
    return names, sorted(rows, key=itemgetter(*map(names.index, order))) if order else rows


def spent(connection: Connection, release: str) -> float | None:
    """Return the total epsilon of all versions of a release; None if its method has no epsilon.

    A draw that another release was charged for, or of a derived release, counts as well: once, and again for each
    charge of it, or of what it is derived from, between the first version and the last.
    """
    ((total,),) = connection.execute(section("publishing", "spent"), [release]).fetchall()
    return None if total is None else float(total)


def sensitive_attributes(
    connection: Connection, release: str | None = None
) -> list[SensitiveAttribute]:
    """Return the sensitive attributes of one release or of all, with the numbers for reconstruction."""
    columns = {(of.release, of.attribute): of for of in published_columns(connection, release)}
    namesakes = {of.release for of in columns.values() if of.name.lower() == of.release.lower()}
    _, released = _read(
        connection,
        "SELECT release, parameters, CAST(created_at AS VARCHAR) FROM priv.release",
        release,
    )
    releases = {name: of_release for name, *of_release in released}
    names, coefficients = _read(
        connection, "FROM priv.coefficient", release, "release", "attribute", "position"
    )
    key = itemgetter(names.index("release"), names.index("attribute"))
    attributes = []
    for (name, attribute), group in groupby(coefficients, key=key):
        if (name, attribute) not in columns or name not in releases:
            continue
        column, (parameters, published) = columns[name, attribute], releases[name]
        numbers = dict(zip(names, zip(*group, strict=True), strict=True))
        present = {
            each: numbers[each] for each in (*NUMBERS, *LISTS) if numbers[each][0] is not None
        }
        attributes.append(
            SensitiveAttribute(
                release=name,
                name=attribute,
                type=column.blocks["type"] if column.blocks else column.type.removesuffix("[]"),
                values=numbers["value"],
                form=str(column.form),
                column=column.name,
                published=published,
                blocks=stated_blocks(column.blocks),
                namesake=name in namesakes,
                numbers={each: present[each] for each in NUMBERS if each in present},
                lists={each: present[each] for each in LISTS if each in present},
                constants=stated_constants(parameters),
            )
        )
    return [_among(each, attributes) for each in attributes]


def stated_constants(parameters: str) -> dict[str, float]:
    """Return the numbers among the parameters of a release.

    ``together`` is the number of rows sampled together that keep the frequencies; by default a whole sample.
    """
    found = {
        name: float(value)
        for name, value in json.loads(parameters).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return {"together": found["sample_size"], **found} if "sample_size" in found else found


def stated_blocks(stated: Mapping[str, Any] | None) -> Blocks | None:
    """Return the blocks of a column from the catalog's description; None without blocks."""
    if stated is None:
        return None
    return Blocks(stated["number"], stated["stride"], tuple(stated["first"]))


def _among(
    attribute: SensitiveAttribute, attributes: Iterable[SensitiveAttribute]
) -> SensitiveAttribute:
    """Return an attribute with its twin columns and the bound on classes of equal values in its release."""
    every = [each for each in attributes if each.release == attribute.release]
    twins = [
        each.column
        for each in every
        if each.name != attribute.name and each.column_type == attribute.column_type
    ]
    classes = math.prod(each.size for each in every)
    return replace(attribute, constants={**attribute.constants, "classes": classes}, twins=twins)


@dataclass(frozen=True)
class EarlierVersion:
    """An earlier version, and the most rows whose records moved between it and the current version."""

    published_at: dt.datetime
    rows_moved: int
    rows_placed: int
    """The same including records with other public values."""


@dataclass(frozen=True)
class Version:
    """The number of a version, and the rows that it shares with the previous one."""

    number: int = 1
    previous_at: dt.datetime | None = None
    """When the previous version was published; None if there is none, or the time is unknown."""
    previous_rows: int | None = None
    rows_kept: int | None = None
    """Published rows that are equal in both versions; None if columns or parameters differ."""
    rows_moved: int | None = None
    """The most rows whose noise differs between the versions; None if unknown."""
    earlier: Sequence[EarlierVersion] = ()
    """The earlier versions, the latest first."""


def write(connection: Connection, rows: Mapping[str, Sequence[Any]]) -> None:
    """Write rows into catalog tables; each item is a tuple (one row) or an Arrow table of rows."""
    for table, found in rows.items():
        name = identifier(table)
        listed = [row for row in found if isinstance(row, tuple)]
        if listed:
            marks = f"({', '.join('?' * len(listed[0]))})"
            connection.execute(
                section(
                    "publishing", "write_rows", table=name, rows=", ".join([marks] * len(listed))
                ),
                [value for row in listed for value in row],
            )
        for packed in (row for row in found if not isinstance(row, tuple)):
            connection.register("_priv_rows", packed)
            connection.execute(section("publishing", "write_table", table=name))
            connection.unregister("_priv_rows")


def forget(connection: Connection, release: str) -> None:
    """Delete the catalog rows of a release; the ledger keeps its entries."""
    for table in (*PUBLIC, "warning"):
        query = section("publishing", "forget_release", table=identifier(table))
        connection.execute(query, [release])
