"""Finds domains taken from the source, domains too large for the noise, and unsuitable storage of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from duckdb_priv.engine.source import is_one_of
from duckdb_priv.mechanism.smallest_count import smallest_count
from duckdb_priv.mechanism.uniform import Uniform
from duckdb_priv.publisher.check.examination import Examination
from duckdb_priv.publisher.check.finding import Finding
from duckdb_priv.sqltext.quoting import identifier, identifiers
from duckdb_priv.sqltext.reading import select

RARE = 5
"""A value with fewer records is rare: its presence in a domain reveals something about few people."""
READABLE = 0.5
"""The share of records whose values should be frequent enough for useful counts."""


def domains_from_the_source(
    exam: Examination, given: Mapping[str, Sequence[object]]
) -> list[Finding]:
    """Return findings about domains read from the source: they disclose which values occur."""
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
    """Return findings with the count from which the error is at most half of it, with 95% confidence.

    ``operator`` returns the perturbation operator for a domain size.
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


def unused_enum_values(exam: Examination) -> list[Finding]:
    """Return findings of public ENUM columns whose type lists values that no record has."""
    source = exam.source
    names = [name for name in source.public if is_one_of(source.types[name], "ENUM(")]
    if not names:
        return []
    counts = exam.query(
        "dictionaries",
        listed=", ".join(f"len(enum_range(any_value({identifier(name)})))" for name in names),
        used=", ".join(f"count(DISTINCT {identifier(name)})" for name in names),
    )
    return [
        Finding(
            "note",
            "unused_enum_values",
            (name,),
            float(listed - used),
            f"the type of public column {name!r} lists {listed - used} values that no record has",
            "nothing: it is published with the values that occur",
            exam.basis(),
        )
        for name, (listed, used) in zip(names, counts, strict=True)
        if listed is not None and listed > used
    ]


def texts_that_compare_as_equal(exam: Examination) -> list[Finding]:
    """Return findings of different texts that a collation makes equal."""
    source = exam.source
    names = source.collated
    if not names:
        return []
    counts = exam.query(
        "collations",
        texts=identifiers(names),
        equal=", ".join(_counted(identifier(name)) for name in names),
        different=", ".join(_counted(f"encode({identifier(name)})") for name in names),
        source=source.stored,
        sampling=exam.sampling(50_000),
    )
    return [
        Finding(
            "warning",
            "collation",
            (name,),
            float(different - equal),
            f"{different - equal} texts of {name!r} are equal to another one that is written differently (as upper and"
            " lower case are under COLLATE NOCASE); each spelling is published as a value of its own",
            f"write them in one way in a view: lower({identifier(name)})",
            exam.sampled,
        )
        for name, (equal, different) in zip(names, counts, strict=True)
        if different > equal
    ]


def _counted(values: str) -> str:
    # Before DuckDB 2.0, count(DISTINCT …) ignores the collation.
    return f"({select(['count(*)'], '(' + select(['DISTINCT ' + values], 'looked_at') + ')')})"
