"""The law of the exponential mechanism, in floats; the mechanism itself uses none.

Derivation: ``../exponential_mechanism.md``.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.special import softmax

from duckdb_priv.mechanism.arrays import Floats, Integers


def exponential_probabilities(scores: Integers, rate: Fraction) -> Floats:
    """Return the probability with which the mechanism chooses each score's index.

    Proportional to ``exp(rate * score)``; the floats are for reports and tests, the mechanism
    itself does not use them.

    >>> exponential_probabilities(np.array([7, 7, 6]), Fraction(1000))
    array([0.5, 0.5, 0. ])
    """
    return np.asarray(softmax((scores - scores.max()) * float(rate)))
