"""Derive a coarser release from uniformly perturbed values."""

from __future__ import annotations

from duckdb_priv.methods.common.derivation import Asked, Coarser, coarser_uniform
from duckdb_priv.release.model import SensitiveAttribute


def coarser(attribute: SensitiveAttribute, release: str, asked: Asked) -> Coarser:
    """Keep each published value with probability new retention / old retention, else redraw it."""
    return coarser_uniform(attribute, release, asked)
