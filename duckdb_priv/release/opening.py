"""Opens a release file read-only, after checking that it is one."""

from __future__ import annotations

import logging
from pathlib import Path

import duckdb

from duckdb_priv.errors import InvalidReleaseFile, echoed
from duckdb_priv.release import catalog
from duckdb_priv.release.given import check_path
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.reading import select
from duckdb_priv.version import __version__

LOG = logging.getLogger("duckdb_priv")
HEADERS = 3 * 4096
"""The number of bytes before the first block of a DuckDB file."""
CONFINED = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
"""Settings that confine the code in a file: no other file, network, extension or Python variable is reachable. No
statement can change them."""


def open_release(path: str | Path, *, trusted: bool = False) -> duckdb.DuckDBPyConnection:
    """Open a release file read-only, after checking that it is one.

    Any DuckDB can open a release. This function reports a wrong path or file clearly, and protects you from harmful
    content. A file has its own functions and views, which may contain anything. So the connection is confined to the
    file. Statements cannot read or write other files, attach databases, load extensions, see Python variables or change
    settings. Temporary tables and ``connection.register`` work as usual.

    With ``trusted`` the connection is not confined: it can attach other files and change settings. Use it only for
    files whose author you trust as much as your own programs.

    This does not verify the file: ``duckdb_priv.verify`` checks its publisher's signature. The log ``duckdb_priv``
    notes this for each file.

    ``SELECT version, created_at, previous_at FROM priv.release`` shows the version of the release.

    Raises InvalidReleaseFile if the file is missing, damaged, not a release, a publisher's own database, or written by
    a newer library or for a newer DuckDB.

    >>> open_release("nowhere.duckdb")
    Traceback (most recent call last):
    ...
    duckdb_priv.errors.InvalidReleaseFile: there is no file 'nowhere.duckdb'
    Hint: check the path; a release is one .duckdb file
    """
    check_path(path)
    name = echoed(str(path))
    if not Path(path).is_file():
        raise InvalidReleaseFile(
            f"there is no file {name}", hint="check the path; a release is one .duckdb file"
        )
    try:
        connection = duckdb.connect(
            str(path), read_only=True, config={} if trusted else dict(CONFINED)
        )
    except duckdb.Error as error:
        if "different configuration" in str(error):
            raise InvalidReleaseFile(
                f"{name} is open in this program already, with other settings",
                hint="close that connection first, or open the file in the same way as there",
            ) from None
        if "Could not set lock" in str(error):
            raise InvalidReleaseFile(
                f"{name} is open for writing elsewhere", hint="close it there, then open it again"
            ) from None
        if "newer version of DuckDB" in str(error):
            raise InvalidReleaseFile(
                f"{name} was written for a newer DuckDB, this is {duckdb.__version__}",
                hint="upgrade duckdb; FROM priv.export_release(…) writes for every DuckDB from 1.4 on",
            ) from None
        raise _damaged(name) from None
    try:
        _check(connection, name, Path(path).stat().st_size)
    except (duckdb.Error, ValueError):
        connection.close()
        raise _damaged(name) from None
    except BaseException:
        connection.close()
        raise
    LOG.info(
        "%s is open, %sand was not verified: duckdb_priv.verify(path, key) does that",
        name,
        "" if trusted else "confined to itself, ",
    )
    return connection


def _damaged(name: str) -> InvalidReleaseFile:
    return InvalidReleaseFile(
        f"{name} is no whole file that DuckDB {duckdb.__version__} can open",
        hint="get it again from its publisher; perhaps it was cut off on the way",
    )


def _check(connection: duckdb.DuckDBPyConnection, name: str, size: int) -> None:
    # Qualified names of built-in functions: a file may define other functions with these names.
    (database,) = connection.execute("SELECT system.main.current_database()").fetchall()[0]
    tables = {
        table
        for (table,) in connection.execute(
            "SELECT table_name FROM system.main.duckdb_tables()"
            " WHERE schema_name = 'priv' AND database_name = ?",
            [database],
        ).fetchall()
    }
    if "secret" in tables:
        raise InvalidReleaseFile(
            f"{name} is a publisher's database, with source and secret",
            hint="hand out what FROM priv.export_release(…) writes, never this file",
        )
    # A truncated file opens, and fails only when the missing part is read. A free block at the end may be missing.
    block_size, blocks = connection.execute(
        "SELECT block_size, used_blocks FROM system.main.pragma_database_size() WHERE database_name = ?",
        [database],
    ).fetchall()[0]
    if size < HEADERS + block_size * blocks:
        raise _damaged(name)
    if tables != set(catalog.PUBLIC):
        raise InvalidReleaseFile(
            f"{name} is a DuckDB file, but no release", hint="look for the file that was published"
        )
    release = f"{identifier(database)}.priv.release"
    versions = connection.execute(select(["library_version"], release)).fetchall()
    newest = max((_parts(str(version)) for (version,) in versions), default=(0, 0))
    if newest > _parts(__version__):
        raise InvalidReleaseFile(
            f"{name} was written by duckdb_priv {'.'.join(map(str, newest))}, this is {__version__}",
            hint="upgrade duckdb_priv, or open the file with plain DuckDB",
        )


def _parts(version: str) -> tuple[int, ...]:
    """Return the major and minor version, which decide whether the catalog can be read.

    >>> _parts("1.12.3")
    (1, 12)
    """
    return tuple(int(part) for part in version.split(".")[:2])
