"""Makes a connection able to speak priv.*: functions, catalog, secret and macros.

Creating the macros takes a third of a second, so they leave a mark in the catalog: a digest of the library's version
and of their text. Where the mark is right, the first installation in a process registers the functions and trusts the
macros. A later one, which a user may call because something is missing, lists them and restores what was dropped
or replaced by hand; the listing, of every function that DuckDB has, is most of what that costs.

A file in a storage format older than that of DuckDB 1.5 does not keep the word MATERIALIZED of a macro, without which
a procedure might run twice: there the macros are created again every time.
"""

from __future__ import annotations

import hashlib
import threading
from contextlib import suppress
from pathlib import Path

import duckdb

from duckdb_priv.engine import encryption, secrets
from duckdb_priv.engine.instance import Instance, find, is_prepared, keep
from duckdb_priv.engine.noisy_counts import NoisyCounts
from duckdb_priv.engine.private_files import is_open, keep_beside, made_for_owner, remove_spilled
from duckdb_priv.engine.procedures import Runner
from duckdb_priv.engine.udfs import KERNELS, create_function
from duckdb_priv.errors import NotInstalled
from duckdb_priv.estimator import macros
from duckdb_priv.procedures import find_procedure
from duckdb_priv.publisher.surface import publisher_macros
from duckdb_priv.release import catalog
from duckdb_priv.release.given import check_connection, check_path
from duckdb_priv.sqltext import templates
from duckdb_priv.version import __version__

SCHEMA = "priv"
FORGETFUL = frozenset({"v1.0.0+", "v1.2.0+", "v1.3.0+", "v1.4.0+"})
"""Storage formats, as DuckDB names them, in which a macro loses the word MATERIALIZED."""

_one_at_a_time = threading.Lock()
_opening = threading.Lock()


def install(connection: duckdb.DuckDBPyConnection, *, secret: bytes | None = None) -> None:
    """Prepare a connection for publishing, in its current database.

    Registers the functions once per DuckDB instance, brings the catalog in the schema ``priv`` up to date, makes
    the secret at the first call, and creates the macros. Calling it again changes nothing, unless a macro was
    dropped or replaced by hand: then all are created again.

    ``secret`` is 32 bytes that the caller keeps instead of the database; every later call needs the same.

    Raises NotInstalled where the schema ``priv``, or a function's name, is taken by something else, and
    where the database is read-only, a release file, or of a newer library.

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
            hint="open it for writing; a release is read without installing anything",
        )
    with _one_at_a_time:
        complete = storage not in FORGETFUL and _has_mark(connection)
        instance = _register(connection) if complete and not is_prepared(connection) else None
        if instance is None:
            functions, described = _listed(connection, database)
            instance = _registered(connection, functions)
            complete = complete and macro_names() | macros.needed(connection) <= described
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

    A file that is made is readable by its owner only, since it keeps a secret. What a killed program spilled beside it
    is removed. With an ``encryption_key`` it is, or must be, encrypted: it is attached under the name of the file, and
    ``cursor()`` of the connection does not use it (``USE`` that name there).

    Raises NotInstalled as ``install`` does, and where this DuckDB cannot encrypt.

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
            encryption.attach(connection, path, encryption_key)
        install(connection, secret=secret)
    except BaseException:
        connection.close()
        raise
    return connection


def _has_mark(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether the current database was prepared by this very library."""
    with suppress(duckdb.CatalogException, duckdb.BinderException):
        rows = connection.execute("SELECT name FROM priv.migration").fetchall()
        return {name for (name,) in rows} == {*templates.names("migrations"), mark()}
    return False


def _listed(connection: duckdb.DuckDBPyConnection, database: str) -> tuple[set[str], set[str]]:
    """List the functions that have names of ours, and the macros of a database that have a comment.

    A macro that was replaced by hand has none. Those of the schema estimated are a release's own.
    """
    rows = connection.execute(
        "SELECT function_name, starts_with(function_name, '_priv_') FROM duckdb_functions()"
        " WHERE (starts_with(function_name, '_priv_') AND schema_name <> 'estimated')"
        " OR (database_name = ? AND schema_name = 'priv' AND comment IS NOT NULL)",
        [database],
    ).fetchall()
    return {name for name, ours in rows if ours}, {name for name, ours in rows if not ours}


def _registered(connection: duckdb.DuckDBPyConnection, functions: set[str]) -> Instance | None:
    """Find the instance that these functions are of, and refuse others of their names."""
    if not functions:
        return None
    name = (
        connection.execute("SELECT _priv_instance(1)").fetchall()[0][0]
        if "_priv_instance" in functions
        else ""
    )
    instance = find(str(name))
    if instance is None:
        raise _taken(min(functions))
    instance.connections.add(connection)
    return instance


def _register(connection: duckdb.DuckDBPyConnection) -> Instance | None:
    """Register the functions, which serve every connection to this instance; None where one is there already."""
    instance = Instance(find_procedure)
    instance.functions = functions = (
        *Runner(instance).functions(),
        *NoisyCounts(instance).functions(),
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
        f"the function {name!r} exists and is not of this duckdb_priv",
        hint="names that begin with _priv_ are taken; register yours under others",
    )


def _create_macros(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("BEGIN TRANSACTION")
    try:
        for statement in publisher_macros().values():
            connection.execute(statement)
        macros.create_all(connection)
        catalog.record_macros(connection, mark())
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def mark() -> str:
    """Return what tells the macros of this library from those of another: its version and a digest of their text."""
    digest = hashlib.sha256()
    for text in (
        *publisher_macros().values(),
        *templates.everything("analyst"),
        str(macros.LAYOUT),
    ):
        digest.update(text.encode())
    return f"{catalog.MACROS}{__version__} {digest.hexdigest()[:16]}"


def macro_names() -> set[str]:
    """List the macros that every prepared database has."""
    return {*publisher_macros(), *templates.names("analyst")}
