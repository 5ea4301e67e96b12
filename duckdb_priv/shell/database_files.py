"""Opens database files for the command line, and explains in one sentence why a file cannot be opened."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import duckdb
import pyarrow as pa

from duckdb_priv.database import connect
from duckdb_priv.errors import PrivError, UnknownRelease, visible
from duckdb_priv.publisher.verify import verify
from duckdb_priv.release import catalog
from duckdb_priv.release.opening import CONFINED
from duckdb_priv.shell.interrupts import on_ctrl_c
from duckdb_priv.sqltext.quoting import identifier, literal

MEMORY = ":memory:"
EXPECTED = (PrivError, duckdb.Error, pa.ArrowException, OSError, UnicodeError)
"""Exceptions whose message is shown without a traceback. Arrow reraises errors of DuckDB as its own."""

LOCKED = re.compile(
    r"Could not set lock on file .*?Conflicting lock is held(?: in .*?\(PID (\d+)\))?"
)


class CannotOpen(PrivError):
    """A file of the command line does not exist, cannot be read, or is of the wrong kind."""


@dataclass(frozen=True)
class Beside:
    """Options for opening a publisher's database."""

    secret: bytes | None = None
    """The secret, if it is kept outside the database."""
    scripts: tuple[str, ...] = ()
    """SQL files to run first, for example to load extensions or keys of object stores."""
    attached: tuple[str, ...] = ()
    """Databases to attach for reading: NAME=PATH, PATH AS NAME, or a path, of which DuckDB makes the name."""

    def prepare(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Run the scripts, and attach the databases for reading."""
        for script in self.scripts:
            connection.execute(Path(script).read_text("utf-8-sig"))
        for name, path in map(named_database, self.attached):
            attach(connection, name, path)


ALONE = Beside()


def attach(connection: duckdb.DuckDBPyConnection, name: str | None, path: str) -> None:
    """Attach a database for reading under ``name``, or under the name that DuckDB makes of its path."""
    if ":" not in path:
        must_exist(path)
    alias = "" if name is None else f" AS {identifier(name)}"
    attach_verified(connection, f"ATTACH {literal(path)}{alias} (READ_ONLY)")


def named_database(text: str) -> tuple[str | None, str]:
    """Split an argument of --attach into the database's name, which may be None, and its path.

    >>> named_database("clinic=postgres:dbname=clinic"), named_database("clinic.duckdb AS c")
    (('clinic', 'postgres:dbname=clinic'), ('c', 'clinic.duckdb'))
    >>> named_database("postgres:dbname=clinic")
    (None, 'postgres:dbname=clinic')
    """
    if found := re.fullmatch(r"(\w+)=(.+)", text, re.DOTALL):
        return found[1], found[2]
    if found := re.fullmatch(r"(.+?)\s+[Aa][Ss]\s+(\w+)", text, re.DOTALL):
        return found[2], found[1]
    return None, text


def attach_verified(connection: duckdb.DuckDBPyConnection, statement: str) -> list[str]:
    """Run an ATTACH statement. A release is verified first, since its macros run with this connection's permissions.

    Returns sentences about the verification. Raises NotVerified, and then the release is not attached.
    """
    stated = []
    before = set(_databases(connection))
    connection.execute(statement)
    for name, path in set(_databases(connection)) - before:
        found = {
            table
            for kind in ("table", "view")
            for (table,) in connection.execute(
                f"SELECT {kind}_name FROM system.main.duckdb_{kind}s()"
                " WHERE database_name = ? AND schema_name = 'priv'",
                [name],
            ).fetchall()
        }
        if path is not None and found >= set(catalog.PUBLIC) and "secret" not in found:
            connection.execute(f"DETACH {identifier(name)}")
            stated += [f"{name}: {each}" for each in verify(path).sentences]
            connection.execute(statement)
    return stated


def _databases(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str | None]]:
    return connection.execute(
        "SELECT database_name, path FROM system.main.duckdb_databases() WHERE NOT internal"
    ).fetchall()


def open_known(path: str, beside: Beside = ALONE) -> duckdb.DuckDBPyConnection:
    """Open a database from which something has been published.

    Raises CannotOpen if the file does not exist, is empty or is not a database. Raises UnknownRelease if nothing was
    ever published from it, and then does not change the file.
    """
    with closing(open_for_reading(path)) as connection:
        require_catalog(connection, path)
    return open_publisher(path, beside)


def require_catalog(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    """Raise UnknownRelease unless a database is a release, or something has been published from it."""
    known = connection.execute(
        "SELECT 1 FROM system.main.duckdb_tables()"
        " WHERE schema_name = 'priv' AND table_name = 'release'"
    ).fetchall()
    if not known:
        raise UnknownRelease(
            f"nothing was ever published from {path!r}",
            hint=f"run duckdb-priv shell {path} to publish from it",
        )


def open_publisher(path: str, beside: Beside = ALONE) -> duckdb.DuckDBPyConnection:
    """Open a database for publishing, or create it.

    Raises CannotOpen, and NotInstalled as install() does, for instance for a release.

    >>> open_publisher("/no/such/folder/visits.duckdb")
    Traceback (most recent call last):
    duckdb_priv.shell.database_files.CannotOpen: the folder '/no/such/folder' does not exist
    Hint: create the folder, or name another one
    """
    folder = Path(path).parent
    if path != MEMORY and not folder.is_dir():
        raise CannotOpen(
            f"the folder {str(folder)!r} does not exist",
            hint="create the folder, or name another one",
        )
    _refuse_folder(path)
    stop = Event()
    try:
        # DuckDB 1.5 may crash at exit if Ctrl-C interrupts install().
        with on_ctrl_c(stop.set):
            connection = connect(path, secret=beside.secret)
    except duckdb.Error as error:
        raise _reason(path, error) from error
    if stop.is_set():
        connection.close()
        raise KeyboardInterrupt
    try:
        beside.prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_reading(path: str) -> duckdb.DuckDBPyConnection:
    """Open an existing database or release read-only.

    The file may come from a stranger, so its SQL cannot read or write other files.

    >>> open_for_reading("/no/such/file.duckdb")
    Traceback (most recent call last):
    duckdb_priv.shell.database_files.CannotOpen: there is no file '/no/such/file.duckdb'
    """
    must_exist(path)
    try:
        return duckdb.connect(
            path, read_only=True, config={**CONFINED, "arrow_lossless_conversion": "true"}
        )
    except duckdb.Error as error:
        raise _reason(path, error) from error


def must_exist(path: str) -> None:
    """Raise CannotOpen unless the file exists and is not empty."""
    if not Path(path).exists():
        raise CannotOpen(f"there is no file {path!r}")
    _refuse_folder(path)
    if Path(path).is_file() and not Path(path).stat().st_size:
        raise CannotOpen(
            f"{path!r} is an empty file", hint="copy it again; the last copy may have failed"
        )


def _refuse_folder(path: str) -> None:
    if Path(path).is_dir():
        raise CannotOpen(f"{path!r} is a folder", hint="name a file in it")


def _reason(path: str, error: duckdb.Error) -> CannotOpen:
    text = str(error)
    if lock := LOCKED.search(text):
        process = f" (process {lock[1]})" if lock[1] else ""
        return CannotOpen(
            f"{path!r} is open in another program{process}",
            hint="close it there first: DuckDB lets only one program at a time write to a file",
        )
    if "not a valid DuckDB database file" in text:
        return CannotOpen(f"{path!r} is not a DuckDB database")
    if "Permission denied" in text or "Read-only file system" in text:
        return CannotOpen(f"{path!r} cannot be opened: permission denied")
    return CannotOpen(f"{path!r} cannot be opened: {explain(error)}")


def explain(error: BaseException) -> str:
    """Return the message of an error without DuckDB's and Python's prefixes, and without control characters.

    >>> explain(duckdb.InvalidInputException("Invalid Input Error: no release is called 'x'"))
    "no release is called 'x'"
    >>> explain(FileNotFoundError(2, "No such file or directory", "a.sql"))
    "'a.sql': no such file or directory"
    """
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{str(error.filename)!r}: {str(error.strerror).lower()}"
    elif isinstance(error, UnicodeError):
        text = "the input is not UTF-8 text"
    else:
        # The SQL function error(), which macros call, adds this prefix.
        text = str(error).strip().removeprefix("Invalid Input Error: ")
    return visible(text)
