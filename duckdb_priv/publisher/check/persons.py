"""Several records of one person: what is promised of a record is then promised several times."""

from __future__ import annotations

from duckdb_priv.publisher.check.examination import Examination
from duckdb_priv.publisher.check.finding import Finding, listed
from duckdb_priv.publisher.check.names import named_like_an_identifier

FEWEST, MOST = 1.02, 50.0
"""Records of a person, on average, between which a column is taken for one that identifies people."""
ROUGHLY = 1.5
"""By which factor an approximate number of values may be wrong, in any engine."""


def several_records_per_person(exam: Examination) -> list[Finding]:
    """Find columns that identify people with several records, also among those that are not published.

    Where the publisher names the column, ``records_of_persons`` looks at it.
    """
    source = exam.source
    if source.person:
        return []
    found = []
    for name in source.types:
        # A record id has been counted: it belongs to one record.
        known = name in source.sensitive or source.record_id == (name,)
        if known or not named_like_an_identifier(name):
            continue
        profile = exam.profiles[name]
        about = profile.present / max(1, profile.distinct)
        # An approximate count leaves out only what is far away; the exact one below decides.
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
    """Count the records of the people that the publisher names, and those without a person."""
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
            f"{persons:,} persons have {(exam.rows - missing) / max(1, persons):.3g} records each on average and {most}"
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
