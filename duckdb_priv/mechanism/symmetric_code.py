"""Symmetric codes: a record publishes one of many outcomes, each of which holds some of the values.

The true value's own outcomes are more probable than the others, all by one factor. Uniform perturbation is the code
whose outcomes hold one value each. Derivations: ``block_design.md`` beside this file.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from duckdb_priv.errors import InvalidParameter

WORDS = 2**64
"""How many values 64 bits can take."""


class Code(NamedTuple):
    """How many outcomes there are, how many of them hold a given value, and how many two given values.

    >>> Code(31, 6, 1).own(9.0), Code(31, 6, 1).other(9.0)
    (0.6835443037974683, 0.17721518987341772)
    """

    outcomes: int
    holding: int = 1
    shared: int = 0

    def total(self, amplification: float) -> float:
        """Return the sum of all outcomes' likelihoods, that of one which does not hold the true value being 1."""
        return self.holding * amplification + self.outcomes - self.holding

    def own(self, amplification: float) -> float:
        """Return the probability that the outcome holds the true value."""
        return self.holding * amplification / self.total(amplification)

    def other(self, amplification: float) -> float:
        """Return the probability that the outcome holds a given value which is not the true one."""
        only = self.holding - self.shared
        return (self.shared * amplification + only) / self.total(amplification)

    def retention(self, amplification: float) -> float:
        """Return the probability that the outcome is drawn among those that hold the true value, else among all."""
        return self.holding * (amplification - 1) / self.total(amplification)

    def error(self, amplification: float) -> float:
        """Return the standard deviation that one record without the value adds to the value's estimate.

        >>> round(Code(50).error(9.0) / Code(57, 8, 1).error(9.0), 3)
        1.289
        """
        own, other = self.own(amplification), self.other(amplification)
        return math.sqrt(other * (1 - other)) / (own - other)

    def thresholds(self, amplification: float) -> tuple[int, int]:
        """Return (keep, width): how 64 bits decide, in integers.

        A record whose word is below ``keep`` reports that of the outcomes which hold its value that has the number
        ``word mod holding`` among them, any other one the outcome number ``(word - keep) // width``. Rounding goes
        towards more noise: no outcome is more than ``amplification`` times as probable under one value as another.

        >>> keep, width = Code(4).thresholds(3.0)
        >>> keep + 4 * width == 2**64, (keep + width) / width
        (True, 3.0)
        """
        odds = Fraction(amplification)
        width = math.ceil(WORDS / (self.holding * (odds - 1) + self.outcomes))
        while -(-(WORDS - self.outcomes * width) // self.holding) > (odds - 1) * width:
            width += 1
        keep = WORDS - self.outcomes * width
        if keep <= 0:
            raise InvalidParameter(
                f"a likelihood ratio of {amplification!r} is below the resolution of 64 bits",
                hint="choose a larger epsilon",
            )
        return keep, width
