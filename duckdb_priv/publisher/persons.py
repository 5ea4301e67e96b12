"""The guarantee for a person, who may have several sensitive values and several records.

The noise of values and records is independent, so the guarantees of all of them compose (``mechanism/composition.md``).
A guarantee without an epsilon holds for single records only, and its statement says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.mechanism.composition import EpsilonDelta, of_group
from duckdb_priv.methods.common.findings import TOLERANCE, AuditRow, finding
from duckdb_priv.methods.register import Method
from duckdb_priv.release import catalog
from duckdb_priv.release.model import Guarantee
from duckdb_priv.release.promise import NOTHING, VALUE, factor, of_person, weak
from duckdb_priv.release.promise import PERSON as WEAK
from duckdb_priv.release.request import Request
from duckdb_priv.sqltext.quoting import identifiers
from duckdb_priv.sqltext.templates import section

RECORDS = "records_of_a_person"
"""The guarantee that states how many records a person has."""
OF_VALUE = "local_differential_privacy"
"""The guarantee for one noisy value."""
SHUFFLE = "shuffle_privacy"
OF_A_RECORD = (OF_VALUE, "differential_privacy", SHUFFLE)
"""The guarantees that compose: for one value, for a record, and for all values of a shuffled record."""
PERSON = "privacy_of_a_person"
"""The composed guarantee for a person."""


def check_request(method: Method, request: Request, *, extends: bool) -> None:
    """Refuse a request whose guarantee would not hold for a person.

    Raises InvalidParameter if a person column is named, the method hides which records exist, and ``max_rows`` is
    missing. Also raises it if ``max_rows`` is given while records are added to a release: a person may have some there
    already.
    """
    if method.whole_records and request.person and request.max_rows is None:
        raise InvalidParameter(
            f"publish_{method.name} hides which records are there, so it cannot publish the most records of a"
            " person",
            hint="write max_rows := 3, the most records of one person that may enter",
        )
    if extends and request.max_rows is not None:
        raise InvalidParameter(
            "max_rows cannot be kept where records are appended: a person may have some in the release already",
            hint="append without max_rows, or publish a release of its own",
        )


def earlier_records(workspace: Workspace, release: str, request: Request) -> int:
    """Return the most records that a person may have in an extended release.

    Raises InvalidParameter if only one of the two publications names a person column.
    """
    stated = stated_records(workspace, release)
    if (stated is not None) != bool(request.person):
        raise InvalidParameter(
            f"release {release!r} was published {'without' if stated is None else 'with'} person",
            hint="append as the release was published",
        )
    return stated or 0


def stated_records(workspace: Workspace, release: str) -> int | None:
    """Return the most records that a person has in a release; None if it was published without person."""
    stated = catalog.guarantees(workspace.cursor, release)
    return next((int(each.value or 0) for each in stated if each.name == RECORDS), None)


def guarantees_of_persons(plan: Plan, source: Source, earlier: int = 0) -> list[Guarantee]:
    """Return the guarantees for a person, over all sensitive columns and all records.

    Without a person column, each record counts as one person, and no guarantee for a single value is stated.
    ``earlier`` is the number of records that a person may have in an extended release.
    """
    known = source.rows_of_person is not None
    most = earlier + (source.rows_of_person or 0) if known else 1
    counted = Guarantee(
        RECORDS,
        f"A person has at most {most} record{'s' if most > 1 else ''} here.",
        value=most,
    )
    if known:
        return [counted, _together(plan, most, known=True)]
    composed = len(plan.ledger) > 1 and all(each.epsilon is not None for each in plan.ledger)
    return [_together(plan, most, known=False)] if composed else []


def _of_a_record(name: str, parts: Sequence[EpsilonDelta]) -> EpsilonDelta:
    """Return the guarantee for all values of a record: the sum, or for a shuffle the largest part."""
    if name == SHUFFLE:
        return max(parts, key=lambda part: (part.epsilon, part.delta))
    return EpsilonDelta(
        sum(part.epsilon for part in parts), min(1.0, sum(part.delta for part in parts))
    )


def _promised(plan: Plan) -> str:
    """Return the name of the guarantee whose epsilon is in the ledger."""
    stated = {
        each.name
        for each in plan.guarantees
        if each.value == plan.ledger[0].epsilon and each.name in OF_A_RECORD
    }
    return min(stated, key=OF_A_RECORD.index, default=OF_A_RECORD[0])


def _together(plan: Plan, records: int, *, known: bool) -> Guarantee:
    whole = plan.ledger[0].attribute == "*"
    of = " and ".join(each.attribute for each in plan.ledger)
    name = _promised(plan)
    parts = [
        EpsilonDelta(math.inf if each.epsilon is None else each.epsilon, each.delta)
        for each in plan.ledger
    ]
    record = _of_a_record(name, parts)
    if math.isinf(record.epsilon):
        return Guarantee(
            PERSON,
            f"The promise about {of} holds for one record. It does not add up for a person with several records:"
            " someone"
            f" who knows which are theirs sees up to {records} draws, and is the more certain of a value that they"
            " share.",
            parameters={"records": records},
        )
    total = of_group(record, records)
    statement = (
        "Whether all records of a person are in the source or not changes the probability of what is published by a"
        f" factor of {factor(total.epsilon)} (epsilon = {records} x {record.epsilon:.4g} = {total.epsilon:.4g}), but"
        f" for delta = {total.delta:.3g}.{weak(total.epsilon, WEAK)}"
        if whole
        else of_person(
            total.epsilon,
            total.delta,
            records,
            len(plan.ledger),
            known=known,
            to=" for someone who does not know which row is whose" if name == SHUFFLE else "",
        )
    )
    return Guarantee(
        PERSON,
        statement,
        value=total.epsilon,
        parameters={
            "records": records,
            "epsilon": record.epsilon,
            "delta": total.delta,
            "guarantee": name,
        },
    )


def warnings_of_nothing(plan: Plan, guarantees: Sequence[Guarantee]) -> list[str]:
    """Return warnings about guarantees that promise next to nothing, and how to strengthen them."""
    found = [
        f"epsilon = {each.epsilon:.4g} from one noisy value of {each.attribute!r} alone {NOTHING}: publish with"
        " epsilon := 2, or a smaller retention"
        for each in plan.ledger
        if each.attribute != "*" and (each.epsilon or 0) > VALUE
    ]
    for each in guarantees:
        if each.name == PERSON and (each.value or 0) > WEAK:
            records = each.parameters["records"]
            found.append(
                f"epsilon = {each.value:.4g} for all that is published of one person {NOTHING}: publish fewer sensitive"
                " columns, a smaller epsilon for each"
                + (f", or max_rows below {records}" if records > 1 else "")
            )
    return found


def warnings_of_persons(source: Source, request: Request) -> list[str]:
    """Return a warning if the guarantee itself reveals how many records a person has."""
    if not request.person or request.max_rows is not None or source.rows_of_person == 1:
        return []
    return [
        f"that some person has {source.rows_of_person} records, and none has more, is published in the guarantee;"
        " max_rows := k publishes k of each at most, and says k"
    ]


Claims = Mapping[str, tuple[float | None, dict[str, Any]]]
"""By guarantee: its value and parameters in the catalog."""


def audit_persons(
    workspace: Workspace,
    release: str,
    source: Source | None,
    whole: Claims,
    attributes: Mapping[str, Claims],
    found: Sequence[AuditRow],
) -> list[AuditRow]:
    """Recount the records of a person, and recompose the guarantee for a person.

    ``whole`` and ``attributes`` are the claims about the release and about each attribute. ``found`` has what the audit
    recomputed for records. If the source has changed, the claimed number of records is used.
    """
    if PERSON not in whole:
        return []
    most, _ = whole.get(RECORDS, (1, {}))
    rows = []
    if RECORDS in whole and source is not None and source.person:
        query = section(
            "audits", "records_of_persons", source=source.table, person=identifiers(source.person)
        )
        ((counted, records),) = workspace.rows(query)
        published = last_of(workspace.cursor, release).records
        rows.append(
            finding(
                RECORDS,
                "The most records that a person has in the source, among those that are published.",
                float(counted),
                counted <= (most or 0) if records == published else None,
                claimed=most,
            )
        )
        if records == published:
            most = counted
    return [*rows, *_composed(whole, attributes, found, int(most or 1))]


def _composed(
    whole: Claims, attributes: Mapping[str, Claims], found: Sequence[AuditRow], records: int
) -> list[AuditRow]:
    """Compose the larger of claimed and recomputed epsilon over all columns and records."""
    claimed, together = whole[PERSON]
    if claimed is None:
        return []
    parts: list[tuple[str | None, Claims]] = [*attributes.items()] or [(None, whole)]
    name = together["guarantee"]
    record = _of_a_record(
        name, [_of_an_attribute(name, attribute, claims, found) for attribute, claims in parts]
    )
    total = of_group(record, records)
    return [
        finding(
            PERSON,
            "The promises about each value of a record, or the audit's findings, composed over all sensitive columns"
            f" and all records of a person.{weak(total.epsilon, WEAK)}",
            total.epsilon,
            total.epsilon <= claimed * (1 + TOLERANCE)
            and total.delta <= together["delta"] * (1 + TOLERANCE),
            claimed=claimed,
            records=records,
            epsilon=record.epsilon,
            delta=total.delta,
        )
    ]


def _of_an_attribute(
    name: str, attribute: str | None, claims: Claims, found: Sequence[AuditRow]
) -> EpsilonDelta:
    """Return the larger of the claimed and the recomputed loss for one attribute of a record."""
    if name not in claims:
        return EpsilonDelta(math.inf)
    promised, parameters = claims[name]
    delta = parameters.get("delta", 0.0)
    values = [
        row["value"] for row in found if (row["guarantee"], row["attribute"]) == (name, attribute)
    ]
    known = [float(value) for value in values if value is not None]
    if name == SHUFFLE:
        # For a shuffle, the audit recomputes the delta at the stated epsilon.
        return EpsilonDelta(promised or 0.0, max([delta, *known]))
    return EpsilonDelta(max([promised or 0.0, *known]), delta)
