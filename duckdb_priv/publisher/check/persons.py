"""Several records of one person: what is promised of a record is then promised several times."""

from __future__ import annotations

from duckdb_priv.publisher.check.examination import Examination
from duckdb_priv.publisher.check.finding import Finding
from duckdb_priv.publisher.check.identifiers import named_like_an_identifier

FEWEST, MOST = 1.02, 50.0
"""Records of a person, on average, between which a column is taken for one that tells persons apart."""


def several_records_per_person(exam: Examination) -> list[Finding]:
    """Find columns that name persons who have several records, also among those that are not published."""
    source = exam.source
    found = []
    for name in source.types:
        profile = exam.profiles[name]
        if name in source.sensitive or not named_like_an_identifier(name):
            continue
        if not FEWEST <= profile.present / max(1, profile.distinct) <= MOST:
            continue
        seen = exam.distinctness([name], profile.distinct)
        if seen.most > 1 and FEWEST <= seen.per_value <= MOST:
            found.append(
                Finding(
                    "warn",
                    "several_records_per_person",
                    (name,),
                    seen.per_value,
                    f"{name!r} has {seen.per_value:.3g} records a value on average and {seen.most} at most: if it"
                    " names persons, what is promised of a record is promised of a person so many times over",
                    f"name person := {name!r}, with max_rows for the most records of a person that are published",
                    exam.basis(seen.rate),
                )
            )
    return found
