"""Audit of perturbation with any matrix."""

from __future__ import annotations

from duckdb_priv.methods.common.findings import AuditRow, Subject, source_changed
from duckdb_priv.methods.common.operator_audit import (
    audit_against_source,
    audit_operator,
    stored_operator,
)
from duckdb_priv.methods.common.shuffles import audit_shuffle


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute what is promised of one record, and of a record among those with the same public columns."""
    return [*_audit_alone(subject), *audit_shuffle(subject)]


def _audit_alone(subject: Subject) -> list[AuditRow]:
    """Recompute what an attribute exchanged by a matrix claims, and what may be believed of it."""
    operator = stored_operator(subject.attribute)
    rows = audit_operator(subject, operator)
    true = subject.true_counts()
    if true is None or true.sum() != subject.shown_counts().sum():
        return [*rows, source_changed(subject)]
    return [*rows, *audit_against_source(subject, operator, true)]
