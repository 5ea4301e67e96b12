"""Audit of perturbation with a matrix."""

from __future__ import annotations

from duckdb_priv.methods.common.findings import AuditRow, Subject
from duckdb_priv.methods.common.operator_audit import (
    audit_against_source,
    audit_operator,
    stored_operator,
)
from duckdb_priv.methods.common.shuffles import audit_shuffle


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute the promises for a single record, and for a record in its shuffled group."""
    return [*_audit_alone(subject), *audit_shuffle(subject)]


def _audit_alone(subject: Subject) -> list[AuditRow]:
    """Recompute the claims for a single record: its epsilon and posteriors."""
    operator = stored_operator(subject.attribute)
    rows = audit_operator(subject, operator)
    true = subject.same_counts
    if true is None:
        return [*rows, subject.source_changed()]
    return [*rows, *audit_against_source(subject, operator, true)]
