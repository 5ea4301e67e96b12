"""A coarser release of uniformly perturbed values."""

from __future__ import annotations

from duckdb_priv.methods.common.derivation import Asked, Coarser, coarser_uniform
from duckdb_priv.release.model import SensitiveAttribute


def coarser(attribute: SensitiveAttribute, release: str, asked: Asked) -> Coarser:
    """Keep what is shown with the ratio of the retentions."""
    return coarser_uniform(attribute, release, asked)
