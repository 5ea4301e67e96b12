"""The best code of any size for local differential privacy, which codes that can be numbered are compared with.

Source: Ye and Barg, "Optimal schemes for discrete distribution estimation under locally differential privacy" (2018).
"""

from __future__ import annotations

import math


def optimal_error(values: int, amplification: float) -> float:
    """Return the standard deviation per record of the best code there is, whatever its size.

    It publishes a subset of the domain, all of one size being equally likely: ``C(m, d)`` of them, far too many to
    number. Theorem IV.1, over all sizes d.

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
