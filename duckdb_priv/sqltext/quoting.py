"""Names and values as SQL text: the only place that quotes."""

from __future__ import annotations

from collections.abc import Iterable

from duckdb_priv.errors import InvalidParameter


def identifier(name: str) -> str:
    """Quote a name of a table, column or schema.

    >>> print(identifier('we"ird'))
    "we""ird"
    """
    return '"' + name.replace('"', '""') + '"'


def identifiers(names: Iterable[str]) -> str:
    """Quote names and join them with commas.

    >>> identifiers(["a", "b"])
    '"a", "b"'
    """
    return ", ".join(map(identifier, names))


def literal(value: str | float | bool | None) -> str:
    """Write a value as an SQL literal.

    A number is written so that it is read back as the same DOUBLE.

    >>> print(literal("it's"), literal(0.1), literal(None), literal(True))
    'it''s' 0.1e0 NULL true
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if "e" in text else f"{text}e0"
    if "\0" in value:
        raise InvalidParameter(
            "a text contains the character NUL, which SQL cannot write",
            hint="replace() it in a view, and publish the view",
        )
    return "'" + value.replace("'", "''") + "'"
