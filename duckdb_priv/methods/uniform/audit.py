"""Audit of uniform perturbation."""

from __future__ import annotations

from duckdb_priv.methods.common.local_privacy import audit_uniform as audit

__all__ = ["audit"]
