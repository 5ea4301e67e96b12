"""Differences, ratios and means of sums over perturbed records, as SQL computes them in a release file.

A sum adds ``c * h`` over rows: the coefficient c is public, and h is the weight of the row for a set of values. Two
sums over the same records are correlated, so the interval of their difference depends on their covariance. Derivation:
``mechanism/comparison.md``.

Source: Wilson (1927) for the test, Fieller, "Some problems in interval estimation", Journal of the Royal Statistical
Society B 16 (1954), for quotients.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Floats, Matrix, Vector


class Functional(NamedTuple):
    """The test terms of a sum, as arrays that broadcast. ``sql/analyst/estimators/common.sql`` explains each."""

    estimate: Floats
    variance: Floats
    there: Floats
    rise: Floats
    fall: Floats
    above: Floats
    below: Floats
    least: Floats
    most: Floats

    @property
    def nearest(self) -> Floats:
        """The variance at the nearest possible value, at least the estimated variance."""
        outside = self.rise * np.maximum(self.least - self.estimate, 0)
        outside = outside + self.fall * np.maximum(self.estimate - self.most, 0)
        return np.maximum(np.maximum(self.there + outside, self.variance), 0)

    @property
    def scale(self) -> Floats:
        """The factor by which the standard error exceeds its estimate."""
        known = np.maximum(self.variance, 1e-300)
        return np.where(self.variance > 0, np.sqrt(self.nearest / known), 0)


class Interval(NamedTuple):
    """The columns that the functions of a release file return."""

    estimate: Floats
    stderr: Floats
    low: Floats
    high: Floats


def set_weights(weights: Matrix, members: ArrayLike) -> Vector:
    """Return the weight of each published value y for a set of values: the sum of W[x, y] over its members x.

    >>> set_weights(np.array([[1.5, -0.5], [-0.5, 1.5]]), [0, 1])
    array([1., 1.])
    """
    found: Vector = weights[np.asarray(members, np.intp)].sum(axis=0)
    return found


def covariance(
    coefficients: Floats, others: Floats, weights: Vector, other_weights: Vector, shared: Vector
) -> float:
    """Return an unbiased estimate of the covariance of two sums: the sum of c d (h g - q), for independent rows.

    All arguments have shape (rows,): the coefficients c and d, the weights h and g for each set, and the weight q for
    the values that both sets contain.

    40 of 100 rows show the value. The covariance of a count with itself is its variance:

    >>> h = np.repeat([1.5, -0.5], [40, 60])
    >>> covariance(np.ones(100), np.ones(100), h, h, h)
    75.0
    """
    return float(np.sum(coefficients * others * (weights * other_weights - shared)))


def functional(
    coefficients: Floats, weights: Floats, other: float, step: float, *, dense: bool = False
) -> Functional:
    """Return the test terms of sums of c h, at 95%, if all values have the same two probabilities.

    ``weights`` has one row for each run. Sums of different amounts are ``dense``.

    >>> h = np.repeat([[1.9, -0.1]], [40, 60], axis=1)
    >>> [round(float(each.item()), 6) for each in functional(np.ones(100), h, 0.05, 2.0)][:5]
    [70.0, 75.0, 75.0, 0.8, -0.8]
    """
    c, z = coefficients, 1.959963984540054
    estimate, variance = weights @ c, (weights * weights - weights) @ (c * c)
    total, opposite = float(np.maximum(c, 0).sum()), float(np.maximum(-c, 0).sum())
    typical, largest = float((c * c).sum()) / max(total + opposite, 1e-300), float(np.abs(c).max())
    upward = step * (1 - 2 * other)
    spread = upward - 1
    size = np.abs(estimate) if opposite else estimate
    there = variance + np.maximum(spread * (typical * size - weights @ (c * c)), 0)
    slope, tail = spread * typical, (z**2 - 1) / 6
    slack = 0.0 if dense else z * max(spread * (largest - typical), 0)
    lean = max(upward, 2 - upward)
    high, low = (lean, lean) if opposite else (2 - upward, upward)
    above, below = (0 if dense else largest * max(step / 2, tail * each) for each in (high, low))
    return Functional(
        *map(
            np.asarray,
            (
                estimate, variance, there, slope if total or not opposite else -slope,
                slope if opposite else -slope, above + slack, below + (slack if opposite else 0.0),
                -opposite, total,
            ),
        )
    )  # fmt: skip


def ends(u: Functional, z: float) -> Interval:
    """Return the interval of the accepted values: those whose distance from the estimate can be noise.

    >>> count = Functional(*map(np.float64, (50, 100, 100, 0, 0, 1, 1, 0, 1000)))
    >>> [float(each) for each in ends(count, 2.0)]
    [50.0, 10.0, 29.0, 71.0]
    """
    near = np.clip(u.estimate, u.least, u.most)
    bend, other_bend = z * u.fall / 2, z * u.rise / 2
    low = u.estimate - u.below - z * bend
    low = low - z * np.sqrt(np.maximum(u.there + u.fall * u.below, 0) + bend**2)
    high = u.estimate + u.above + z * other_bend
    high = high + z * np.sqrt(np.maximum(u.there + u.rise * u.above, 0) + other_bend**2)
    low = np.clip(np.minimum(low, near - u.below), u.least, u.most)
    high = np.clip(np.maximum(high, near + u.above), u.least, u.most)
    low = np.where(u.estimate - u.below <= u.least, u.least, low)
    high = np.where(u.estimate + u.above >= u.most, u.most, high)
    return Interval(u.estimate, np.sqrt(np.maximum(u.variance, 0)), low, high)


def added(covariance: Floats, a: Functional, b: Functional, overlap: bool = False) -> Floats:
    """Return what a covariance, times a factor, adds to the variance of a combination of two sums.

    It is bounded by the estimated variances. It is enlarged like these only where it adds uncertainty. It reduces
    uncertainty only if the two sums ``overlap``: a record may count in both.

    >>> one = Functional(*map(np.float64, (5, 4, 9, 0, 0, 0, 0, 0, 99)))
    >>> [float(added(np.float64(each), one, one, True)) for each in (-100, -2, 2, 100)]
    [-4.0, -2.0, 4.5, 9.0]
    """
    bound = np.sqrt(np.maximum(a.variance, 0) * np.maximum(b.variance, 0))
    enlarged = np.where(covariance > 0, a.scale * b.scale, 1)
    return np.maximum(np.minimum(covariance, bound) * enlarged, -bound if overlap else 0)


def difference(
    a: Functional,
    b: Functional,
    covariance: ArrayLike,
    factors: tuple[float, float] = (1, 1),
    *,
    overlap: bool = False,
) -> Functional:
    """Return the test terms of a difference of two sums; if they ``overlap``, a record may count in both.

    The errors of two complementary groups of a table cancel in their sum. In their difference they add up:

    >>> half = Functional(*map(np.float64, (50, 100, 100, 0, 0, 0, 0, 0, 100)))
    >>> float(difference(half, half, -100.0).variance)
    400.0
    """
    f, g = factors
    together = 2 * f * g * np.asarray(covariance)
    apart = f**2 * a.nearest + g**2 * b.nearest
    there = apart + 2 * f * g * added(-np.asarray(covariance), a, b, overlap)
    steps = np.where(there > 1e-12 * apart, 1, 0)
    part = f**2 * a.nearest / np.maximum(apart, 1e-300)
    rise = np.maximum(part * f * a.rise + (1 - part) * g * b.fall, 0)
    fall = np.maximum(part * f * a.fall + (1 - part) * g * b.rise, 0)
    return Functional(
        f * a.estimate - g * b.estimate,
        f**2 * a.variance + g**2 * b.variance - together,
        there,
        rise,
        fall,
        steps * np.maximum(f * a.above, g * b.below),
        steps * np.maximum(f * a.below, g * b.above),
        f * a.least - g * b.most,
        f * a.most - g * b.least,
    )


def ratio(
    a: Functional,
    b: Functional,
    covariance: ArrayLike,
    z: float,
    most: ArrayLike = np.inf,
    *,
    overlap: bool = False,
    same_values: bool = False,
) -> Interval:
    """Return the interval of a ratio a / b of two sums that are not negative: the t for which a - t b may be 0.

    If they ``overlap``, a record may count in both. If both are over records with the ``same_values``, they keep their
    correlation. The ratio has no upper end and no
    standard error if b may be 0. The estimate is NaN if that of b is 0 or less.

    >>> two, one = (Functional(*map(np.float64, (each, 1, 1, 0, 0, 0, 0, 0, 99))) for each in (20, 10))
    >>> [round(float(each), 3) for each in ratio(two, one, 0.0, 2.0)]
    [2.0, 0.224, 1.619, 2.547]
    """
    together = -added(-np.asarray(covariance), a, b, overlap)
    if same_values:
        bound = np.sqrt(a.nearest * b.nearest)
        together = np.clip(np.asarray(covariance) * a.scale * b.scale, -bound, bound)
    together = z**2 * together

    def reach(u: Functional, growth: Floats, sign: int) -> tuple[Floats, Floats]:
        bend = z**2 * np.maximum(growth, 0) / 2
        return u.estimate + sign * bend, z**2 * u.nearest + bend**2

    def roots(n: Floats, v: Floats, d: Floats, w: Floats) -> tuple[Floats, ...]:
        zero, free, middle = n**2 - v, d**2 - w, n * d - together
        return zero, free, middle, np.sqrt(np.maximum(middle**2 - free * zero, 0))

    down, up = reach(a, a.fall, -1), reach(a, a.rise, 1)
    small, large = reach(b, b.fall, -1), reach(b, b.rise, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        zero, _, middle, root = roots(*down, *large)
        low = np.where((down[0] > 0) & (zero > 0), zero / (middle + root), 0)
        zero, free, middle, root = roots(*up, *small)
        closed = (small[0] > 0) & (free > 0)
        high = np.where(closed, (middle + root) / free, np.inf)
        point = np.where(b.estimate > 0, a.estimate / b.estimate, np.nan)
        noise = a.variance - 2 * point * covariance + point**2 * b.variance
        error = np.where(closed, np.sqrt(np.maximum(noise, 0)) / b.estimate, np.nan)
    # Where no possible ratio is accepted, all are possible.
    low, high = np.where(low >= most, 0, low), np.where(high <= 0, most, high)
    return Interval(point, error, np.clip(low, 0, most), np.clip(high, 0, most))


def mean(
    amounts: Functional,
    count: Functional,
    covariance: ArrayLike,
    bounds: tuple[ArrayLike, ArrayLike],
    z: float,
) -> Interval:
    """Return the interval of a mean within bounds: the lower bound plus the ratio of ``amounts`` to the count.

    ``amounts`` is the sum of the amounts, each minus the lower bound.
    """
    least, most = (np.asarray(each, np.float64) for each in bounds)
    found = ratio(amounts, count, covariance, z, most - least, same_values=True)
    return Interval(found.estimate + least, found.stderr, found.low + least, found.high + least)
