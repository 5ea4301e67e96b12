"""Drawing from any distribution with one comparison: alias tables, exact in integers.

The 2^64 words are cut into at least m equal bins. A word in bin j gives j if it lies low enough in the
bin, else the alias of the bin: so one look-up and one comparison draw from any distribution.
Derivation: ``alias.md`` beside this file. Source: Walker, "An efficient method for generating
discrete random variables with general distributions" (1977).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.uniform import WORDS


def words_of(operator: Matrix) -> list[list[int]]:
    """Return, for each original value, how many of the 2^64 words publish it as each value.

    Row x has m integers that sum to 2^64. Probabilities from 2^-11 up are met exactly, smaller ones
    rounded down by less than one word; the most probable value takes what is left over.

    >>> [[count / 2**64 for count in counts] for counts in words_of(np.array([[0.75, 0.5], [0.25, 0.5]]))]
    [[0.75, 0.25], [0.5, 0.5]]
    """
    rows = []
    for column in operator.T:
        counts = [int(math.ldexp(probability, 64)) for probability in column.tolist()]
        counts[int(np.argmax(column))] += WORDS - sum(counts)
        rows.append(counts)
    return rows


def as_drawn(operator: Matrix) -> Matrix:
    """Return the operator that 64 bits draw from in place of this one, to double precision.

    >>> as_drawn(np.array([[0.75, 1e-30], [0.25, 1.0]]))
    array([[0.75, 0.  ],
           [0.25, 1.  ]])
    """
    return np.array(words_of(operator), dtype=object).T.astype(np.float64) / float(WORDS)


@dataclass(frozen=True, eq=False)
class AliasTables:
    """One alias table for each original value, with B bins: the power of two next to m from above."""

    bits: int
    """How many bits a place in a bin has; the others say which bin it is. A bin has ``2**bits`` words."""
    bounds: NDArray[np.uint64]
    """Entry [x, j]: how many words of bin j publish j itself, shape (m, B)."""
    aliases: NDArray[np.uint32]
    """Entry [x, j]: what the other words of bin j publish, shape (m, B)."""


def alias_tables(operator: Matrix) -> AliasTables:
    """Build the alias tables of an operator.

    >>> tables = alias_tables(np.array([[0.75, 0.5], [0.25, 0.5]]))
    >>> [bound / 2**64 for bound in tables.bounds[0].tolist()], tables.aliases[0].tolist()
    ([0.5, 0.25], [0, 0])
    """
    m = len(operator)
    bins = 1 << (m - 1).bit_length()
    built = [_alias_table([*counts, *[0] * (bins - m)]) for counts in words_of(operator)]
    return AliasTables(
        bits=(WORDS // bins).bit_length() - 1,
        bounds=np.array([bounds for bounds, _ in built], dtype=np.uint64),
        aliases=np.array([aliases for _, aliases in built], dtype=np.uint32),
    )


def _alias_table(counts: list[int]) -> tuple[list[int], list[int]]:
    """Fill every bin with words of its own value, and of at most one other."""
    size = WORDS // len(counts)
    left = counts.copy()
    bounds, aliases = [size] * len(counts), list(range(len(counts)))
    short = [j for j, count in enumerate(counts) if count < size]
    long = [j for j, count in enumerate(counts) if count > size]
    while short:
        j, donor = short.pop(), long[-1]
        bounds[j], aliases[j] = left[j], donor
        left[donor] -= size - left[j]
        if left[donor] <= size:
            long.pop()
            if left[donor] < size:
                short.append(donor)
    return bounds, aliases
