"""Prepares a connection for publishing: installs the functions, catalog, secret and macros of the schema priv.

Creating the macros takes a third of a second. So the catalog records a digest of the library's version and of the
macros' text. If that digest is right, the first call of ``install`` in a process creates no macros. A later call, made
perhaps because a macro is missing, lists the macros and creates all of them if one was dropped or replaced.

Storage formats older than DuckDB 1.5's drop the word MATERIALIZED from a macro, and then a procedure might run twice.
In such files the macros are created at every call.
"""

from __future__ import annotations

import hashlib
import threading
from contextlib import suppress
from pathlib import Path

import duckdb

from duckdb_priv.engine import secrets
from duckdb_priv.engine.instance import Instance, instance_of, is_prepared, keep
from duckdb_priv.engine.noisy_counts import noisy_count
from duckdb_priv.engine.private_files import (
    attach_encrypted,
    is_open,
    keep_beside,
    made_for_owner,
    remove_spilled,
)
from duckdb_priv.engine.procedures import Runner
from duckdb_priv.engine.udfs import KERNELS, create_function
from duckdb_priv.errors import NotInstalled
from duckdb_priv.estimator import facts, macros
from duckdb_priv.procedures import find_procedure
from duckdb_priv.publisher.surface import publisher_macros
from duckdb_priv.release import catalog
from duckdb_priv.release.given import check_connection, check_path
from duckdb_priv.sqltext import templates
from duckdb_priv.version import __version__

SCHEMA = "priv"
FORMATS_WITHOUT_MATERIALIZED = frozenset({"v1.0.0+", "v1.2.0+", "v1.3.0+", "v1.4.0+"})
"""DuckDB's names of the storage formats in which a macro loses the word MATERIALIZED."""

_one_at_a_time = threading.Lock()
_opening = threading.Lock()


def install(connection: duckdb.DuckDBPyConnection, *, secret: bytes | None = None) -> None:
    """Prepare a connection for publishing, in its current database.

    Registers the functions once per DuckDB instance, updates the catalog in the schema ``priv``, makes the secret at
    the first call, and creates the macros. A second call changes nothing, unless a macro was dropped or replaced by
    hand. Then it creates all macros again.

    ``secret`` is 32 bytes that the caller keeps instead of the database. Every later call needs the same bytes.

    Raises NotInstalled if other objects have the name of the schema ``priv`` or of a function. The same error is
    raised if the database is read-only, is a release file, or was prepared by a newer library.

    >>> import duckdb
    >>> con = duckdb.connect()
    >>> install(con)
    >>> con.execute("SELECT round(priv.max_retention(0.1, 0.5, 10), 4)").fetchall()
    [(0.4444,)]
    >>> con.close()
    """
    check_connection(connection)
    ((database, read_only, storage),) = connection.execute(
        "SELECT database_name, readonly, tags['storage_version'] FROM duckdb_databases()"
        " WHERE database_name = current_database()"
    ).fetchall()
    if database.lower() == SCHEMA:
        raise NotInstalled(
            f"a database called {database!r} hides the schema of that name, which holds all functions",
            hint="give the file another name, or ATTACH it AS another one and USE that",
        )
    if read_only:
        raise NotInstalled(
            f"database {database!r} is read-only, and publishing writes to it",
            hint="open it for writing; a release can be read without installing anything",
        )
    with _one_at_a_time:
        complete = storage not in FORMATS_WITHOUT_MATERIALIZED and _has_mark(connection)
        instance = _register(connection) if complete and not is_prepared(connection) else None
        if instance is None:
            functions, described = _functions_and_macros(connection, database)
            instance = _existing_instance(connection, functions)
            # The macros that every prepared database has, and those of its releases.
            names = {*publisher_macros(), *templates.names("analyst"), *macros.needed(connection)}
            complete = complete and names <= described
            if not complete:
                catalog.migrate(connection, database)
            instance = instance or _register(connection)
        if instance is None:
            raise _taken("_priv_instance")
        # Publications write the macros, too.
        with instance.turn, made_for_owner():
            secrets.keep_secret(connection, secret)
            if secret is not None:
                instance.secrets[database] = secret
            if not complete:
                _create_macros(connection)
            keep_beside(connection)


def connect(
    path: str | Path = ":memory:",
    *,
    secret: bytes | None = None,
    encryption_key: str | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open a database and prepare it for publishing.

    A new database file is readable only by its owner, since it keeps the secret. Temporary files that a killed program
    left beside it are removed. With an ``encryption_key``, a new file is encrypted and an existing file must be. The
    database is then attached under the name of the file: a ``cursor()`` of the connection needs ``USE`` of that name.

    Raises NotInstalled as ``install`` does, and if this DuckDB cannot encrypt.

    >>> con = connect()
    >>> con.execute("SELECT count(*) FROM priv.release").fetchall()
    [(0,)]
    >>> con.close()
    """
    check_path(path)
    with _opening, made_for_owner():
        shared = is_open(Path(path))
        connection = duckdb.connect(str(path) if encryption_key is None else ":memory:")
        if encryption_key is None and not shared:
            remove_spilled(Path(path))
    try:
        if encryption_key is not None:
            attach_encrypted(connection, path, encryption_key)
        install(connection, secret=secret)
    except BaseException:
        connection.close()
        raise
    return connection


def _has_mark(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether the current database was prepared by this version of the library."""
    with suppress(duckdb.CatalogException, duckdb.BinderException):
        rows = connection.execute("SELECT name FROM priv.migration").fetchall()
        return {name for (name,) in rows} == {*templates.names("migrations"), mark()}
    return False


def _functions_and_macros(
    connection: duckdb.DuckDBPyConnection, database: str
) -> tuple[set[str], set[str]]:
    """Return the names of the functions that begin with _priv_, and of the database's macros that have a comment.

    A macro that was replaced by hand has no comment. Functions of the schema estimated belong to a release.
    """
    rows = connection.execute(
        "SELECT function_name, starts_with(function_name, '_priv_') FROM duckdb_functions()"
        " WHERE (starts_with(function_name, '_priv_') AND schema_name <> 'estimated')"
        " OR (database_name = ? AND schema_name = 'priv' AND comment IS NOT NULL)",
        [database],
    ).fetchall()
    return {name for name, ours in rows if ours}, {name for name, ours in rows if not ours}


def _existing_instance(
    connection: duckdb.DuckDBPyConnection, functions: set[str]
) -> Instance | None:
    """Return the instance that registered these functions; None if there are no functions.

    Raises NotInstalled if something else registered functions of these names.
    """
    if not functions:
        return None
    instance = instance_of(connection)
    if instance is None:
        raise _taken(min(functions))
    instance.connections.add(connection)
    return instance


def _register(connection: duckdb.DuckDBPyConnection) -> Instance | None:
    """Register the functions for every connection to this DuckDB instance; None if one of the names is taken."""
    instance = Instance(find_procedure)
    instance.functions = functions = (
        *Runner(instance).functions(),
        noisy_count(instance),
        *KERNELS,
    )
    for number, udf in enumerate(functions):
        try:
            create_function(connection, udf)
        except (duckdb.CatalogException, duckdb.NotImplementedException):
            for created in functions[:number]:
                connection.remove_function(created.name)
            return None
    instance.connections.add(connection)
    keep(instance)
    return instance


def _taken(name: str) -> NotInstalled:
    return NotInstalled(
        f"the function {name!r} exists and was not registered by this duckdb_priv",
        hint="names that begin with _priv_ are reserved; register your function under another name",
    )


def _create_macros(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("BEGIN TRANSACTION")
    try:
        macros.run(connection, publisher_macros().values())
        macros.create_all(connection)
        catalog.record_macros(connection, mark())
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def mark() -> str:
    """Return the catalog entry of this library's macros: the version and a digest of the macros' text."""
    digest = hashlib.sha256()
    for text in (
        *publisher_macros().values(),
        *templates.everything("analyst"),
        str(facts.LAYOUT),
    ):
        digest.update(text.encode())
    return f"{catalog.MACROS}{__version__} {digest.hexdigest()[:16]}"
