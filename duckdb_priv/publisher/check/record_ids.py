"""Record ids that are missing or shared, or look like another one: records with the same id share their noise."""

from __future__ import annotations

from collections.abc import Sequence

from duckdb_priv.publisher.check.examination import Examination
from duckdb_priv.publisher.check.finding import Finding, listed
from duckdb_priv.sqltext.quoting import identifier, identifiers


def missing_record_id() -> list[Finding]:
    """Return what a publication without a record id costs."""
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
    """Count records without an id of their own."""
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
    """Count ids that differ from another one in upper and lower case, blanks or leading zeros only."""
    types, ids = exam.source.types, [identifier(name) for name in record_id]
    texts = [identifier(name) for name in record_id if types[name] == "VARCHAR"]
    if not texts or exam.source.answers is not None:
        return []
    rate = exam.rate(exam.rows)
    bare = ", ".join(f"replace(replace(lower({text}), ' ', ''), '0', '')" for text in texts)
    rests = [_rest(each) if each in texts else each for each in ids]
    ((similar,),) = exam.query(
        "similar_ids",
        columns=", ".join(ids),
        rest=f"({', '.join(rests)})",
        among=f"hash({bare}) % {rate} = 0" if rate > 1 else "true",
    )
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


def _rest(text: str) -> str:
    """Write what is left of an id without its case, its blanks and the leading zeros of its numbers."""
    bare = rf"regexp_replace(lower({text}), '\s', '', 'g')"
    return rf"regexp_replace({bare}, '(^|[^0-9])0+([0-9])', '\1\2', 'g')"
