"""Checks the arguments of the Python functions before anything else is done."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from duckdb_priv.errors import InvalidParameter, echoed

LONGEST = 255
"""The most bytes of a file name that any common system allows."""


def check_connection(value: Any) -> None:
    """Refuse anything but a connection with a method ``execute``.

    >>> check_connection("file.duckdb")
    Traceback (most recent call last):
    ...
    duckdb_priv.errors.InvalidParameter: a connection is needed, got 'file.duckdb'
    Hint: duckdb_priv.connect() makes one for publishing, duckdb_priv.open_release('file.duckdb') one for reading
    """
    if isinstance(value, type) or not callable(getattr(value, "execute", None)):
        raise InvalidParameter(
            f"a connection is needed, got {echoed(value)}",
            hint="duckdb_priv.connect() makes one for publishing, duckdb_priv.open_release('file.duckdb') one for"
            " reading",
        )


def check_path(value: Any) -> None:
    """Refuse anything but the path of a file."""
    if not isinstance(value, str | os.PathLike) or isinstance(os.fspath(value), bytes):
        raise InvalidParameter(f"a path must be text, got {echoed(value)}", hint="'file.duckdb'")
    check_text("a path", str(value))
    if "\0" in str(value) or any(len(part.encode()) > LONGEST for part in Path(value).parts):
        raise InvalidParameter(f"no file can be called {echoed(str(value))}", hint="'file.duckdb'")


def check_text(what: str, value: Any) -> None:
    """Refuse anything but text, and text with unpaired surrogates, which cannot be encoded."""
    if not isinstance(value, str):
        raise InvalidParameter(f"{what} must be text, got {echoed(value)}", hint="put it in quotes")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidParameter(
            f"{what} holds half a character: {value!a:.100}",
            hint="decode it as what it was written in",
        ) from None


def check_choice(what: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse anything but one of the given words.

    >>> check_choice("counts", "whole", ("estimates", "rounded"))
    Traceback (most recent call last):
    ...
    duckdb_priv.errors.InvalidParameter: counts must be one of 'estimates', 'rounded', got 'whole'
    """
    if value not in choices:
        words = ", ".join(map(repr, choices))
        raise InvalidParameter(f"{what} must be one of {words}, got {echoed(value)}")


def check_confidence(value: Any) -> None:
    """Refuse a confidence that is not strictly between 0 and 1.

    >>> check_confidence(1)
    Traceback (most recent call last):
    ...
    duckdb_priv.errors.InvalidParameter: confidence must lie strictly between 0 and 1, got 1
    Hint: 0.95 is usual
    """
    number: Any = value if isinstance(value, numbers.Real) and not isinstance(value, bool) else 0
    # Compared without conversion: an integer may be too large for a float.
    if not 0 < number < 1:
        raise InvalidParameter(
            f"confidence must lie strictly between 0 and 1, got {echoed(value)}",
            hint="0.95 is usual",
        )


def check_parameters(value: Any) -> None:
    """Refuse query parameters that are neither a sequence nor a mapping."""
    by_place = isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)
    if not (value is None or by_place or isinstance(value, Mapping)):
        raise InvalidParameter(
            f"parameters are a list, or a dictionary by name, got {echoed(value)}",
            hint="write parameters=['flu']",
        )
