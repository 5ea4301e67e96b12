"""Every guarantee of a release, recomputed from its operator as stored and from the source as it is now."""

from __future__ import annotations

import json
from collections.abc import Callable

import duckdb
import numpy as np

from duckdb_priv import catalog
from duckdb_priv.audits.anatomy import audit_anatomy
from duckdb_priv.audits.distribution import audit_distribution
from duckdb_priv.audits.fine_grain import audit_fine_grain
from duckdb_priv.audits.matrix import audit_matrix
from duckdb_priv.audits.reconstruction_private import audit_reconstruction_private
from duckdb_priv.audits.safe_k import audit_safe_k
from duckdb_priv.audits.splu import audit_splu
from duckdb_priv.audits.subject import Finding, Subject, finding
from duckdb_priv.audits.uniform import audit_uniform
from duckdb_priv.errors import PrivError
from duckdb_priv.parameters import Request, SensitiveAttribute
from duckdb_priv.procedures import Call, procedure
from duckdb_priv.publish import SCHEMA
from duckdb_priv.source import Source, open_source
from duckdb_priv.sqlfiles import identifier

AUDITS: dict[str, Callable[[Subject], list[Finding]]] = {
    "uniform": audit_uniform,
    "fine_grain": audit_fine_grain,
    "matrix": audit_matrix,
    "splu": audit_splu,
    "reconstruction_private": audit_reconstruction_private,
    "anatomy": audit_anatomy,
    "distribution": audit_distribution,
}
"""By mechanism: what recomputes its claims for one sensitive attribute."""
RELEASE_AUDITS: dict[str, Callable[[Call, str, str], list[Finding]]] = {
    "safe_k": audit_safe_k,
}
"""By mechanism that treats every column alike: what recomputes its claims, from a call, a release and its table."""


@procedure
def audit(call: Call) -> list[Finding]:
    """Audit a release: one row for each thing that was claimed, or that is to be known."""
    release = catalog.find_release(call.cursor, call.arguments["release"])
    table = f"{identifier(call.database)}.{SCHEMA}.{identifier(release)}"
    mechanism = call.rows("SELECT mechanism FROM priv.release WHERE release = ?", [release])[0][0]
    if mechanism in RELEASE_AUDITS:
        return RELEASE_AUDITS[mechanism](call, release, table)
    source = _source_as_it_is(call, release)
    findings: list[Finding] = []
    for attribute in catalog.sensitive_attributes(call.cursor, release):
        claims = {
            name: (value, json.loads(parameters))
            for name, value, parameters in call.rows(
                "SELECT guarantee, value, parameters FROM priv.guarantee WHERE release = ? AND attribute = ?",
                [release, attribute.name],
            )
        }
        findings += AUDITS[mechanism](Subject(call, attribute, claims, source, table))
        findings += _ledger(call, attribute)
    return findings + _records(call, release)


def _source_as_it_is(call: Call, release: str) -> Source | None:
    """Open the source again, if it still is what it was."""
    last = catalog.last_publication(call.cursor, release)
    try:
        return open_source(
            call,
            Request(
                last.source, release, last.attributes, last.record_id, exclude=(), replace=False
            ),
        )
    except (PrivError, duckdb.Error):
        return None


def _ledger(call: Call, attribute: SensitiveAttribute) -> list[Finding]:
    rows = call.rows(
        "SELECT max(epsilon_attribute), count(*), bool_or(fresh) FROM priv.ledger() WHERE attribute = ?"
        " AND source IN (SELECT unnest(origins) FROM priv.ledger WHERE release = ?)",
        [attribute.name, attribute.release],
    )
    total, publications, fresh = rows[0]
    return [
        finding(
            "accumulated_epsilon",
            f"All {publications} publications of this attribute from the same tables add up to this epsilon."
            if publications > 1
            else "This is the only publication of this attribute from its tables.",
            None if total is None or np.isinf(total) else total,
            None,
            attribute.name,
            publications=publications,
            fresh=fresh,
        )
    ]


def _records(call: Call, release: str) -> list[Finding]:
    """Look at what is published as it is: how many records stand alone."""
    keyed = not catalog.last_publication(call.cursor, release).fresh
    rows = [
        finding(
            "keyed_randomness",
            "Publishing the same records again with the same parameters gives the same values."
            if keyed
            else "The coins were fresh: each further publication of these records can be averaged with this one.",
            float(keyed),
        )
    ]
    public, scales = (
        [
            name
            for (name,) in call.rows(
                "SELECT attribute FROM priv.attribute WHERE release = ? AND role = ?"
                " AND NOT (role = 'scale' AND release IN"
                " (SELECT release FROM priv.attribute WHERE form = 'duplicated'))",
                [release, role],
            )
        ]
        for role in ("public", "scale")
    )
    if public:
        records = f"sum({identifier(scales[0])})" if scales else "count(*)"
        columns = ", ".join(map(identifier, public))
        table = f"{identifier(call.database)}.{SCHEMA}.{identifier(release)}"
        (alone,) = call.rows(
            f"SELECT count(*) FILTER (size = 1) / sum(size) FROM"
            f" (SELECT {records} AS size FROM {table} GROUP BY {columns})"
        )[0]
        rows.append(
            finding(
                "singletons",
                "Share of records whose public attributes nobody else has: that such a person is in the"
                " table is not hidden.",
                alone,
            )
        )
    return rows
