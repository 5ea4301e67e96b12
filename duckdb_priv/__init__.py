"""Publish tables about people from DuckDB, and count on what was published.

Names are loaded when they are first used (PEP 562), so importing the package costs next to nothing.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from duckdb_priv.errors import PrivError
from duckdb_priv.version import __version__

if TYPE_CHECKING:
    from duckdb_priv.database import connect, install
    from duckdb_priv.ordinary.rewrite import reconstruct, rewrite_sql
    from duckdb_priv.publisher.verify import verify
    from duckdb_priv.release.opening import open_release

__all__ = [
    "PrivError",
    "__version__",
    "connect",
    "install",
    "open_release",
    "reconstruct",
    "rewrite_sql",
    "verify",
]

_EXPORTS = {
    "connect": "duckdb_priv.database:connect",
    "install": "duckdb_priv.database:install",
    "open_release": "duckdb_priv.release.opening:open_release",
    "reconstruct": "duckdb_priv.ordinary.rewrite:reconstruct",
    "rewrite_sql": "duckdb_priv.ordinary.rewrite:rewrite_sql",
    "verify": "duckdb_priv.publisher.verify:verify",
}
"""The module and object of each name that is loaded on first use."""


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The next look-up finds the name in the module and does not call this function.
    return globals().setdefault(name, resolve_name(_EXPORTS[name]))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
