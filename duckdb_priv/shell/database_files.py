"""Opens files for the command line, and says in a sentence why one cannot be opened."""

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
from duckdb_priv.shell.execution import on_ctrl_c
from duckdb_priv.sqltext.quoting import identifier, literal

MEMORY = ":memory:"
EXPECTED = (PrivError, duckdb.Error, pa.ArrowException, OSError, UnicodeError)
"""What may go wrong at a shell without anything being wrong with it. Arrow hands on errors of DuckDB as its own."""

LOCKED = re.compile(
    r"Could not set lock on file .*?Conflicting lock is held(?: in .*?\(PID (\d+)\))?"
)


class CannotOpen(PrivError):
    """A file of the command line is not there, not readable, or not what it should be."""


@dataclass(frozen=True)
class Beside:
    """What a publisher's database is opened with."""

    secret: bytes | None = None
    """The secret, where its owner keeps it."""
    scripts: tuple[str, ...] = ()
    """Files of SQL that run first, for extensions and keys of object stores."""
    attached: tuple[str, ...] = ()
    """Databases to read from, as NAME=PATH, PATH AS NAME, or a path whose name is taken."""

    def prepare(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Run the scripts, and attach the databases for reading."""
        for script in self.scripts:
            connection.execute(Path(script).read_text("utf-8-sig"))
        for name, path in map(named_database, self.attached):
            attach(connection, name, path)


ALONE = Beside()


def attach(connection: duckdb.DuckDBPyConnection, name: str | None, path: str) -> None:
    """Attach a database for reading, under the name that is given or that DuckDB takes from its path."""
    if ":" not in path:
        must_exist(path)
    alias = "" if name is None else f" AS {identifier(name)}"
    attach_verified(connection, f"ATTACH {literal(path)}{alias} (READ_ONLY)")


def named_database(text: str) -> tuple[str | None, str]:
    """Read what --attach takes: the name of a database, if it has one, and where it is.

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
    """Run an ATTACH; a release is verified first, since what is in it would run with all that this connection may do.

    Returns what was verified, in sentences. Raises NotVerified, and leaves nothing attached then.
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
    """Open a publisher's database that has been one before.

    Raises CannotOpen where the file is not there, empty or no database, and UnknownRelease where nothing was ever
    published from it: then it stays as it is.
    """
    with closing(open_for_reading(path)) as connection:
        require_catalog(connection, path)
    return open_publisher(path, beside)


def require_catalog(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    """Raise UnknownRelease unless something has been published from a database, or it is a release."""
    known = connection.execute(
        "SELECT 1 FROM system.main.duckdb_tables()"
        " WHERE schema_name = 'priv' AND table_name = 'release'"
    ).fetchall()
    if not known:
        raise UnknownRelease(
            f"nothing was ever published from {path!r}",
            hint=f"duckdb-priv shell {path} opens it for publishing",
        )


def open_publisher(path: str, beside: Beside = ALONE) -> duckdb.DuckDBPyConnection:
    """Open a database for publishing, and make it if it is not there.

    Raises CannotOpen, and NotInstalled as install() does: for a release, for instance.

    >>> open_publisher("/no/such/folder/visits.duckdb")
    Traceback (most recent call last):
    duckdb_priv.shell.database_files.CannotOpen: the folder '/no/such/folder' does not exist
    Hint: make it first, or name another one
    """
    folder = Path(path).parent
    if path != MEMORY and not folder.is_dir():
        raise CannotOpen(
            f"the folder {str(folder)!r} does not exist", hint="make it first, or name another one"
        )
    _refuse_folder(path)
    stop = Event()
    try:
        # DuckDB 1.5 may crash at exit when Ctrl-C hits it in the middle of an installation.
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
    """Open a database or a release that is there, without writing to it.

    A stranger may have made it: its content reaches no other file.

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
    """Raise CannotOpen unless there is a file."""
    if not Path(path).exists():
        raise CannotOpen(f"there is no file {path!r}")
    _refuse_folder(path)
    if Path(path).is_file() and not Path(path).stat().st_size:
        raise CannotOpen(
            f"{path!r} is an empty file", hint="perhaps it was cut off on its way, or never written"
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
            hint="close it there first: DuckDB lets one program write to a file at a time",
        )
    if "not a valid DuckDB database file" in text:
        return CannotOpen(f"{path!r} is not a DuckDB database")
    if "Permission denied" in text or "Read-only file system" in text:
        return CannotOpen(f"{path!r} cannot be opened: permission denied")
    return CannotOpen(f"{path!r} cannot be opened: {explain(error)}")


def explain(error: BaseException) -> str:
    """Return the message of an error, as a terminal may show it."""
    return visible(_explained(error))


def _explained(error: BaseException) -> str:
    """Return the message of an error, as the person at the shell should read it.

    >>> _explained(duckdb.InvalidInputException("Invalid Input Error: no release is called 'x'"))
    "no release is called 'x'"
    >>> _explained(FileNotFoundError(2, "No such file or directory", "a.sql"))
    "'a.sql': no such file or directory"
    """
    if isinstance(error, OSError) and error.filename is not None:
        return f"{str(error.filename)!r}: {str(error.strerror).lower()}"
    if isinstance(error, UnicodeError):
        return "what was read is not text in UTF-8"
    # What priv.* refuses, it refuses by error(), which puts these words in front.
    return str(error).strip().removeprefix("Invalid Input Error: ")
