"""The arguments of ``priv.publish_matrix``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duckdb_priv.release.arguments import TABLES, Arguments, argument


@dataclass(frozen=True, kw_only=True)
class MatrixArguments(Arguments):
    """A matrix for each sensitive column."""

    matrix: Any = argument(
        TABLES, "the table (original, published, probability) to exchange values by", "'exchange'"
    )
