"""Stores the arguments of a release, so that its next version can be published without repeating them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import PublicationFailed
from duckdb_priv.release.request import WORDS, Request
from duckdb_priv.sqltext.calls import call
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import section

OF_ONE_CALL = ("release", "replace", "append", "republish")
"""Arguments that apply to one call only, not to later versions."""


@dataclass(frozen=True)
class Declared:
    """The stored arguments of a release, and where it was exported."""

    release: str
    mechanism: str
    arguments: Mapping[str, Any]
    """The arguments, by name."""
    schemas: tuple[str, ...]
    version: int
    digest: str
    export: Mapping[str, Any] | None = None
    """The arguments of its last export."""
    exported: int | None = None
    """The latest exported version."""
    frame: Mapping[str, Any] | None = None
    """How to read its data frame, if Spark holds the records."""

    @property
    def next_version(self) -> str:
        """Write the call that publishes the next version."""
        name = literal(self.release)
        if self.frame is None:
            return call("refresh", [self.release], {}).removesuffix(";")
        return f"duckdb_priv.spark.refresh(publisher, frame, {name}, path=…)"

    @property
    def source(self) -> str:
        """The published table or view."""
        return str(self.arguments["source"])

    @property
    def path(self) -> str | None:
        """The path of the latest export."""
        return None if self.export is None else str(self.export["path"])

    @property
    def behind(self) -> bool:
        """Whether the latest export has an earlier version."""
        return self.path is not None and self.exported != self.version


def all_declared(cursor: duckdb.DuckDBPyConnection) -> list[Declared]:
    """List the releases that can be refreshed, by name."""
    return _read(cursor, "true", [])


def _read(
    cursor: duckdb.DuckDBPyConnection, condition: str, parameters: list[str]
) -> list[Declared]:
    rows = cursor.execute(
        section("publishing", "declarations", condition=condition), parameters
    ).fetchall()
    return [
        Declared(
            release,
            mechanism,
            json.loads(arguments),
            tuple(schemas),
            version,
            digest,
            None if export is None else json.loads(export),
            exported,
            None if frame is None else json.loads(frame),
        )
        for release, mechanism, schemas, version, digest, exported, arguments, export, frame in rows
    ]


def find(cursor: duckdb.DuckDBPyConnection, release: str) -> Declared | None:
    """Return the declaration of a release, ignoring case; None if there is none."""
    return next(iter(_read(cursor, "lower(release) = lower(?)", [release])), None)


def require(cursor: duckdb.DuckDBPyConnection, release: str) -> Declared:
    """Return the declaration of a release; raises PublicationFailed if there is none."""
    if found := find(cursor, release):
        return found
    raise PublicationFailed(
        f"the declaration of release {release!r} was not kept: it was published by an earlier duckdb_priv",
        hint="publish it once more with replace := true; from then on FROM priv.refresh(…) does it",
    )


def refuse_other_engine(stated: Declared, *, spark: bool) -> None:
    """Refuse to publish the next version with another engine than the one that holds the records."""
    if (stated.frame is not None) != spark:
        raise PublicationFailed(
            f"the records of release {stated.release!r} are in {'DuckDB' if spark else 'Spark'}",
            hint=f"publish its next version there: {stated.next_version}",
        )


def keep(
    workspace: Workspace,
    procedure: str,
    given: Mapping[str, Any],
    version: int,
    digest: str,
    *,
    extends: bool,
    frame: Mapping[str, Any] | None = None,
) -> None:
    """Store the declaration of a published release, and keep the export of its earlier versions."""
    before = find(workspace.cursor, given["release"])
    arguments = {
        name: value
        for name, value in given.items()
        if value is not None and name not in OF_ONE_CALL
    }
    schemas: Sequence[str] = workspace.schemas
    if extends and before is not None:
        arguments, schemas = dict(before.arguments), before.schemas
    if before is not None:
        forget(workspace.cursor, given["release"])
    workspace.cursor.execute(
        "INSERT INTO priv.publication VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            given["release"],
            procedure,
            json.dumps(arguments, ensure_ascii=False),
            list(schemas),
            version,
            digest,
            json.dumps(before.export) if before and before.export else None,
            before.exported if before else None,
            None if frame is None else json.dumps(frame),
        ],
    )


def words_kept(cursor: duckdb.DuckDBPyConnection, request: Request) -> dict[str, Any]:
    """Return the title and other texts of a replaced release that have no new value."""
    before = find(cursor, request.release) if request.replace else None
    stated = before.arguments if before else {}
    return {
        name: stated[name] for name in WORDS if getattr(request, name) is None and name in stated
    }


def forget(cursor: duckdb.DuckDBPyConnection, release: str) -> None:
    """Delete the declaration of a release."""
    cursor.execute("DELETE FROM priv.publication WHERE lower(release) = lower(?)", [release])


def keep_export(workspace: Workspace, release: str, export: Mapping[str, Any]) -> None:
    """Store the arguments of an export after it is complete."""
    home = identifier(workspace.database)
    version = workspace.rows(
        section("publishing", "versions_of_declaration", database=home),
        [release],
    )

    def keep() -> None:
        # The transaction of the export writes to another database, so this needs its own.
        with workspace.another_cursor() as cursor:
            cursor.execute(
                section("publishing", "declare_export", database=home),
                [json.dumps(export), version[0][0], release],
            )

    if version:
        workspace.on_commit.append(keep)
