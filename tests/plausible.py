"""What independent records show but for once in a thousand million times."""

from __future__ import annotations

import math

FALSE_ALARM = 1e-9
"""Chance that a correct mechanism fails one statistical test, for a secret chosen at random."""


def plausible(records: int, rarely: float, often: float) -> range:
    """List the counts a value can be shown with, if each record shows it with one of two probabilities (Bernstein).

    Others are refused: someone has chosen the rows by what they report.

    >>> plausible(1000, 0.01, 0.6)
    range(0, 709)
    """
    surprise = math.log(2e9)

    def slack(share: float) -> float:
        spread = 2 * surprise * records * share * (1 - share)
        return surprise / 3 + math.sqrt((surprise / 3) ** 2 + spread)

    least = max(math.ceil(records * rarely - slack(rarely)), 0)
    most = min(math.floor(records * often + slack(often)), records)
    return range(least, most + 1)
