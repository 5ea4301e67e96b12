"""Files that only their owner may read: a publisher's database, and DuckDB's files beside it.

A database can also be encrypted, with a key that is stored in no file.

DuckDB has no option for the mode of the files that it makes. So we set the program's umask while we write. Files that
others made before or meanwhile get the mode of the database afterwards.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from duckdb_priv.errors import InvalidParameter, NotInstalled, echoed
from duckdb_priv.release.catalog import Connection
from duckdb_priv.sqltext.quoting import identifier, literal

SPILLED = "duckdb_temp_*"
"""Pattern of the files in DuckDB's temporary directory."""
OPEN = Path("/proc/self/fd")
"""The folder where Linux lists the open files of this program."""
ENCRYPTING = "LOAD httpfs"
"""DuckDB needs this extension to write encrypted files: it has a secure random number generator."""
TAKEN = frozenset({"main", "memory", "priv", "system", "temp"})
"""Names that an attached database cannot have."""


class _Umask:
    """The umask of this program while at least one part of it writes for a publisher."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.users = 0
        self.before = 0

    def take(self) -> None:
        with self.guard:
            if not self.users:
                self.before = os.umask(0o077)
            self.users += 1

    def give_back(self) -> None:
        with self.guard:
            self.users -= 1
            if not self.users:
                os.umask(self.before)

    def usual(self) -> int | None:
        """Return the program's ordinary umask; None if it is currently set."""
        with self.guard:
            return self.before if self.users else None


_umask = _Umask()


@contextmanager
def made_for_owner() -> Iterator[None]:
    """Make new files readable by their owner only while the context is open, in the whole program."""
    _umask.take()
    try:
        yield
    finally:
        _umask.give_back()


def for_readers(path: Path) -> None:
    """Give a file, or a folder and its contents, the mode of ordinary new files."""
    mask = _umask.usual()
    if mask is None or os.name != "posix":
        return
    for each in (path, *(path.rglob("*") if path.is_dir() else ())):
        with suppress(OSError):
            each.chmod((0o777 if each.is_dir() else 0o666) & ~mask)


def take_from_others(connection: Connection) -> None:
    """Let only its owner read the file of the current database, and DuckDB's files beside it.

    Raises NotInstalled if the file system cannot do so.
    """
    if (path := _place(connection)) is not None:
        try:
            _limit(path, 0o700)
        except OSError as error:
            raise NotInstalled(
                f"{str(path)!r} would hold a secret, and cannot be made readable by its owner only: {error.strerror}",
                hint="keep the secret elsewhere: duckdb_priv.install(con, secret=…)",
            ) from error
        keep_beside(connection)


def keep_beside(connection: Connection) -> None:
    """Let only readers of the current database's file read DuckDB's files beside it."""
    if (path := _place(connection)) is not None:
        with suppress(OSError):
            mode = stat.S_IMODE(path.stat().st_mode)
            logs = filter(Path.exists, write_ahead_of(path))
            for file in (*logs, *_temporary(path).glob(SPILLED)):
                _limit(file, mode)
            if _temporary(path).is_dir():
                # A reader of a folder also needs permission to enter it.
                _limit(_temporary(path), mode | (mode & 0o444) >> 2)


def _place(connection: Connection) -> Path | None:
    """Return the file of the current database."""
    ((path,),) = connection.execute(
        "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
    ).fetchall()
    return None if path is None or os.name != "posix" else Path(path)


def write_ahead_of(database: Path) -> list[Path]:
    """Return the paths of the write-ahead logs next to a database, which DuckDB replays on opening."""
    return [Path(f"{database}.wal{ending}") for ending in ("", ".checkpoint", ".recovery")]


def _temporary(database: Path) -> Path:
    """Return the folder of DuckDB's spilled data, unless a setting names another."""
    return Path(f"{database}.tmp")


def _limit(file: Path, most: int) -> None:
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & ~most:
        file.chmod(mode & most)


def is_open(path: Path) -> bool:
    """Return whether this program has a file open; True if that cannot be found out."""
    if not OPEN.is_dir():
        return True
    wanted = os.path.realpath(path)
    for each in OPEN.iterdir():
        with suppress(OSError):
            if os.readlink(each) == wanted:
                return True
    return False


def remove_spilled(database: Path) -> None:
    """Remove the files that a killed program spilled beside a database.

    This program has just opened the database, so no other has it open. DuckDB removes them at its next spill, or never.
    """
    folder = _temporary(database)
    if folder.is_dir() and not folder.is_symlink():
        for file in folder.glob(SPILLED):
            with suppress(OSError):
                file.unlink()
        with suppress(OSError):
            folder.rmdir()


def attach_encrypted(connection: duckdb.DuckDBPyConnection, path: str | Path, key: str) -> None:
    """Attach an encrypted database under the name of its file, creating it if it does not exist, and use it.

    Raises InvalidParameter for an empty key, a wrong one and a database in memory, and NotInstalled where this DuckDB
    cannot encrypt.
    """
    if not isinstance(key, str) or not key or "\0" in key:
        raise InvalidParameter(
            "an encryption key is a text that is not empty",
            hint="make one with secrets.token_urlsafe(32) and keep it where your other keys are kept",
        )
    if str(path) == ":memory:":
        raise InvalidParameter(
            "a database in memory is not encrypted", hint="name a file, or leave encryption_key out"
        )
    name = Path(path).stem
    alias = identifier(f"{name}_file" if name.lower() in TAKEN else name)
    try:
        connection.execute(ENCRYPTING)
    except duckdb.Error as error:
        raise NotInstalled(
            "DuckDB writes encrypted databases with its extension httpfs only, which is not installed here",
            hint="run INSTALL httpfs once, where there is a network; or leave encryption_key out",
        ) from error
    try:
        with made_for_owner():
            connection.execute(
                f"ATTACH {literal(str(path))} AS {alias} (ENCRYPTION_KEY {literal(key)})"
            )
        connection.execute(f"USE {alias}")
    except duckdb.Error as error:
        # The error message never repeats the statement, because it contains the key.
        raise InvalidParameter(
            f"{echoed(str(path))} is no database that this encryption key opens",
            hint="give the key that it was made with, or none if it is not encrypted",
        ) from (None if key in str(error) else error)
