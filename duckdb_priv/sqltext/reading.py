"""Reads the number of rows and the columns of a table, a view or a query in parentheses."""

from __future__ import annotations

from typing import Any


def count_of(connection: Any, rows: str) -> int:
    """Count the rows of a table, a view or a query in parentheses.

    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     count_of(connection, "range(3)")
    3
    """
    ((count,),) = connection.execute(f"SELECT count(*) FROM {rows}").fetchall()
    return int(count)


def types_of(connection: Any, rows: str) -> dict[str, str]:
    """Return the type of each column, in the order of the columns.

    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     types_of(connection, "(SELECT 1 AS a, 'x' AS b)")
    {'a': 'INTEGER', 'b': 'VARCHAR'}
    """
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE FROM {rows}").fetchall()}
