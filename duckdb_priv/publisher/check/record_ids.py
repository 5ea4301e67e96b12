"""Record ids that are missing or shared: such records would share their noise."""

from __future__ import annotations

from collections.abc import Sequence

from duckdb_priv.publisher.check.examination import Examination
from duckdb_priv.publisher.check.finding import Finding, listed
from duckdb_priv.sqltext.quoting import identifier, identifiers


def missing_record_id() -> list[Finding]:
    """Say what a publication without a record id costs."""
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
