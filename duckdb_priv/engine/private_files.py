"""Files that only their owner may read: a publisher's database, what DuckDB writes beside it, and what a crash leaves.

DuckDB does not let a caller say how it makes files. So the mask of the program is set while ours is at work, and what
was made meanwhile by others, or before, gets the mode of the database afterwards.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from duckdb_priv.errors import NotInstalled
from duckdb_priv.release.catalog import Connection

SPILLED = "duckdb_temp_*"
"""What DuckDB calls the files in its temporary directory."""
OPEN = Path("/proc/self/fd")
"""Where Linux lists the files that this program has open."""


class _Umask:
    """What the files of this program are made with while at least one part of it is at work for a publisher."""

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
        """Return the mask that files have otherwise; None where it is the one that is set."""
        with self.guard:
            return self.before if self.users else None


_umask = _Umask()


@contextmanager
def made_for_owner() -> Iterator[None]:
    """Let files that are made meanwhile be readable by their owner only; that holds for the whole program."""
    _umask.take()
    try:
        yield
    finally:
        _umask.give_back()


def for_readers(path: Path) -> None:
    """Give a file, or a folder with all that is in it, the mode that files of this program have otherwise."""
    mask = _umask.usual()
    if mask is None or os.name != "posix":
        return
    for each in (path, *(path.rglob("*") if path.is_dir() else ())):
        with suppress(OSError):
            each.chmod((0o777 if each.is_dir() else 0o666) & ~mask)


def take_from_others(connection: Connection) -> None:
    """Let nobody but its owner read the file of the current database, and what DuckDB writes beside it.

    Raises NotInstalled where the file system does not let it be so.
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
    """Let nobody read what is beside the file of the current database who may not read that file."""
    if (path := _place(connection)) is not None:
        with suppress(OSError):
            mode = stat.S_IMODE(path.stat().st_mode)
            for file in (*_write_ahead(path), *_temporary(path).glob(SPILLED)):
                _limit(file, mode)
            if _temporary(path).is_dir():
                # Who may read a folder may enter it.
                _limit(_temporary(path), mode | (mode & 0o444) >> 2)


def _place(connection: Connection) -> Path | None:
    """Return the file of the current database."""
    ((path,),) = connection.execute(
        "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
    ).fetchall()
    return None if path is None or os.name != "posix" else Path(path)


def _write_ahead(database: Path) -> list[Path]:
    beside = (Path(f"{database}.wal{ending}") for ending in ("", ".checkpoint", ".recovery"))
    return [file for file in beside if file.exists()]


def _temporary(database: Path) -> Path:
    """Return the folder to which DuckDB spills what does not fit into memory, unless it is named another."""
    return Path(f"{database}.tmp")


def _limit(file: Path, most: int) -> None:
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & ~most:
        file.chmod(mode & most)


def is_open(path: Path) -> bool:
    """Return whether this program has a file open; where that cannot be known, it may be."""
    if not OPEN.is_dir():
        return True
    wanted = os.path.realpath(path)
    for each in OPEN.iterdir():
        with suppress(OSError):
            if os.readlink(each) == wanted:
                return True
    return False


def remove_spilled(database: Path) -> None:
    """Remove what a killed program spilled beside a database that this program has just opened, and nobody else can.

    DuckDB itself removes it when it spills next, or never.
    """
    folder = _temporary(database)
    if folder.is_dir() and not folder.is_symlink():
        for file in folder.glob(SPILLED):
            with suppress(OSError):
                file.unlink()
        with suppress(OSError):
            folder.rmdir()
