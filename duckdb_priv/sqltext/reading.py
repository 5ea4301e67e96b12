"""Reads and makes tables. ``rows`` is a table, a view or a query in parentheses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


def named_rows(connection: Any, query: str, parameters: Any = None) -> list[dict[str, Any]]:
    """Run a query, and return its rows as dictionaries by column.

    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     named_rows(connection, "SELECT $a AS a, 2 AS b", {"a": 1})
    [{'a': 1, 'b': 2}]
    """
    found = connection.execute(query, parameters or [])
    names = [name for name, *_ in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def select(columns: Iterable[str], rows: str) -> str:
    """Write the query of some expressions.

    >>> select(['"a"', "b + 1"], "t")
    'SELECT "a", b + 1 FROM t'
    """
    return f"SELECT {', '.join(columns)} FROM {rows}"


def counts_of(connection: Any, value: str, rows: str) -> list[tuple[str | None, int]]:
    """Count the rows with each text of an expression, in the order of the texts.

    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     counts_of(connection, "x % 2", "range(3) AS t(x)")
    [('0', 2), ('1', 1)]
    """
    query = f"SELECT ({value})::VARCHAR, count(*) FROM {rows} GROUP BY ALL ORDER BY ALL"
    found: list[tuple[str | None, int]] = connection.execute(query).fetchall()
    return found


def make_table(connection: Any, name: str, query: str) -> None:
    """Make a temporary table of a query; it replaces a former one.

    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     make_table(connection, "t", "SELECT 7 AS a")
    ...     connection.execute("FROM t").fetchall()
    [(7,)]
    """
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")


def add_rows(connection: Any, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows to a table, by one statement; all have the columns of the first.

    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     make_table(connection, "t", "SELECT 7 AS a, 'x' AS b")
    ...     add_rows(connection, "t", [{"b": "y", "a": 8}, {"b": "z", "a": 9}])
    ...     connection.execute("FROM t").fetchall()
    [(7, 'x'), (8, 'y'), (9, 'z')]
    """
    each = f"({', '.join('?' * len(rows[0]))})"
    connection.execute(
        f"INSERT INTO {name} ({', '.join(rows[0])}) VALUES {', '.join([each] * len(rows))}",
        [value for row in rows for value in row.values()],
    )


def lay_out(connection: Any, name: str, rows: Any, columns: str = "*") -> None:
    """Make a temporary table of an Arrow table, with a SELECT list over its columns; it replaces a former one.

    >>> import duckdb, pyarrow
    >>> with duckdb.connect() as connection:
    ...     lay_out(connection, "t", pyarrow.table({"a": [7]}), "a::UTINYINT AS b")
    ...     named_rows(connection, "FROM t")
    [{'b': 7}]
    """
    connection.register("_priv_laid_out", rows)
    make_table(connection, name, f"SELECT {columns} FROM _priv_laid_out")
    connection.unregister("_priv_laid_out")
