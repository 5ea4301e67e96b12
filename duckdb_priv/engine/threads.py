"""Applying a function to several items at once, where most time is spent outside of Python, in AES or numpy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import duckdb

A = TypeVar("A")
B = TypeVar("B")


def each(
    cursor: duckdb.DuckDBPyConnection, function: Callable[[A], B], over: Iterable[A]
) -> list[B]:
    """Apply a function to each item, in as many threads as DuckDB has, and return the results in order.

    Items are taken one by one, a few ahead of the results, so ``over`` may be a stream that the cursor reads.

    >>> with duckdb.connect() as connection:
    ...     each(connection, len, ["a", "bc"])
    [1, 2]
    """
    ((threads,),) = cursor.execute("SELECT current_setting('threads')").fetchall()
    with ThreadPoolExecutor(threads) as pool:
        done, ahead = [], deque[Future[B]]()
        for one in over:
            ahead.append(pool.submit(function, one))
            if len(ahead) > 2 * threads:
                done.append(ahead.popleft().result())
        return [*done, *(each.result() for each in ahead)]
