"""What could be published, and how the errors to expect of it are summed up.

The error of an estimate is taken as normal, with the bias and variance of its mechanism, the source being
what it is. For a query that truly counts k records, the expected relative error without bias is sqrt(2 / pi) sd / k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import ndtr

from duckdb_priv.mechanism.arrays import Integers, Matrix, Vector
from duckdb_priv.mechanism.sampling_variance import perturbed_variance, weighted_variance
from duckdb_priv.mechanism.scaled_count import suppression_bias, suppression_variance
from duckdb_priv.mechanism.uniform import Uniform, max_retention

NORMAL = "Errors are taken as normal"
NOTHING = 1e-100
"""A smaller retention keeps nothing, and errors are beyond what a float can hold."""
EXACT = f"{NORMAL}, with the exact variance."
"""Where the errors of an option come from, in words."""


@dataclass(frozen=True)
class Demand:
    """What a release must satisfy; None where nothing is asked."""

    limits: tuple[float, float] | None
    """rho1 and rho2: no prior of at most the first may become a posterior above the second."""
    epsilon: float | None
    """Largest epsilon of differential privacy, of one value or of a whole record."""
    delta: float
    """Largest delta beside it; local differential privacy has none."""
    max_error: float | None
    """Largest mean relative error."""


def retentions_to_try(grid: Sequence[float], required: Demand, domain_size: int) -> list[float]:
    """List the retentions of a grid, and the largest that satisfies what is required, if it keeps anything."""
    largest = []
    if required.limits is not None:
        largest.append(max_retention(*required.limits, domain_size))
    if required.epsilon is not None:
        # Amplification 1 + m p / (1 - p) = exp(epsilon), rounded down; divided by exp(epsilon), which may be infinite.
        rise = -math.expm1(-required.epsilon)
        largest.append(rise / (rise + domain_size * math.exp(-required.epsilon)) * (1 - 1e-12))
    found = {*grid, *([min(largest)] if largest else [])}
    return sorted(retention for retention in found if retention > NOTHING)


@dataclass(frozen=True)
class MicroGroups:
    """The micro groups that queries count in, one entry for each combination that occurs; all of one shape.

    Those that are too small for any sample may be left out.
    """

    query: Integers
    size: Integers
    """Records of the group."""
    held: Integers
    """Those of them with the value that is asked for."""
    number: Integers
    """How many groups there are of this kind."""

    def variances(
        self, operator: Uniform, sample_size: int, records: Vector, held: Vector
    ) -> Vector:
        """Return the variance of each estimate where larger groups are represented by a sample.

        ``records`` and ``held``, (queries,): how many records meet the conditions, and how many of them have the value.
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
    """The groups of equal records after generalizing, and those that queries about generalized values count."""

    hierarchies: str
    levels: Mapping[str, int]
    sizes: Integers
    """The size of each group of the table."""
    query: Integers
    size: Integers
    number: Integers
    """One entry for each query and size of group: how many such groups the query counts."""

    @property
    def counts(self) -> Vector:
        """How many records each query truly counts."""
        return self._of_queries(self.size)

    def bias(self, k: int, beta: float) -> Vector:
        """Return what suppression takes from each count, on average; never positive."""
        return self._of_queries(suppression_bias(self.size, k, beta))

    def variances(self, k: int, beta: float) -> Vector:
        """Return the variance of each count, suppression included."""
        return self._of_queries(suppression_variance(self.size, k, beta))

    def suppressed(self, k: int, beta: float) -> float:
        """Return the share of the records that suppression is expected to take."""
        return float(-suppression_bias(self.sizes, k, beta).sum() / self.sizes.sum())

    def _of_queries(self, values: Vector | Integers) -> Vector:
        sums = np.bincount(self.query, self.number * values.astype(np.float64))
        return sums.astype(np.float64)


@dataclass(frozen=True)
class Question:
    """What is to be published, and what will be asked of it."""

    attribute: str
    """The sensitive column."""
    frequencies: Vector
    """How many records have each value, shape (m,)."""
    histograms: Matrix
    """How many of the records that meet the conditions of each query have each value, shape (m, queries)."""
    positions: NDArray[np.intp]
    """Which value each query asks for."""
    micro_groups: Callable[[int], MicroGroups]
    """Counts the micro groups of more than so many records."""
    generalized: Callable[[str, Mapping[str, Any]], Generalized]
    """Counts the groups that a table of hierarchies and the levels of all columns make."""
    required: Demand

    @property
    def domain_size(self) -> int:
        """How many values there are."""
        return self.frequencies.size

    @property
    def counts(self) -> Vector:
        """How many records each query truly counts."""
        return self.of_asked(self.histograms)

    @property
    def records(self) -> Vector:
        """How many records meet the conditions of each query."""
        return np.asarray(self.histograms.sum(axis=0))

    def of_asked(self, table: Matrix) -> Vector:
        """Return, for each query, the row of the value that it asks for."""
        taken: Vector = table[self.positions, np.arange(self.positions.size)]
        return taken


@dataclass(frozen=True)
class StatedQuestions:
    """Questions about the bins of one column, to be answered with one promise."""

    attribute: str
    """The column."""
    counts: Vector
    """How many records have each value, a missing one last."""
    gram: Matrix
    """The mean of c c' over the questions."""
    amplification: float
    """The largest likelihood ratio of what a record shows."""
    promise: Mapping[str, Any]
    """The arguments that ask for it: epsilon, or rho1 and rho2."""
    given: Mapping[str, Any]
    """The arguments that state the questions and the bins."""

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.counts.size

    @property
    def epsilon(self) -> float:
        """The largest epsilon of local differential privacy."""
        return math.log(self.amplification)


@dataclass(frozen=True)
class Promised:
    """Parameters of a mechanism, and what it promises with them."""

    parameters: Mapping[str, Any]
    """The arguments to publish with."""
    promises: Sequence[str]
    """What it promises beside a bound on odds, in words."""
    amplification: float = field(default=math.inf, kw_only=True)
    """Largest factor by which a published value changes the odds between two true values."""
    epsilon: float | None = field(default=None, kw_only=True)
    """Of differential privacy, if there is any."""
    delta: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class StatedOption(Promised):
    """How a mechanism answers stated questions, by an operator and the weights of what records show."""

    operator: Matrix
    """Probabilities of what is shown, one column for each value."""
    weights: Matrix
    """What a record that shows y counts for x, unbiased."""
    cuts: bool = False
    """Whether it cuts numbers at the edges itself; all others are given a view of bins."""


@dataclass(frozen=True)
class Option(Promised):
    """What a mechanism does to each query with some parameters."""

    counts: Vector
    """True counts."""
    deviations: Vector
    """Standard deviations of the estimates."""
    basis: str
    """Where the errors come from."""
    biases: Vector | float = 0.0
    suppressed: float | None = None
    """Share of the records that is expected to be suppressed."""

    @property
    def mean_relative_error(self) -> float:
        """Return the expected mean over the queries of abs(error) / count.

        >>> unbiased = Option({}, (), np.array([100.0, 100.0]), np.array([10.0, 30.0]), "")
        >>> round(unbiased.mean_relative_error, 6)
        0.159577
        """
        bias, deviation = np.broadcast_arrays(self.biases, self.deviations)
        # The mean of the absolute value of a normal variable.
        sure = np.abs(bias)
        ratio = np.divide(sure, deviation, out=np.full(bias.shape, np.inf), where=deviation > 0)
        spread = deviation * 2 * np.exp(-(ratio**2) / 2) / np.sqrt(2 * np.pi) + sure * (
            1 - 2 * ndtr(-ratio)
        )
        return float(np.mean(spread / self.counts))

    @property
    def median_relative_error(self) -> float:
        """Return the error that half of the answers are expected to stay below.

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
            # Where there is no deviation the quotients are infinite, as they should be.
            with np.errstate(over="ignore"):
                too_high, too_low = (error - bias) / spread, (-error - bias) / spread
            return float(np.mean(ndtr(-too_high) + ndtr(too_low)) - 0.5)

        return float(optimize.brentq(above, 0.0, float((np.abs(bias) + 8 * spread).max())))
