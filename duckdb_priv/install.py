"""Makes a connection able to speak priv.*: functions, catalog, secret and macros."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import duckdb

from duckdb_priv import analyst, catalog, sqlfiles
from duckdb_priv.errors import NotInstalled
from duckdb_priv.instance import Instance, find
from duckdb_priv.procedures import Runner
from duckdb_priv.sqlfiles import body, fill, literal, read
from duckdb_priv.udfs import KERNELS, Udf

_one_at_a_time = threading.Lock()


def install(connection: duckdb.DuckDBPyConnection, *, secret: bytes | None = None) -> None:
    """Prepare a connection for publishing, in its current database.

    Registers the functions once per DuckDB instance, brings the catalog in the schema ``priv`` up to date, makes
    the secret at the first call, and creates the macros. Calling it again changes nothing.

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
    (database,) = connection.execute("SELECT current_database()").fetchall()[0]
    (read_only,) = connection.execute(
        "SELECT readonly FROM duckdb_databases() WHERE database_name = ?", [database]
    ).fetchall()[0]
    if read_only:
        raise NotInstalled(
            f"database {database!r} is read-only, and publishing writes to it",
            hint="open it for writing; a release is read without installing anything",
        )
    with _one_at_a_time:
        instance = _registered(connection)
        catalog.migrate(connection, database)
        instance = instance or _register(connection)
        # Publications write the macros, too.
        with instance.turn:
            _create(connection, instance, database, secret)


def connect(
    path: str | Path = ":memory:", *, secret: bytes | None = None
) -> duckdb.DuckDBPyConnection:
    """Open a database and prepare it for publishing.

    >>> con = connect()
    >>> con.execute("SELECT count(*) FROM priv.release").fetchall()
    [(0,)]
    >>> con.close()
    """
    connection = duckdb.connect(str(path))
    try:
        install(connection, secret=secret)
    except BaseException:
        connection.close()
        raise
    return connection


def _registered(connection: duckdb.DuckDBPyConnection) -> Instance | None:
    """Find the functions that this instance has, and refuse others of their names."""
    taken = {
        row[0]
        for row in connection.execute(
            "SELECT function_name FROM duckdb_functions() WHERE starts_with(function_name, '_priv_')"
        ).fetchall()
    }
    if not taken:
        return None
    name = (
        connection.execute("SELECT _priv_instance(1)").fetchall()[0][0]
        if "_priv_instance" in taken
        else ""
    )
    instance = find(str(name))
    if instance is None:
        raise NotInstalled(
            f"the function {min(taken)!r} exists and is not of this duckdb_priv",
            hint="names that begin with _priv_ are taken; register yours under others",
        )
    instance.connections.add(connection)
    return instance


def _register(connection: duckdb.DuckDBPyConnection) -> Instance:
    """Register the functions, which serve every connection to this instance."""
    instance = Instance()
    functions = (*KERNELS, *Runner(instance).functions())
    for udf in functions:
        _create_function(connection, udf)
    instance.functions = functions
    instance.connections.add(connection)
    return instance


def _create_function(connection: duckdb.DuckDBPyConnection, udf: Udf) -> None:
    # DuckDB 1.5 and 2.0 differ in the types of these options, and both take their names.
    options: dict[str, Any] = {
        "type": "arrow",
        "null_handling": "special",
        "side_effects": True,
    }
    connection.create_function(udf.name, udf.function, list(udf.parameters), udf.returns, **options)


def _create(
    connection: duckdb.DuckDBPyConnection, instance: Instance, database: str, secret: bytes | None
) -> None:
    catalog.keep_secret(connection, secret)
    if secret is not None:
        instance.secrets[database] = secret
    connection.execute("BEGIN TRANSACTION")
    try:
        for name in sqlfiles.names("publisher"):
            connection.execute(publisher_sql(name))
        analyst.create(connection)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def publisher_sql(name: str) -> str:
    """Return the SQL of one of the publisher's macros; its file is named for its procedure."""
    folder = "publisher/fragments"
    names = ("caller", "run", "ask", "number", "receipt", "groups", "risks", "perturbed")
    fragments = {each: body(read(folder, each)) for each in names}
    return fill(body(read("publisher", name)), fragments | {"name": literal(name)})
