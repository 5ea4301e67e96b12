"""Names and values as SQL text: the only place that quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from duckdb_priv.errors import InvalidParameter

TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*""")
"""What holds text as it is: literals, quoted names, comments."""


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


def in_types(types: Mapping[str, str], between: str = ", ") -> str:
    """Write columns as they are selected in given types, under their names.

    >>> in_types({"age": "UTINYINT", "sex": "VARCHAR"})
    '"age"::UTINYINT AS "age", "sex"::VARCHAR AS "sex"'
    """
    return between.join(
        f"{identifier(name)}::{kind} AS {identifier(name)}" for name, kind in types.items()
    )


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


def without_carriage_returns(script: str) -> str:
    """Write the literals of a script so that it can be read as lines of text, which may change how they end.

    >>> print(without_carriage_returns("SELECT 'it''s \\\\ one\\r', 2"))
    SELECT E'it''s \\\\ one\\r', 2
    """

    def escaped(token: re.Match[str]) -> str:
        text = token[0]
        if "\r" not in text or not text.startswith("'"):
            return text
        return "E" + text.replace("\\", "\\\\").replace("\r", "\\r")

    return TOKEN.sub(escaped, script)
