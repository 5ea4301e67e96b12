"""Publishes the same releases from Spark: Spark moves the rows, and DuckDB perturbs them inside every task.

Names are loaded when they are first used. The package needs PySpark 4 (``pip install 'duckdb_priv[spark]'``).
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb_priv.spark.publication import publish, refresh

__all__ = ["publish", "refresh"]

_EXPORTS = {name: f"duckdb_priv.spark.publication:{name}" for name in __all__}
"""The module and object of each name that is loaded on first use."""


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(_EXPORTS[name])
