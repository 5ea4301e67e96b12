"""Applying a function to several items at once, where most time is spent outside of Python, in AES or numpy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import duckdb

A = TypeVar("A")
B = TypeVar("B")


def threads_of(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return the number of DuckDB's threads."""
    ((threads,),) = cursor.execute("SELECT current_setting('threads')").fetchall()
    return int(threads)


def ahead(threads: int, function: Callable[[A], B], over: Iterable[A]) -> Iterator[B]:
    """Apply a function to each item, in several threads, and yield the results in order.

    Items are taken one by one, a few ahead of the results, so ``over`` may be a stream.

    >>> list(ahead(2, len, ["a", "bc"]))
    [1, 2]
    """
    with ThreadPoolExecutor(threads) as pool:
        begun = deque[Future[B]]()
        for one in over:
            begun.append(pool.submit(function, one))
            if len(begun) > 2 * threads:
                yield begun.popleft().result()
        yield from (each.result() for each in begun)


def each(threads: int, function: Callable[[A], B], over: Iterable[A]) -> list[B]:
    """Return the results of ``ahead``."""
    return list(ahead(threads, function, over))
