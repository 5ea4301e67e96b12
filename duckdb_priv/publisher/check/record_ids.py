"""Checks record ids: missing ids, shared ids, and people with several records."""

from __future__ import annotations

from collections.abc import Sequence

from duckdb_priv.publisher.check.examination import Examination
from duckdb_priv.publisher.check.finding import Finding, listed
from duckdb_priv.publisher.check.names import named_like_an_identifier
from duckdb_priv.sqltext.quoting import identifier, identifiers


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
