"""A numpy version of counts on a sample: estimate, standard error and interval.

Derivation: ``mechanism/scaled_count.md``. Source: Wilson (1927) for inverting the score.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Floats
from duckdb_priv.mechanism.sampling import check_beta


class ScaledCount(NamedTuple):
    """Estimates for the whole table from counts on a sample; each field has the shape of the counts."""

    estimate: Floats
    """``kept / beta``; unbiased except for suppression, see ``suppression_bias``."""
    stderr: Floats
    """Estimated standard error, ``sqrt(kept (1 - beta)) / beta``."""
    low: Floats
    """Lower end of the interval, at least the number of records seen."""
    high: Floats
    """Upper end of the interval."""


def scaled_count(
    kept: ArrayLike, beta: float, confidence: float = 0.95, *, hidden: float = 0, k: int = 1
) -> ScaledCount:
    """Estimate the number of records in a table from the number ``kept`` in a beta-sample.

    The interval solves ``|kept - beta n| - 1/2 = z sqrt(n beta (1 - beta))`` for n: a score
    interval with continuity correction. Its coverage is at least 95% at every rate, for true counts of at least 10. Up
    to ``hidden`` classes may be suppressed, each with fewer than ``k`` sampled records; the upper end includes them.
    ``kept`` is an array of counts, of any shape.

    >>> [round(float(x), 1) for x in scaled_count(40, beta=0.1)]
    [400.0, 60.0, 294.2, 541.9]
    """
    check_beta(beta)
    if not 0 < confidence < 1:
        raise InvalidParameter(
            f"confidence must lie strictly between 0 and 1, got {confidence!r}",
            hint="0.95 is usual",
        )
    seen = np.asarray(kept, dtype=np.float64)
    if not np.all(seen >= 0):
        raise InvalidParameter(
            f"a count cannot be negative or missing, got {float(seen.min())!r}",
            hint="count the records of the release that satisfy the predicate",
        )
    z = float(ndtri((1 + confidence) / 2))
    half = z * math.sqrt(1 - beta) / 2
    lean = (z**2 - 1) / 6 * (1 - 2 * beta)
    below = np.sqrt(half**2 + np.maximum(seen - max(0.5, lean), 0)) - half
    above = np.sqrt(half**2 + seen + max(0.5, -lean)) + half
    missing = hidden * k + z * math.sqrt(hidden) * (math.sqrt(k) + 2)
    return ScaledCount(
        estimate=seen / beta,
        stderr=np.sqrt(seen * (1 - beta)) / beta,
        low=np.maximum(below**2 / beta, seen),
        high=(above**2 + missing) / beta,
    )
