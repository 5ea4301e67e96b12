"""How many records there are of a kind, from a sample that is chosen by a hash of the record.

Derivation: ``sketch.md``.
Source: Dasgupta, Lang, Rhodes, Thaler (2016), "A framework for estimating stream expression cardinalities".
"""

from __future__ import annotations

import math

SKETCH = 2**17
"""Records of a table that are kept at most, on average."""


def level_of(records: int, size: int = SKETCH) -> int:
    """Return how many zero bits a hash must begin with for its record to be kept.

    >>> level_of(1000), level_of(2**17), level_of(2**17 + 1), level_of(10_000_000)
    (0, 0, 1, 7)
    """
    return max(0, math.ceil(math.log2(max(1, records) / size)))


def at_most(hits: int, level: int, false_alarm: float) -> int:
    """Return how many records there are at most, but for a probability, of which a sample at a level holds so many.

    Each is in the sample with the same probability, so that the count is binomial, and it is below the limit of a
    Poisson variable, which spreads more.

    >>> at_most(100, 0, 1e-9), at_most(1250, 3, 1e-9)
    (100, 11800)
    """
    if level == 0:
        return hits
    # Of hits or fewer events with mean limit the probability is that of a gamma variable.
    from scipy.special import gammainccinv

    limit = float(gammainccinv(hits + 1, false_alarm))
    return math.ceil(limit * (1 << level))
