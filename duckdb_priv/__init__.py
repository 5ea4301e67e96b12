"""Publish tables about persons from DuckDB, and count on what was published."""

from duckdb_priv import advise as _advise  # noqa: F401  (its procedures are what priv.* calls)
from duckdb_priv import audit as _audit  # noqa: F401  (its procedures are what priv.* calls)
from duckdb_priv import evaluate as _evaluate  # noqa: F401
from duckdb_priv import export as _export  # noqa: F401  (its procedures are what priv.* calls)
from duckdb_priv import publish as _publish  # noqa: F401
from duckdb_priv import utility as _utility  # noqa: F401
from duckdb_priv.errors import PrivError
from duckdb_priv.install import connect, install
from duckdb_priv.opened import open_release
from duckdb_priv.version import __version__

__all__ = ["PrivError", "__version__", "connect", "install", "open_release"]
