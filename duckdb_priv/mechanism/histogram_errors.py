"""Bias and covariance of the histogram of the whole table, as a release estimates it.

They determine the error of every linear query about the values, such as a range, a sum or a mean. Derivation:
``histogram_errors.md`` beside this file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Floats, Integers, Matrix, Vector

TURNS = 60
"""Number of fixed-point iterations for the covariance of rounding."""
WHOLE = 1e-9
"""Numbers of sampled records this close to a whole number are not rounded."""


@dataclass(frozen=True, eq=False)
class HistogramErrors:
    """The errors of the estimated counts of all values, in records."""

    covariance: Matrix
    """Covariance matrix of the estimates, (m, m)."""
    bias: Vector | float = 0.0
    """Mean error of each estimate, (m,)."""
    silent: tuple[int, ...] = field(default=())
    """Positions of the values whose counts have no estimate."""

    def of(self, gram: Matrix) -> float:
        """Return the root mean square error over queries c, where ``gram`` is the mean of c c'.

        It is infinite if some query needs a count that has no estimate.

        >>> one = HistogramErrors(np.array([[4.0, -4.0], [-4.0, 4.0]]))
        >>> one.of(np.array([[1.0, 0.0], [0.0, 0.0]])), one.of(np.ones((2, 2)))
        (2.0, 0.0)
        """
        if any(gram[value, value] > 0 for value in self.silent):
            return math.inf
        bias = np.broadcast_to(self.bias, len(gram))
        return math.sqrt(max(float((gram * self.covariance).sum() + bias @ gram @ bias), 0.0))

    def of_values(self) -> Vector:
        """Return the root mean square error of each single count.

        >>> HistogramErrors(np.diag([9.0, 0.0]), np.array([4.0, -1.0])).of_values()
        array([5., 1.])
        """
        squares = np.maximum(np.diagonal(self.covariance), 0) + np.square(self.bias)
        found: Vector = np.sqrt(squares)
        found[list(self.silent)] = np.inf
        return found


def of_operator(operator: Matrix, weights: Matrix, true_counts: ArrayLike) -> HistogramErrors:
    """Return the errors if every record is perturbed independently by the same operator.

    ``weights[x, y]`` is the weight of a published y in the unbiased estimate of x.

    >>> operator = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> of_operator(operator, np.linalg.inv(operator), [7000, 3000]).covariance.round(6).tolist()
    [[7500.0, -7500.0], [-7500.0, 7500.0]]
    """
    true = np.asarray(true_counts, np.float64)
    covariance = (weights * (operator @ true)) @ weights.T
    covariance[np.diag_indices(len(true))] -= true
    return HistogramErrors(covariance)


def of_scales(scales: ArrayLike, histograms: Matrix) -> HistogramErrors:
    """Return the errors of shuffled groups, which have different noise scales.

    A record of a group with the scale u shows its value with probability (1 + u) / (1 + m u), and each other value with
    probability u / (1 + m u). ``scales`` has shape (groups,), and ``histograms`` (groups, m) has the true counts.

    >>> of_scales([0.5], np.array([[7000, 3000]])).covariance.tolist()
    [[7500.0, -7500.0], [-7500.0, 7500.0]]
    """
    of_group, true = np.asarray(scales, np.float64), np.asarray(histograms, np.float64)
    m, size = true.shape[1], true.sum(axis=1)
    weighed = of_group @ true
    squared = float(of_group**2 @ size)
    covariance = -weighed[:, None] - weighed - squared
    covariance[np.diag_indices(m)] += m * weighed + weighed.sum() + m * squared
    return HistogramErrors(covariance)


def of_decoys(operator: Matrix, true_counts: ArrayLike) -> HistogramErrors:
    """Return the errors of decoy groups: the whole table is estimated as it is shown.

    ``operator[y, x]`` is the probability that a record of x shows y.

    >>> even = np.full((3, 3), 0.25) + 0.25 * np.eye(3)
    >>> of_decoys(even, [8, 8, 8]).covariance[0].tolist()
    [4.0, -2.0, -2.0]
    """
    true = np.asarray(true_counts, np.float64)
    return HistogramErrors(np.diag(true) - operator * true)


@dataclass(frozen=True, eq=False)
class Sampled:
    """The large groups of a table, which samples represent; arrays have one entry per group and value in it."""

    group: Integers
    """The number of the group, from 0."""
    value: Integers
    """The position of the value."""
    held: Integers
    """Number of records in the group with the value."""
    size: Integers
    """Number of records in the group."""
    taken: Floats
    """Number of records that represent the group; the mean if the number is random."""

    @property
    def scale(self) -> Floats:
        """Number of records that each row of the group represents."""
        found: Floats = self.size / self.taken
        return found

    @property
    def _rounding(self) -> Floats:
        """The variance of the number of the value's records in the sample."""
        part = self.held / self.scale % 1
        found: Floats = np.where(np.minimum(part, 1 - part) > WHOLE, part * (1 - part), 0.0)
        return found

    def noise_of_rounding(self, m: int) -> Matrix:
        """Return the covariance that systematic samples add, which have a fixed size and keep the frequencies.

        >>> two = Sampled(*(np.array(each) for each in ([0, 0], [0, 1], [5, 15], [20, 20], [15.0, 15.0])))
        >>> two.noise_of_rounding(2).round(4).tolist()
        [[0.3333, -0.3333], [-0.3333, 0.3333]]
        """
        variance = self._rounding
        share = variance.copy()
        for _ in range(TURNS):
            total = np.bincount(self.group, share)[self.group]
            part = np.divide(share, total, out=np.zeros_like(share), where=total > 0)
            share = variance / (1 - np.minimum(part, 1 - WHOLE))
        total = np.bincount(self.group, share)[self.group]
        root = np.sqrt(total, out=np.ones_like(total), where=total > 0)
        return self._summed(share * self.scale**2, m) - self._products(
            self.scale * share / root, self.scale * share / root, m
        )

    def noise_of_sizes(self, m: int) -> Matrix:
        """Return the covariance that samples add if each value is rounded independently, to first order."""
        spread = self._rounding * self.scale**2
        whole = np.bincount(self.group, spread)[self.group]
        frequency = self.held / self.size
        crossed = self._products(spread, frequency, m)
        both = self._products(frequency * whole, frequency, m)
        return self._summed(spread, m) - crossed - crossed.T + both

    def of_values(self, numbers: Floats, m: int) -> Vector:
        """Return, for each value, the sum of ``numbers`` over the groups."""
        return np.bincount(self.value, numbers, minlength=m).astype(np.float64)

    def _summed(self, numbers: Floats, m: int) -> Matrix:
        return np.diag(self.of_values(numbers, m))

    def _products(self, left: Floats, right: Floats, m: int) -> Matrix:
        """Return the matrix of sums over the groups of left times right, for each pair of values."""
        from scipy.sparse import csr_array

        shape = (int(self.group.max(initial=-1)) + 1, m)
        first, second = (
            csr_array((each, (self.group, self.value)), shape=shape) for each in (left, right)
        )
        found: Matrix = (first.T @ second).toarray()
        return found


def of_samples(
    operator: Matrix, weights: Matrix, true_counts: ArrayLike, sampled: Sampled, *, copied: bool
) -> HistogramErrors:
    """Return the errors if samples represent large groups, and all records of the other groups are perturbed.

    With ``copied``, rows are duplicated instead of weighted, as in the paper.
    """
    true = np.asarray(true_counts, np.float64)
    m, scale = len(true), sampled.scale
    fraction = scale % 1
    copying = fraction * (1 - fraction) / scale if copied else np.zeros_like(scale)
    noisy = true + sampled.of_values((scale + copying - 1) * sampled.held, m)
    rounding = sampled.noise_of_sizes(m) if copied else sampled.noise_of_rounding(m)
    covariance = of_operator(operator, weights, noisy).covariance + rounding
    covariance[np.diag_indices(m)] += sampled.of_values(copying * sampled.held, m)
    return HistogramErrors(covariance)
