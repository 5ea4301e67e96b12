"""Writes lists as single SQL literals: DuckDB plans one long text much faster than a list of many literals."""

from __future__ import annotations

import re
import struct
from base64 import b64encode
from collections.abc import Iterable, Sequence

from duckdb_priv.errors import InvalidSource
from duckdb_priv.sqltext.quoting import literal

SEPARATORS = "\x1f\x1e\x1d\x1c\x01\x02\x03\x04\x05\x06\x07"
"""Candidates for the character between two texts of a list."""

FEW = 5
"""The longest list whose texts are written as separate literals."""
LITERAL = re.compile(r"\(?('(?:[^']|'')*')\)?")
"""A text literal, with or without parentheses."""
SEARCHED = 500
"""The longest list that ``looked_up`` searches with functions; for longer lists a cast is faster."""
EXACT, ROUNDED = 11, 4
"""Characters of an encoded number: for all 64 bits, or for the first 24 bits, of which 12 are of the mantissa."""
MANY = 5000
"""The length from which on splitting a text into a list costs more than searching the text."""


def texts(values: Iterable[str | None]) -> str:
    """Write a list of texts without NULL, as one literal that ``string_split`` splits."""
    present, separator = _separated(values)
    return f"string_split({literal(separator.join(present))}, {literal(separator)})"


def packed(texts: Iterable[str]) -> str:
    """Join texts into one text p. The SQL ``list_slice(string_split(p, left(p, 1)), 2, -2)`` splits p again.

    The first character of p is the separator, which follows each text. A packed text may be packed again.

    >>> packed(["a", "", "b"]).replace("\x1f", "|")
    '|a||b|'
    """
    present, separator = _separated(texts)
    return separator + "".join(text + separator for text in present)


def enum(values: Iterable[str | None]) -> str:
    """Write the ENUM type of these texts without NULL.

    >>> print(enum(["it's", "b", None]))
    ENUM('it''s', 'b')
    """
    return f"ENUM({', '.join(literal(value) for value in values if value is not None)})"


def looked_up(text: str, values: Sequence[str], kind: str) -> str:
    """Convert an SQL expression of type VARCHAR to the ENUM of these texts; any other text is an error.

    The rows of a Parquet file refer to a dictionary of texts. DuckDB calls a function once per text of the dictionary,
    but casts once per row. Functions search a list from its start, so for many texts the cast is faster.

    >>> print(looked_up("x", ["a"], "e").replace(position("x", ["a"]), "p").replace(texts(["a"]), "l"))
    CASE WHEN p IS NULL AND x IS NOT NULL THEN x::e ELSE list_extract(l::e[], p) END
    """
    if not 0 < len(values) <= SEARCHED:
        return f"{text}::{kind}"
    found = position(text, values)
    return (
        f"CASE WHEN {found} IS NULL AND {text} IS NOT NULL THEN {text}::{kind}"
        f" ELSE list_extract({texts(values)}::{kind}[], {found}) END"
    )


def position(text: str, values: Iterable[str | None]) -> str:
    """Write the position of an SQL expression's value in a list of texts, from 1; NULL if the value is not in it.

    Texts are compared byte for byte.

    >>> print(position("x", ["a"]).replace(texts(["a"]), "l"))
    list_position(l, CAST(x AS VARCHAR) COLLATE C)
    """
    return f"list_position({texts(values)}, {exact(text)})"


def exact(value: str) -> str:
    """Convert an SQL expression to a text that is compared byte for byte under any collation of the session.

    The cast gives a NULL literal the type VARCHAR, so functions accept it.

    >>> print(exact("x"))
    CAST(x AS VARCHAR) COLLATE C
    """
    return f"CAST({value} AS VARCHAR) COLLATE C"


def is_among(text: str, values: Iterable[str | None]) -> str:
    """Write the condition that an SQL expression equals one of these texts, compared byte for byte.

    A few texts are written as an IN list. Longer lists are one literal that is split, and very long lists are searched
    as one text: DuckDB plans each literal of an IN list separately, and fifty cost more than the rest of a query.

    >>> is_among("x", ["a", "b"])
    "(CAST(x AS VARCHAR) COLLATE C IN ('a', 'b'))"
    >>> is_among("x", map(str, range(9))).replace("\x1f", "|")
    "list_contains(string_split('0|1|2|3|4|5|6|7|8', '|'), CAST(x AS VARCHAR) COLLATE C)"
    >>> is_among("x", map(str, range(9999)))[-53:].replace("\x1f", "|")
    " AND NOT contains(CAST(x AS VARCHAR) COLLATE C, '|'))"
    """
    present, separator = _separated(values)
    text = exact(text)
    if 0 < len(present) <= FEW:
        return f"({text} IN ({', '.join(map(literal, present))}))"
    if 0 < len(present) < MANY:
        return f"list_contains({texts(present)}, {text})"
    between = literal(separator)
    everything = literal("".join(separator + value for value in present) + separator)
    return (
        f"(contains({exact(everything)}, {between} || {text} || {between})"
        f" AND NOT contains({text}, {between}))"
    )


def concatenated(*texts: str) -> str:
    """Concatenate SQL expressions with one call of ``concat``, where NULL is empty. Adjacent literals are merged.

    >>> print(concatenated("'a'", "b", "('c')", "'d'"), concatenated("'a'", "'b'"))
    concat('a', b, 'cd') 'ab'
    """
    pieces: list[str] = []
    for text in texts:
        plain = LITERAL.fullmatch(text)
        if plain and pieces and LITERAL.fullmatch(pieces[-1]):
            pieces[-1] = pieces[-1][:-1] + plain[1][1:]
        else:
            pieces.append(plain[1] if plain else text)
    one = len(pieces) == 1 and LITERAL.fullmatch(pieces[0])
    return pieces[0] if one else f"concat({', '.join(pieces)})"


def _separated(values: Iterable[str | None]) -> tuple[list[str], str]:
    """Return the texts that are not NULL, and a separator that none of them contains."""
    present = [value for value in values if value is not None]
    every = "".join(present)
    for separator in SEPARATORS:
        if separator not in every:
            return present, separator
    raise InvalidSource(
        "the texts of a sensitive column contain all control characters that could separate them",
        hint="remove control characters in a view, and publish the view",
    )


def doubles(values: Sequence[float]) -> str:
    """Write a list of numbers: as one literal that is split, or as one repeated number if all are equal.

    >>> print(doubles([0.5, 0.5]), doubles([0.1, 2]))
    [0.5e0 FOR i IN range(2)] string_split('0.1,2.0', ',')::DOUBLE[]
    """
    if len(set(values)) == 1:
        return f"[{literal(float(values[0]))} FOR i IN range({len(values)})]"
    return f"string_split('{','.join(repr(float(value)) for value in values)}', ',')::DOUBLE[]"


def encoded(rows: Iterable[Iterable[float]], characters: int = EXACT) -> str:
    """Encode rows of numbers in base64, which takes half as many characters as their digits.

    With ``ROUNDED`` characters, each number is rounded towards zero by less than one part in 4,096.

    >>> encoded([[0.1], [2]]), encoded([[0.1, 2]], ROUNDED)
    ('P7mZmZmZmZo|QAAAAAAAAAA', 'P7mZ,QAAA')
    """
    return "|".join(
        ",".join(b64encode(struct.pack(">d", each)).decode()[:characters] for each in row)
        for row in rows
    )


def decoded(row: str, characters: int = EXACT) -> str:
    """Write the SQL expression that decodes one row of ``encoded`` to a list of numbers.

    >>> print(decoded("'P7mZmZmZmZo'"))
    [from_base64(n || '=')::BIT::DOUBLE FOR n IN string_split('P7mZmZmZmZo', ',')]
    """
    end = "A" * (EXACT - characters) + "="
    return f"[from_base64(n || '{end}')::BIT::DOUBLE FOR n IN string_split({row}, ',')]"
