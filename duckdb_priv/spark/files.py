"""Folders of Parquet files as each engine reads them, whatever stands in their names."""

from __future__ import annotations

import re
from pathlib import Path

from duckdb_priv.errors import PublicationFailed, echoed
from duckdb_priv.sqltext.quoting import literal

PARQUET = "*.parquet"


def in_duckdb(folder: Path, files: str = PARQUET) -> str:
    """Write how the files of a folder are read by DuckDB, which would take the folder for a pattern.

    >>> in_duckdb(Path("/a*b"))
    "read_parquet('/a[*]b/*.parquet')"
    """
    escaped = re.sub(r"([*?\[])", r"[\1]", str(folder))
    return f"read_parquet({literal(f'{escaped}/{files}')})"


def in_spark(path: Path) -> str:
    """Write how a file or a folder is read by Spark, which would take it for a pattern, too.

    >>> in_spark(Path("/a*b"))
    'file:///a\\\\*b'
    """
    escaped = re.sub(r"([*?{}\[\],\\])", r"\\\1", str(path))
    return f"file://{escaped}"


def require_seen(folder: Path) -> None:
    """Raise PublicationFailed where the executors wrote into a folder of their own."""
    if not any(folder.glob(PARQUET)):
        raise PublicationFailed(
            f"the driver does not see what the executors wrote into {echoed(str(folder.parent))}",
            hint="nothing was recorded; give a path in a folder that all of them share",
        )
