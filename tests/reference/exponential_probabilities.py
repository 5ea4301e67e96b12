"""The probabilities of the exponential mechanism, in floats. The mechanism itself uses integers only.

Derivation: ``mechanism/exponential_mechanism.md``.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.special import softmax

from duckdb_priv.mechanism.arrays import Floats, Integers


def exponential_probabilities(scores: Integers, rate: Fraction) -> Floats:
    """Return the probability with which the mechanism chooses each index: proportional to ``exp(rate * score)``.

    >>> exponential_probabilities(np.array([7, 7, 6]), Fraction(1000))
    array([0.5, 0.5, 0. ])
    """
    return np.asarray(softmax((scores - scores.max()) * float(rate)))
