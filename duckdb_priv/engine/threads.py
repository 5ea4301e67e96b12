"""Applying a function to several items at once, where most time is spent outside of Python, in AES or numpy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import duckdb

A = TypeVar("A")
B = TypeVar("B")


def ahead(
    cursor: duckdb.DuckDBPyConnection, function: Callable[[A], B], over: Iterable[A]
) -> Iterator[B]:
    """Apply a function to each item, in as many threads as DuckDB has, and yield the results in order.

    Items are taken one by one, a few ahead of the results, so ``over`` may be a stream that the cursor reads.

    >>> with duckdb.connect() as connection:
    ...     list(ahead(connection, len, ["a", "bc"]))
    [1, 2]
    """
    ((threads,),) = cursor.execute("SELECT current_setting('threads')").fetchall()
    with ThreadPoolExecutor(threads) as pool:
        begun = deque[Future[B]]()
        for one in over:
            begun.append(pool.submit(function, one))
            if len(begun) > 2 * threads:
                yield begun.popleft().result()
        yield from (each.result() for each in begun)


def each(
    cursor: duckdb.DuckDBPyConnection, function: Callable[[A], B], over: Iterable[A]
) -> list[B]:
    """Return the results of ``ahead``."""
    return list(ahead(cursor, function, over))
