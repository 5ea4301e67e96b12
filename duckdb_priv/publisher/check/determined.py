"""Finds public columns that determine a sensitive one: up to three together, a coarser form, or a copy of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations
from operator import and_

import numpy as np

from duckdb_priv.engine.source import is_one_of
from duckdb_priv.mechanism.determination import (
    ODDS,
    Determination,
    Groups,
    determination,
    groups_of,
)
from duckdb_priv.publisher.check.examination import SAMPLE, Examination
from duckdb_priv.publisher.check.finding import (
    Columns,
    Finding,
    Severity,
    keep_from_readers,
    listed,
    percent,
)
from duckdb_priv.sqltext.quoting import literal

REFUSED = 1 / 3
"""The largest share of records whose sensitive value one or two columns may determine."""
GAIN = 0.1
"""A pair is a finding if it determines this share of the records more than either column alone."""
WARNED = 0.01
"""The share of determined records from which a warning is given."""
FEW, FLAG = 20, 20
"""A column of at most FLAG values is reported if it determines FEW records, whatever their share: a flag can reveal the
value of a few people."""
KINDS = ("determined", "determined_by_pair", "determined_by_three")
"""The names of the findings for one, two and three columns."""
NEARLY = 0.1
"""A third column is added only to pairs that determine at least this share of the records."""
COARSER = 0.95
"""A public column is a coarser form if the sensitive value determines it for at least this share of records."""
CELLS = 10_000_000
"""The most cells of all pairs of columns together: with many columns, the sample is smaller."""
PAIRS = 5_000
"""The most pairs that are examined. If there are more, the columns that determine most by themselves are paired."""
COUNTED = 5
"""The most suspicious sets that are counted in the whole table, the worst first."""


def public_columns_that_tell(exam: Examination) -> list[Finding]:
    """Return findings of public columns, pairs and triples that determine a sensitive column."""
    source = exam.source
    if not source.sensitive or not source.public:
        return []
    few = min(WARNED, FEW / max(exam.rows, 1))
    least = {
        name: few if exam.profiles[name].distinct <= FLAG else WARNED for name in source.public
    }
    suspects = _suspects(exam, [(name,) for name in source.public], SAMPLE, few)
    single = {
        key: _counted(exam, *key)
        for key, each in suspects.items()
        if each.share >= least[key[0][0]]
    }
    telling = {
        key: each for key, each in single.items() if each.evident and each.share >= least[key[0][0]]
    }
    findings = [_reported(exam, *key, each) for key, each in telling.items()]
    # A column that determines by itself does so in every pair, too.
    innocent = [
        name
        for name in source.public
        if not any(
            columns == (name,) and each.share >= REFUSED for (columns, _), each in telling.items()
        )
    ]
    shares = {key: each.share for key, each in single.items()}
    looked_at = _looked_at(innocent, suspects)
    if len(looked_at) < len(innocent):
        findings.append(_not_all_pairs(looked_at, innocent))
    pairs = list(combinations(looked_at, 2))
    findings += _sets_that_tell(exam, pairs, shares)
    nearly = {
        columns for (columns, _), share in shares.items() if len(columns) == 2 and share >= NEARLY
    }
    refused = {each.columns[:-1] for each in findings if each.severity == "blocker"}
    triples = {
        tuple(sorted({*pair, name}, key=source.public.index))
        for pair in nearly - refused
        for name in looked_at
        if name not in pair
    }
    findings += _sets_that_tell(exam, sorted(triples), shares)
    return findings


def _looked_at(
    columns: Sequence[str], suspects: Mapping[tuple[Columns, str], Determination]
) -> list[str]:
    """Return the columns whose pairs are examined, in their order: all, unless there are too many."""
    most = (1 + math.isqrt(1 + 8 * PAIRS)) // 2
    if len(columns) <= most:
        return list(columns)
    tells = dict.fromkeys(columns, 0.0)
    for ((name,), _), each in suspects.items():
        if name in tells:
            tells[name] = max(tells[name], each.share)
    chosen = set(sorted(columns, key=lambda name: -tells[name])[:most])
    return [name for name in columns if name in chosen]


def _not_all_pairs(looked_at: Sequence[str], columns: Sequence[str]) -> Finding:
    return Finding(
        "note",
        "too_many_columns",
        (),
        float(len(columns)),
        f"of {len(columns):,} public columns, pairs of {len(looked_at):,} were looked at, those that tell most by"
        " themselves: two others may tell a sensitive value together",
        "name the columns that your readers need by public := […]",
        "the number of columns",
    )


def _sets_that_tell(
    exam: Examination, sets: Sequence[Columns], shares: dict[tuple[Columns, str], float]
) -> list[Finding]:
    """Return findings of sets of columns that determine a sensitive one for more records than their subsets do.

    ``shares`` maps (columns, sensitive column) to the share of determined records; new counts are added to it.
    """
    found = []
    records = min(SAMPLE, CELLS // max(1, len(sets) * len(exam.source.sensitive)))
    suspects = _suspects(exam, sets, records, WARNED)
    for columns, other in sorted(suspects, key=lambda key: -suspects[key].share)[:COUNTED]:
        each = _counted(exam, columns, other)
        shares[columns, other] = each.share
        parts = [
            shares.get((part, other), 0.0)
            for size in range(1, len(columns))
            for part in combinations(columns, size)
        ]
        if each.evident and each.share >= GAIN + max(parts):
            found.append(_reported(exam, columns, other, each))
    return found


def coarser_forms(exam: Examination) -> list[Finding]:
    """Return findings of public columns that are a function of a sensitive one."""
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
                        "blocker",
                        "coarser_form",
                        (other, *given),
                        counted.share,
                        f"public column {other!r} follows from the sensitive {given[0]!r} in"
                        f" {percent(counted.share)} of the records: it is a coarser form of it, published in"
                        " clear, and rules out all values of another class",
                        keep_from_readers(
                            [other], f"the noise in {given[0]!r} hides only the rest"
                        ),
                        exam.basis(),
                    )
                )
    return found


def groups_of_one_value(exam: Examination) -> list[Finding]:
    """Return findings with the number of records whose public columns together determine a sensitive value."""
    source = exam.source
    findings = []
    for other in source.sensitive if len(source.public) > 1 else ():
        found = _counted(exam, source.public, other)
        if found.evident and found.share >= WARNED:
            findings.append(
                Finding(
                    "warning",
                    "groups_of_one_value",
                    (*source.public, other),
                    found.share,
                    f"{percent(found.share)} of the records agree in all public columns with others, which nearly all"
                    f" have their value of {other!r}. Someone who knows the table's habits knows it with a"
                    f" certainty of {percent(exam.certainty)} or more",
                    "make public columns coarser in a view, or exclude some",
                    exam.basis(),
                )
            )
    return findings


def _suspects(
    exam: Examination, given: Sequence[Columns], records: int, least: float
) -> dict[tuple[Columns, str], Determination]:
    """Return columns that determine a sensitive one beyond chance, for a share of at least ``least`` of the sample."""
    found = _in_sample(exam, given, exam.source.sensitive, records)
    return {key: each for key, each in found if each.evident and each.share >= least}


def _in_sample(
    exam: Examination, given: Sequence[Columns], others: Sequence[str], records: int
) -> Iterator[tuple[tuple[Columns, str], Determination]]:
    """Yield how far columns determine others in the sample, among records that are not unique in them."""
    for columns in given:
        key = reduce(and_, (exam.codes[name].first(records) for name in columns))
        for other in others:
            value, counts = exam.codes[other].first(records), exam.codes[other].counts
            groups = groups_of(key, value, counts, exam.certainty)
            if grouped := int((groups.sizes * groups.groups).sum()):
                yield (columns, other), determination(groups, counts, grouped, exam.certainty)


def _counted(exam: Examination, columns: Columns, other: str) -> Determination:
    """Return how far columns determine another one in the whole table."""
    groups = min(math.prod(max(1, exam.profiles[name].distinct) for name in columns), exam.rows)
    prior = exam.asked.values(other)
    query = exam.sql(
        "determined",
        counted=exam.asked.cells(columns, other, exam.rate(groups)),
        prior=prior,
        certainty=literal(exam.certainty),
        odds=literal(ODDS),
    )
    table = exam.workspace.integers(query)
    found = Groups(*(table[each] for each in ("size", "groups", "determined")))
    records = int((found.sizes * found.groups).sum())
    return determination(found, exam.workspace.integers(prior)["rows"], records, exam.certainty)


def _reported(exam: Examination, columns: Columns, other: str, found: Determination) -> Finding:
    severity: Severity = "blocker" if found.share >= REFUSED else "warning"
    who = "public column" if len(columns) == 1 else "the public columns"
    verb = "tells" if len(columns) == 1 else "together tell"
    share = percent(found.share)
    if found.share < WARNED:
        share = f"{round(found.share * exam.rows):,} of {exam.rows:,}"
    return Finding(
        severity,
        KINDS[len(columns) - 1],
        (*columns, other),
        found.share,
        f"{who} {listed(columns)} {verb} the sensitive {other!r} of {share} of the records with a"
        f" certainty of {percent(exam.certainty)} or more, whatever is done to {other!r}",
        keep_from_readers(columns, f"the noise in {other!r} hides nothing of these records"),
        exam.basis(),
    )


SHARED = 0.5
"""A column is similar if at least this share of its records has a value of the sensitive column."""
VALUES = 8
"""Both columns must have this many distinct texts: yes, no and unknown occur in unrelated columns."""
NUMBERED = re.compile(r"[\W_]*\d+(?=\W|_|$)")
"""A number in the name of a column."""


def siblings_of_sensitive_columns(exam: Examination) -> list[Finding]:
    """Return findings of public columns with the values of a sensitive one, or with its name except for a number."""
    found = []
    for sensitive in exam.source.sensitive:
        for public in exam.source.public:
            if reason := _similar_names(public, sensitive) or _shared_values(
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


def _similar_names(public: str, sensitive: str) -> tuple[float | None, str] | None:
    """Return a reason if two names differ only in a number; None otherwise.

    >>> _similar_names("diag_2", "diag_1") is not None, _similar_names("age", "diag_1") is not None
    (True, False)
    """
    stems = [NUMBERED.sub("", name).lower() for name in (public, sensitive)]
    numbered = any(NUMBERED.search(name) for name in (public, sensitive))
    if numbered and stems[0] and stems[0] == stems[1]:
        return None, "is called, but for a number, like the sensitive"
    return None


def _shared_values(exam: Examination, public: str, sensitive: str) -> tuple[float, str] | None:
    """Return the share of records whose public text is also a sensitive value, with a reason; None if it is small."""
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
