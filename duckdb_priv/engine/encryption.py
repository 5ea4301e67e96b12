"""Databases encrypted on disk with a key that is stored in no file."""

from __future__ import annotations

from pathlib import Path

import duckdb

from duckdb_priv.engine.private_files import made_for_owner
from duckdb_priv.errors import InvalidParameter, NotInstalled, echoed
from duckdb_priv.sqltext.quoting import identifier, literal

ENCRYPTING = "LOAD httpfs"
"""DuckDB needs this extension to write encrypted files: it has a secure random number generator."""
TAKEN = frozenset({"main", "memory", "priv", "system", "temp"})
"""Names that an attached database cannot have."""


def attach(connection: duckdb.DuckDBPyConnection, path: str | Path, key: str) -> None:
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
