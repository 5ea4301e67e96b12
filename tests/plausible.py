"""What independent records show but for once in a thousand million times."""

from __future__ import annotations

import math


def plausible(records: int, rarely: float, often: float, others: int = 1) -> range:
    """List the counts a value can be shown with, if each record shows it with one of two probabilities (Bernstein).

    Others are refused: somebody has chosen the rows by what they report. So is it where more rows than a few show the
    same: the value, or, where there are no more ``others``, the other one.

    >>> plausible(1000, 0.01, 0.6)
    range(1, 709)
    """
    surprise = math.log(2e9)

    def slack(share: float) -> float:
        spread = 2 * surprise * records * share * (1 - share)
        return surprise / 3 + math.sqrt((surprise / 3) ** 2 + spread)

    least = max(math.ceil(records * rarely - slack(rarely)), 0)
    most = min(math.floor(records * often + slack(often)), records)
    if (records - 1) * math.log(often) < math.log(1e-9):
        least, most = max(least, int(others == 1)), min(most, records - 1)
    return range(least, most + 1)
