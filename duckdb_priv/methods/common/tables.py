"""Tables that the publisher names in a call besides the source: requirements, matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duckdb_priv.engine.byte_order import one_zero
from duckdb_priv.engine.source import Source, find_table, origins_of, refuse_reading
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, echoed
from duckdb_priv.release.arguments import nested
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.reading import select, types_of


def named_tables(given: Any, source: Source, argument: str) -> dict[str, str]:
    """Return the name of a table for each sensitive attribute: one name, or a struct of them."""
    if isinstance(given, Mapping):
        tables = nested(given, source.sensitive, "sensitive column")
        if lacking := [name for name in source.sensitive if name not in tables]:
            raise InvalidParameter(
                f"{argument} names no table for {lacking[0]!r}",
                hint=f"name one for each of {', '.join(map(repr, source.sensitive))}",
            )
        return {name: tables[name] for name in source.sensitive}
    if len(source.sensitive) == 1:
        return {source.sensitive[0]: given}
    raise InvalidParameter(
        f"{argument} must be a struct that names a table for each of several sensitive columns,"
        f" got {echoed(given)}",
        hint=f"write {argument} := {{'disease': 'one', 'drug': 'another'}}",
    )


def read_columns(
    workspace: Workspace, source: Source, argument: str, table: str, columns: Mapping[str, str]
) -> list[tuple[Any, ...]]:
    """Read columns of a table by name, in no particular order; ``columns`` has the SQL that reads each column.

    Raises UnknownName for an unknown table. Raises InvalidParameter for a missing column and for a view of the source.
    """
    found = find_table(workspace, table)
    path = ".".join(map(identifier, found))
    present = {name.lower() for name in types_of(workspace.cursor, path)}
    for name in columns:
        if name not in present:
            raise InvalidParameter(
                f"{argument} {table!r} has no column {name!r}",
                hint=f"it needs the columns {', '.join(columns)}",
            )
    refuse_reading(
        source,
        origins_of(workspace, found),
        f"{argument} {echoed(table)}",
        f"write what is known anyway into a table, and name it as {argument}",
    )
    return workspace.rows(select(columns.values(), path))


def as_domain_value(column: str, kind: str) -> str:
    """Return SQL for a value of such a table in the domain's spelling; NULL if it is not of the domain's type."""
    value = f"TRY_CAST({identifier(column)}::VARCHAR AS {kind})"
    return f"({one_zero(value, kind)})::VARCHAR"


def shown(value: str | None) -> str:
    """Return a value of a domain as a message shows it."""
    return "NULL" if value is None else repr(value)
