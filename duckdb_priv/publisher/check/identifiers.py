"""Checks record ids and ids of people, and finds public columns that identify people.

Such columns are ids, texts with numbers and names, exact times, and combinations of columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from duckdb_priv.engine.source import is_one_of
from duckdb_priv.publisher.check.examination import (
    MANY,
    SAMPLE,
    TEXTS,
    Distinctness,
    Examination,
    named_like_an_identifier,
)
from duckdb_priv.publisher.check.finding import (
    Columns,
    Finding,
    Severity,
    keep_from_readers,
    listed,
    percent,
)
from duckdb_priv.sqltext.quoting import identifier, identifiers, literal

ENOUGH = 100
"""From this many records on, all-distinct values are no accident. By the birthday bound there are then at least 100
squared / (2 ln 1e6), some 360, values of about equal probability."""
REFUSED = 0.5
"""The largest share of records that may have a unique value in one public column."""
WARNED = 0.1
"""The share of unique records from which a warning is given."""
FEW = 20
"""A column named like an identifier counts as one if a value has fewer records than this on average."""
WARNED_UNIQUE = 0.05
"""The share of records with unique public columns from which a warning is given."""
PART_OF_UNIQUE = 0.5
"""A set of columns is a cause if it makes at least this share of these records unique."""
MOST_COLUMNS = 8
"""The most columns that sets are made of: those with the most values."""
SETS_KEPT = 3
"""The most sets of each size that are extended: those that make the most records unique."""
LARGEST_SET = 4
"""The most columns in a set."""


def identifiers_among(exam: Examination) -> list[Finding]:
    """Return findings of public columns in which a value belongs to one record, or to few."""
    found = []
    for name in exam.source.public:
        profile = exam.profiles[name]
        if profile.distinct < max(2, MANY * profile.present):
            continue
        seen = exam.distinctness([name], profile.distinct)
        if each := _judged(exam, name, seen):
            found.append(each)
    return found


def _judged(exam: Examination, name: str, seen: Distinctness) -> Finding | None:
    present, enough = exam.profiles[name].present, exam.profiles[name].present >= ENOUGH
    severity: Severity = "blocker" if enough else "note"
    figure = seen.alone
    if seen.most == 1 and present > 1:
        kind, what = "unique", f"public column {name!r} differs in every row: it identifies people"
    elif (
        enough and named_like_an_identifier(name) and seen.per_value < FEW and seen.alone < REFUSED
    ):
        kind, figure = "repeated_identifier", seen.per_value
        what = (
            f"public column {name!r} is called like an identifier, and a value of it belongs to"
            f" {seen.per_value:.1f} records on average"
        )
    elif enough and seen.alone >= WARNED:
        kind, severity = "nearly_unique", "blocker" if seen.alone >= REFUSED else "warning"
        what = (
            f"{percent(seen.alone)} of the records have a value of public column {name!r} that no"
            " other record has"
        )
    else:
        return None
    return Finding(
        severity,
        kind,
        (name,),
        figure,
        f"{what}: someone who knows the value of a person finds the record",
        f"name {name!r} as record_id or person if it is one; else "
        + keep_from_readers([name], "it finds the record of a person"),
        exam.basis(seen.rate),
    )


MATCHED = 0.5
"""The share of a column's texts that must match a pattern."""
PATTERNS = {
    "email": "e-mail addresses",
    "telephone": "telephone numbers",
    "social_security_number": "social security numbers",
    "iban": "bank accounts",
    "uuid": "identifiers (UUID)",
    "network_address": "network addresses",
    "web_address": "web addresses",
    "free_text": "sentences, which can say anything about anyone",
}
"""By column of patterns.sql: what its pattern finds."""
VARIED = 0.1
"""The least share of distinct texts: texts that repeat more often are labels, whatever their form."""
TIMES = ("TIMESTAMP", "DATETIME")


def telling_texts(exam: Examination) -> list[Finding]:
    """Return findings of public texts that name or describe people, by pattern."""
    source = exam.source
    columns = [name for name in source.public if is_one_of(source.types[name], "VARCHAR")]
    if not columns:
        return []
    rows = exam.query(
        "patterns",
        texts=", ".join(map(identifier, columns)),
        sample=exam.sample,
        sampling=exam.sampling(TEXTS, among=min(exam.rows, SAMPLE)),
    )
    found = []
    for number, texts, distinct, *matching in rows:
        name = columns[number]
        for kind, matched in zip(PATTERNS, matching, strict=True):
            share = (matched or 0) / texts
            if share >= MATCHED and distinct >= VARIED * texts:
                found.append(
                    Finding(
                        "blocker",
                        kind,
                        (name,),
                        share,
                        f"public column {name!r} holds {PATTERNS[kind]}: {percent(share)} of its texts look like it",
                        keep_from_readers([name], "it names or describes people"),
                        f"the texts of {'all' if exam.rows <= TEXTS else f'about {TEXTS:,}'} records",
                    )
                )
                break
    return found


def exact_times(exam: Examination) -> list[Finding]:
    """Return findings of public columns with a time of day in addition to the date."""
    source = exam.source
    columns = [name for name in source.public if is_one_of(source.types[name], *TIMES)]
    if not columns:
        return []
    shares = ", ".join(
        f"avg((date_trunc('day', {identifier(name)}) <> {identifier(name)})::INTEGER)"
        for name in columns
    )
    rows = exam.query("times", shares=shares, sample=exam.sample)
    return [
        Finding(
            "warning",
            "exact_time",
            (name,),
            share,
            f"public column {name!r} says when something happened to the minute or better, in {percent(share)} of the"
            " records: who was there at that time finds the record",
            f"round it in a view: date_trunc({literal('month')}, {identifier(name)})",
            exam.sampled,
        )
        for name, share in zip(columns, rows[0], strict=True)
        if share is not None and share >= MATCHED
    ]


def unique_in_public_columns(exam: Examination) -> list[Finding]:
    """Return findings with the number of records that are unique in their public columns."""
    public = exam.source.public
    if not public or exam.rows < 2:
        return []
    share = _alone(exam, public)
    if not share:
        return []
    findings = [
        Finding(
            "warning" if share >= WARNED_UNIQUE else "note",
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
    return exam.distinctness(columns, min(_combinations(exam, columns), exam.rows)).alone


def _causes(exam: Examination, share: float) -> list[tuple[Columns, float]]:
    """Return the smallest sets of public columns that make at least PART_OF_UNIQUE of these records unique."""
    names = sorted(exam.source.public, key=lambda name: -exam.profiles[name].distinct)[
        :MOST_COLUMNS
    ]
    candidates: list[Columns] = [(name,) for name in names]
    for size in range(1, min(LARGEST_SET, len(names)) + 1):
        # With fewer combinations of values than these records, the records cannot all be unique.
        possible = [
            columns
            for columns in candidates
            if _combinations(exam, columns) >= PART_OF_UNIQUE * share * exam.rows
        ]
        seen = [(columns, _alone(exam, columns)) for columns in possible]
        best = sorted(seen, key=lambda each: -each[1])[:SETS_KEPT]
        if found := [each for each in best if each[1] >= PART_OF_UNIQUE * share]:
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


def _combinations(exam: Examination, columns: Sequence[str]) -> int:
    return math.prod(exam.profiles[name].distinct + 1 for name in columns)


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
        f"{exam.basis(exam.rate(exam.rows))}; sets of up to {LARGEST_SET} of the {MOST_COLUMNS} columns with the most"
        " values",
    )


def missing_record_id() -> list[Finding]:
    """Return a finding that states the cost of publishing without a record id."""
    return [
        Finding(
            "warning",
            "no_record_id",
            (),
            None,
            "no record id is named: each publication draws new noise, so several of the same records can be averaged,"
            " and the ledger adds them up",
            "name record_id := the column, or the columns, that identify a record",
            "the arguments",
        )
    ]


def unusable_record_ids(exam: Examination, record_id: Sequence[str]) -> list[Finding]:
    """Return findings with the number of records without a unique id."""
    missing, repeated = exam.query(
        "ids",
        columns=identifiers(record_id),
        present=" AND ".join(f"{identifier(name)} IS NOT NULL" for name in record_id),
    )[0]
    columns = tuple(record_id)
    found = []
    if missing:
        found.append(
            Finding(
                "blocker",
                "missing_ids",
                columns,
                float(missing),
                f"{missing:,} of {exam.rows:,} records have no {listed(record_id)}",
                "give every record an id, leave those records out in a view, or publish without record_id",
                exam.basis(),
            )
        )
    if repeated:
        found.append(
            Finding(
                "blocker",
                "repeated_ids",
                columns,
                float(repeated),
                f"{repeated:,} of {exam.rows:,} records have the same {listed(record_id)} as another one",
                "name all columns that identify a record; if the column names a person, it is the person",
                exam.basis(),
            )
        )
    return found


def similar_record_ids(exam: Examination, record_id: Sequence[str]) -> list[Finding]:
    """Return findings with the number of ids that differ from another only in case, blanks or leading zeros."""
    texts = [name for name in record_id if exam.source.types[name] == "VARCHAR"]
    if not texts:
        return []
    rate = exam.rate(exam.rows)
    similar = exam.asked.similar_ids(record_id, texts, rate)
    if not similar:
        return []
    number = f"{similar:,}" if rate == 1 else f"about {rate * similar:,}"
    return [
        Finding(
            "warning",
            "similar_ids",
            tuple(record_id),
            float(rate * similar),
            f"{number} values of {listed(record_id)} differ from another one in upper and lower case, blanks or leading"
            " zeros only, and count as other records",
            "if they are the same record, write its id in one way in a view",
            exam.basis(rate),
        )
    ]


FEWEST, MOST = 1.02, 50.0
"""A column may identify people if the average number of records of a value is between these."""
ROUGHLY = 1.5
"""The factor by which an approximate distinct count may be wrong, in any engine."""


def several_records_per_person(exam: Examination) -> list[Finding]:
    """Return findings of columns, published or not, that identify people with several records.

    If the publisher names the person column, ``records_of_persons`` checks it instead.
    """
    source = exam.source
    if source.person:
        return []
    found = []
    for name in source.types:
        # A record id was checked already: it belongs to one record.
        known = name in source.sensitive or source.record_id == (name,)
        if known or not named_like_an_identifier(name):
            continue
        profile = exam.profiles[name]
        about = profile.present / max(1, profile.distinct)
        # The approximate count only rules out clear cases; the exact count below decides.
        if not FEWEST / ROUGHLY <= about <= ROUGHLY * MOST:
            continue
        seen = exam.distinctness([name], profile.distinct)
        if seen.most > 1 and FEWEST <= seen.per_value <= MOST:
            found.append(
                Finding(
                    "warning",
                    "several_records_per_person",
                    (name,),
                    seen.per_value,
                    f"{name!r} has {seen.per_value:.3g} records a value on average and {seen.most} at most: if it"
                    " names people, a promise about a record holds for a person once for each of these",
                    f"name person := {name!r}, with max_rows for the most records of a person that are published",
                    exam.basis(seen.rate),
                )
            )
    return found


def records_of_persons(exam: Examination) -> list[Finding]:
    """Return findings with the number of records of each person, and of records without a person."""
    person = exam.source.person
    if not person:
        return []
    missing, persons, most = exam.asked.persons()
    found = [
        Finding(
            "note",
            "records_of_persons",
            person,
            float(most),
            f"{persons:,} people have {(exam.rows - missing) / max(1, persons):.3g} records each on average and {most}"
            " at most: what is promised of a record is promised of a person so many times over",
            "max_rows := k publishes at most k records of each",
            exam.basis(),
        )
    ]
    if missing:
        found.append(
            Finding(
                "blocker",
                "missing_persons",
                person,
                float(missing),
                f"{missing:,} of {exam.rows:,} records have no {listed(person)}",
                "say whose records they are, or leave them out in a view",
                exam.basis(),
            )
        )
    return found
