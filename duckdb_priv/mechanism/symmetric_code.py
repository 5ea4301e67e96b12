"""Symmetric codes: a record publishes one of many outcomes, and each outcome contains a set of values.

Outcomes that contain the true value are more probable than the others, all by the same factor. Uniform perturbation is
the code whose outcomes contain one value each. Derivations: ``block_design.md`` beside this file.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.uniform import WORDS


class Code(NamedTuple):
    """The size of a code: its outcomes, the outcomes that contain one value, and those that contain two.

    >>> Code(31, 6, 1).own(9.0), Code(31, 6, 1).other(9.0)
    (0.6835443037974683, 0.17721518987341772)
    """

    outcomes: int
    holding: int = 1
    shared: int = 0

    def total(self, amplification: float) -> float:
        """Return the sum of the relative likelihoods of all outcomes: 1 for an outcome without the true value."""
        return self.holding * amplification + self.outcomes - self.holding

    def own(self, amplification: float) -> float:
        """Return the probability that the outcome contains the true value."""
        return self.holding * amplification / self.total(amplification)

    def other(self, amplification: float) -> float:
        """Return the probability that the outcome contains one given other value."""
        only = self.holding - self.shared
        return (self.shared * amplification + only) / self.total(amplification)

    def retention(self, amplification: float) -> float:
        """Return the probability of drawing from the true value's outcomes; otherwise all outcomes are drawn from."""
        return self.holding * (amplification - 1) / self.total(amplification)

    def error(self, amplification: float) -> float:
        """Return the standard deviation that a record without a value adds to the estimate of that value.

        >>> round(Code(50).error(9.0) / Code(57, 8, 1).error(9.0), 3)
        1.289
        """
        own, other = self.own(amplification), self.other(amplification)
        return math.sqrt(other * (1 - other)) / (own - other)

    def thresholds(self, amplification: float) -> tuple[int, int]:
        """Return (keep, width), the integers by which a record's 64-bit word selects an outcome.

        If the word is below ``keep``, the record reports outcome number ``word mod holding`` of those that contain
        its value. Otherwise it reports outcome number ``(word - keep) // width``. Rounding goes towards more noise:
        no outcome is more than ``amplification`` times as probable under one value as under another.

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
