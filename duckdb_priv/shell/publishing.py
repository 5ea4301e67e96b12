"""Publishes the new and changed releases that a TOML file declares, and refreshes its other releases."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from duckdb_priv.engine.procedures import undone, working
from duckdb_priv.engine.workspace import Caller, Workspace
from duckdb_priv.errors import InvalidParameter, UnknownRelease, one_line
from duckdb_priv.procedures import PUBLISH, find_procedure
from duckdb_priv.publisher import declared
from duckdb_priv.publisher.check.check import CheckArguments
from duckdb_priv.release.arguments import specs
from duckdb_priv.shell.database_files import EXPECTED, explain
from duckdb_priv.shell.options import is_at_least
from duckdb_priv.shell.plan import Planned, Publications, changes, stated
from duckdb_priv.shell.refreshing import FAILED, refresh_all
from duckdb_priv.sqltext.quoting import identifier, literal

QUERY = re.compile(r"\s*(SELECT|FROM|WITH)\b", re.IGNORECASE)
FILES = re.compile(r".*(\.parquet|\*)", re.DOTALL)
FOUND = "found"
"""The state of a release that was not published because of findings in its source."""


def publish_all(
    connection: duckdb.DuckDBPyConnection,
    plan: Publications,
    folder: Path,
    only: Collection[str],
    *,
    fail_on: str,
    dry_run: bool,
) -> Iterator[dict[str, Any]]:
    """Publish or refresh each declared release and yield its result. If one release fails, the next is still tried."""
    names = [each.release for each in plan.releases]
    for name in only:
        if name not in names:
            raise UnknownRelease.among("release", name, names, of="the file")
    for planned in plan.releases:
        if not only or planned.release in only:
            try:
                yield _Publication(connection, planned, folder, dry_run).result(fail_on)
            except EXPECTED as error:
                yield {
                    "release": planned.release,
                    "state": FAILED,
                    "statement": one_line(explain(error)),
                }


class _Publication:
    """The publication of one release that a file declares."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        planned: Planned,
        folder: Path,
        dry_run: bool,
    ) -> None:
        self.connection, self.caller = connection, Caller.of(connection)
        self.planned, self.folder, self.dry_run = planned, folder, dry_run

    def result(self, fail_on: str) -> dict[str, Any]:
        """Publish or refresh the release if necessary, and return the result."""
        release = self.planned.release
        before = declared.find(self.connection, release)
        there = {} if before is None else self._as_declared(before)
        changed = changes(there, self.planned.stated) if before else []
        if before is not None and _without_export(there) == _without_export(self.planned.stated):
            (row,) = refresh_all(self.connection, [release], dry_run=self.dry_run)
        elif found := self._found(fail_on):
            return {"release": release, "state": FOUND, "changes": changed, "statement": found}
        else:
            row = self._published(replace=before is not None)
        row["changes"] = changed
        if not self.dry_run and row["state"] != FAILED:
            row["path"] = self._exported(row)
        return row

    def _as_declared(self, before: declared.Declared) -> dict[str, Any]:
        method = self.planned.method
        if before.mechanism != method.name:
            return {"method": before.mechanism}
        return stated(method, arguments_of_call(self.connection, before), before.export)

    def _found(self, fail_on: str) -> str | None:
        """Return the findings in the source that are too severe; None if there are none."""
        if not self.planned.method.sensitive:
            return None
        asked = {
            name: value
            for name, value in self.planned.arguments.items()
            if name in specs(CheckArguments)
        }
        with undone(self.caller) as workspace:
            source = self._source(workspace)
            findings = find_procedure("check_source")(workspace, {**asked, "source": source})
        named = set(_listed(asked.get("public")))
        sensitive = set(_listed(asked.get("sensitive")))
        severe = [
            each
            for each in findings
            if is_at_least(each, fail_on) and not set(each["columns"]) - sensitive <= named
        ]
        return "; ".join(f"{each['severity']}: {each['what']}" for each in severe) or None

    def _published(self, *, replace: bool) -> dict[str, Any]:
        opening = undone if self.dry_run else working
        arguments = {**self.planned.arguments, "release": self.planned.release, "replace": replace}
        with opening(self.caller) as workspace:
            source = self._source(workspace)
            publish = find_procedure(f"{PUBLISH}{self.planned.method.name}")
            (receipt,) = publish(workspace, {**arguments, "source": source})
        state = "would be published" if self.dry_run else "published"
        rows = receipt["rows_published"]
        return {
            "release": self.planned.release,
            "state": state,
            "rows_published": rows,
            "warnings": list(receipt["warnings"]),
            "statement": f"{rows:,} rows {state}",
        }

    def _source(self, workspace: Workspace) -> str:
        """Return the name of the table to publish. If the source is a query or files, make a view of it."""
        text = str(self.planned.arguments["source"])
        query = self._query(text)
        if query is None:
            return text
        name = view_name(self.planned.release)
        if workspace.rows(
            "SELECT 1 FROM duckdb_tables() WHERE database_name = ? AND lower(table_name) = lower(?)",
            [workspace.database, name],
        ):
            raise InvalidParameter(
                f"the source of {self.planned.release!r} needs a view called {name!r}, and a table has that name",
                hint="rename the table",
            )
        if source_text(self.connection, self.planned.release) != text:
            workspace.cursor.execute(f"CREATE OR REPLACE VIEW main.{identifier(name)} AS {query}")
            workspace.cursor.execute(f"COMMENT ON VIEW main.{identifier(name)} IS {literal(text)}")
        return name

    def _query(self, text: str) -> str | None:
        if QUERY.match(text):
            return text
        if FILES.fullmatch(text):
            place = text if "://" in text else str(self.folder / text)
            return f"FROM read_parquet({literal(place)})"
        return None

    def _exported(self, row: dict[str, Any]) -> str | None:
        """Export the release as the file declares, unless the export is current; return the exported path."""
        wanted = self.planned.stated.get("export")
        if wanted is None:
            return None
        after = declared.require(self.connection, self.planned.release)
        if (
            stated(self.planned.method, {}, after.export).get("export") == wanted
            and not after.behind
        ):
            return str(wanted["path"])
        with working(self.caller) as workspace:
            (receipt,) = find_procedure("export_release")(
                workspace, {**wanted, "release": self.planned.release}
            )
        row["statement"] += f", exported to {receipt['path']}"
        return str(receipt["path"])


def _without_export(declaration: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in declaration.items() if name != "export"}


def view_name(release: str) -> str:
    """Return the name of the view from which a release is published if its source is a query or files."""
    return f"{release}_source"


def source_text(connection: duckdb.DuckDBPyConnection, release: str) -> str | None:
    """Return the query or the files that a release's source view was made from; None without such a view."""
    rows = connection.execute(
        "SELECT comment FROM duckdb_views() WHERE database_name = current_database() AND schema_name = 'main'"
        " AND view_name = ? AND comment IS NOT NULL",
        [view_name(release)],
    ).fetchall()
    return rows[0][0] if rows else None


def arguments_of_call(
    connection: duckdb.DuckDBPyConnection, before: declared.Declared
) -> dict[str, Any]:
    """Return the arguments with which a release was published, with its query or files as source."""
    text = source_text(connection, before.release)
    return {**before.arguments, **({} if text is None else {"source": text})}


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())
