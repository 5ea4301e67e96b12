"""Writes the conversion of a value to a text that does not depend on the session's time zone."""

from __future__ import annotations

from typing import cast

import duckdb
from duckdb.sqltypes import DuckDBPyType

from duckdb_priv.sqltext.quoting import identifier, literal

WITH_ZONE = "TIMESTAMP WITH TIME ZONE"
"""The type whose text depends on the session's time zone, also within lists, structs, maps and unions."""


def steady_text(value: str, kind: str) -> str:
    """Write the conversion of an SQL expression of the type ``kind`` to text.

    >>> print(steady_text("age", "INTEGER"))
    age::VARCHAR
    >>> print(steady_text("at", "TIMESTAMP WITH TIME ZONE"))
    CASE WHEN isfinite(at) THEN epoch_us(at)::VARCHAR ELSE at::VARCHAR END
    >>> print(steady_text("days", "TIMESTAMP WITH TIME ZONE[]"))
    [CASE WHEN isfinite(_priv_1) THEN epoch_us(_priv_1)::VARCHAR ELSE _priv_1::VARCHAR END FOR _priv_1 IN days]::VARCHAR
    """
    if kind == WITH_ZONE:
        # Infinite timestamps have no microseconds.
        return (
            f"CASE WHEN isfinite({value}) THEN epoch_us({value})::VARCHAR ELSE {value}::VARCHAR END"
        )
    return f"{_steady(value, kind, 1)}::VARCHAR"


def _steady(value: str, kind: str, depth: int) -> str:
    """Replace the timestamps with a time zone in a value by texts."""
    if WITH_ZONE not in kind:
        return value
    if kind == WITH_ZONE:
        return steady_text(value, kind)
    read = duckdb.type(kind)
    each = f"_priv_{depth}"
    if read.id == "enum":
        return value
    if read.id in ("list", "array"):
        ((_, held), *_) = cast("list[tuple[str, DuckDBPyType]]", read.children)
        return f"[{_steady(each, str(held), depth + 1)} FOR {each} IN {value}]"
    if read.id == "map":
        entry = ", ".join(
            f"{name}: {_steady(f'{each}.{name}', str(of), depth + 1)}" for name, of in read.children
        )
        return f"[{{{entry}}} FOR {each} IN map_entries({value})]"
    take, fields = "struct_extract", read.children
    if read.id == "union":
        # The first child is the number of the member in use. All other members are NULL.
        take, fields = "union_extract", fields[1:]
    packed = ", ".join(
        f"{identifier(name)}: {_steady(f'{take}({value}, {literal(name)})', str(of), depth)}"
        for name, of in fields
    )
    return f"CASE WHEN {value} IS NOT NULL THEN {{{packed}}} END"
