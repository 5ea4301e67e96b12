"""Public columns that are another copy of a sensitive one: the second diagnosis beside the first."""

from __future__ import annotations

import re

import numpy as np

from duckdb_priv.engine.source import is_one_of
from duckdb_priv.publisher.check.examination import SAMPLE, Examination
from duckdb_priv.publisher.check.finding import Finding, keep_from_readers, percent

SHARED = 0.5
"""Share of the records whose public value must be a value of the sensitive column, too."""
VALUES = 8
"""Different texts that both columns must have: yes, no and unknown are in columns of any kind."""
COUNTED = re.compile(r"[\W_]*\d+(?=\W|_|$)")
"""A number in the name of a column."""


def siblings_of_sensitive_columns(exam: Examination) -> list[Finding]:
    """Find public columns that hold the values of a sensitive one, or are called like it but for a number."""
    found = []
    for sensitive in exam.source.sensitive:
        for public in exam.source.public:
            if reason := _called_alike(public, sensitive) or _shared_values(
                exam, public, sensitive
            ):
                share, what = reason
                found.append(
                    Finding(
                        "blocker",
                        "sibling",
                        (public, sensitive),
                        share,
                        f"public column {public!r} {what} {sensitive!r}: it shows what {sensitive!r} is to"
                        " hide",
                        keep_from_readers([public], "its values are published without noise"),
                        exam.sampled,
                    )
                )
    return found


def _called_alike(public: str, sensitive: str) -> tuple[float | None, str] | None:
    """Return whether two names differ in a number only.

    >>> _called_alike("diag_2", "diag_1") is not None, _called_alike("age", "diag_1") is not None
    (True, False)
    """
    stems = [COUNTED.sub("", name).lower() for name in (public, sensitive)]
    numbered = any(COUNTED.search(name) for name in (public, sensitive))
    if numbered and stems[0] and stems[0] == stems[1]:
        return None, "is called, but for a number, like the sensitive"
    return None


def _shared_values(exam: Examination, public: str, sensitive: str) -> tuple[float, str] | None:
    """Return whether most records have a public text that is a value of the sensitive column, too."""
    types = exam.source.types
    if not all(is_one_of(types[name], "VARCHAR") for name in (public, sensitive)):
        return None
    of, other = exam.codes[public].first(SAMPLE), exam.hashes[sensitive]
    both = np.isin(exam.hashes[public], other)
    counts = of.counts[: len(both)]
    present = counts.sum()
    if both.sum() < VALUES or not present:
        return None
    share = float(counts[both].sum() / present)
    return (
        (share, f"has in {percent(share)} of the records a value of the sensitive")
        if share >= SHARED
        else None
    )
