"""Opening a release file from a script: read-only, and only if it is one."""

from __future__ import annotations

from pathlib import Path

import duckdb

from duckdb_priv import catalog
from duckdb_priv.errors import InvalidReleaseFile
from duckdb_priv.version import __version__

HEADERS = 3 * 4096
"""Bytes before the first block of a DuckDB file."""


def open_release(path: str | Path) -> duckdb.DuckDBPyConnection:
    """Open a release file read-only, after checking that it is one.

    Any DuckDB opens a release; this only turns a wrong path or file into a clear sentence. The connection
    is a plain one: nothing is installed on it.

    Raises InvalidReleaseFile where there is no file, where the file is damaged, no release, a
    publisher's own database, or written by a newer library or for a newer DuckDB.

    >>> open_release("nowhere.duckdb")
    Traceback (most recent call last):
    ...
    duckdb_priv.errors.InvalidReleaseFile: there is no file 'nowhere.duckdb'
    Hint: check the path; a release is one .duckdb file
    """
    name = repr(str(path))
    if not Path(path).is_file():
        raise InvalidReleaseFile(
            f"there is no file {name}", hint="check the path; a release is one .duckdb file"
        )
    try:
        connection = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        if "Could not set lock" in str(error):
            raise InvalidReleaseFile(
                f"{name} is open for writing elsewhere", hint="close it there, then open it again"
            ) from None
        if "newer version of DuckDB" in str(error):
            raise InvalidReleaseFile(
                f"{name} was written for a newer DuckDB, this is {duckdb.__version__}",
                hint="upgrade duckdb; FROM priv.export_release(…) writes for every DuckDB from 1.2 on",
            ) from None
        raise _damaged(name) from None
    try:
        _check(connection, name, Path(path).stat().st_size)
    except duckdb.Error:
        connection.close()
        raise _damaged(name) from None
    except BaseException:
        connection.close()
        raise
    return connection


def _damaged(name: str) -> InvalidReleaseFile:
    return InvalidReleaseFile(
        f"{name} is no whole file that DuckDB {duckdb.__version__} can open",
        hint="get it again from its publisher; perhaps it was cut off on the way",
    )


def _check(connection: duckdb.DuckDBPyConnection, name: str, size: int) -> None:
    tables = {
        table
        for (table,) in connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'priv'"
            " AND database_name = current_database()"
        ).fetchall()
    }
    if "secret" in tables:
        raise InvalidReleaseFile(
            f"{name} is a publisher's database, with source and secret",
            hint="hand out what FROM priv.export_release(…) writes, never this file",
        )
    # A file that was cut off opens all the same, and fails when what is missing is read.
    (blocks,) = connection.execute(
        f"SELECT {HEADERS} + block_size * total_blocks FROM pragma_database_size()"
        " WHERE database_name = current_database()"
    ).fetchall()[0]
    if size < blocks:
        raise _damaged(name)
    if tables != set(catalog.PUBLIC):
        raise InvalidReleaseFile(
            f"{name} is a DuckDB file, but no release", hint="look for the file that was published"
        )
    versions = connection.execute("SELECT library_version FROM priv.release").fetchall()
    newest = max((_parts(version) for (version,) in versions), default=(0, 0))
    if newest > _parts(__version__):
        raise InvalidReleaseFile(
            f"{name} was written by duckdb_priv {'.'.join(map(str, newest))}, this is {__version__}",
            hint="upgrade duckdb_priv, or open the file with plain DuckDB",
        )


def _parts(version: str) -> tuple[int, ...]:
    """Return major and minor, which say whether a catalog is understood.

    >>> _parts("1.12.3")
    (1, 12)
    """
    return tuple(int(part) for part in version.split(".")[:2])
