"""What a statement answers: its rows, as they are or by the names of their columns."""

from __future__ import annotations

from typing import Any

import duckdb


def rows(
    connection: duckdb.DuckDBPyConnection, query: str, *given: object
) -> list[tuple[Any, ...]]:
    return connection.execute(query, given).fetchall()


def named_rows(
    connection: duckdb.DuckDBPyConnection, query: str, *given: object
) -> list[dict[str, Any]]:
    answer = connection.execute(query, given)
    names = [name for name, *_ in answer.description]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def named_row(connection: duckdb.DuckDBPyConnection, query: str, *given: object) -> dict[str, Any]:
    """Return the only row of an answer, such as the receipt of a publication."""
    (row,) = named_rows(connection, query, *given)
    return row
