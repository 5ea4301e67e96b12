"""Tables that the publisher names in a call, beside the source: requirements, matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.procedures import Call, required
from duckdb_priv.source import Source, find_table
from duckdb_priv.sqlfiles import identifier


def named_tables(call: Call, source: Source, argument: str) -> dict[str, str]:
    """Return the name of a table for each sensitive attribute: one name, or a struct of them."""
    given = required(call.arguments, argument)
    if isinstance(given, str) and len(source.sensitive) == 1:
        return {source.sensitive[0]: given}
    spelling = {name.lower(): name for name in source.sensitive}
    if isinstance(given, dict) and all(isinstance(name, str) for name in given.values()):
        tables = {spelling.get(name.lower()): table for name, table in given.items()}
        if set(tables) == set(source.sensitive):
            return {name: tables[name] for name in source.sensitive}
    raise InvalidParameter(
        f"{argument} must name a table, or be a struct that names one for each sensitive column,"
        f" got {given!r}",
        hint=f"write {argument} := 'table', or {argument} := {{'disease': 'one', 'drug': 'another'}}",
    )


def read_columns(
    call: Call, argument: str, table: str, columns: Mapping[str, str]
) -> list[tuple[Any, ...]]:
    """Read columns of a table by name, in no order; ``columns`` says how each is read, as SQL.

    Raises InvalidSource for an unknown table, InvalidParameter for a column that it lacks.
    """
    path = ".".join(map(identifier, find_table(call, table)))
    present = {row[0].lower() for row in call.rows(f"DESCRIBE SELECT * FROM {path}")}
    for name in columns:
        if name not in present:
            raise InvalidParameter(
                f"{argument} {table!r} has no column {name!r}",
                hint=f"it needs the columns {', '.join(columns)}",
            )
    return call.rows(f"SELECT {', '.join(columns.values())} FROM {path}")


def as_domain_value(column: str, kind: str) -> str:
    """Write a value of such a table as the domain writes it; NULL if it is none of its type."""
    return f"TRY_CAST({identifier(column)}::VARCHAR AS {kind})::VARCHAR"


def shown(value: str | None) -> str:
    """Write a value of a domain for a message."""
    return "NULL" if value is None else repr(value)
