"""The candidates for a publication, and summaries of their expected errors.

The error of an estimate is taken as normal, with the bias and variance of its mechanism for this source. If a query
truly counts k records, the expected relative error without bias is sqrt(2 / pi) sd / k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import ndtr

from duckdb_priv.mechanism.arrays import Integers, Matrix, Vector
from duckdb_priv.mechanism.sampling_variance import (
    perturbed_variance,
    suppression_bias,
    suppression_variance,
    weighted_variance,
)
from duckdb_priv.mechanism.uniform import Uniform, max_retention

NORMAL = "Errors are taken as normal"
NOTHING = 1e-100
"""A smaller retention keeps no value, and its errors exceed the range of a float."""
EXACT = f"{NORMAL}, with the exact variance."
"""Text: how the errors of an option were computed."""


@dataclass(frozen=True)
class Demand:
    """Requirements of a release; None for no requirement."""

    limits: tuple[float, float] | None
    """rho1 and rho2: no prior of at most rho1 may become a posterior above rho2."""
    epsilon: float | None
    """Largest permitted epsilon of differential privacy, of one value or of a whole record."""
    delta: float
    """Largest permitted delta; local differential privacy has none."""
    max_error: float | None
    """Largest permitted mean relative error."""

    def largest(
        self, of_limits: Callable[[float, float], float], of_epsilon: Callable[[float], float]
    ) -> list[float]:
        """Return the largest permitted strength, by the limits and by epsilon; an empty list without both."""
        permitted = []
        if self.limits is not None:
            permitted.append(of_limits(*self.limits))
        if self.epsilon is not None:
            permitted.append(of_epsilon(self.epsilon))
        return [min(permitted)] if permitted else []


def retentions_to_try(grid: Sequence[float], required: Demand, domain_size: int) -> list[float]:
    """Return the retentions of a grid, and the largest one that meets the requirements, if it keeps any value."""

    def of_epsilon(epsilon: float) -> float:
        # Amplification 1 + m p / (1 - p) = exp(epsilon), rounded down and divided by exp(epsilon), which may be
        # infinite.
        rise = -math.expm1(-epsilon)
        return rise / (rise + domain_size * math.exp(-epsilon)) * (1 - 1e-12)

    largest = required.largest(partial(max_retention, domain_size=domain_size), of_epsilon)
    return sorted(retention for retention in {*grid, *largest} if retention > NOTHING)


@dataclass(frozen=True)
class MicroGroups:
    """The micro groups that queries count in: arrays of one shape, with an entry for each combination that occurs.

    Groups that are too small for any sample may be missing.
    """

    query: Integers
    size: Integers
    """Records of the group."""
    held: Integers
    """Records of the group with the queried value."""
    number: Integers
    """Number of such groups."""

    def variances(
        self, operator: Uniform, sample_size: int, records: Vector, held: Vector
    ) -> Vector:
        """Return the variance of each estimate if larger groups are represented by a sample.

        ``records`` and ``held``, shape (queries,): the records that meet the conditions, and those of them with the
        value.
        """
        large = self.size > sample_size
        query, size, of_value = self.query[large], self.size[large], self.held[large]
        number = self.number[large].astype(np.float64)

        def of_queries(values: Vector) -> Vector:
            sums = np.bincount(query, number * values, minlength=records.size)
            return sums.astype(np.float64)

        rest = perturbed_variance(
            records - of_queries(size.astype(np.float64)),
            held - of_queries(of_value.astype(np.float64)),
            operator,
        )
        return rest + of_queries(weighted_variance(size, of_value, sample_size, operator))


@dataclass(frozen=True)
class Generalized:
    """The groups of equal records after generalizing, and the groups that queries on generalized values count."""

    hierarchies: str
    levels: Mapping[str, int]
    sizes: Integers
    """The size of each group of the table."""
    query: Integers
    size: Integers
    number: Integers
    """One entry for each query and size of group: the number of groups that the query counts."""

    @property
    def counts(self) -> Vector:
        """True count of each query."""
        return self._of_queries(self.size)

    def bias(self, k: int, beta: float) -> Vector:
        """Return the expected change of each count by suppression; never positive."""
        return self._of_queries(suppression_bias(self.size, k, beta))

    def variances(self, k: int, beta: float) -> Vector:
        """Return the variance of each count, including suppression."""
        return self._of_queries(suppression_variance(self.size, k, beta))

    def suppressed(self, k: int, beta: float) -> float:
        """Return the expected share of suppressed records."""
        return float(-suppression_bias(self.sizes, k, beta).sum() / self.sizes.sum())

    def _of_queries(self, values: Vector | Integers) -> Vector:
        sums = np.bincount(self.query, self.number * values.astype(np.float64))
        return sums.astype(np.float64)


@dataclass(frozen=True)
class Question:
    """The attribute to publish, and the queries on it."""

    attribute: str
    """The sensitive column."""
    frequencies: Vector
    """Number of records with each value, shape (m,)."""
    histograms: Matrix
    """Number of records that meet each query's conditions, by value: shape (m, queries)."""
    positions: NDArray[np.intp]
    """The value that each query counts."""
    micro_groups: Callable[[int], MicroGroups]
    """Counts the micro groups with more records than the argument."""
    generalized: Callable[[str, Mapping[str, Any]], Generalized]
    """Counts the groups of a generalization, from a table of hierarchies and the level of each column."""
    required: Demand

    @property
    def domain_size(self) -> int:
        """Number of values."""
        return self.frequencies.size

    @property
    def counts(self) -> Vector:
        """True count of each query."""
        return self.of_asked(self.histograms)

    @property
    def records(self) -> Vector:
        """Number of records that meet the conditions of each query."""
        return np.asarray(self.histograms.sum(axis=0))

    def of_asked(self, table: Matrix) -> Vector:
        """Return the entry of each query in the row of its value."""
        taken: Vector = table[self.positions, np.arange(self.positions.size)]
        return taken


@dataclass(frozen=True)
class StatedQuestions:
    """Stated questions about the bins of one column, which one guarantee covers."""

    attribute: str
    """The column."""
    counts: Vector
    """Number of records with each value, the missing one last."""
    gram: Matrix
    """Gram matrix: the mean of c c' over the questions."""
    amplification: float
    """The largest permitted likelihood ratio of a record's shown value."""
    promise: Mapping[str, Any]
    """The arguments that state this limit: epsilon, or rho1 and rho2."""
    given: Mapping[str, Any]
    """The arguments that state the questions and the bins."""

    @property
    def size(self) -> int:
        """Number of values."""
        return self.counts.size

    @property
    def epsilon(self) -> float:
        """The largest permitted epsilon of local differential privacy."""
        return math.log(self.amplification)


@dataclass(frozen=True)
class Promised:
    """Parameters of a mechanism and its guarantees with them."""

    parameters: Mapping[str, Any]
    """The arguments for publishing."""
    promises: Sequence[str]
    """Guarantees besides a bound on odds, in words."""
    amplification: float = field(default=math.inf, kw_only=True)
    """Largest factor by which a published value changes the odds between two true values."""
    epsilon: float | None = field(default=None, kw_only=True)
    """Epsilon of differential privacy, if there is any."""
    delta: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class StatedOption(Promised):
    """A mechanism's candidate for stated questions: its operator, and the weights of shown values."""

    operator: Matrix
    """Probabilities of shown values, one column for each true value."""
    weights: Matrix
    """Unbiased weight for the count of value x of a record that shows y."""
    cuts: bool = False
    """Whether the mechanism cuts numbers itself; otherwise it reads a view of bins."""


@dataclass(frozen=True)
class Option(Promised):
    """A mechanism with its parameters, and its effect on each query."""

    counts: Vector
    """True counts."""
    deviations: Vector
    """Standard deviations of the estimates."""
    basis: str
    """How the errors were computed, in words."""
    biases: Vector | float = 0.0
    suppressed: float | None = None
    """Expected share of suppressed records."""

    @property
    def mean_relative_error(self) -> float:
        """Return the expected mean over the queries of abs(error) / count.

        >>> unbiased = Option({}, (), np.array([100.0, 100.0]), np.array([10.0, 30.0]), "")
        >>> round(unbiased.mean_relative_error, 6)
        0.159577
        """
        bias, deviation = np.broadcast_arrays(self.biases, self.deviations)
        # The mean absolute value of a normal variable.
        sure = np.abs(bias)
        ratio = np.divide(sure, deviation, out=np.full(bias.shape, np.inf), where=deviation > 0)
        spread = deviation * 2 * np.exp(-(ratio**2) / 2) / np.sqrt(2 * np.pi) + sure * (
            1 - 2 * ndtr(-ratio)
        )
        return float(np.mean(spread / self.counts))

    @property
    def median_relative_error(self) -> float:
        """Return the median relative error over all answers: half of them are expected to have less.

        >>> unbiased = Option({}, (), np.array([100.0, 100.0]), np.array([10.0, 10.0]), "")
        >>> round(unbiased.median_relative_error, 6)
        0.067449
        >>> biased = Option({}, (), np.array([100.0]), np.array([0.0]), "", biases=np.array([-5.0]))
        >>> round(biased.median_relative_error, 6)
        0.05
        """
        bias, deviation = np.broadcast_arrays(
            self.biases / self.counts, self.deviations / self.counts
        )
        spread = np.maximum(deviation, np.finfo(np.float64).tiny)

        def above(error: float) -> float:
            # Without a deviation the quotients are infinite, as intended.
            with np.errstate(over="ignore"):
                too_high, too_low = (error - bias) / spread, (-error - bias) / spread
            return float(np.mean(ndtr(-too_high) + ndtr(too_low)) - 0.5)

        return float(optimize.brentq(above, 0.0, float((np.abs(bias) + 8 * spread).max())))
