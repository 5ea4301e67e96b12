"""Sort many records by the code of their value and then by 128 bits, with sorts of 64-bit words in several threads.

One 64-bit word holds the leading bits of code and order and the number of the record, so sorting moves nothing else.
Runs of records are sorted first. Then the parts of all runs between the same bounds are merged; such a part fits in the
processor's cache. The few records whose leading bits agree are sorted again by their full keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

A = TypeVar("A")
B = TypeVar("B")

TOGETHER = 4
"""Runs that are sorted together at first. With fewer, the merge has more work."""
MERGED = 1 << 17
"""Approximate number of records in one merge."""
EVERY = 1 << 10
"""Bounds are chosen from every ``EVERY``-th key."""


class Each(Protocol):
    """A function like ``map``, which may run the calls in several threads."""

    def __call__(self, function: Callable[[A], B], over: Iterable[A], /) -> Iterable[B]:
        """Return the results of the function, in the order of its arguments."""
        ...


class Keys(NamedTuple):
    """Sort keys of consecutive records: by code, then by order, then by word."""

    code: NDArray[np.uint32]
    order: NDArray[np.uint64]
    word: NDArray[np.uint64]


def in_order(runs: Sequence[Keys], values: int, each: Each = map) -> NDArray[np.int64]:
    """Return the record numbers in sorted order. Records are numbered 0, 1, … through all runs.

    Every code is smaller than ``values``.

    >>> keys = Keys(np.array([1, 0, 1], "u4"), np.array([3, 9, 3], "u8"), np.array([8, 0, 7], "u8"))
    >>> in_order([keys], 2)
    array([1, 2, 0])
    """
    first = np.cumsum([0, *(len(run.code) for run in runs)])
    rows = int(first[-1])
    of_code, of_number = np.uint64(values.bit_length()), np.uint64(rows.bit_length())
    number = (np.uint64(1) << of_number) - np.uint64(1)

    def leading(run: int) -> NDArray[np.uint64]:
        keys = runs[run].code.astype(np.uint64) << np.uint64(64 - of_code)
        keys |= runs[run].order >> of_code
        keys &= ~number
        keys |= np.arange(first[run], first[run + 1], dtype=np.uint64)
        return keys

    def together(start: int) -> NDArray[np.uint64]:
        keys = np.concatenate([leading(run) for run in range(len(runs))[start : start + TOGETHER]])
        keys.sort()
        return keys

    keys = list(each(together, range(0, len(runs), TOGETHER)))
    # Keys whose leading bits agree stay together.
    looked = np.sort(np.concatenate([run[::EVERY] for run in keys])) & ~number
    bounds = looked[MERGED // EVERY :: MERGED // EVERY]
    cuts = np.array([[0, *np.searchsorted(run, bounds), len(run)] for run in keys])
    starts = cuts.sum(axis=0)
    records = np.empty(rows, np.uint64)

    def between(bound: int) -> None:
        part = records[starts[bound] : starts[bound + 1]]
        pieces = [run[cut[bound] : cut[bound + 1]] for run, cut in zip(keys, cuts, strict=True)]
        np.concatenate(pieces, out=part)
        # A stable sort merges the sorted pieces.
        part.sort(kind="stable")
        agreeing = np.flatnonzero((part[1:] ^ part[:-1]) <= number)
        part &= number
        if len(agreeing):
            agreeing = np.union1d(agreeing, agreeing + 1)
            again = np.sort(part[agreeing])
            part[agreeing] = again[np.lexsort(_of_records(runs, first, again)[::-1])]

    for _ in each(between, range(len(starts) - 1)):
        pass
    return records.view(np.int64)


def _of_records(
    runs: Sequence[Keys], first: NDArray[np.int64], records: NDArray[np.uint64]
) -> Keys:
    """Return the full keys of some records, which are given in ascending order of their numbers."""
    parts = np.split(
        records.view(np.int64), np.searchsorted(records, first[1:-1].astype(np.uint64))
    )
    taken = [
        [key[part - start] for key in run]
        for run, start, part in zip(runs, first, parts, strict=False)
    ]
    return Keys(*map(np.concatenate, zip(*taken, strict=True)))
