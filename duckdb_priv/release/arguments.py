"""Reads the arguments of a call once, into a frozen object.

The arguments of a call are a frozen dataclass. Each field states how its argument is read, what it means, and an
example. One error lists everything that is missing, misspelt or of the wrong type, so one call shows all mistakes. The
mechanisms check the ranges of numbers.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True, kw_only=True)
... class Decoys(Arguments):
...     gamma: int = argument(whole(2), "the number of values that a record hides among", "5")
...     grouping: str = argument(choice("mixed", "sorted"), "how groups are made", "'mixed'", default="mixed")
>>> read({"gamma": 5}, Decoys)
(Decoys(gamma=5, grouping='mixed'),)
>>> read({"gama": 5, "grouping": "mixd"}, Decoys, of="publish_splu")
Traceback (most recent call last):
...
duckdb_priv.errors.InvalidParameter: gamma is missing; grouping must be 'mixed' or 'sorted', got 'mixd'; \
publish_splu has no argument 'gama'
Hint: gamma is the number of values that a record hides among: write gamma := 5
      grouping is how groups are made: write grouping := 'mixed'
      did you mean 'gamma'?
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar

from duckdb_priv.errors import InvalidParameter, UnknownName, echoed


@dataclass(frozen=True)
class ArgumentKind:
    """How a value is read: its type in words, and a function that converts it, or returns None if it cannot."""

    words: str
    read: Callable[[Any], Any]


@dataclass(frozen=True)
class Spec:
    """The description of one argument."""

    kind: ArgumentKind
    meaning: str
    example: str
    missing: str | None
    """The message if it is missing; None for the default message."""


@dataclass(frozen=True)
class Alternatives:
    """Sets of arguments, of which exactly one must be given completely. The empty set means none of them."""

    question: str
    """The message if no set is given, or several are."""
    sets: tuple[tuple[str, ...], ...]


class Arguments:
    """The arguments of a call; a subclass is a frozen dataclass whose fields are made by ``argument``."""

    alternatives: ClassVar[tuple[Alternatives, ...]] = ()

    @property
    def extends(self) -> bool:
        """Whether the publication adds rows to an existing release."""
        return False


def argument(
    kind: ArgumentKind,
    meaning: str,
    example: str,
    *,
    default: Any = MISSING,
    missing: str | None = None,
) -> Any:
    """Return a field of ``Arguments``. Without a default the argument is required; None makes it optional."""
    return field(default=default, metadata={"argument": Spec(kind, meaning, example, missing)})


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    try:
        return float(value) if _is_number(value) else None
    except OverflowError:
        return None


def _numbers(value: Any) -> tuple[float, ...] | None:
    read = [_number(each) for each in value] if isinstance(value, list | tuple) else [None]
    return None if None in read else tuple(each for each in read if each is not None)


def _wholes(value: Any) -> tuple[int, ...] | None:
    read = _numbers(value)
    if read is None or not all(number.is_integer() for number in read):
        return None
    return tuple(map(int, read))


def whole(least: int) -> ArgumentKind:
    """Return the kind of integers of at least ``least``; 5.0 counts as an integer."""

    def read(value: Any) -> int | None:
        number = _number(value)
        return int(value) if number is not None and number.is_integer() and value >= least else None

    return ArgumentKind(f"an integer of at least {least}", read)


def choice(*options: str) -> ArgumentKind:
    """Return the kind that accepts one of these words."""
    *others, last = map(repr, options)
    return ArgumentKind(
        f"{', '.join(others)} or {last}", lambda value: value if value in options else None
    )


def several(*options: str) -> ArgumentKind:
    """Return the kind that accepts one of these words, or a list of them."""

    def read(value: Any) -> tuple[str, ...] | None:
        words = _texts(value)
        return None if words is None or set(words) - set(options) else tuple(dict.fromkeys(words))

    return ArgumentKind(f"a list of {choice(*options).words.replace(' or ', ' and ')}", read)


def _texts(value: Any) -> tuple[str, ...] | None:
    """Return a name or a list of names as a tuple; None for anything else."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        return None
    return tuple(names) if all(isinstance(name, str) and name for name in names) else None


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and value and "\0" not in value else None


def _values(value: Any) -> Any:
    """Return the values of one domain, or of several by column; None for anything else."""
    lists = value.values() if isinstance(value, Mapping) else [value]
    return value if all(isinstance(each, list | tuple) for each in lists) else None


def _tables(value: Any) -> Any:
    names = value.values() if isinstance(value, Mapping) else [value]
    return value if all(isinstance(each, str) and each for each in names) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() and "\0" not in value else None


NAME = ArgumentKind("a name", _name)
UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]"
)
"""Control characters, invisible characters, and characters that change the direction of text."""
TEXT = ArgumentKind("a text", _text)
TABLE = ArgumentKind("the name of a table", _name)
FLAG = ArgumentKind("true or false", lambda value: value if isinstance(value, bool) else None)
NUMBER = ArgumentKind("a number", _number)
FILE = ArgumentKind("the name of a file", _name)
ANYTHING = ArgumentKind("a value", lambda value: value)
NUMBERS = ArgumentKind("a list of numbers", _numbers)
WHOLES = ArgumentKind("a list of whole numbers", _wholes)
COLUMNS = ArgumentKind("a column name or a list of them", _texts)
LEVELS = ArgumentKind(
    "a struct of whole numbers", lambda value: value if isinstance(value, Mapping) else None
)
VALUES = ArgumentKind(
    "a list of values, or a struct of such lists with the sensitive columns as names", _values
)
TABLES = ArgumentKind(
    "the name of a table, or a struct that names one for each sensitive column", _tables
)


def specs(kind: type[Arguments]) -> dict[str, tuple[Spec, Any]]:
    """Return the arguments of a call by name, in order: the description of each, and its default or MISSING."""
    return {each.name: (each.metadata["argument"], each.default) for each in fields(kind)}  # type: ignore[arg-type]


def read(given: Mapping[str, Any], *kinds: type[Arguments], of: str = "the call") -> Any:
    """Return one object of each kind, read from the given arguments.

    Raises InvalidParameter, which lists everything that is missing, misspelt or of the wrong type. ``of`` is the name
    of the call.
    """
    known = {name: spec for kind in kinds for name, spec in specs(kind).items()}
    alternatives = [each for kind in kinds for each in kind.alternatives]
    values: dict[str, Any] = {}
    problems = [
        *_wrong(given, known, values),
        *(problem for each in alternatives for problem in _undecided(each, given, known)),
        *(UnknownName.among("argument", name, known, of=of) for name in given if name not in known),
    ]
    if len(problems) == 1:
        raise InvalidParameter(problems[0].message, hint=problems[0].hint)
    if problems:
        raise InvalidParameter(
            "; ".join(problem.message for problem in problems),
            hint="\n      ".join(problem.hint for problem in problems if problem.hint),
        )
    return tuple(
        kind(**{name: value for name, value in values.items() if name in specs(kind)})
        for kind in kinds
    )


Problem = InvalidParameter | UnknownName


def _wrong(
    given: Mapping[str, Any], known: Mapping[str, tuple[Spec, Any]], values: dict[str, Any]
) -> Iterator[Problem]:
    """Read every argument into ``values``, and yield those that are missing or of the wrong type."""
    for name, (spec, default) in known.items():
        value = given.get(name, None if default is MISSING else default)
        if value is None and default in (None, ()):
            values[name] = default
            continue
        if value is None and default is MISSING:
            yield _missing(name, spec)
            continue
        values[name] = spec.kind.read(value)
        if values[name] is None:
            yield InvalidParameter(
                f"{name} must be {spec.kind.words}, got {'NULL' if value is None else echoed(value)}",
                hint=_meant(name, spec),
            )
        elif values[name] == () and default is MISSING:
            yield _missing(name, spec)


def _undecided(
    choices: Alternatives, given: Mapping[str, Any], known: Mapping[str, tuple[Spec, Any]]
) -> Iterator[Problem]:
    """Yield a problem if no alternative is given, several are, or one only in part."""
    begun = [names for names in choices.sets if any(given.get(name) is not None for name in names)]
    if len(begun) == 1:
        for name in begun[0]:
            if given.get(name) is None:
                yield _missing(name, known[name][0])
        return
    if not begun and () in choices.sets:
        return
    examples = (
        ", ".join(f"{name} := {known[name][0].example}" for name in names) for names in choices.sets
    )
    yield InvalidParameter(
        choices.question + (", not both" if begun else ""), hint=f"write {', or '.join(examples)}"
    )


def _missing(name: str, spec: Spec) -> InvalidParameter:
    return InvalidParameter(spec.missing or f"{name} is missing", hint=_meant(name, spec))


def _meant(name: str, spec: Spec) -> str:
    return f"{name} is {spec.meaning}: write {name} := {spec.example}"


def nested(given: Mapping[str, Any], names: Sequence[str], kind: str) -> dict[str, Any]:
    """Return the entries of a struct by ``names``, in the spelling of ``names``.

    Raises UnknownName for any other entry.

    >>> nested({"AGE": 2}, ["age", "sex"], "column")
    {'age': 2}
    """
    spelling = {name.lower(): name for name in names}
    for name in given:
        if name.lower() not in spelling:
            raise UnknownName.among(kind, name, names)
    found = {spelling[name.lower()]: value for name, value in given.items()}
    if len(found) < len(given):
        raise InvalidParameter(f"a {kind} is named twice", hint="name it once, in one spelling")
    return found
