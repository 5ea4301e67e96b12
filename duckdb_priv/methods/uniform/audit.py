"""Audit of uniform perturbation."""

from __future__ import annotations

from duckdb_priv.methods.common.findings import AuditRow, Subject
from duckdb_priv.methods.common.local_privacy import audit_uniform
from duckdb_priv.methods.common.shuffles import audit_shuffle


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute the promises for a single record, and for a record in its shuffled group."""
    return [*audit_uniform(subject), *audit_shuffle(subject)]
