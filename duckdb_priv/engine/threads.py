"""Doing the same to several things at once, where what takes time is done outside of Python: in AES, in numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import duckdb

A = TypeVar("A")
B = TypeVar("B")


def each(
    cursor: duckdb.DuckDBPyConnection, function: Callable[[A], B], over: Iterable[A]
) -> list[B]:
    """Do the same to each of several things, in as many threads as DuckDB has, and return the results in their order.

    >>> with duckdb.connect() as connection:
    ...     each(connection, len, ["a", "bc"])
    [1, 2]
    """
    ((threads,),) = cursor.execute("SELECT current_setting('threads')").fetchall()
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, over))
