"""The order of many records by the code of their value, and by 128 bits: with one sort of plain words.

The leading bits of code and order share a word of 64 bits with the number of the record, so that nothing else is moved.
Records whose leading bits agree, who are few, are sorted once more by all that they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

PART = 1 << 20
"""Records that are sorted by themselves, in threads, before all are merged: with fewer that takes longer."""

A = TypeVar("A")
B = TypeVar("B")


class Each(Protocol):
    """Does the same to each of several things, as ``map`` does, one after the other or in threads."""

    def __call__(self, function: Callable[[A], B], over: Iterable[A], /) -> Iterable[B]:
        """Return what the function gives of each, in the same order."""
        ...


def in_order(
    code: NDArray[np.uint32],
    order: NDArray[np.uint64],
    word: NDArray[np.uint64],
    each: Each = map,
) -> NDArray[np.int64]:
    """Return the numbers of records, 0, 1, …, sorted by their codes, then by ``order``, then by ``word``.

    >>> in_order(np.array([1, 0, 1], "u4"), np.array([3, 9, 3], "u8"), np.array([8, 0, 7], "u8"))
    array([1, 2, 0])
    """
    rows = len(code)
    of_number = np.uint64(rows.bit_length())
    of_code = np.uint64(int(code.max(initial=0)).bit_length())
    keys = np.empty(rows, np.uint64)

    def sort(part: slice) -> None:
        key = code[part].astype(np.uint64) << np.uint64(64 - of_code)
        key |= order[part] >> of_code
        key >>= of_number
        key <<= of_number
        key |= np.arange(part.start, part.start + len(key), dtype=np.uint64)
        key.sort()
        keys[part] = key

    for _ in each(sort, [slice(start, start + PART) for start in range(0, rows, PART)]):
        pass
    # This merges what is sorted already.
    keys.sort(kind="stable")
    agreeing = np.flatnonzero((keys[1:] ^ keys[:-1]) >> of_number == 0)
    keys &= (np.uint64(1) << of_number) - np.uint64(1)
    records = keys.view(np.int64)
    agreeing = np.union1d(agreeing, agreeing + 1)
    again = records[agreeing]
    records[agreeing] = again[np.lexsort((word[again], order[again], code[again]))]
    return records
