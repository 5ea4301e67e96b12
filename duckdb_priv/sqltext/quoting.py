"""Quotes names and values as SQL text. No other module quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from duckdb_priv.errors import InvalidParameter

TOKEN = re.compile(r"""'[^']*(?:''[^']*)*'|"[^"]*(?:""[^"]*)*"|--[^\n]*""")
"""A literal, a quoted name or a comment."""
PLAIN = re.compile("[a-z_][a-z0-9_]*")
RESERVED = """
    all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
    default deferrable desc describe distinct do else end except false fetch for foreign from group having in
    initially intersect into lambda lateral leading limit not null offset on only or order pivot pivot_longer
    pivot_wider placing primary qualify references returning select show some summarize symmetric table then to
    trailing true union unique unpivot using variadic when where window with
"""
"""Words that DuckDB 1.4 to 2.0 read as a name only in quotes."""
KEYWORDS = f"""
    {RESERVED}
    anti asof at authorization between bigint binary bit boolean by char character coalesce collation columns
    concurrently cross dec decimal exists extract float freeze full generated glob grouping grouping_id ilike inner
    inout int integer interval is isnull join left like map national natural nchar none notnull nullif numeric out
    outer overlaps overlay position positional precision real right row semi setof similar smallint struct substring
    tablesample time timestamp treat trim try_cast tuple unpack values varchar verbose xmlattributes xmlconcat
    xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable
"""
"""Words that they do not accept everywhere as a name without quotes."""


def identifier(name: str) -> str:
    """Quote the name of a table, column or schema.

    >>> print(identifier('we"ird'))
    "we""ird"
    """
    return '"' + name.replace('"', '""') + '"'


def plain_identifier(name: str) -> str:
    """Quote a name only if DuckDB requires quotes: for statements that people read and paste.

    >>> print(plain_identifier("visits_public"), plain_identifier("Age"), plain_identifier("order"))
    visits_public "Age" "order"
    """
    return name if PLAIN.fullmatch(name) and name not in KEYWORDS.split() else identifier(name)


def identifiers(names: Iterable[str]) -> str:
    """Quote names and join them with commas.

    >>> identifiers(["a", "b"])
    '"a", "b"'
    """
    return ", ".join(map(identifier, names))


def in_types(types: Mapping[str, str], between: str = ", ") -> str:
    """Write a select list that casts each column to the given type and keeps its name.

    >>> in_types({"age": "UTINYINT", "sex": "VARCHAR"})
    '"age"::UTINYINT AS "age", "sex"::VARCHAR AS "sex"'
    """
    return between.join(
        f"{identifier(name)}::{kind} AS {identifier(name)}" for name, kind in types.items()
    )


def literal(value: str | float | bool | None) -> str:
    """Write a value as an SQL literal. A float is written such that DuckDB reads the same DOUBLE.

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
    """Escape the carriage returns in a script's literals, so that reading the script as text lines keeps them.

    >>> print(without_carriage_returns("SELECT 'it''s \\\\ one\\r', 2"))
    SELECT E'it''s \\\\ one\\r', 2
    """

    def escaped(token: re.Match[str]) -> str:
        text = token[0]
        if "\r" not in text or not text.startswith("'"):
            return text
        return "E" + text.replace("\\", "\\\\").replace("\r", "\\r")

    return TOKEN.sub(escaped, script)


def listed(texts: Iterable[str]) -> str:
    """Write a list of texts as an SQL literal of type VARCHAR[].

    >>> listed(["age"]), listed([])
    ("['age']::VARCHAR[]", '[]::VARCHAR[]')
    """
    return f"[{', '.join(map(literal, texts))}]::VARCHAR[]"


def same(left: str, right: str) -> str:
    """Write the condition that two values are equal, or that both are missing.

    >>> same("a", "b")
    'a IS NOT DISTINCT FROM b'
    """
    return f"{left} IS NOT DISTINCT FROM {right}"
