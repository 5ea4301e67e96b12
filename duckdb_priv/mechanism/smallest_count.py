"""The smallest true count that a release by uniform perturbation tells to within half of itself.

The estimate of a count c among n records has the variance (c a (1 - a) + (n - c) q (1 - q)) / p^2, with a = p + q and
q = (1 - p) / m. Its error stays below h c with the probability that belongs to the normal quantile z where z^2 times
the variance is at most (h c)^2: a quadratic inequality in c, whose root is returned.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from duckdb_priv.mechanism.uniform import Uniform


def smallest_count(
    operator: Uniform, records: int, relative_error: float = 0.5, confidence: float = 0.95
) -> float:
    """Return the count from which on an estimate is off by at most ``relative_error``, with this confidence.

    It may exceed the number of records: then no count is so accurate.

    >>> operator = Uniform(retention=0.5, domain_size=50)
    >>> round(smallest_count(operator, records=10_000))
    86
    >>> round(smallest_count(operator, records=1_000_000))
    787
    """
    p, own, other = operator.retention, operator.own, operator.other
    scale = (NormalDist().inv_cdf(0.5 + confidence / 2) / (relative_error * p)) ** 2
    per_count = scale * (own * (1 - own) - other * (1 - other))
    background = scale * records * other * (1 - other)
    return float((per_count + math.sqrt(per_count**2 + 4 * background)) / 2)
