"""The secret of a publisher's database: made once, stored in the database or kept by its owner.

A database with its secret lets a reader recover the source. So the file is readable by its owner only, from the moment
the secret is written.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import duckdb

from duckdb_priv.engine import randomness
from duckdb_priv.engine.private_files import take_from_others
from duckdb_priv.errors import InvalidParameter, NotInstalled, echoed
from duckdb_priv.release.catalog import Connection, now

FEWEST_BYTES = 9
"""Smallest number of different bytes in a secret of 32 bytes; about 30 are usual."""
DIGITS = frozenset(b"0123456789abcdefABCDEF")
"""Hexadecimal digits: a text of them can be as random as bytes."""


def keep_secret(connection: Connection, given: bytes | None) -> None:
    """Create the secret at the first installation, or check the one that the caller keeps.

    The secret is written inside ``made_for_owner``.
    """
    rows = connection.execute("SELECT key IS NULL, fingerprint FROM priv.secret").fetchall()
    if given is None:
        if not rows:
            take_from_others(connection)
            connection.execute("BEGIN TRANSACTION")
            write_new(connection)
            connection.execute("COMMIT")
            empty_write_ahead(connection)
        return
    mark = randomness.fingerprint(randomness.check_secret(given))
    if rows and rows[0][1] != mark and not rows[0][0] and _unused(connection):
        # A first look, such as a check, made this secret, and nothing depends on it.
        connection.execute("DELETE FROM priv.secret")
        rows = []
    if not rows:
        refuse_weak(given)
        connection.execute("INSERT INTO priv.secret VALUES (NULL, ?, ?)", [mark, now()])
    elif rows[0][1] != mark:
        raise InvalidParameter(
            "the secret given is not the one that this database has published with",
            hint="two secrets give the same record two different values, which can be averaged;"
            " give the first one",
        )


def _unused(connection: Connection) -> bool:
    """Return whether nothing was published or counted with the stored secret."""
    ((used,),) = connection.execute(
        "SELECT EXISTS (FROM priv.ledger) OR EXISTS (FROM priv.noisy_count)"
    ).fetchall()
    return not used


def write_new(connection: Connection) -> str:
    """Replace any stored secret by a new one, and return the new one's fingerprint."""
    connection.execute("DELETE FROM priv.secret")
    connection.execute("INSERT INTO priv.secret SELECT _priv_new_secret(1), '', ?", [now()])
    mark = randomness.fingerprint(current_secret(connection, None))
    connection.execute("UPDATE priv.secret SET fingerprint = ?", [mark])
    return mark


def refuse_weak(secret: bytes) -> None:
    """Refuse a secret that can be guessed: words, or a few different bytes repeated.

    Random bytes are refused with a probability below 1e-31.

    >>> refuse_weak(b"correct horse battery staple ...")
    Traceback (most recent call last):
    ...
    duckdb_priv.errors.InvalidParameter: the secret is words, or repeats itself, and can be guessed
    Hint: make one with secrets.token_bytes(32) and keep it where your other keys are kept
    """
    text = all(0x20 <= byte < 0x7F for byte in secret) and not DIGITS.issuperset(secret)
    if text or len(set(secret)) < FEWEST_BYTES:
        raise InvalidParameter(
            "the secret is words, or repeats itself, and can be guessed",
            hint="make one with secrets.token_bytes(32) and keep it where your other keys are kept",
        )


def empty_write_ahead(connection: Connection) -> None:
    """Move the write-ahead log into the database file; with other open transactions, DuckDB does so later."""
    with suppress(duckdb.TransactionException):
        connection.execute("CHECKPOINT")


def stored_secret(connection: Connection) -> bytes | None:
    """Return the secret that is stored in the database, if any."""
    (key,) = connection.execute("SELECT key FROM priv.secret").fetchall()[0]
    return None if key is None else bytes(key)


def current_secret(connection: Connection, given: bytes | None) -> bytes:
    """Return the secret that this database publishes with: the stored one, or the caller's if it has the same
    fingerprint.

    A stored secret comes first: the caller's may belong to another database that was attached under the same name.
    """
    stored = stored_secret(connection)
    if stored is not None:
        return stored
    if given is None:
        raise NotInstalled(
            "the secret of this database is kept by its owner",
            hint="call duckdb_priv.install(con, secret=…) with it",
        )
    keep_secret(connection, given)
    return given


def read_for_owner(path: Path, what: str) -> bytes:
    """Read a file that only its owner may read.

    Raises InvalidParameter if others may read it, too, and OSError if it cannot be read.
    """
    with path.open("rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if os.name == "posix" and mode & 0o077:
            raise InvalidParameter(
                f"{echoed(str(path))} holds {what}, and other users of this machine may read it",
                hint=f"chmod 600 {path}",
            )
        return file.read()


def write_for_owner(path: Path, data: bytes, what: str) -> None:
    """Write a new file that only its owner may read; raises InvalidParameter if the file exists."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidParameter(
            f"{echoed(str(path))} exists, and {what} is never overwritten",
            hint="choose another name",
        ) from None
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(handle)
