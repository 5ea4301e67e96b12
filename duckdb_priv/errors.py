"""Every exception of the package, and the shape of its message.

A message says what is wrong, which value it is about, and, behind ``Hint:``, what to do
next. No message ever contains a value of a record, a record id or the secret: messages end in the logs of schedulers.
They name columns, and count.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, Self

LISTED = 30
"""How many names a hint lists."""
ECHOED = 100
"""How many characters of a wrong value a message repeats."""


def echoed(value: Any) -> str:
    """Write a given value, as much of it as fits in a message.

    >>> echoed("x" * 200) == "'" + "x" * 98 + "…"
    True
    """
    return shortened(repr(value))


def shortened(text: str) -> str:
    """Return as much of a text as a message has room for."""
    return text if len(text) <= ECHOED else text[: ECHOED - 1] + "…"


def how_many(number: int, thing: str) -> str:
    """Write a number of things.

    >>> how_many(1, "value"), how_many(2000, "value")
    ('1 value', '2,000 values')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def one_line(text: str) -> str:
    """Write a message with its hint in one line.

    >>> one_line("no release is called 'visit'\\nHint: did you mean 'visits'?")
    "no release is called 'visit'; hint: did you mean 'visits'?"
    """
    return text.strip().replace("\n      ", " ").replace("\nHint: ", "; hint: ").replace("\n", " ")


UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\r(?!\n)"
)
"""What may steer a terminal, or turn the order of its text: all but tabs and ends of lines."""


def visible(text: str) -> str:
    """Write a text so that a terminal shows it and does nothing else.

    >>> print(visible("a\x1b[31mb\u202ec"))
    a\\u001b[31mb\\u202ec
    """
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class PrivError(Exception):
    """Base class of everything that duckdb_priv raises on purpose.

    >>> print(PrivError("no release is called 'visit'", hint="did you mean 'visits'?"))
    no release is called 'visit'
    Hint: did you mean 'visits'?
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message if hint is None else f"{message}\nHint: {hint}")


class InvalidParameter(PrivError, ValueError):
    """A number or option lies outside what the mathematics allows."""


class InvalidSource(PrivError):
    """The source table, one of its columns, or a value in it cannot be published as asked."""


class ReleaseExists(PrivError):
    """The name of the release is taken."""


class UnknownName(PrivError):
    """Nothing of the kind that was asked for has this name."""

    @classmethod
    def among(
        cls,
        kind: str,
        name: object,
        known: Iterable[str],
        *,
        of: str | None = None,
        also: str | None = None,
    ) -> Self:
        """Name the nearest of the known names, upper and lower case being the same, or list them.

        ``of`` says whose names they are; ``also`` is said behind the nearest one, and instead of the list.

        >>> print(UnknownName.among("column", "diseas", ["id", "disease"], of="'visits'"))
        'visits' has no column 'diseas'
        Hint: did you mean 'disease'?
        >>> print(UnknownName.among("column", "zip", ["id", "disease"], of="'visits'"))
        'visits' has no column 'zip'
        Hint: it has 'id', 'disease'
        """
        spelling = {each.lower(): each for each in known}
        near = difflib.get_close_matches(str(name).lower(), spelling, n=1)
        if near:
            hint: str | None = " ".join(
                [f"did you mean {echoed(spelling[near[0]])}?", *([also] if also else [])]
            )
        elif also is not None or not spelling:
            hint = also
        else:
            shown = list(map(echoed, spelling.values()))
            more = f" and {len(shown) - LISTED} more" if len(shown) > LISTED else ""
            hint = ("there is " if of is None else "it has ") + ", ".join(shown[:LISTED]) + more
        message = (
            f"no {kind} is called {echoed(name)}"
            if of is None
            else f"{of} has no {kind} {echoed(name)}"
        )
        return cls(message, hint=hint)


class UnknownRelease(UnknownName):
    """No release has this name."""


class NotInstalled(PrivError):
    """The connection has no schema priv, or another one hides it."""


class PublicationFailed(PrivError):
    """A publication was given up, and nothing of it was kept."""


class GuaranteeViolated(PrivError):
    """A guarantee that a release would claim does not hold, so nothing was published."""


class InvalidReleaseFile(PrivError):
    """A file is not a release, is damaged, or was written by a newer library."""


class NotVerified(InvalidReleaseFile):
    """A release is not what its signature, its catalog or this library says."""


class QueryRefused(PrivError):
    """A query asks of a release what only the true table could answer, or what cannot be estimated."""
