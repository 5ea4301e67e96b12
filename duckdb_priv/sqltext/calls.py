"""Writes statements that call the procedures of the schema priv."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from duckdb_priv.sqltext.quoting import literal


def call(function: str, given: Iterable[Any], named: Mapping[str, Any]) -> str:
    """Write a statement that calls a procedure.

    >>> call("drop_release", ["it's"], {"wait": (1, "a")})
    "FROM priv.drop_release('it''s', wait := [1, 'a']);"
    """
    arguments = [
        *map(written, given),
        *(f"{name} := {written(value)}" for name, value in named.items()),
    ]
    return f"FROM priv.{function}({', '.join(arguments)});"


def written(value: Any) -> str:
    """Write an argument as an SQL literal, list or struct.

    >>> written({"age": 2}), written(0.5), written(("a", "b"))
    ("{'age': 2}", '0.5e0', "['a', 'b']")
    """
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{literal(name)}: {written(each)}" for name, each in value.items())
            + "}"
        )
    return literal(value)
