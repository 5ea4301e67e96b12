"""Lists as SQL literals that are quick to plan, however long they are."""

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
"""How many texts of a list are planned as fast one by one."""
LITERAL = re.compile(r"\(?('(?:[^']|'')*')\)?")
"""A text as it is written, in parentheses or without."""
SEARCHED = 500
"""Up to how many texts functions find one of a dictionary faster than a cast finds one of each row."""
EXACT, ROUNDED = 11, 4
"""Characters of an encoded number: all of its bits, or the first 24, of which 12 are digits."""
MANY = 5000
"""From how many on a list takes longer to make than one text takes to search."""


def texts(values: Iterable[str | None]) -> str:
    """Write a list of texts, the missing one left out, as one literal that is split.

    That is far faster to plan than a list of literals.
    """
    present, separator = _separated(values)
    return f"string_split({literal(separator.join(present))}, {literal(separator)})"


def packed(texts: Iterable[str]) -> str:
    """Put texts into one, from which ``list_slice(string_split(p, left(p, 1)), 2, -2)`` takes them again.

    The first character is what ends each text. Texts that are packed themselves may be among them.

    >>> packed(["a", "", "b"]).replace("\x1f", "|")
    '|a||b|'
    """
    present, separator = _separated(texts)
    return separator + "".join(text + separator for text in present)


def enum(values: Iterable[str | None]) -> str:
    """Write the ENUM type of texts, the missing one left out.

    >>> print(enum(["it's", "b", None]))
    ENUM('it''s', 'b')
    """
    return f"ENUM({', '.join(literal(value) for value in values if value is not None)})"


def looked_up(text: str, values: Sequence[str], kind: str) -> str:
    """Write an SQL expression of type VARCHAR as an ENUM of texts; a text that is none of them is an error.

    Rows of a Parquet file refer to a dictionary of texts. DuckDB calls functions for each text of a dictionary; a
    cast looks each row's up. A list is searched from its start, so of many texts a cast is faster.

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
    """Write which of texts an SQL expression is, byte for byte, counted from 1; NULL if it is none, as NULL itself.

    >>> print(position("x", ["a"]).replace(texts(["a"]), "l"))
    list_position(l, CAST(x AS VARCHAR) COLLATE C)
    """
    return f"list_position({texts(values)}, {exact(text)})"


def exact(value: str) -> str:
    """Write an SQL expression as a text that is compared byte for byte, whichever collation a session has.

    Functions take it for NULL, too, which has no type of its own.

    >>> print(exact("x"))
    CAST(x AS VARCHAR) COLLATE C
    """
    return f"CAST({value} AS VARCHAR) COLLATE C"


def is_among(text: str, values: Iterable[str | None]) -> str:
    """Write whether an SQL expression is among texts, byte for byte: in a list that is one literal.

    Very many of them are searched as one text.
    Each literal of a list is planned for itself, which costs more than all the rest where there are fifty.

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
    """Write SQL expressions of texts as one text, in which a missing one is empty: one function is planned, not many.

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
    """Return the texts that are not missing, and a character that is in none of them."""
    present = [value for value in values if value is not None]
    for separator in SEPARATORS:
        if not any(separator in value for value in present):
            return present, separator
    raise InvalidSource(
        "a sensitive column holds every control character there is",
        hint="clean its values in a view, and publish the view",
    )


def doubles(values: Sequence[float]) -> str:
    """Write a list of numbers, as one literal where they differ.

    >>> print(doubles([0.5, 0.5]), doubles([0.1, 2]))
    [0.5e0 FOR i IN range(2)] string_split('0.1,2.0', ',')::DOUBLE[]
    """
    if len(set(values)) == 1:
        return f"[{literal(float(values[0]))} FOR i IN range({len(values)})]"
    return f"string_split('{','.join(repr(float(value)) for value in values)}', ',')::DOUBLE[]"


def encoded(rows: Iterable[Iterable[float]], characters: int = EXACT) -> str:
    """Write rows of numbers as a text that is half as long as their digits: the bits of each number, in base64.

    With ``ROUNDED`` characters, each is rounded towards zero by less than one part in 4,096.

    >>> encoded([[0.1], [2]]), encoded([[0.1, 2]], ROUNDED)
    ('P7mZmZmZmZo|QAAAAAAAAAA', 'P7mZ,QAAA')
    """
    return "|".join(
        ",".join(b64encode(struct.pack(">d", each)).decode()[:characters] for each in row)
        for row in rows
    )


def decoded(row: str, characters: int = EXACT) -> str:
    """Write the list of the numbers of a row that ``encoded`` wrote.

    >>> print(decoded("'P7mZmZmZmZo'"))
    [from_base64(n || '=')::BIT::DOUBLE FOR n IN string_split('P7mZmZmZmZo', ',')]
    """
    end = "A" * (EXACT - characters) + "="
    return f"[from_base64(n || '{end}')::BIT::DOUBLE FOR n IN string_split({row}, ',')]"
