"""Audit of coins."""

from __future__ import annotations

from duckdb_priv.methods.common.findings import Finding, Subject
from duckdb_priv.methods.common.local_privacy import audit_draw


def audit(subject: Subject) -> list[Finding]:
    """Recompute what the draw claims."""
    numbers = subject.attribute.numbers
    return audit_draw(subject, numbers["own"][0], numbers["other"][0])
