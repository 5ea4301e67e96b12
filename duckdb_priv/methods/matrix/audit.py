"""Audit of perturbation with a matrix."""

from __future__ import annotations

from duckdb_priv.methods.common.findings import AuditRow, Subject
from duckdb_priv.methods.common.operator_audit import audit_perturbed, stored_operator
from duckdb_priv.methods.common.shuffles import audit_shuffle


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute the promises for a single record, and for a record in its shuffled group."""
    operator = stored_operator(subject.attribute)
    return [*audit_perturbed(subject, operator), *audit_shuffle(subject)]
