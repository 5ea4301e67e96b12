"""Derive a coarser release from values with separate retentions."""

from __future__ import annotations

from duckdb_priv.methods.common.derivation import Asked, Coarser, coarser_operator
from duckdb_priv.methods.common.operator_audit import stored_operator
from duckdb_priv.release.model import SensitiveAttribute


def coarser(attribute: SensitiveAttribute, release: str, asked: Asked) -> Coarser:
    """Turn the operator into uniform perturbation, with one retention for all values, if possible."""
    return coarser_operator(attribute, stored_operator(attribute), release, asked)
