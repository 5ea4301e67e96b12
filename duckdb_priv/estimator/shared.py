"""What several functions of a publisher's database compute in the same way is in macros of its own, which they call.

The functions are written in full first, as those of a release file are; then each of these formulas gives way to a
call, so that DuckDB parses, copies and keeps it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from duckdb_priv.estimator.forms import ENDS, FORMS
from duckdb_priv.estimator.set_formulas import (
    formula,
    functional,
    listed,
    lists_missing,
    plausible,
)
from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.folding import folded
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import body, fill, read

VALUES = ("_values", "_other_values")
"""The arguments of functions that are one value, or a list."""


@dataclass(frozen=True)
class Shared:
    """A formula over one parameter."""

    stated: str
    write: Callable[[str], str]
    """Writes the formula over a parameter or an argument."""
    arguments: tuple[str, ...]
    """What the functions have in its place."""

    def over(self, argument: str) -> str:
        """Write the formula as it is in the functions."""
        return qualified(folded(self.write(argument)))


SHARED: Mapping[str, Shared] = {
    "_lists_missing": Shared(
        "Whether the missing value is among those that are given.",
        lambda given: lists_missing(listed(given)),
        VALUES,
    ),
    "_listed": Shared("What is given, a value or a list, as a list of texts.", listed, VALUES),
    "_functional": Shared(
        "What is tested of a sum in which every record counts once.",
        lambda _: functional(FORMS["two_weights"], "once"),
        ("s",),
    ),
    "_plausible": Shared(
        "Whether so many rows may show one of a set, if they were chosen by public columns.",
        lambda _: plausible(FORMS["two_weights"]),
        ("s",),
    ),
    "_ends": Shared("The interval of what is tested.", lambda _: ENDS, ("u",)),
    "_combined": Shared(
        "What is tested of a linear combination of sums.",
        lambda _: formula("combination.tested"),
        ("e",),
    ),
    "_roots": Shared(
        "The ends of a quotient of two sums.", lambda _: formula("quotient.roots"), ("g",)
    ),
    "_quotient": Shared(
        "What a quotient of two sums lies between.", lambda _: formula("quotient.ends"), ("h",)
    ),
}
"""By the name of the macro. One that has the formula of another in its own is before it."""


@cache
def _calls() -> tuple[tuple[str, str, str], ...]:
    """List macros with a formula that gives way to a call, and the call."""
    return tuple(
        (macro, shared.over(argument), f"priv.{macro}({argument})")
        for macro, shared in SHARED.items()
        for argument in shared.arguments
    )


def shortened(text: str) -> str:
    """Replace the formulas in the text of a function by calls.

    >>> print(shortened(f"len({SHARED['_listed'].over('_values')})"))
    len(priv._listed(_values))
    """
    for _, written, call in _calls():
        text = text.replace(written, call)
    return text


def statements() -> Iterator[str]:
    """Write the macros."""
    for macro, shared in SHARED.items():
        parameter = shared.arguments[0]
        places = {
            "macro": macro,
            "parameter": parameter,
            "formula": shared.over(parameter),
            "comment": literal(shared.stated),
        }
        yield fill(body(read("analyst/chosen", "shared")), places)
