"""Mondrian: k-anonymity by cuts at medians of the data. This baseline promises nothing but k-anonymity.

The borders of the classes are computed from the records, so the scheme is not safe: no delta holds for it, with or
without sampling.
Source: LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity", strict cuts.
"""

from __future__ import annotations

import numpy as np

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Integers


def mondrian(codes: Integers, k: int) -> Integers:
    """Return the class of each record, shape (n,), numbered from 0; each class has at least k records.

    ``codes`` are ordered values, shape (n, attributes). A class is cut at the median of an attribute, if both parts
    have at least k records. Attributes are tried in the order of the class's width, as a share of the width of the
    table.

    >>> mondrian(np.array([[1], [9], [2], [8], [3]]), k=2).tolist()
    [0, 1, 0, 1, 1]
    >>> mondrian(np.array([[1], [9], [9], [9], [9]]), k=2).tolist()
    [0, 0, 0, 0, 0]
    """
    if not 1 <= k <= len(codes):
        raise InvalidParameter(
            f"k must lie in 1 … {len(codes)}, the number of records, got {k}",
            hint="5 to 50 is usual",
        )
    whole = np.maximum(np.ptp(codes, axis=0), 1)
    labels = np.zeros(len(codes), np.int64)
    waiting, classes = [np.arange(len(codes))], 0
    while waiting:
        members = waiting.pop()
        parts = _cut(codes, members, whole, k)
        if parts is None:
            labels[members] = classes
            classes += 1
        else:
            waiting += reversed(parts)
    return labels


def _cut(
    codes: Integers, members: Integers, whole: Integers, k: int
) -> tuple[Integers, Integers] | None:
    """Cut a class in two of at least k records each, or return None."""
    if len(members) < 2 * k:
        return None
    own = codes[members]
    width = np.ptp(own, axis=0) / whole
    for attribute in np.argsort(-width, kind="stable"):
        values = own[:, attribute]
        median = np.partition(values, len(values) // 2)[len(values) // 2]
        # All records with the median value go to the same side.
        for low in (values < median, values <= median):
            below = int(low.sum())
            if k <= below <= len(values) - k:
                return members[low], members[~low]
    return None


def boxes(codes: Integers, labels: Integers) -> tuple[Integers, Integers]:
    """Return the least and the largest codes of each record's class, which are published for the record.

    >>> low, high = boxes(np.array([[1], [9], [2]]), np.array([0, 1, 0]))
    >>> low.ravel().tolist(), high.ravel().tolist()
    ([1, 9, 1], [2, 9, 2])
    """
    order = np.argsort(labels, kind="stable")
    first = np.flatnonzero(np.diff(labels[order], prepend=-1))
    low = np.minimum.reduceat(codes[order], first)
    high = np.maximum.reduceat(codes[order], first)
    return low[labels], high[labels]
