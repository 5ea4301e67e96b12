"""What a publication promises to a person, who may have several records, beside what it promises to each of them.

The coins of records are independent, so a person of n records is promised what composition leaves of n of them
(``mechanism/composition.md``); what has no epsilon is promised record by record only, and the guarantee says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.composition import EpsilonDelta, exp, of_group
from duckdb_priv.methods.common.findings import TOLERANCE, AuditRow, finding
from duckdb_priv.methods.register import Method
from duckdb_priv.release.model import Guarantee
from duckdb_priv.release.request import Request
from duckdb_priv.sqltext.quoting import identifiers

RECORDS = "records_of_a_person"
"""The guarantee that says how many records a person has."""
OF_A_RECORD = ("local_differential_privacy", "differential_privacy")
"""The guarantees of a record that are composed."""
PERSON = "privacy_of_a_person"
"""The guarantee that says what they are promised together."""


def check_request(method: Method, request: Request, *, extends: bool) -> None:
    """Refuse what would not hold for a person.

    Raises InvalidParameter where ``max_rows`` is missing though nothing of the source may show, and where it is given
    though records are added to a release, in which a person may have some already.
    """
    if method.whole_records and request.person and request.max_rows is None:
        raise InvalidParameter(
            f"publish_{method.name} hides which records are there, so the most records of a person cannot be counted"
            " and told",
            hint="write max_rows := 3, the most records of one person that may enter",
        )
    if extends and request.max_rows is not None:
        raise InvalidParameter(
            "max_rows cannot be kept where records are appended: a person may have some in the release already",
            hint="append without max_rows, or publish a release of its own",
        )


def earlier_records(workspace: Workspace, release: str, request: Request) -> int:
    """Return how many records a person may have in a release that is extended.

    Raises InvalidParameter where persons are told now and were not before, or the other way round.
    """
    rows = workspace.rows(
        "SELECT value::BIGINT FROM priv.guarantee WHERE release = ? AND guarantee = ?",
        [release, RECORDS],
    )
    if bool(rows) != bool(request.person):
        raise InvalidParameter(
            f"release {release!r} was published {'with' if rows else 'without'} person",
            hint="append as the release was published",
        )
    return int(rows[0][0]) if rows else 0


def guarantees_of_persons(plan: Plan, source: Source, earlier: int = 0) -> list[Guarantee]:
    """State what persons are promised of a release of a source; nothing where they are not told.

    ``earlier`` is how many records a person may have in a release that is extended.
    """
    if source.rows_of_person is None:
        return []
    most = earlier + source.rows_of_person
    return [
        Guarantee(
            RECORDS,
            f"A person has at most {most} records here. What is promised of a record is promised of each of them by"
            " itself.",
            value=most,
        ),
        *(
            _together(
                None if entry.attribute == "*" else entry.attribute,
                entry.epsilon,
                entry.delta,
                most,
            )
            for entry in plan.ledger
        ),
    ]


def _together(
    attribute: str | None, epsilon: float | None, delta: float, records: int
) -> Guarantee:
    of = f" of {attribute}" if attribute else ""
    if epsilon is None or math.isinf(epsilon):
        return Guarantee(
            PERSON,
            f"What is promised{of} holds for one record. It does not add up for a person of several: who knows which"
            f" records are a person's sees up to {records} draws, and believes a value that they share the more.",
            attribute=attribute,
            parameters={"records": records},
        )
    total = of_group(EpsilonDelta(epsilon, delta), records)
    what = (
        f"All records of a person together change the odds between two true values{of}, or two lists of them,"
        if attribute
        else "Whether all records of a person are in the source or not changes the probability of what is published"
    )
    return Guarantee(
        PERSON,
        f"{what} by a factor of at most {exp(total.epsilon):.4g} (epsilon = {records} x {epsilon:.4g} ="
        f" {total.epsilon:.4g})" + (f", but for delta = {total.delta:.3g}." if delta else "."),
        value=total.epsilon,
        attribute=attribute,
        parameters={"records": records, "epsilon": epsilon, "delta": total.delta},
    )


def warnings_of_persons(source: Source, request: Request) -> list[str]:
    """Say what the guarantee itself gives away."""
    if not request.person or request.max_rows is not None:
        return []
    return [
        f"that some person has {source.rows_of_person} records, and none has more, is published in the guarantee;"
        " max_rows := k publishes k of each at most, and says k"
    ]


Claims = Mapping[str, tuple[float | None, dict[str, Any]]]
"""By guarantee: the value and the parameters that the catalog states."""


def audit_persons(
    workspace: Workspace,
    release: str,
    source: Source | None,
    whole: Claims,
    attributes: Mapping[str, Claims],
    found: Sequence[AuditRow],
) -> list[AuditRow]:
    """Count the records of a person again, and compose anew what each of them is promised.

    ``whole`` and ``attributes`` are what the release claims of itself and of each attribute, ``found`` what the audit
    of its records has recomputed. Where the source is not what it was, the records are as many as claimed.
    """
    if RECORDS not in whole:
        return []
    most, _ = whole[RECORDS]
    rows = []
    if source is not None and source.person:
        counted, records = workspace.rows(
            f"SELECT max(records), sum(records) FROM (SELECT count(*) AS records FROM {source.table}"
            f" GROUP BY {identifiers(source.person)})"
        )[0]
        (published,) = workspace.rows(
            "SELECT arg_max(records, number) FROM priv.ledger WHERE release = ?", [release]
        )[0]
        rows.append(
            finding(
                RECORDS,
                "The most records that a person has in the source, among those that enter.",
                float(counted),
                counted <= (most or 0) if records == published else None,
                claimed=most,
            )
        )
        if records == published:
            most = counted
    for attribute, claims in [(None, whole), *attributes.items()]:
        rows += _composed(attribute, claims, found, int(most or 0))
    return rows


def _composed(
    attribute: str | None, claims: Claims, found: Sequence[AuditRow], records: int
) -> list[AuditRow]:
    """Compose what a record is promised, or what was found of it if that is more, as often as a person has records."""
    claimed, together = claims.get(PERSON, (None, {}))
    name = next((name for name in OF_A_RECORD if name in claims), None)
    if claimed is None or name is None:
        return []
    promised, parameters = claims[name]
    epsilon = max(
        float(value)
        for value in (
            promised,
            *(
                row["value"]
                for row in found
                if (row["guarantee"], row["attribute"]) == (name, attribute)
            ),
        )
        if value is not None
    )
    total = of_group(EpsilonDelta(epsilon, parameters.get("delta", 0.0)), records)
    return [
        finding(
            PERSON,
            "What is promised of a record, or was found of it, composed over all records of a person.",
            total.epsilon,
            total.epsilon <= claimed * (1 + TOLERANCE)
            and total.delta <= together["delta"] * (1 + TOLERANCE),
            attribute,
            claimed=claimed,
            records=records,
            epsilon=epsilon,
            delta=total.delta,
        )
    ]
