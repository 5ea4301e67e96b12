"""Audits a release: recomputes every guarantee from its stored operator and the current source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np

from duckdb_priv.engine.procedures import is_interrupt
from duckdb_priv.engine.source import Source, open_source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import PrivError
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.methods.common.cuts import as_published
from duckdb_priv.methods.common.findings import Audited, AuditRow, Subject, finding
from duckdb_priv.methods.register import METHODS, Method
from duckdb_priv.publisher.intact import find_present
from duckdb_priv.publisher.persons import Claims, audit_persons
from duckdb_priv.publisher.records import entering
from duckdb_priv.release import catalog
from duckdb_priv.release.arguments import read
from duckdb_priv.release.model import Guarantee, SensitiveAttribute
from duckdb_priv.release.request import ReleaseName, Roles
from duckdb_priv.sqltext.quoting import identifier, identifiers
from duckdb_priv.sqltext.templates import section


def audit(workspace: Workspace, given: Mapping[str, Any]) -> list[AuditRow]:
    """Return the verdict, then one row for each claim or remark."""
    findings = _findings(workspace, given)
    return [_verdict(findings), *findings]


def _verdict(findings: Sequence[AuditRow]) -> AuditRow:
    """Return one row that states whether all claims hold."""
    judged = [each for each in findings if each["holds"] is not None]
    broken = [each for each in judged if not each["holds"]]
    statement = (
        f"All {len(judged)} claims were checked and hold. The other rows are for information."
    )
    if broken:
        named = ", ".join(
            dict.fromkeys(
                each["guarantee"] + (f" of {each['attribute']}" if each["attribute"] else "")
                for each in broken
            )
        )
        statement = (
            f"{len(broken)} of {len(judged)} claims do not hold: {named}. Do not hand this release out: publish it"
            " again with replace := true, and audit that."
        )
    return finding(
        "verdict",
        statement,
        float(len(broken)),
        not broken,
        claims=len(judged),
        hold=len(judged) - len(broken),
        fail=len(broken),
    )


def _findings(workspace: Workspace, given: Mapping[str, Any]) -> list[AuditRow]:
    (arguments,) = read(given, ReleaseName, of="audit")
    release, _ = find_present(workspace, arguments.release)
    table = workspace.table(release)
    method = METHODS.named(catalog.release_row(workspace.cursor, release)["mechanism"])
    source = _source_as_it_is(workspace, release, method)
    stated = catalog.guarantees(workspace.cursor, release)
    whole = _claims(stated, None)
    if not method.sensitive:
        findings = method.audit(Audited(workspace, release, table, source, whole))
        return [*findings, *audit_persons(workspace, release, source, whole, {}, findings)]
    findings, claims = [], {}
    for attribute in catalog.sensitive_attributes(workspace.cursor, release):
        claims[attribute.name] = _claims(stated, attribute.name)
        findings += method.audit(
            Subject(workspace, release, table, source, claims[attribute.name], attribute)
        )
        findings += _ledger(workspace, attribute)
    findings += audit_persons(workspace, release, source, whole, claims, findings)
    return findings + _records(workspace, release)


def _claims(stated: Sequence[Guarantee], attribute: str | None) -> Claims:
    """Return the claims about an attribute, or about the whole release if it is None."""
    return {
        each.name: (each.value, dict(each.parameters))
        for each in stated
        if each.attribute == attribute
    }


def _source_as_it_is(workspace: Workspace, release: str, method: Method) -> Source | None:
    """Open the source again; None if it has changed."""
    last = last_of(workspace.cursor, release)
    # The record ids chose the published records of a person. Without ids the choice is unknown.
    limited = last.max_rows is not None and bool(last.record_id)
    person = last.person if limited or last.max_rows is None else ()
    roles = Roles(last.attributes if method.sensitive else (), last.record_id, person=person)
    try:
        opened = open_source(workspace, last.source, roles)
        most = last.max_rows if limited else None
        _, source = entering(workspace, opened, last.population, most)
        return as_published(workspace, source, release)
    except PrivError:
        return None
    except duckdb.Error as error:
        if is_interrupt(error):
            raise
        # An error aborts the transaction, in which nothing was written.
        workspace.cursor.execute("ROLLBACK; BEGIN TRANSACTION")
        return None


def _ledger(workspace: Workspace, attribute: SensitiveAttribute) -> list[AuditRow]:
    query = section("audits", "accumulated")
    ((total, publications, fresh),) = workspace.rows(query, [attribute.release, attribute.name])
    return [
        finding(
            "accumulated_epsilon",
            f"All {publications} publications of this attribute of the same records add up to this epsilon."
            if publications > 1
            else "This is the only publication of this attribute of its records.",
            None if total is None or np.isinf(total) else total,
            None,
            attribute.name,
            publications=publications,
            fresh=fresh,
        )
    ]


def _records(workspace: Workspace, release: str) -> list[AuditRow]:
    """Return how many records are unique in the public columns."""
    keyed = not last_of(workspace.cursor, release).fresh
    rows = [
        finding(
            "keyed_randomness",
            "Publishing the same records again with the same parameters gives the same values."
            if keyed
            else "The noise was fresh: each further publication of these records can be averaged with this one.",
            float(keyed),
        )
    ]
    columns = catalog.published_columns(workspace.cursor, release)
    public, scales = (
        [of.attribute for of in columns if of.role == role] for role in ("public", "scale")
    )
    several = any(
        form_of(each).scaled and not form_of(each).copied
        for each in catalog.sensitive_attributes(workspace.cursor, release)
    )
    if public:
        records = f"sum({identifier(scales[0])})" if scales and several else "count(*)"
        query = section(
            "audits",
            "unique_rows",
            records=records,
            table=workspace.table(release),
            columns=identifiers(public),
        )
        ((_, alone),) = workspace.rows(query)
        rows.append(
            finding(
                "singletons",
                "Share of records with unique public attributes: such a person is seen to be in the table.",
                alone,
            )
        )
    return rows
