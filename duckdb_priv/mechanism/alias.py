"""Alias tables: draw from any distribution with one look-up and one comparison, in exact integers.

The 2^64 words are divided into at least m equal bins. A word in bin j gives j if its place in the bin is below a bound,
else the alias of the bin.
Derivation: ``alias.md`` beside this file. Source: Walker, "An efficient method for generating
discrete random variables with general distributions" (1977).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.uniform import WORDS


def words_of(operator: Matrix) -> list[list[int]]:
    """Return, for each original value, how many of the 2^64 words publish it as each value.

    Row x has m integers that sum to 2^64. Probabilities of at least 2^-11 are exact; smaller ones are rounded down by
    less than one word. The remaining words publish the most probable value.

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
    """Return the operator with each probability rounded to 64 bits, as the alias tables draw it, in doubles.

    >>> as_drawn(np.array([[0.75, 1e-30], [0.25, 1.0]]))
    array([[0.75, 0.  ],
           [0.25, 1.  ]])
    """
    return np.array(words_of(operator), dtype=object).T.astype(np.float64) / float(WORDS)


@dataclass(frozen=True, eq=False)
class AliasTables:
    """One alias table for each original value. Each has B bins; B is the least power of two that is at least m."""

    bits: int
    """A bin has ``2**bits`` words: the low bits of a word are its place in the bin, the high bits number the bin."""
    bounds: NDArray[np.uint64]
    """Entry [x, j]: how many words of bin j publish j itself, shape (m, B)."""
    aliases: NDArray[np.uint32]
    """Entry [x, j]: the value that the other words of bin j publish, shape (m, B)."""

    @property
    def digest(self) -> str:
        """Return a digest of the tables."""
        return hashlib.sha256(self.bounds.tobytes() + self.aliases.tobytes()).hexdigest()


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
    """Return the bounds and aliases of one original value: each bin publishes its own value and one other at most."""
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
