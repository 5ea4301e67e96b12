"""The optimal code for local differential privacy, for comparison. It has too many outcomes to be used.

Source: Ye and Barg, "Optimal schemes for discrete distribution estimation under locally differential privacy" (2018).
"""

from __future__ import annotations

import math


def optimal_error(values: int, amplification: float) -> float:
    """Return the standard deviation per record of the best code.

    Its outcomes are all ``C(m, d)`` subsets of the domain of some size d, too many to number. By theorem IV.1, the
    result is the minimum over all d.

    >>> from duckdb_priv.mechanism.symmetric_code import Code
    >>> round(Code(1383).error(9.0) / optimal_error(1383, 9.0), 3)
    6.226
    """

    def error(size: int) -> float:
        total = size * amplification + values - size
        own = size * amplification / total
        other = size * ((size - 1) * amplification + values - size) / ((values - 1) * total)
        return math.sqrt(other * (1 - other)) / (own - other)

    return min(map(error, range(1, values)))
