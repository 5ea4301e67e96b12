"""Compares records in a sample that a hash of each record selects.

Derivation: ``sketch.md``.
Source: Dasgupta, Lang, Rhodes, Thaler (2016), "A framework for estimating stream expression cardinalities".
"""

from __future__ import annotations

import math

import numpy as np

from duckdb_priv.mechanism.arrays import Integers

SKETCH = 2**17
"""Largest expected number of records in a sample."""


def level_of(records: int, size: int = SKETCH) -> int:
    """Return the sampling level: a record is in the sample if its hash begins with this many zero bits.

    >>> level_of(1000), level_of(2**17), level_of(2**17 + 1), level_of(10_000_000)
    (0, 0, 1, 7)
    """
    return max(0, math.ceil(math.log2(max(1, records) / size)))


def at_most(hits: int, level: int, false_alarm: float) -> int:
    """Return an upper bound for a number of records of which ``hits`` are in the sample at this level.

    The bound is too low with probability ``false_alarm`` at most. The number in the sample is binomial; the bound is
    computed for a Poisson variable, whose variance is larger.

    >>> at_most(100, 0, 1e-9), at_most(1250, 3, 1e-9)
    (100, 11800)
    """
    if level == 0:
        return hits
    # A Poisson variable with mean ``limit`` is at most ``hits`` with this incomplete gamma probability.
    from scipy.special import gammainccinv

    limit = float(gammainccinv(hits + 1, false_alarm))
    return math.ceil(limit * (1 << level))


def agree(mine: Integers, theirs: Integers, kappa: float) -> bool:
    """Return whether two columns of the same records agree beyond chance with at least this kappa (Cohen 1960).

    Columns with a single value agree by chance alone.

    >>> one, other = np.array([1, 1, 2, 2]), np.array([1, 1, 2, 3])
    >>> agree(one, one, 1.0), agree(one, other, 0.5), agree(one, other, 0.7), agree(one * 0, one * 0, 0.5)
    (True, True, False, False)
    """
    rows, same = len(mine), int(np.count_nonzero(mine == theirs))
    if same < kappa * rows:
        return False
    of_mine, of_theirs = (np.unique(each, return_counts=True) for each in (mine, theirs))
    _, here, there = np.intersect1d(
        of_mine[0], of_theirs[0], assume_unique=True, return_indices=True
    )
    chance = int(of_mine[1][here] @ of_theirs[1][there]) / rows
    return bool(same - chance >= kappa * (rows - chance) > 0)
