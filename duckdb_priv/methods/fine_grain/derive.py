"""A coarser release of values with retentions of their own."""

from __future__ import annotations

import numpy as np

from duckdb_priv.methods.common.derivation import Asked, Coarser, coarser_operator
from duckdb_priv.release.model import SensitiveAttribute


def coarser(attribute: SensitiveAttribute, release: str, asked: Asked) -> Coarser:
    """Turn the retentions of all values into one, where that can be."""
    kept = np.array(attribute.numbers["retention"])
    operator = np.diag(kept) + (1 - kept) / attribute.size
    return coarser_operator(attribute, operator, release, asked)
