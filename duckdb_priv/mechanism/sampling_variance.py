"""What perturbing, sampling and scaling do to the estimate of a count: mean and variance.

A group of ``size`` records, ``count`` of which hold the value, is perturbed whole, or represented
by ``published`` records that stand for ``size / published`` each, as a weight. (The paper duplicates
records instead: ``reference/duplicated_sample.py``.) Variances are of the estimated count, in
records squared, for a fixed population (only the noise is random). Derivation:
``sampling_variance.md`` beside this file.

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", sections 3 and 5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Floats
from duckdb_priv.mechanism.uniform import Uniform


def perturbed_variance(size: ArrayLike, count: ArrayLike, operator: Uniform) -> Floats:
    """Return the variance of a count that is estimated from all records, perturbed.

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
    """Return the variance when ``published`` of the records appear once each, with a weight.

    The sample holds ``floor`` or ``ceil`` of ``count * published / size`` records of the value,
    with that mean; the estimate is unbiased. ``published == size`` is plain perturbation.

    >>> float(weighted_variance(20, 5, 15, Uniform(0.5, 2)).round(4))
    20.3333
    """
    weight = np.asarray(size) / np.asarray(published)
    part = _rounding(size, count, published)
    whole = perturbed_variance(size, count, operator)
    return np.asarray(weight * whole + weight**2 * part * (1 - part))


def _rounding(size: ArrayLike, count: ArrayLike, published: ArrayLike) -> Floats:
    """Return the probability that the share of a value in the sample is rounded up."""
    share = np.asarray(count) * np.asarray(published, np.float64) / np.asarray(size)
    return np.asarray(share % 1)
