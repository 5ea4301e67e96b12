"""Public columns that tell a sensitive one: alone, two together, or as a coarser form of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations
from operator import and_

from duckdb_priv.mechanism.determination import (
    ODDS,
    Determination,
    Groups,
    determination,
    groups_of,
)
from duckdb_priv.publisher.check.examination import SAMPLE, Examination
from duckdb_priv.publisher.check.finding import Columns, Finding, Severity, listed, percent
from duckdb_priv.sqltext.quoting import literal

REFUSED = 1 / 3
"""Share of the records that one or two columns may tell at most."""
GAIN = 0.1
"""Share of the records that a pair must tell beyond what either column does, to be a finding of its own."""
WARNED = 0.01
"""Share of the records from which on it is said."""
COARSER = 0.95
"""Share of the records whose sensitive value must tell a public one, for that to be a coarser form of it."""
CELLS = 10_000_000
"""Cells that all pairs of columns may have together: with many columns fewer records are looked at."""
PAIRS_COUNTED = 5
"""How many suspicious pairs are counted in the whole table, the worst first."""


def public_columns_that_tell(exam: Examination) -> list[Finding]:
    """Find public columns, and pairs of them, that determine a sensitive column."""
    source = exam.source
    if not source.sensitive or not source.public:
        return []
    suspects = _suspects(exam, [(name,) for name in source.public], SAMPLE)
    single = {key: _counted(exam, *key) for key in suspects}
    telling = {key: each for key, each in single.items() if each.evident and each.share >= WARNED}
    findings = [_told(exam, *key, each) for key, each in telling.items()]
    # A column that tells by itself tells with every other one, too.
    innocent = [
        name
        for name in source.public
        if not any(
            columns == (name,) and each.share >= REFUSED for (columns, _), each in telling.items()
        )
    ]
    pairs = list(combinations(innocent, 2))
    records = min(SAMPLE, CELLS // max(1, len(pairs) * len(source.sensitive)))
    suspects = _suspects(exam, pairs, records)
    worst = sorted(suspects, key=lambda key: -suspects[key].share)[:PAIRS_COUNTED]
    for columns, other in worst:
        each = _counted(exam, columns, other)
        alone = [single[(name,), other].share for name in columns if ((name,), other) in single]
        if each.evident and each.share >= GAIN + max(alone, default=0.0):
            findings.append(_told(exam, columns, other, each))
    return findings


def coarser_forms(exam: Examination) -> list[Finding]:
    """Find public columns that are a function of a sensitive one."""
    source = exam.source
    if not source.sensitive or not source.public:
        return []
    found = []
    sensitive = [(name,) for name in source.sensitive]
    for (given, other), each in _in_sample(exam, sensitive, source.public, SAMPLE):
        if each.evident and each.share >= COARSER:
            counted = _counted(exam, given, other)
            if counted.share >= COARSER:
                found.append(
                    Finding(
                        "refuse",
                        "coarser_form",
                        (other, *given),
                        counted.share,
                        f"public column {other!r} follows from the sensitive {given[0]!r} in"
                        f" {percent(counted.share)} of the records: it is a coarser form of it, published in"
                        " clear, and rules out all values of another class",
                        f"exclude {other!r}; if it is to be public, name it in public := […]",
                        exam.basis(),
                    )
                )
    return found


def groups_of_one_value(exam: Examination) -> list[Finding]:
    """Count the records whose public columns together determine a sensitive one."""
    source = exam.source
    findings = []
    for other in source.sensitive if len(source.public) > 1 else ():
        found = _counted(exam, source.public, other)
        if found.evident and found.share >= WARNED:
            findings.append(
                Finding(
                    "warn",
                    "groups_of_one_value",
                    (*source.public, other),
                    found.share,
                    f"{percent(found.share)} of the records agree in all public columns with others, which nearly all"
                    f" have their value of {other!r}: who knows the table's habits knows it with a certainty of"
                    f" {percent(exam.certainty)} or more",
                    "make public columns coarser in a view, or exclude some",
                    exam.basis(),
                )
            )
    return findings


def _suspects(
    exam: Examination, given: Sequence[Columns], records: int
) -> dict[tuple[Columns, str], Determination]:
    """Return the columns that tell a sensitive one in the sample beyond chance."""
    found = _in_sample(exam, given, exam.source.sensitive, records)
    return {key: each for key, each in found if each.evident and each.share >= WARNED}


def _in_sample(
    exam: Examination, given: Sequence[Columns], told: Sequence[str], records: int
) -> Iterator[tuple[tuple[Columns, str], Determination]]:
    """Say of columns of the sample how far they determine others, among records that are not alone with them."""
    for columns in given:
        key = reduce(and_, (exam.codes[name].first(records) for name in columns))
        for other in told:
            value, counts = exam.codes[other].first(records), exam.codes[other].counts
            groups = groups_of(key, value, counts, exam.certainty)
            if grouped := int((groups.sizes * groups.groups).sum()):
                yield (columns, other), determination(groups, counts, grouped, exam.certainty)


def _counted(exam: Examination, columns: Columns, other: str) -> Determination:
    """Say how far columns determine another in the whole table."""
    groups = 1.0
    for name in columns:
        groups = min(groups * max(1, exam.profiles[name].distinct), exam.rows)
    counted = exam.asked.cells(columns, other, exam.rate(groups))
    prior = exam.asked.values(other)
    table = exam.workspace.integers(_question(exam, counted, prior))
    found = Groups(*(table[each] for each in ("size", "groups", "determined")))
    records = int((found.sizes * found.groups).sum())
    return determination(found, exam.workspace.integers(prior)["rows"], records, exam.certainty)


def _question(exam: Examination, counted: str, prior: str) -> str:
    return exam.sql(
        "determined",
        counted=counted,
        prior=prior,
        certainty=literal(exam.certainty),
        odds=literal(ODDS),
    )


def _told(exam: Examination, columns: Columns, other: str, found: Determination) -> Finding:
    severity: Severity = "refuse" if found.share >= REFUSED else "warn"
    who = "public column" if len(columns) == 1 else "the public columns"
    verb = "tells" if len(columns) == 1 else "together tell"
    return Finding(
        severity,
        "determined" if len(columns) == 1 else "determined_by_pair",
        (*columns, other),
        found.share,
        f"{who} {listed(columns)} {verb} the sensitive {other!r} of {percent(found.share)} of the records with a"
        f" certainty of {percent(exam.certainty)} or more, whatever is done to {other!r}",
        f"exclude {listed(columns[:1])} or make it coarser in a view; if it is to be public, name it in public := […]",
        exam.basis(),
    )
