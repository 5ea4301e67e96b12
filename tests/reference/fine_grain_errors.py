"""The record utility of fine-grain perturbation, and the mean error of its estimates, as the paper compares operators.

Source: Chaytor, Wang, "Fine grain perturbation for privacy preserving data publishing".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.fine_grain import FineGrain
from duckdb_priv.mechanism.operator import linear_variance
from duckdb_priv.mechanism.requirements import shares_of


def record_utility(operator: FineGrain, frequencies: ArrayLike) -> float:
    """Return the expected share of records that are published with their own value.

    It is ``sum_i f_i (p_i + q_i)`` for shares or counts f, shape (m,): the objective of the paper's program.

    >>> record_utility(FineGrain(np.array([0.0, 0.5])), [0.5, 0.5])
    0.625
    """
    return float(shares_of(frequencies) @ operator.own)


def expected_error(operator: FineGrain, true_counts: ArrayLike) -> float:
    """Return the mean standard deviation of the m reconstructed frequencies; smaller is better.

    The result is infinite if some value is not identifiable.

    >>> round(expected_error(FineGrain(np.array([0.5, 0.5])), [7000, 3000]), 12)
    0.008660254038
    """
    if not operator.identifiable.all():
        return math.inf
    variance = linear_variance(operator.weights(), operator.matrix(), true_counts)
    # A variance of 0, as of a value that is always published unchanged, may be rounded below 0.
    return float(np.sqrt(np.maximum(variance, 0)).mean() / np.sum(true_counts))
