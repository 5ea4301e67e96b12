"""Audit of coins."""

from __future__ import annotations

from duckdb_priv.methods.common.findings import AuditRow, Subject
from duckdb_priv.methods.common.local_privacy import audit_draw


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute what the draw claims."""
    numbers = subject.attribute.numbers
    return audit_draw(subject, numbers["own"][0], numbers["other"][0])
