"""Domains that say too much, or have too many values for the noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from duckdb_priv.mechanism.smallest_count import smallest_count
from duckdb_priv.mechanism.uniform import Uniform
from duckdb_priv.publisher.check.examination import Examination
from duckdb_priv.publisher.check.finding import Finding
from duckdb_priv.sqltext.quoting import identifier

RARE = 5
"""Records of a value below which its being in a domain is about few people."""
READABLE = 0.5
"""Share of the records whose values should be frequent enough to be counted."""


def domains_from_the_source(
    exam: Examination, given: Mapping[str, Sequence[object]]
) -> list[Finding]:
    """Return what domains disclose that are not given, but are what occurs."""
    found = []
    for name in exam.source.sensitive:
        if name in given:
            continue
        counts = _counts(exam, name)
        rare = int((counts < RARE).sum())
        found.append(
            Finding(
                "warning" if rare and exam.rows >= RARE * len(counts) else "note",
                "domain_from_source",
                (name,),
                float(rare),
                f"the domain of {name!r} is what occurs, {len(counts)} values, {rare} of them in fewer than"
                f" {RARE} records: that each occurs is published with certainty, and a value that comes new"
                " changes the noise of all records",
                "give domain := […] with every value that could occur, also later",
                exam.basis(),
            )
        )
    return found


def domains_too_large_for_the_noise(
    exam: Examination, operator: Callable[[int], Uniform], given: Mapping[str, Sequence[object]]
) -> list[Finding]:
    """Return from which count on the error is at most half of it, with a confidence of 95%.

    ``operator`` returns what a domain of some size is perturbed with.
    """
    found = []
    for name in exam.source.sensitive:
        counts = _counts(exam, name)
        size = len(given.get(name, counts))
        if size < 2:
            continue
        perturbed = operator(size)
        least = smallest_count(perturbed, exam.rows)
        readable = float(counts[counts >= least].sum()) / exam.rows
        found.append(
            Finding(
                "warning" if readable < READABLE else "note",
                "smallest_count",
                (name,),
                float(np.ceil(least)),
                f"at epsilon = {perturbed.ldp_epsilon:.3g} (retention {perturbed.retention:.3g}) over {size} values of"
                f" {name!r}, counts below {least:,.0f} of {exam.rows:,} have an error of more than half;"
                f" {int((counts >= least).sum())} of the values are more frequent",
                "merge values in a view, take a larger epsilon, or a mechanism for large domains"
                if readable < READABLE
                else "nothing",
                exam.basis(),
            )
        )
    return found


def _counts(exam: Examination, name: str) -> np.ndarray:
    rows = exam.query("value_counts", column=identifier(name))
    return np.array([count for (count,) in rows], np.int64)
