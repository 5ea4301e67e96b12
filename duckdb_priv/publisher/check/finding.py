"""A finding: something that a data steward should know before publishing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Columns = tuple[str, ...]
Severity = Literal["blocker", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("blocker", "warning", "note")
"""Worst first. blocker: publishing stops unless the columns are named in ``public``. warning and note: the receipt
lists them."""


@dataclass(frozen=True)
class Finding:
    """A finding of ``priv.check_source``."""

    severity: Severity
    finding: str
    """The short name of its kind."""
    columns: Columns
    figure: float | None
    """The number that ``what`` explains."""
    what: str
    """The finding in words."""
    do: str
    basis: str
    """Which records were examined."""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings by severity and kind, and within a kind by figure, the largest first.

    >>> mild, bad = (Finding(s, "alone", (), 0.5, "", "", "") for s in ("note", "blocker"))
    >>> [each.severity for each in worst_first([mild, bad])]
    ['blocker', 'note']
    """
    return sorted(
        findings,
        key=lambda each: (SEVERITIES.index(each.severity), each.finding, -(each.figure or 0.0)),
    )


def keep_from_readers(columns: Sequence[str], cost: str) -> str:
    """Return the advice for public columns: first how to protect people, last how to publish the columns anyway.

    >>> print(keep_from_readers(["icd"], "the noise hides nothing"))
    exclude 'icd', make it coarser in a view, or add it to sensitive; public := ['icd', …] publishes it as it is: the noise hides nothing
    """  # noqa: E501
    it = "it" if len(columns) == 1 else "them"
    named = ", ".join(map(repr, columns))
    return (
        f"exclude {listed(columns)}, make {it} coarser in a view, or add {it} to sensitive; public := [{named}, …]"
        f" publishes {it} as {'it is' if it == 'it' else 'they are'}: {cost}"
    )


def listed(columns: Sequence[str]) -> str:
    """Write column names as a list in a sentence.

    >>> print(listed(["age", "zip code", "sex"]))
    'age', 'zip code' and 'sex'
    """
    names = [repr(name) for name in columns]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def percent(share: float) -> str:
    """Write a share as a percentage that never rounds to 0% or 100%.

    >>> percent(0.4321), percent(0.99996), percent(1.0), percent(0.00002)
    ('43%', 'more than 99%', '100%', 'less than 1%')
    """
    if 0 < share < 0.01:
        return "less than 1%"
    if 0.99 < share < 1:
        return "more than 99%"
    return f"{share:.0%}"
