"""The ratio attack: estimate a frequency as the ratio of two counts with Laplace noise.

An adversary asks how many records a micro group has, and how many of them have a value. Both answers have independent
discrete Laplace noise. If both counts are much larger than the noise, their ratio is a good estimate of the frequency,
although each answer is differentially private. Derivation: ``ratio_attack.md`` beside this file.

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", section 6.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import dlaplace

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.tails import TIE, Tails, require_error

REACH = 40.0
"""The sums leave out noise above this many scales; its probability is exp(-40)."""
LARGEST_REACH = 10**7
"""Largest noise, in records, that is summed over. Larger noise hides every count, and the sum would take too long."""
TERMS_AT_ONCE = 1 << 20


def ratio_tails(size: ArrayLike, count: ArrayLike, epsilon_dp: float, epsilon: float) -> Tails:
    """Return the probabilities that the ratio of two noisy counts is too high or too low by more than epsilon.

    ``count`` of ``size`` records have the value; both are arrays of whole numbers that broadcast, with
    ``1 <= count <= size``. Each count has noise of scale ``1 / epsilon_dp``. A noisy size of 0 or less gives no
    ratio; neither tail includes that case. The absolute error is below 1e-15.

    With 500 of 1,000 records and epsilon_dp = 0.1, the ratio is nearly always within 30% of the frequency:

    >>> upper, lower = ratio_tails(1000, 500, epsilon_dp=0.1, epsilon=0.3)
    >>> bool(upper + lower < 1e-6)
    True
    """
    sizes, counts = np.broadcast_arrays(np.asarray(size), np.asarray(count))
    if ((counts < 1) | (counts > sizes)).any():
        raise InvalidParameter(
            "count must be at least 1 and at most size",
            hint="leave out values that do not occur in the group",
        )
    require_error(epsilon)
    if not (epsilon_dp > 0 and epsilon_dp < np.inf and REACH / epsilon_dp <= LARGEST_REACH):
        raise InvalidParameter(
            f"epsilon_dp must be finite and at least {REACH / LARGEST_REACH:g}, got {epsilon_dp}",
            hint="0.01 to 1 is usual: the noise of each count has the scale 1 / epsilon_dp",
        )
    reach = int(np.ceil(REACH / epsilon_dp))
    upper, lower = np.zeros(sizes.size), np.zeros(sizes.size)
    for first in range(-reach, reach + 1, TERMS_AT_ONCE):
        noise = np.arange(first, min(first + TERMS_AT_ONCE, reach + 1))
        mass = dlaplace.pmf(noise, epsilon_dp)
        for index, (n, k) in enumerate(zip(sizes.ravel(), counts.ravel(), strict=True)):
            noisy = n + noise
            there = noisy > 0
            expected = k / n * noisy[there]
            above = np.floor(expected * (1 + epsilon) + TIE) - k
            below = np.ceil(expected * (1 - epsilon) - TIE) - k
            upper[index] += mass[there] @ dlaplace.sf(above, epsilon_dp)
            lower[index] += mass[there] @ dlaplace.cdf(below - 1, epsilon_dp)
    return Tails(upper.reshape(sizes.shape), lower.reshape(sizes.shape))
