"""Differences, ratios and means of sums over perturbed records, as the release file answers them in SQL.

A sum is taken over the rows of ``c * h``: the coefficient c is public, h is the weight of the row for a set of values.
Two sums over the same records vary together, so that the interval of their difference does not follow from their own
intervals alone; ``covariance`` says how much they do. Derivation: ``comparison.md`` beside this file.

Source: Zou and Donner, "Construction of confidence limits about effect measures: a general approach", Statistics in
Medicine 27 (2008), for differences; Donner and Zou, "Closed-form confidence intervals for functions of the normal mean
and standard deviation", Statistical Methods in Medical Research 21 (2012), for ratios.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Floats, Matrix, Vector


class Reach(NamedTuple):
    """A sum, and how far its interval reaches; arrays that broadcast."""

    estimate: Floats
    variance: Floats
    below: Floats
    above: Floats


class Interval(NamedTuple):
    """What the functions of a release file answer."""

    estimate: Floats
    stderr: Floats
    low: Floats
    high: Floats


def set_weights(weights: Matrix, members: ArrayLike) -> Vector:
    """Return what a row counts for a set of values, by what it shows: the sum of W[x, y] over the members x.

    >>> set_weights(np.array([[1.5, -0.5], [-0.5, 1.5]]), [0, 1])
    array([1., 1.])
    """
    found: Vector = weights[np.asarray(members, np.intp)].sum(axis=0)
    return found


def covariance(
    coefficients: Floats, others: Floats, weights: Vector, other_weights: Vector, shared: Vector
) -> float:
    """Estimate the covariance of two sums without bias: the sum of c d (h g - q), of independent rows.

    Shape (rows,) each: the coefficients c and d, what the row counts for either set, h and g, and for the values that
    both have, q.

    A count among 40 of 100 rows that show the value; with itself, it is its variance:

    >>> h = np.repeat([1.5, -0.5], [40, 60])
    >>> covariance(np.ones(100), np.ones(100), h, h, h)
    75.0
    """
    return float(np.sum(coefficients * others * (weights * other_weights - shared)))


def reach(
    estimate: ArrayLike,
    variance: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    half_step: ArrayLike,
    total: ArrayLike,
    z: float,
) -> Reach:
    """Return how far the interval of a sum reaches to both sides of its estimate.

    Where it is cut, at 0 or at the ``total``, z standard errors and the continuity correction stand for it.

    >>> reach(-2.0, 4.0, 0.0, 3.0, 1.0, 100.0, 2.0)
    Reach(estimate=array(-2.), variance=array(4.), below=array(5.), above=array(5.))
    """
    point, noise, down, up = (
        np.asarray(each, np.float64) for each in (estimate, variance, low, high)
    )
    usual = z * np.sqrt(np.maximum(noise, 0)) + np.asarray(half_step, np.float64)
    below = np.where(down > 0, point - down, np.maximum(point - down, usual))
    possible = np.asarray(total, np.float64)
    above = np.where(up < possible, up - point, np.maximum(up - point, usual))
    return Reach(point, noise, below, above)


def correlation(a: Reach, b: Reach, covariance: ArrayLike) -> Floats:
    """Return the correlation of two sums; 0 where a variance is estimated as 0 or less."""
    product = np.maximum(a.variance, 0) * np.maximum(b.variance, 0)
    scaled = np.divide(covariance, np.sqrt(product), out=np.zeros_like(product), where=product > 0)
    return np.asarray(np.clip(scaled, -1, 1))


def difference(
    a: Reach, b: Reach, covariance: ArrayLike, least: ArrayLike, most: ArrayLike
) -> Interval:
    """Return the interval of a difference, from how far those of its parts reach on the side that matters.

    Two complementary groups of one table, whose errors cancel each other in the sum: in the difference they add up.

    >>> half = Reach(*map(np.float64, (50.0, 100.0, 20.0, 20.0)))
    >>> [float(each) for each in difference(half, half, -100.0, -100.0, 100.0)]
    [0.0, 20.0, -40.0, 40.0]
    """
    point, rho = a.estimate - b.estimate, correlation(a, b, covariance)
    down = np.sqrt(np.maximum(a.below**2 + b.above**2 - 2 * rho * a.below * b.above, 0))
    up = np.sqrt(np.maximum(a.above**2 + b.below**2 - 2 * rho * a.above * b.below, 0))
    error = np.sqrt(np.maximum(a.variance + b.variance - 2 * np.asarray(covariance), 0))
    return Interval(
        point, error, np.clip(point - down, least, most), np.clip(point + up, least, most)
    )


def ratio(a: Reach, b: Reach, covariance: ArrayLike, most: ArrayLike = np.inf) -> Interval:
    """Return the interval of a ratio of two counts: the quotients t for which a - t b may be 0.

    It has no upper end where b may be 0; estimate and standard error are NaN where b is estimated as 0 or less.

    >>> two, one = (Reach(*map(np.float64, each)) for each in ((20.0, 1.0, 2.0, 2.0), (10.0, 1.0, 2.0, 2.0)))
    >>> [round(float(each), 3) for each in ratio(two, one, 0.0)]
    [2.0, 0.224, 1.619, 2.547]
    """
    rho = correlation(a, b, covariance)
    with np.errstate(divide="ignore", invalid="ignore"):
        point = np.where(b.estimate > 0, a.estimate / b.estimate, np.nan)
        error = (
            np.sqrt(np.maximum(a.variance - 2 * point * covariance + point**2 * b.variance, 0))
            / b.estimate
        )

        def root(one: Floats, other: Floats) -> tuple[Floats, Floats, Floats, Floats]:
            square, product = b.estimate**2 - other**2, a.estimate * b.estimate - rho * one * other
            constant = a.estimate**2 - one**2
            found = np.sqrt(np.maximum(product**2 - square * constant, 0))
            return square, product, constant, found

        _, product, constant, found = root(a.below, b.above)
        inside = (a.estimate > a.below) & (product + found > 0)
        low = np.where(inside, np.minimum(constant / (product + found), most), 0)
        square, product, _, found = root(a.above, b.below)
        high = np.where(b.estimate > b.below, np.clip((product + found) / square, 0, most), most)
    return Interval(point, error, low, high)


def mean(
    amounts: Reach, count: Reach, covariance: ArrayLike, bounds: tuple[ArrayLike, ArrayLike]
) -> Interval:
    """Return the interval of a mean within bounds: the lower bound, and the ratio to the count of what is above it.

    ``amounts`` is the sum of the amounts less the lower bound each.

    >>> above = Reach(*map(np.float64, (200.0, 400.0, 40.0, 40.0)))
    >>> count = Reach(*map(np.float64, (100.0, 100.0, 20.0, 20.0)))
    >>> [round(float(each), 3) for each in mean(above, count, 200.0, (1.0, 10.0))]
    [3.0, 0.0, 3.0, 3.0]
    """
    least, most = (np.asarray(each, np.float64) for each in bounds)
    found = ratio(amounts, count, covariance, most - least)
    return Interval(found.estimate + least, found.stderr, found.low + least, found.high + least)
