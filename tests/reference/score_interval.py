"""Score intervals for reconstructed counts, with a continuity correction, for weighted rows too.

A Wald interval uses the variance at the estimate. A score interval tests every count k, with the variance that k
implies, and contains the accepted ones. So it keeps its coverage for small true counts, whose estimates are skewed.
Rows of weight above 1 (reconstruction-private releases) need two corrections, which ``mechanism/score_interval.md``
derives and measures.

Source: Wilson (1927) for the score interval; Wang, Han, Fu, "Randomization resilient to sensitive
reconstruction", section 5, for the releases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Floats
from duckdb_priv.mechanism.uniform import Uniform


def score_interval(
    estimate: ArrayLike,
    zero: ArrayLike,
    slope: ArrayLike,
    half_step: ArrayLike,
    total: ArrayLike,
    confidence: float = 0.95,
    *,
    slack: ArrayLike = 0.0,
    upward: ArrayLike = 0.0,
    downward: ArrayLike = 0.0,
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of counts k that a score test accepts.

    ``zero`` is the variance of the estimate for a true count of 0; each further record adds ``slope``. ``half_step`` is
    half the distance between neighbouring estimates. ``upward`` and ``downward`` bound the skewness of the noise on
    either side. ``slack`` is added to the standard deviation at the upper end. Arrays broadcast, in records (variances
    in squared records). The ends are in [0, total], and the interval contains the possible count that is nearest to the
    estimate. Raises InvalidParameter for a confidence outside (0, 1).

    40 of 100 rows show a value, the retention is 1/2, and there are 14 values:

    >>> low, high = score_interval(72.857143, 13.7755, 0.857143, 1.0, 100)
    >>> round(float(low), 4), round(float(high), 4)
    (56.4087, 92.7898)
    """
    if not 0 < confidence < 1:
        raise InvalidParameter(
            f"confidence must lie strictly between 0 and 1, got {confidence}",
            hint="0.95 is usual",
        )
    z = float(ndtri((1 + confidence) / 2))
    point, per_record, bound = _floats(estimate), _floats(slope), _floats(total)
    nearest = np.clip(point, 0, bound)
    skewed = (z**2 - 1) / 6
    below = np.maximum(_floats(half_step), skewed * _floats(upward))
    above = np.maximum(_floats(half_step), skewed * _floats(downward)) + z * _floats(slack)

    bend = z**2 * per_record / 2

    def reach(centre: Floats) -> Floats:
        at_centre = np.maximum(_floats(zero) + per_record * centre, 0)
        return _floats(np.sqrt(z**2 * at_centre + bend**2))

    low = point - below + bend - reach(point - below)
    high = point + above + bend + reach(point + above)
    return (
        np.where(point <= below, 0, np.clip(np.minimum(low, nearest - below), 0, bound)),
        np.where(
            point + above >= bound, bound, np.clip(np.maximum(high, nearest + above), 0, bound)
        ),
    )


@dataclass(frozen=True)
class WeightedSums:
    """The sums over a subset of published rows that an interval needs; each row has a weight w >= 1.

    The fields are numbers, or arrays of one shape with one entry per subset.
    """

    weight: ArrayLike
    """Sum of w: the number of records that the rows represent."""
    weight_squared: ArrayLike
    """Sum of w squared."""
    shown: ArrayLike
    """Sum of w over the rows that show the value."""
    shown_squared: ArrayLike
    """Sum of w squared over the rows that show the value."""
    sampled_squared: ArrayLike = 0.0
    """Sum of w squared over the rows with w > 1."""
    largest: ArrayLike = 1.0
    """Largest w."""

    @classmethod
    def of_counts(cls, rows: ArrayLike, shown: ArrayLike) -> WeightedSums:
        """Return the sums of ``rows`` rows of weight 1, ``shown`` of which show the value."""
        return cls(rows, rows, shown, shown)


def reconstructed_variance(sums: WeightedSums, operator: Uniform, sample_size: int = 1) -> Floats:
    """Return the estimated variance of the reconstructed count, in records squared, never < 0.

    The part for perturbation is unbiased. Rows with w > 1 are from groups with ``sample_size`` published rows. Sampling
    adds at most ``w**2 / 4`` per group, and this bound is included. ``sample_size`` has no effect if every w is 1.

    >>> reconstructed_variance(WeightedSums.of_counts(100, 40), Uniform(0.5, 14)).round(4)
    np.float64(76.2245)
    """
    _, variance = _estimate_and_variance(sums, operator, sample_size)
    return variance


def reconstructed_interval(
    sums: WeightedSums, operator: Uniform, sample_size: int = 1, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Return the interval of a reconstructed count from the sums over any subset of whole groups.

    ``sample_size`` is as in `reconstructed_variance`. ``score_interval.md`` has the coverage. If every w is 1, this is
    the score interval of uniform perturbation.

    >>> one = WeightedSums.of_counts(100, 2)
    >>> low, high = reconstructed_interval(one, Uniform(retention=0.5, domain_size=14))
    >>> float(low), round(float(high), 4)
    (0.0, 6.4729)
    """
    weight, squared, largest = map(_floats, (sums.weight, sums.weight_squared, sums.largest))
    estimate, variance = _estimate_and_variance(sums, operator, sample_size)
    doubled = (_floats(sums.shown_squared) - operator.other * squared) / operator.retention
    # The mean weight of the row of a random record; 0 records for an empty subset.
    typical = np.divide(squared, weight, out=np.ones_like(weight), where=weight > 0)
    p, per_record = operator.retention, (1 - operator.own - operator.other) / operator.retention
    excess = np.maximum(typical * estimate - doubled, 0)
    return score_interval(
        estimate,
        variance + per_record * (excess - typical * estimate),
        per_record * typical,
        largest / (2 * p),
        weight,
        confidence,
        slack=per_record * (largest - typical),
        upward=largest * (1 - 2 * operator.other) / p,
        downward=largest * (2 * operator.own - 1) / p,
    )


def _estimate_and_variance(
    sums: WeightedSums, operator: Uniform, sample_size: int
) -> tuple[Floats, Floats]:
    a, q, p = operator.own, operator.other, operator.retention
    shown_squared = _floats(sums.shown_squared)
    hidden_squared = _floats(sums.weight_squared) - shown_squared
    estimate = (_floats(sums.shown) - q * _floats(sums.weight)) / p
    perturbing = ((1 - a) * (1 - q) * shown_squared + a * q * hidden_squared) / p**2
    sampling = _floats(sums.sampled_squared) / (4 * sample_size)
    return estimate, perturbing + sampling


def _floats(numbers: ArrayLike) -> Floats:
    return np.asarray(numbers, dtype=np.float64)
