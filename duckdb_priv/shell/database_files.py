"""Opens files for the command line, and says in a sentence why one cannot be opened."""

from __future__ import annotations

import re
from pathlib import Path
from threading import Event

import duckdb
import pyarrow as pa

from duckdb_priv.errors import PrivError
from duckdb_priv.publisher.install import connect
from duckdb_priv.release.opening import CONFINED
from duckdb_priv.shell.execution import on_ctrl_c

MEMORY = ":memory:"
EXPECTED = (PrivError, duckdb.Error, pa.ArrowException, OSError, UnicodeError)
"""What may go wrong at a shell without anything being wrong with it. Arrow hands on errors of DuckDB as its own."""

LOCKED = re.compile(
    r"Could not set lock on file .*?Conflicting lock is held(?: in .*?\(PID (\d+)\))?"
)


class CannotOpen(PrivError):
    """A file of the command line is not there, not readable, or not what it should be."""


def open_publisher(path: str) -> duckdb.DuckDBPyConnection:
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
            connection = connect(path)
    except duckdb.Error as error:
        raise _reason(path, error) from error
    if stop.is_set():
        connection.close()
        raise KeyboardInterrupt
    return connection


def open_for_reading(path: str) -> duckdb.DuckDBPyConnection:
    """Open a database or a release that is there, without writing to it.

    A stranger may have made it: what stands in it reaches no other file.

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
    """Return the message of an error, as the person at the shell should read it.

    >>> explain(duckdb.InvalidInputException("Invalid Input Error: no release is called 'x'"))
    "no release is called 'x'"
    >>> explain(FileNotFoundError(2, "No such file or directory", "a.sql"))
    "'a.sql': no such file or directory"
    """
    if isinstance(error, OSError) and error.filename is not None:
        return f"{str(error.filename)!r}: {str(error.strerror).lower()}"
    if isinstance(error, UnicodeError):
        return "what was read is not text in UTF-8"
    # What priv.* refuses, it refuses by error(), which puts these words in front.
    return str(error).strip().removeprefix("Invalid Input Error: ")
