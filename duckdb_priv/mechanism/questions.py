"""The operator with the least expected error for stated questions about an ordered attribute.

A question is a vector c over the m values: its answer is the sum of c over the records. An operator Q answers with the
weights Q^-1, and costs a record of true value x the variance c' Q^-1 diag(Q[:, x]) Q^-T c - c[x]^2. Its mean over the
questions and over all x is minimized over all square operators whose likelihood ratio has a bound. Derivation:
``questions.md`` beside this file.

Source: McKenna, Maity, Mazumdar, Miklau, "A workload-adaptive mechanism for linear queries under local differential
privacy" (2020), for the error and its lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.alias import as_drawn, words_of
from duckdb_priv.mechanism.arrays import Matrix, Vector

LEAST_EPSILON, LARGEST_EPSILON = 0.001, 20.0
"""Beyond these, everything is noise, or nothing is."""
MOST_VALUES = 128
"""The search takes a minute at most for so many."""
SEED = 20_200_219
"""Of random starts, so that the same questions have the same operator."""
LEAST_MIXED = 2.0**-52
"""The share of the uniform distribution that is mixed in first where rounding made a likelihood ratio too large."""
OF_SINGLE_VALUES = 0.005
"""What single values weigh beside the questions, each relative to its error under uniform perturbation: every count has
an estimate, even where the mean alone is asked."""
FIRST, FINALISTS, LAST = 250, 3, 800
"""Steps from every start, how many starts go on, and for how many steps."""
FEW = 20
"""Domains of so few values have twice as many starts: their steps take little."""
REMEMBERED = 10
"""Steps from which the search knows the curvature."""
LEAST_SCALE = 1e-12
"""A symbol that no record shows more often has no use."""
INFEASIBLE = 1e10
"""The error, relative to that of uniform perturbation, where no operator has a pattern."""

Progress = Callable[[float], None]
"""Is called with the share of the work that is done, and may raise to end it."""


def values_gram(values: int) -> Matrix:
    """Return the mean of c c' over the counts of single values.

    >>> values_gram(2)
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    return np.eye(values) / values


def ranges_gram(values: int) -> Matrix:
    """Return the mean of c c' over all m (m + 1) / 2 counts of values from one to another.

    >>> ranges_gram(2) * 3
    array([[2., 1.],
           [1., 2.]])
    """
    place = np.arange(values)
    low, high = np.minimum.outer(place, place), np.maximum.outer(place, place)
    gram: Matrix = (low + 1) * (values - high) / (values * (values + 1) / 2)
    return gram


def prefixes_gram(values: int) -> Matrix:
    """Return the mean of c c' over the counts up to each value.

    >>> prefixes_gram(2) * 2
    array([[2., 1.],
           [1., 1.]])
    """
    place = np.arange(values)
    gram: Matrix = (values - np.maximum.outer(place, place)) / values
    return gram


def mean_gram(points: Sequence[float]) -> Matrix:
    """Return c c' of the mean of values at these points, of which the least counts 0 and the largest 1.

    >>> mean_gram([10, 20, 30])
    array([[0.  , 0.  , 0.  ],
           [0.  , 0.25, 0.5 ],
           [0.  , 0.5 , 1.  ]])
    """
    at = np.asarray(points, dtype=np.float64)
    at = (at - at.min()) / (at.max() - at.min())
    return np.outer(at, at)


def listed_gram(questions: Matrix, weights: Sequence[float]) -> Matrix:
    """Return the weighted mean of c c' over questions, one in each row.

    >>> listed_gram(np.array([[1, 1], [0, 1]]), [1, 3])
    array([[0.25, 0.25],
           [0.25, 1.  ]])
    """
    share = np.asarray(weights, dtype=np.float64)
    gram: Matrix = questions.T @ (questions * (share / share.sum())[:, None])
    return gram


def with_missing(gram: Matrix) -> Matrix:
    """Add the missing value, last: no range holds it, and its count is one more question.

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
    """Return the standard deviation that a record adds to a question, root mean square over questions and true values.

    >>> round(mean_error(ranges_gram(64), uniform_operator(64, math.e)), 3)
    15.726
    """
    m = len(gram)
    return expected_deviation(gram, operator, np.full(m, 1 / m))


def expected_deviation(
    gram: Matrix, operator: Matrix, true_counts: ArrayLike, weights: Matrix | None = None
) -> float:
    """Return the standard deviation of the answers to questions about records, root mean square over the questions.

    ``weights[x, y]`` is what a record that shows y counts for x; the inverse of the operator, where none are given.

    >>> operator = uniform_operator(64, math.e)
    >>> round(expected_deviation(ranges_gram(64), operator, np.full(64, 100)) / 80, 3)
    15.726
    """
    found = np.linalg.inv(operator) if weights is None else weights
    true = np.asarray(true_counts, dtype=np.float64)
    spread = np.einsum("xy,xz,zy->y", found, gram, found)
    return math.sqrt(max(float(spread @ (operator @ true) - np.diagonal(gram) @ true), 0.0))


def error_bound(gram: Matrix, amplification: float) -> float:
    """Return what ``mean_error`` is at least, for any operator and any number of symbols.

    >>> round(error_bound(ranges_gram(64), math.e), 3)
    1.251
    """
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0)).sum()
    least = roots**2 / amplification - np.trace(gram)
    return math.sqrt(max(float(least), 0.0) / len(gram))


def uniform_operator(values: int, amplification: float) -> Matrix:
    """Return randomized response.

    >>> uniform_operator(2, 3.0)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    operator: Matrix = (np.ones((values, values)) + (amplification - 1) * np.eye(values)) / (
        values - 1 + amplification
    )
    return operator


def choose_operator(gram: Matrix, amplification: float, progress: Progress | None = None) -> Matrix:
    """Return the best operator found for questions, as 64 bits draw from it.

    Its likelihood ratio, in these very numbers, is at most ``amplification`` (``exact_amplification``). Its symbols are
    in the order of the values, so that as many records as possible show their own.

    Raises InvalidParameter for fewer than 2 or more than ``MOST_VALUES`` values, and for a ratio that is no usual one.

    >>> operator = choose_operator(mean_gram(range(8)), math.e)
    >>> round(mean_error(mean_gram(range(8)), uniform_operator(8, math.e)), 2), exact_amplification(operator) < math.e
    (1.82, True)
    """
    m = len(gram)
    if not 2 <= m <= MOST_VALUES:
        raise InvalidParameter(
            f"an operator is chosen for 2 to {MOST_VALUES} values, not {m}",
            hint="take fewer bins",
        )
    if not LEAST_EPSILON <= math.log(max(amplification, 1)) <= LARGEST_EPSILON:
        raise InvalidParameter(
            f"an operator is chosen for an epsilon from {LEAST_EPSILON:g} to {LARGEST_EPSILON:g}, and the likelihood"
            f" ratio {amplification!r} has another",
            hint="the likelihood ratio is exp(epsilon), or priv.amplification_gamma(rho1, rho2)",
        )
    found = [uniform_operator(m, amplification)]
    found += map(_ordered, _searched(gram, amplification, progress or _unseen))
    # Compared as they are drawn from: so rounding to integers cannot make the choice worse than uniform perturbation.
    drawn = (within(operator, amplification) for operator in found)
    return min(drawn, key=lambda operator: mean_error(gram, operator))


def exact_amplification(operator: Matrix) -> Fraction:
    """Return the largest likelihood ratio of a symbol, exact: from how many of the 2^64 words publish it.

    >>> exact_amplification(np.array([[0.75, 0.25], [0.25, 0.75]]))
    Fraction(3, 1)
    """
    words = words_of(operator)
    symbols = [[column[y] for column in words] for y in range(len(operator))]
    return max(Fraction(max(symbol), min(symbol)) for symbol in symbols)


def claimed_amplification(operator: Matrix) -> float:
    """Return the exact likelihood ratio as a double, rounded up.

    >>> claimed_amplification(np.array([[0.75, 0.25], [0.25, 0.75]]))
    3.0
    """
    exact = exact_amplification(operator)
    nearest = float(exact)
    return nearest if exact <= Fraction(nearest) else math.nextafter(nearest, math.inf)


def share_kept(operator: Matrix, amplification: float) -> float:
    """Return the share of what records show that ``diluted`` keeps for likelihoods within a factor.

    >>> share_kept(uniform_operator(2, 3.0), 2.0)
    0.6666666666666666
    """
    odds = (amplification - 1) / float(operator.min(axis=1).sum())
    return odds / (odds + claimed_amplification(operator) - amplification)


def diluted(operator: Matrix, kept: float) -> tuple[Matrix, Matrix]:
    """Return the operator that keeps a share of what is shown and redraws the rest, and both one after the other.

    The rest is redrawn with the least likelihoods of the symbols: then all ratios become smaller together.

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
    """Return the operator as it is drawn from, mixed with as little of the uniform distribution as its ratio needs."""
    share = 0.0
    while True:
        mixed = (1 - share) * operator / operator.sum(axis=0) + share / len(operator)
        drawn = as_drawn(mixed)
        if exact_amplification(drawn) <= Fraction(amplification):
            return drawn
        share = max(LEAST_MIXED, 2 * share)


def _unseen(share: float) -> None:
    """Report to nobody."""


@dataclass(frozen=True, eq=False)
class _Problem:
    """The error as a function of the pattern S: row y of the operator is z[y] (1 + (ratio - 1) S[y]), S within 0 and 1.

    The columns sum to 1, so z solves a linear system: a square operator is its pattern.
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
        """Follow the gradient within the bounds; return the error and the pattern."""
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
    """Yield the operators that the search finds from the most promising starts."""
    from threadpoolctl import threadpool_limits

    m = len(gram)
    plain = uniform_operator(m, ratio)
    asked, single = ((g / _raw_error(g, plain)) for g in (gram, values_gram(m)))
    problem = _Problem(asked + OF_SINGLE_VALUES * single, ratio)
    # Matrices are small: threads would wait for each other, on a busy machine a hundred times as long as they work.
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
    """Return the mean variance and the trace of the gram: what is minimized."""
    return mean_error(gram, operator) ** 2 * len(gram) + float(np.trace(gram))


def _starts(m: int, ratio: float) -> Iterator[Matrix]:
    """Yield patterns within the bounds: near randomized response, and blocks of values that turn."""
    rng = np.random.default_rng(SEED)
    repeats = 4 if m <= FEW else 2
    for near in (0.9, 0.5) * (repeats // 2):
        yield (0.98 - near) / 2 + near * np.eye(m) + 0.02 * rng.random((m, m))
    # Blocks of a share 1 / (ratio + 1) have the least noise for single values, larger ones for sums of many.
    for share in (1 / (1 + ratio), 1 / (1 + math.sqrt(ratio)), 0.5):
        size = min(max(round(share * m), 1), m - 1)
        for _ in range(repeats):
            block = np.zeros(m)
            block[rng.permutation(m)[:size]] = 1.0
            yield 0.25 + 0.5 * np.array([np.roll(block, turn) for turn in range(m)])


def _ordered(operator: Matrix) -> Matrix:
    """Order the symbols so that as many records as possible show their own value: an assignment problem."""
    from scipy.optimize import linear_sum_assignment

    values, symbols = linear_sum_assignment(operator.T, maximize=True)
    ordered: Matrix = operator[symbols[np.argsort(values)]]
    return ordered
