"""The secret of a publisher's database: made once, kept by the database or by its owner."""

from __future__ import annotations

from duckdb_priv.engine import randomness
from duckdb_priv.errors import InvalidParameter, NotInstalled
from duckdb_priv.release.catalog import Connection, now


def keep_secret(connection: Connection, given: bytes | None) -> None:
    """Make the secret at the first installation, or check the one that the caller keeps."""
    rows = connection.execute("SELECT key IS NULL, fingerprint FROM priv.secret").fetchall()
    if given is None:
        if not rows:
            connection.execute("BEGIN TRANSACTION")
            connection.execute("INSERT INTO priv.secret SELECT _priv_new_secret(1), '', ?", [now()])
            mark = randomness.fingerprint(current_secret(connection, None))
            connection.execute("UPDATE priv.secret SET fingerprint = ?", [mark])
            connection.execute("COMMIT")
        return
    mark = randomness.fingerprint(randomness.check_secret(given))
    if not rows:
        connection.execute("INSERT INTO priv.secret VALUES (NULL, ?, ?)", [mark, now()])
    elif rows[0][1] != mark:
        raise InvalidParameter(
            "the secret given is not the one that this database has published with",
            hint="two secrets give the same record two different values, which can be averaged;"
            " give the first one",
        )


def stored_secret(connection: Connection) -> bytes | None:
    """Return the secret that the database keeps, if it keeps one."""
    (key,) = connection.execute("SELECT key FROM priv.secret").fetchall()[0]
    return None if key is None else bytes(key)


def current_secret(connection: Connection, given: bytes | None) -> bytes:
    """Return the secret that this database publishes with: the stored one, or the caller's if it is the same.

    A stored secret comes first: a caller may have given theirs to another database that was attached
    under the same name.
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
