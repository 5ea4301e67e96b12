"""The exceptions of the package and the layout of their messages.

A message says what is wrong and which argument or column is concerned. After ``Hint:`` it says what to do. Messages
end in the logs of schedulers, so none contains a value of a record, a record id or the secret. They name columns and
give counts.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, Self

LISTED = 30
"""The largest number of names that a hint lists."""
ECHOED = 100
"""The largest number of characters of a wrong value that a message repeats."""


def echoed(value: Any) -> str:
    """Write a value for a message, cut to ECHOED characters.

    >>> echoed("x" * 200) == "'" + "x" * 98 + "…"
    True
    """
    return shortened(repr(value))


def shortened(text: str) -> str:
    """Cut a text to ECHOED characters."""
    return text if len(text) <= ECHOED else text[: ECHOED - 1] + "…"


def how_many(number: int, thing: str) -> str:
    """Write a number and a noun, in the singular or plural.

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
"""Characters, except tabs and line ends, that can send commands to a terminal or reverse its text."""


def visible(text: str) -> str:
    """Replace a text's control characters by their codes, so that a terminal only shows the text.

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
    """An argument is outside the range that the mathematics allows."""


class InvalidSource(PrivError):
    """The source table, one of its columns, or a value in it cannot be published with these arguments."""


class ReleaseExists(PrivError):
    """The name of the release is taken."""


class UnknownName(PrivError):
    """No column, release or other object of the requested kind has this name."""

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
        """Make the error; its hint is the known name most like ``name`` in any case, or the list of known names.

        ``of`` is the owner of the names. ``also`` is added after the nearest name, and replaces the list.

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
    """The connection has no schema priv, or another object of that name hides it."""


class PublicationFailed(PrivError):
    """A publication failed and was rolled back."""


class GuaranteeViolated(PrivError):
    """A guarantee of the planned release does not hold, so nothing was published."""


class InvalidReleaseFile(PrivError):
    """A file is not a release, is damaged, or was written by a newer library."""


class NotVerified(InvalidReleaseFile):
    """A release contradicts its signature, its catalog or this library."""


class QueryRefused(PrivError):
    """A query needs the true table, or a number that cannot be estimated from a release."""
