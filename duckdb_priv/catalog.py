"""Reads and writes the rows of the catalog, and brings its tables up to date."""

from __future__ import annotations

import datetime as dt
import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import duckdb
import pyarrow as pa

from duckdb_priv import randomness, sqlfiles
from duckdb_priv.errors import InvalidParameter, NotInstalled, PublicationFailed, UnknownRelease
from duckdb_priv.parameters import (
    LISTS,
    NUMBERS,
    Guarantee,
    Plan,
    SensitiveAttribute,
    to_json,
)
from duckdb_priv.sqlfiles import body, fill, identifier, read
from duckdb_priv.version import __version__

PUBLIC = ("release", "attribute", "coefficient", "guarantee")
"""The tables that travel with a release, each keyed by its column ``release``."""

Connection = duckdb.DuckDBPyConnection


def now() -> dt.datetime:
    """Return the time in UTC, without a zone: TIMESTAMPTZ would need an extension to be shown."""
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


def migrate(connection: Connection, database: str) -> None:
    """Bring the schema priv of a database up to date; each migration and its record are one transaction.

    Raises NotInstalled where the schema holds something else, or is of a newer library.
    """
    present = _tables(connection, database)
    if not present:
        others = connection.execute(
            "SELECT function_name FROM duckdb_functions() WHERE database_name = ? AND schema_name = 'priv'",
            [database],
        ).fetchall()
        if others:
            raise NotInstalled(
                f"the schema priv of {database!r} holds {others[0][0]!r}, which is not of duckdb_priv",
                hint="rename that schema, or install into another database",
            )
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
        {row[0] for row in connection.execute("SELECT name FROM priv.migration").fetchall()}
        if present
        else set()
    )
    known = sqlfiles.names("migrations")
    if unknown := sorted(done - set(known)):
        raise NotInstalled(
            f"the catalog of {database!r} has the migration {unknown[-1]!r} of a newer duckdb_priv",
            hint=f"this is version {__version__}; upgrade duckdb_priv",
        )
    for name in known:
        if name not in done:
            connection.execute("BEGIN TRANSACTION")
            try:
                if not done and name == known[0]:
                    connection.execute("CREATE SCHEMA IF NOT EXISTS priv")
                    connection.execute(
                        "CREATE TABLE priv.migration (name VARCHAR PRIMARY KEY, applied_at TIMESTAMP NOT NULL)"
                    )
                    connection.execute(
                        "COMMENT ON TABLE priv.migration IS 'The changes that brought this catalog up to date.'"
                    )
                connection.execute(fill(body(read("migrations", name)), table_definitions()))
                connection.execute("INSERT INTO priv.migration VALUES (?, ?)", [name, now()])
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def table_definitions() -> dict[str, str]:
    """Return the SQL that creates each table of the catalog."""
    return {name: body(read("catalog", name)) for name in sqlfiles.names("catalog")}


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


def keep_secret(connection: Connection, given: bytes | None) -> None:
    """Make the secret at the first installation, or check the one that the caller keeps."""
    rows = connection.execute("SELECT key IS NULL, fingerprint FROM priv.secret").fetchall()
    if given is None:
        if not rows:
            connection.execute("BEGIN TRANSACTION")
            connection.execute("INSERT INTO priv.secret SELECT _priv_new_secret(1), '', ?", [now()])
            mark = randomness.fingerprint(current_secret(connection, None))
            connection.execute("UPDATE priv.secret SET fingerprint = ?", [mark])
            connection.execute("COMMIT")
        return
    mark = randomness.fingerprint(randomness.check_secret(given))
    if not rows:
        connection.execute("INSERT INTO priv.secret VALUES (NULL, ?, ?)", [mark, now()])
    elif rows[0][1] != mark:
        raise InvalidParameter(
            "the secret given is not the one that this database has published with",
            hint="two secrets give the same record two different values, which can be averaged;"
            " give the first one",
        )


def stored_secret(connection: Connection) -> bytes | None:
    """Return the secret that the database keeps, if it keeps one."""
    (key,) = connection.execute("SELECT key FROM priv.secret").fetchall()[0]
    return None if key is None else bytes(key)


def current_secret(connection: Connection, given: bytes | None) -> bytes:
    """Return the secret that this database publishes with: the stored one, or the caller's if it is the same.

    A stored secret comes first: a caller may have given theirs to another database that was attached
    under the same name.
    """
    stored = stored_secret(connection)
    if stored is not None:
        return stored
    if given is None:
        raise NotInstalled(
            "the secret of this database is kept by its owner",
            hint="call duckdb_priv.install(con, secret=…) with it",
        )
    keep_secret(connection, given)
    return given


def releases(connection: Connection) -> list[str]:
    """List the published releases."""
    rows = connection.execute("SELECT release FROM priv.release ORDER BY release").fetchall()
    return [row[0] for row in rows]


def find_release(connection: Connection, name: str) -> str:
    """Return the name of a release as it was published, upper and lower case being the same."""
    known = releases(connection)
    for release in known:
        if release.lower() == str(name).lower():
            return release
    near = difflib.get_close_matches(str(name), known, n=1)
    raise UnknownRelease(
        f"no release is called {name!r}",
        hint=(f"did you mean {near[0]!r}? " if near else "")
        + "FROM priv.release lists every release",
    )


def sensitive_attributes(
    connection: Connection, release: str | None = None
) -> list[SensitiveAttribute]:
    """Read what reconstruction needs to know, of one release or of all."""
    columns = (*NUMBERS, *LISTS)
    rows = connection.execute(
        f"SELECT c.release, c.attribute, a.type, a.form, r.parameters, c.value, {', '.join(columns)}"
        " FROM priv.coefficient c JOIN priv.attribute a USING (release, attribute)"
        " JOIN priv.release r USING (release)"
        " WHERE ? IS NULL OR c.release = ? ORDER BY c.release, c.attribute, c.position",
        [release, release],
    ).fetchall()
    attributes = []
    for (name, attribute, kind, form, parameters), group in groupby(rows, key=lambda row: row[:5]):
        values, *content = zip(*(row[5:] for row in group), strict=True)
        present = {
            column: numbers
            for column, numbers in zip(columns, content, strict=True)
            if numbers[0] is not None
        }
        attributes.append(
            SensitiveAttribute(
                release=name,
                name=attribute,
                type=kind.removesuffix("[]"),
                values=values,
                form=form,
                numbers={key: present[key] for key in NUMBERS if key in present},
                lists={key: present[key] for key in LISTS if key in present},
                constants={
                    key: float(value)
                    for key, value in json.loads(parameters).items()
                    if isinstance(value, int | float) and not isinstance(value, bool)
                },
            )
        )
    return attributes


@dataclass(frozen=True)
class Publication:
    """What the ledger knows of the latest publication of a release."""

    source: str
    attributes: tuple[str, ...]
    record_id: tuple[str, ...]
    fresh: bool
    parameters: Mapping[str, Any]
    """Those of the release, with what only the publisher knows."""


def last_publication(connection: Connection, release: str) -> Publication:
    """Read from the ledger how a release was published last."""
    source, attributes, record_id, fresh, parameters = connection.execute(
        "SELECT any_value(source), list(attribute ORDER BY number), any_value(record_id), bool_or(fresh),"
        " any_value(parameters)"
        " FROM priv.ledger WHERE release = ?"
        " AND published_at = (SELECT max(published_at) FROM priv.ledger WHERE release = ?)",
        [release, release],
    ).fetchall()[0]
    return Publication(source, tuple(attributes), tuple(record_id), fresh, json.loads(parameters))


def record(
    connection: Connection,
    release: str,
    plan: Plan,
    types: dict[str, str],
    rows_published: int,
    source: str,
    origins: Iterable[str],
    record_id: Iterable[str],
) -> None:
    """Write the catalog rows of a release and its entries in the ledger."""
    time = now()
    connection.execute(
        "INSERT INTO priv.release VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            release,
            plan.mechanism,
            to_json(plan.parameters),
            to_json(plan.provenance),
            rows_published,
            time,
            __version__,
        ],
    )
    sensitive = {attribute.name: attribute for attribute in plan.attributes}
    _insert(
        connection,
        "attribute",
        [
            (
                release,
                column,
                role,
                types[column],
                sensitive[column].size if column in sensitive else None,
                sensitive[column].form if column in sensitive else None,
            )
            for column, role in plan.columns.items()
        ],
    )
    for attribute in plan.attributes:
        connection.register("_priv_coefficients", _coefficients(release, attribute))
        connection.execute("INSERT INTO priv.coefficient BY NAME FROM _priv_coefficients")
        connection.unregister("_priv_coefficients")
    _insert(connection, "guarantee", [_guarantee_row(release, each) for each in plan.guarantees])
    _refuse_used_coins(connection, plan)
    rows = connection.execute("SELECT coalesce(max(number), 0) FROM priv.ledger").fetchall()
    _insert(
        connection,
        "ledger",
        [
            (
                rows[0][0] + number,
                release,
                source,
                list(origins),
                [] if entry.fresh else list(record_id),
                entry.attribute,
                plan.mechanism,
                to_json({**plan.parameters, **entry.notes}),
                entry.epsilon,
                entry.delta,
                entry.fresh,
                entry.coins,
                entry.reason,
                time,
            )
            for number, entry in enumerate(plan.ledger, start=1)
        ],
    )


def _refuse_used_coins(connection: Connection, plan: Plan) -> None:
    """Refuse to publish twice from one sample, or with other coins that were to be used once."""
    fresh = [entry.coins for entry in plan.ledger if entry.fresh]
    if connection.execute(
        "SELECT release FROM priv.ledger WHERE list_contains(?, coins)", [fresh]
    ).fetchall():
        raise PublicationFailed(
            "these fresh coins have been used before, and what they hide would be given away",
            hint="nothing was kept; publish again, with coins of its own",
        )


def _coefficients(release: str, attribute: SensitiveAttribute) -> pa.Table:
    """Lay the coefficients of one attribute out as the catalog has them."""
    return pa.table(
        {
            "release": pa.array([release] * attribute.size),
            "attribute": pa.array([attribute.name] * attribute.size),
            "position": pa.array(range(attribute.size), pa.int32()),
            "value": pa.array(attribute.values, pa.string()),
            **{name: pa.array(of, pa.float64()) for name, of in attribute.numbers.items()},
            **{
                name: pa.array(list(of), pa.list_(pa.float64()))
                for name, of in attribute.lists.items()
            },
        }
    )


def _guarantee_row(release: str, guarantee: Guarantee) -> tuple[Any, ...]:
    return (
        release,
        guarantee.attribute,
        guarantee.name,
        to_json(guarantee.parameters),
        guarantee.value,
        guarantee.statement,
    )


def _insert(connection: Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO priv.{identifier(table)} VALUES ({marks})", rows)


def forget(connection: Connection, release: str) -> None:
    """Delete the public rows of a release; the ledger keeps what was published."""
    for table in PUBLIC:
        connection.execute(f"DELETE FROM priv.{identifier(table)} WHERE release = ?", [release])
