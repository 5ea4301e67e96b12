"""Derive a coarser release from reported blocks."""

from __future__ import annotations

from duckdb_priv.methods.block_design.plan import code_guarantees
from duckdb_priv.methods.common.derivation import (
    Asked,
    Coarser,
    coarser_blocks,
    coarser_uniform,
)
from duckdb_priv.release.model import SensitiveAttribute


def coarser(attribute: SensitiveAttribute, release: str, asked: Asked) -> Coarser:
    """Redraw some blocks among all blocks of the design; without blocks, use uniform perturbation."""
    if attribute.blocks is None:
        return coarser_uniform(attribute, release, asked)
    return coarser_blocks(attribute, attribute.blocks, release, asked, code_guarantees)
