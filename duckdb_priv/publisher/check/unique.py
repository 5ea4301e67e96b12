"""Records that are unique in their public columns, and the smallest sets of columns that make them unique."""

from __future__ import annotations

from collections.abc import Sequence

from duckdb_priv.publisher.check.examination import Examination
from duckdb_priv.publisher.check.finding import Columns, Finding, listed, percent

WARNED = 0.05
"""Share of the records unique in their public columns from which on it is a warning."""
PART = 0.5
"""Share of these records that a set of columns must make alone to be called a cause."""
COLUMNS = 8
"""Columns that sets are made of: those with the most values."""
KEPT = 3
"""Sets of each size that are extended, the most telling first."""
LARGEST = 4
"""Most columns of a set that is looked for."""


def unique_in_public_columns(exam: Examination) -> list[Finding]:
    """Count the records that nobody else shares all public columns with."""
    public = exam.source.public
    if not public or exam.rows < 2:
        return []
    share = _alone(exam, public)
    if not share:
        return []
    findings = [
        Finding(
            "warning" if share >= WARNED else "note",
            "alone",
            public,
            share,
            f"{percent(share)} of the records are unique in their public columns: such a person is seen to be in the"
            " table, and several releases of it can be joined record by record",
            "exclude columns or make them coarser in a view; FROM priv.check_source(…) names those that do it",
            exam.basis(exam.rate(exam.rows)),
        )
    ]
    if exam.thorough:
        findings += [_cause(exam, columns, part, share) for columns, part in _causes(exam, share)]
    return findings


def _alone(exam: Examination, columns: Sequence[str]) -> float:
    groups = 1.0
    for name in columns:
        groups = min(groups * (exam.profiles[name].distinct + 1), exam.rows)
    return exam.distinctness(columns, groups).alone


def _causes(exam: Examination, share: float) -> list[tuple[Columns, float]]:
    """Find the smallest sets of public columns that make at least part of these records unique."""
    names = sorted(exam.source.public, key=lambda name: -exam.profiles[name].distinct)[:COLUMNS]
    candidates: list[Columns] = [(name,) for name in names]
    for size in range(1, min(LARGEST, len(names)) + 1):
        # Fewer combinations of values than records in question leave none of them alone.
        possible = [
            columns
            for columns in candidates
            if _combinations(exam, columns) >= PART * share * exam.rows
        ]
        seen = [(columns, _alone(exam, columns)) for columns in possible]
        best = sorted(seen, key=lambda each: -each[1])[:KEPT]
        if found := [each for each in best if each[1] >= PART * share]:
            return found
        grown = candidates if size == 1 or not best else [columns for columns, _ in best]
        candidates = list(
            dict.fromkeys(
                tuple(sorted({*columns, name}, key=names.index))
                for columns in grown
                for name in names
                if name not in columns
            )
        )
    return []


def _combinations(exam: Examination, columns: Columns) -> float:
    product = 1.0
    for name in columns:
        product *= exam.profiles[name].distinct + 1
    return product


def _cause(exam: Examination, columns: Columns, part: float, share: float) -> Finding:
    return Finding(
        "note",
        "smallest_set",
        columns,
        part,
        f"{listed(columns)} alone"
        + (" makes" if len(columns) == 1 else " make")
        + f" {percent(part)} of the records unique, of the {percent(share)} that all public columns make unique",
        f"make {listed(columns[:1])} coarser in a view, or exclude it",
        f"{exam.basis(exam.rate(exam.rows))}; sets of up to {LARGEST} of the {COLUMNS} columns with the most values",
    )
