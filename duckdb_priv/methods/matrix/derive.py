"""Derive a coarser release from values that were exchanged by a matrix."""

from __future__ import annotations

from duckdb_priv.methods.common.derivation import Asked, Coarser, coarser_operator
from duckdb_priv.methods.common.operator_audit import stored_operator
from duckdb_priv.release.model import SensitiveAttribute


def coarser(attribute: SensitiveAttribute, release: str, asked: Asked) -> Coarser:
    """Turn the matrix into uniform perturbation, if possible."""
    return coarser_operator(attribute, stored_operator(attribute), release, asked)
