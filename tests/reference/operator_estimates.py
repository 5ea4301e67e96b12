"""Numpy versions of what SQL computes for an operator: the variance of estimates, and the most likely counts.

Derivation: ``../operator.md``. Source of the iterative Bayesian estimate: Agrawal, Aggarwal, "On the design and
quantification of privacy preserving data mining algorithms" (2001).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Matrix, Vector


def estimated_variance(weights: Matrix, observed: ArrayLike) -> Vector:
    """Return an unbiased estimate of ``linear_variance`` from the observed counts.

    ``V[x] = sum_y W[x, y]^2 O_y - W[x] @ O``, shape (m,), in squared records; can be negative.

    >>> from duckdb_priv.mechanism.operator import invert
    >>> W = invert(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> estimated_variance(W, [60, 40]).round(9)
    array([75., 75.])
    """
    observed = np.asarray(observed, dtype=np.float64)
    variance: Vector = (weights**2 - weights) @ observed
    return variance


def iterative_bayesian(
    operator: Matrix,
    observed: ArrayLike,
    *,
    tolerance: float = 1e-8,
    max_iterations: int = 100_000,
) -> Vector:
    """Return the maximum likelihood estimate of the counts, without negative counts.

    The iteration starts from equal shares f. A step is ``f_x <- f_x g_x`` with ``g_x = sum_y o_y P[y, x] / (P f)_y``,
    where o are the observed shares. It stops when no g exceeds ``1 + tolerance``. Then the log-likelihood per record is
    within ``tolerance`` of its maximum, and the next step moves no share by more. If the linear estimate has no
    negative count, both estimates agree. Values that cannot be distinguished share their total equally. The result has
    shape (m,) and sums to the number of records.

    Raises InvalidParameter for counts that the operator cannot produce, or without convergence.

    >>> P = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> iterative_bayesian(P, [60, 40]).round(4), iterative_bayesian(P, [10, 90]).round(4)
    (array([70., 30.]), array([  0., 100.]))
    """
    observed = np.asarray(observed, dtype=np.float64)
    records = observed.sum()
    if not (np.isfinite(records) and records > 0 and observed.min() >= 0):
        raise InvalidParameter(
            f"observed counts must be non-negative and not all zero, got a sum of {records}",
            hint="an empty subset has no distribution; drop or widen the condition",
        )
    seen = observed > 0
    likelihood, shares = operator[seen], observed[seen] / records
    if not likelihood.any(axis=1).all():
        raise InvalidParameter(
            "a value was observed that the operator never publishes",
            hint="the counts and the operator belong to different releases or domains",
        )
    estimate = np.full(len(operator), 1 / len(operator))
    for _ in range(max_iterations):
        gain = (shares / (likelihood @ estimate)) @ likelihood
        if gain.max() <= 1 + tolerance:
            counts: Vector = records * estimate
            return counts
        estimate *= gain
    raise InvalidParameter(
        f"the iterative Bayesian estimate did not converge to {tolerance:g} in "
        f"{max_iterations} iterations",
        hint="allow more iterations or a larger tolerance",
    )
