"""Splits text into statements with DuckDB's tokenizer."""

from __future__ import annotations

import re
from itertools import pairwise

import duckdb


def split(text: str) -> tuple[list[str], str]:
    """Return the statements that end with a semicolon, and the remaining text.

    A semicolon inside a literal, a quoted name or a comment does not end a statement.

    >>> split("SELECT ';'; SELECT 1")
    (["SELECT ';';"], ' SELECT 1')
    """
    data = text.encode()
    ends = [offset + 1 for offset, token in tokens(text) if token == ";"]
    pieces = [data[start:end].decode() for start, end in pairwise([0, *ends, len(data)])]
    return [piece.strip() for piece in pieces[:-1] if not is_blank(piece)], pieces[-1]


def is_blank(text: str) -> bool:
    """Return whether a text contains only blanks, complete comments and semicolons.

    >>> is_blank("-- nothing;"), is_blank(" ; "), is_blank("'"), is_blank("/* more")
    (True, True, False, False)
    """
    # An unfinished literal or comment would contain the semicolon that is added at the end.
    found = tokens(f"{text}\n;")
    last = len(text.encode()) + 1
    return all(token == ";" for _, token in found) and found[-1:] == [(last, ";")]


def without_prefix(statement: str, word: str) -> str | None:
    """Return the rest of a statement after its first word ``word``; None if it begins with another word.

    >>> without_prefix("Estimate SELECT 1", "estimate"), without_prefix("SELECT 1", "estimate")
    (' SELECT 1', None)
    """
    data = statement.encode()
    starts = [offset for offset, _ in tokens(statement)][:1]
    found = starts and data[starts[0] :].decode()
    if not found or not re.match(rf"{word}\s", found, re.IGNORECASE):
        return None
    return found[len(word) :]


def in_text(text: str) -> bool:
    """Return whether an unfinished statement ends inside a literal.

    >>> in_text("FROM priv.publish_uniform('vis"), in_text("SELECT 'it''s' "), in_text("SELECT ''")
    (True, False, False)
    """
    # A quote is added, then a semicolon. The semicolon is a token only if the quote closed an open literal.
    return tokens(f"{text}';")[-1:] == [(len(text.encode()) + 1, ";")]


def tokens(text: str) -> list[tuple[int, str]]:
    """List the first byte of each token and the token's offset in bytes, without comments."""
    data = text.encode()
    return [
        (offset, data[offset : offset + 1].decode(errors="replace"))
        for offset, kind in duckdb.tokenize(text)
        if kind != duckdb.token_type.comment
    ]
