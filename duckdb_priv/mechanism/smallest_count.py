"""The smallest true count that a release by uniform perturbation estimates to within half of itself.

The estimate of a count c among n records has the variance (c a (1 - a) + (n - c) q (1 - q)) / p^2, with a = p + q and
q = (1 - p) / m. Let z be the normal quantile of the confidence. The error stays below h c with that confidence if z^2
times the variance is at most (h c)^2. This is a quadratic inequality in c; its root is the smallest count.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from duckdb_priv.mechanism.uniform import Uniform

RELATIVE_ERROR, CONFIDENCE = 0.5, 0.95


def smallest_count(operator: Uniform, records: int) -> float:
    """Return the smallest count whose estimate is off by at most half of it, with a confidence of 95%.

    The result may exceed the number of records. Then no count has an estimate that accurate.

    >>> operator = Uniform(retention=0.5, domain_size=50)
    >>> round(smallest_count(operator, records=10_000))
    86
    >>> round(smallest_count(operator, records=1_000_000))
    787
    """
    p, own, other = operator.retention, operator.own, operator.other
    scale = (NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) / (RELATIVE_ERROR * p)) ** 2
    per_count = scale * (own * (1 - own) - other * (1 - other))
    background = scale * records * other * (1 - other)
    return float((per_count + math.sqrt(per_count**2 + 4 * background)) / 2)
