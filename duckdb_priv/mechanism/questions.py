"""The operator with the least expected error for given linear queries about an ordered attribute.

A query is a vector c over the m values; its answer is the sum of c over the records. The estimate uses the weights Q^-1
of an operator Q. A record with true value x adds the variance c' Q^-1 diag(Q[:, x]) Q^-T c - c[x]^2. This module
minimizes the mean of that over the queries and all x, over all square operators with a bounded likelihood ratio.
Derivation: ``questions.md`` beside this file.

Source: McKenna, Maity, Mazumdar, Miklau, "A workload-adaptive mechanism for linear queries under local differential
privacy" (2020), for the error and its lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.alias import as_drawn, words_of
from duckdb_priv.mechanism.arrays import Matrix, Vector
from duckdb_priv.mechanism.histogram_errors import of_operator

LEAST_EPSILON, LARGEST_EPSILON = 0.001, 20.0
"""Range of epsilon. Below it the release is nearly pure noise, above it nearly the original."""
MOST_VALUES = 128
"""Largest domain. The search then takes a minute at most."""
SEED = 20_200_219
"""Seed of the random starting points, so that the same queries give the same operator."""
LEAST_MIXED = 2.0**-52
"""Smallest share of the uniform distribution that is mixed in if rounding makes a likelihood ratio too large."""
OF_SINGLE_VALUES = 0.005
"""Weight of counts of single values beside the queries, each relative to its error under uniform perturbation. With it
every count has an estimate, even if the only query is the mean."""
FIRST, FINALISTS, LAST = 250, 3, 800
"""Optimizer steps from each starting point; the number of best results that continue; their further steps."""
FEW = 20
"""Domains of at most this many values have twice as many starting points, because their steps are fast."""
REMEMBERED = 10
"""Number of previous steps from which L-BFGS-B estimates the curvature."""
LEAST_SCALE = 1e-12
"""Smallest allowed scale of a symbol. A symbol with a smaller one would almost never be published."""
INFEASIBLE = 1e10
"""Error, relative to uniform perturbation, that is returned for a pattern without a valid operator."""

Progress = Callable[[float], None]
"""Callback that receives the finished share of the work, and may raise an exception to end it."""


def values_gram(values: int) -> Matrix:
    """Return the mean of c c' over the counts of single values.

    >>> values_gram(2)
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    return np.eye(values) / values


def ranges_gram(values: int) -> Matrix:
    """Return the mean of c c' over the counts of all m (m + 1) / 2 ranges of values.

    >>> ranges_gram(2) * 3
    array([[2., 1.],
           [1., 2.]])
    """
    place = np.arange(values)
    low, high = np.minimum.outer(place, place), np.maximum.outer(place, place)
    gram: Matrix = (low + 1) * (values - high) / (values * (values + 1) / 2)
    return gram


def prefixes_gram(values: int) -> Matrix:
    """Return the mean of c c' over the cumulative counts up to each value.

    >>> prefixes_gram(2) * 2
    array([[2., 1.],
           [1., 1.]])
    """
    place = np.arange(values)
    gram: Matrix = (values - np.maximum.outer(place, place)) / values
    return gram


def mean_gram(points: Sequence[float]) -> Matrix:
    """Return c c' for the mean of these values, scaled so that the least is 0 and the largest is 1.

    >>> mean_gram([10, 20, 30])
    array([[0.  , 0.  , 0.  ],
           [0.  , 0.25, 0.5 ],
           [0.  , 0.5 , 1.  ]])
    """
    at = np.asarray(points, dtype=np.float64)
    at = (at - at.min()) / (at.max() - at.min())
    return np.outer(at, at)


def listed_gram(questions: Matrix, weights: Sequence[float]) -> Matrix:
    """Return the weighted mean of c c' over queries; each row of ``questions`` is one query.

    >>> listed_gram(np.array([[1, 1], [0, 1]]), [1, 3])
    array([[0.25, 0.25],
           [0.25, 1.  ]])
    """
    share = np.asarray(weights, dtype=np.float64)
    gram: Matrix = questions.T @ (questions * (share / share.sum())[:, None])
    return gram


def with_missing(gram: Matrix) -> Matrix:
    """Return the gram matrix with the missing value as last value: no range contains it, and its count is a query.

    >>> with_missing(np.array([[1.0]]))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    m = len(gram)
    wider = np.zeros((m + 1, m + 1))
    wider[:m, :m] = gram * m
    wider[m, m] = 1.0
    return wider / (m + 1)


def mean_error(gram: Matrix, operator: Matrix) -> float:
    """Return the standard deviation that a record adds to a query: the root mean square over queries and true values.

    >>> round(mean_error(ranges_gram(64), uniform_operator(64, math.e)), 3)
    15.726
    """
    m = len(gram)
    weights = np.asarray(np.linalg.inv(operator), np.float64)
    return of_operator(operator, weights, np.full(m, 1 / m)).of(gram)


def error_bound(gram: Matrix, amplification: float) -> float:
    """Return a lower bound of ``mean_error``, for all operators with any number of symbols.

    >>> round(error_bound(ranges_gram(64), math.e), 3)
    1.251
    """
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0)).sum()
    least = roots**2 / amplification - np.trace(gram)
    return math.sqrt(max(float(least), 0.0) / len(gram))


def uniform_operator(values: int, amplification: float) -> Matrix:
    """Return the operator of randomized response with this amplification.

    >>> uniform_operator(2, 3.0)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    operator: Matrix = (np.ones((values, values)) + (amplification - 1) * np.eye(values)) / (
        values - 1 + amplification
    )
    return operator


def choose_operator(gram: Matrix, amplification: float, progress: Progress | None = None) -> Matrix:
    """Return the best operator that the search finds for the queries of a gram matrix, rounded to 64 bits.

    After rounding, its likelihood ratio is at most ``amplification`` (``exact_amplification``). Its symbols are ordered
    so that as many records as possible show their own value.

    Raises InvalidParameter for fewer than 2 or more than ``MOST_VALUES`` values, or a ratio whose epsilon is out of
    range.

    >>> operator = choose_operator(mean_gram(range(8)), math.e)
    >>> round(mean_error(mean_gram(range(8)), uniform_operator(8, math.e)), 2), exact_amplification(operator) < math.e
    (1.82, True)
    """
    m = len(gram)
    if not 2 <= m <= MOST_VALUES:
        raise InvalidParameter(
            f"an operator for queries needs 2 to {MOST_VALUES} values, got {m}",
            hint="use fewer bins",
        )
    epsilon = math.log(max(amplification, 1))
    if not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise InvalidParameter(
            f"an operator for queries needs an epsilon from {LEAST_EPSILON:g} to {LARGEST_EPSILON:g},"
            f" got {epsilon:.4g}",
            hint="with rho1 and rho2, epsilon is the logarithm of priv.amplification_gamma(rho1, rho2)",
        )
    found = [uniform_operator(m, amplification)]
    found += map(_ordered, _searched(gram, amplification, progress or (lambda share: None)))
    # The rounded operators are compared, so the choice is never worse than uniform perturbation after rounding.
    drawn = (within(operator, amplification) for operator in found)
    return min(drawn, key=lambda operator: mean_error(gram, operator))


def exact_amplification(operator: Matrix) -> Fraction:
    """Return the exact largest likelihood ratio of a symbol, from the numbers of 64-bit words that publish it.

    >>> exact_amplification(np.array([[0.75, 0.25], [0.25, 0.75]]))
    Fraction(3, 1)
    """
    words = words_of(operator)
    symbols = [[column[y] for column in words] for y in range(len(operator))]
    return max(Fraction(max(symbol), min(symbol)) for symbol in symbols)


def claimed_amplification(operator: Matrix) -> float:
    """Return the exact largest likelihood ratio, rounded up to a double.

    >>> claimed_amplification(np.array([[0.75, 0.25], [0.25, 0.75]]))
    3.0
    """
    exact = exact_amplification(operator)
    nearest = float(exact)
    return nearest if exact <= Fraction(nearest) else math.nextafter(nearest, math.inf)


def share_kept(operator: Matrix, amplification: float) -> float:
    """Return the largest share of published symbols that ``diluted`` may keep for a likelihood ratio.

    >>> share_kept(uniform_operator(2, 3.0), 2.0)
    0.6666666666666666
    """
    odds = (amplification - 1) / float(operator.min(axis=1).sum())
    return odds / (odds + claimed_amplification(operator) - amplification)


def diluted(operator: Matrix, kept: float) -> tuple[Matrix, Matrix]:
    """Return an operator that redraws some published symbols, and its product with ``operator``.

    The transition keeps a symbol with probability ``kept``. Otherwise it draws one with probabilities proportional to
    the symbols' least likelihoods, which makes all likelihood ratios smaller together.

    >>> diluted(uniform_operator(2, 3.0), 2 / 3)[1].round(4)
    array([[0.6667, 0.3333],
           [0.3333, 0.6667]])
    """
    least = operator.min(axis=1)
    transition = as_drawn(
        kept * np.eye(len(operator)) + (1 - kept) * (least / least.sum())[:, None]
    )
    composed: Matrix = transition @ operator
    return transition, composed / composed.sum(axis=0)


def within(operator: Matrix, amplification: float) -> Matrix:
    """Return the rounded operator, mixed with as little of the uniform distribution as its likelihood ratio needs."""
    share = 0.0
    while True:
        mixed = (1 - share) * operator / operator.sum(axis=0) + share / len(operator)
        drawn = as_drawn(mixed)
        if exact_amplification(drawn) <= Fraction(amplification):
            return drawn
        share = max(LEAST_MIXED, 2 * share)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The error as a function of the pattern S, whose entries are from 0 to 1.

    Row y of the operator is z[y] (1 + (ratio - 1) S[y]). The columns sum to 1, so z solves a linear system, and the
    pattern determines a square operator.
    """

    gram: Matrix
    ratio: float

    def operator(self, pattern: Matrix) -> Matrix:
        """Return the operator of a pattern."""
        rows = 1 + (self.ratio - 1) * pattern
        operator: Matrix = np.linalg.inv(rows).sum(axis=0)[:, None] * rows
        return operator

    def error(self, flat: Vector) -> tuple[float, Vector]:
        """Return the mean variance, and its gradient (questions.md)."""
        m = len(self.gram)
        rows = 1 + (self.ratio - 1) * flat.reshape(m, m)
        try:
            inverse = np.linalg.inv(rows)
        except np.linalg.LinAlgError:
            return INFEASIBLE, np.zeros(m * m)
        scale = inverse.sum(axis=0)
        if not (scale > LEAST_SCALE).all():
            return INFEASIBLE, np.zeros(m * m)
        together = inverse.T @ (self.gram @ inverse)
        spread, weight = np.diagonal(together), rows.sum(axis=1) / scale
        error = float(weight @ spread)
        if not error < INFEASIBLE:
            return INFEASIBLE, np.zeros(m * m)
        gradient = (spread / scale)[:, None] - 2 * ((together * weight) @ inverse.T)
        gradient += scale[:, None] * (inverse @ (weight * spread / scale))
        return error, (self.ratio - 1) * gradient.ravel()

    def improved(
        self, pattern: Matrix, steps: int, seen: Callable[[], None]
    ) -> tuple[float, Matrix]:
        """Minimize the error from a starting pattern; return the error and the pattern."""
        from scipy.optimize import minimize

        found = minimize(
            self.error,
            pattern.ravel(),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * pattern.size,
            callback=lambda intermediate: seen(),
            options={
                "maxiter": steps,
                "maxfun": 2 * steps,
                "maxcor": REMEMBERED,
                "ftol": 1e-9,
            },
        )
        return float(found.fun), np.asarray(found.x, np.float64).reshape(pattern.shape)


def _searched(gram: Matrix, ratio: float, progress: Progress) -> Iterator[Matrix]:
    """Yield the operators that the search finds from the best starting points."""
    # Loaded first: scipy has a BLAS of its own, and only what is loaded can be limited.
    import scipy.optimize  # noqa: F401
    from threadpoolctl import threadpool_limits

    m = len(gram)
    plain = uniform_operator(m, ratio)
    asked, single = ((g / _raw_error(g, plain)) for g in (gram, values_gram(m)))
    problem = _Problem(asked + OF_SINGLE_VALUES * single, ratio)
    # The matrices are small. On a busy machine, several threads would wait a hundred times longer than they work.
    with threadpool_limits(limits=1, user_api="blas"):
        starts = list(_starts(m, ratio))
        total, done = FIRST * len(starts) + LAST * FINALISTS, 0

        def seen() -> None:
            nonlocal done
            done += 1
            progress(min(done / total, 1.0))

        found = sorted(
            (problem.improved(start, FIRST, seen) for start in starts), key=lambda each: each[0]
        )
        for error, pattern in found[:FINALISTS]:
            if error < INFEASIBLE:
                yield problem.operator(problem.improved(pattern, LAST, seen)[1])


def _raw_error(gram: Matrix, operator: Matrix) -> float:
    """Return the minimized error: the mean variance times the number of values, plus the trace of the gram matrix."""
    return mean_error(gram, operator) ** 2 * len(gram) + float(np.trace(gram))


def _starts(m: int, ratio: float) -> Iterator[Matrix]:
    """Yield starting patterns: some near randomized response, and circulant ones from random blocks of values."""
    rng = np.random.default_rng(SEED)
    repeats = 4 if m <= FEW else 2
    for near in (0.9, 0.5) * (repeats // 2):
        yield (0.98 - near) / 2 + near * np.eye(m) + 0.02 * rng.random((m, m))
    # Blocks with a share 1 / (ratio + 1) of the values are best for single values, larger blocks for sums of many.
    for share in (1 / (1 + ratio), 1 / (1 + math.sqrt(ratio)), 0.5):
        size = min(max(round(share * m), 1), m - 1)
        for _ in range(repeats):
            block = np.zeros(m)
            block[rng.permutation(m)[:size]] = 1.0
            yield 0.25 + 0.5 * np.array([np.roll(block, turn) for turn in range(m)])


def _ordered(operator: Matrix) -> Matrix:
    """Return the operator with its symbols in the order in which most records show their own value.

    This is an assignment problem.
    """
    from scipy.optimize import linear_sum_assignment

    values, symbols = linear_sum_assignment(operator.T, maximize=True)
    ordered: Matrix = operator[symbols[np.argsort(values)]]
    return ordered
