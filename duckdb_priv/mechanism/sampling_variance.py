"""The variance of an estimated count after perturbing, sampling and scaling a group.

A group has ``size`` records, and ``count`` of them hold the value. Either all records are perturbed and published, or
``published`` of them are, each with the weight ``size / published``. (The paper duplicates records instead:
``reference/duplicated_sample.py``.) Variances are in squared records, for a fixed population: only the noise is
random. Derivation: ``sampling_variance.md`` beside this file.

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", sections 3 and 5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Floats
from duckdb_priv.mechanism.uniform import Uniform


def perturbed_variance(size: ArrayLike, count: ArrayLike, operator: Uniform) -> Floats:
    """Return the variance of a count that is estimated from all records of a group after perturbing them.

    >>> float(perturbed_variance(1000, 300, Uniform(0.5, 14)).round(6))
    394.897959
    """
    holding, others = np.asarray(count, np.float64), np.asarray(size) - np.asarray(count)
    own, other = operator.own, operator.other
    spread = holding * own * (1 - own) + others * other * (1 - other)
    return np.asarray(spread / operator.retention**2)


def weighted_variance(
    size: ArrayLike, count: ArrayLike, published: ArrayLike, operator: Uniform
) -> Floats:
    """Return the variance of a count that is estimated from a weighted sample of ``published`` records.

    The sample holds ``floor`` or ``ceil`` of ``count * published / size`` records of the value, and that many on
    average, so the estimate is unbiased. With ``published == size`` every record is published, as in
    ``perturbed_variance``.

    >>> float(weighted_variance(20, 5, 15, Uniform(0.5, 2)).round(4))
    20.3333
    """
    weight = np.asarray(size) / np.asarray(published)
    # The probability that the number of the value's records in the sample is rounded up.
    part = np.asarray(count) * np.asarray(published, np.float64) / np.asarray(size) % 1
    whole = perturbed_variance(size, count, operator)
    return np.asarray(weight * whole + weight**2 * part * (1 - part))
