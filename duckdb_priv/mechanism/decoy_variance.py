"""Bias and variance of counts that are reconstructed from decoy groups, predicted before publishing.

The prediction uses the true histogram and the distribution of well mixed groups; it draws no groups. It is of first
order in the noise of the published histogram, from which the weights are computed. Derivation: ``decoy_variance.md``.

Sources: Fu, Wang and others, "Small sum privacy and large sum utility in data publishing", for the estimator, here
with the corrections of ``splu.md``; Hajek, "Asymptotic theory of rejective sampling with varying probabilities"
(1964), for the variance of a sum over a group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Floats, Matrix, Vector
from duckdb_priv.mechanism.conditional_poisson import (
    MAX_FREQUENCIES,
    MAX_INCLUSION,
    ConditionalPoisson,
)
from duckdb_priv.mechanism.decoy_batches import operator_of
from duckdb_priv.mechanism.eligibility import require_eligible
from duckdb_priv.mechanism.histogram_errors import HistogramErrors, of_decoys
from duckdb_priv.mechanism.splu_reconstruction import background_probability, choose

STEP = 1e-4
"""Relative step of a count in the numerical derivative of the estimates."""


class Errors(NamedTuple):
    """Bias in records and variance in squared records of estimated counts, both of shape (queries,)."""

    bias: Floats
    """Not 0 for the 2x2 form with unequal frequencies; 0 for the conditional Poisson form."""
    variance: Floats


def expected_errors(
    counts: ArrayLike, gamma: int, histograms: ArrayLike, asked: ArrayLike
) -> Errors:
    """Return bias and variance of estimated counts over well mixed groups of ``gamma`` values.

    ``counts`` (values,) are the true counts of the whole table, all positive. ``histograms`` (values, queries) are
    the true counts of each query's subset, and ``asked`` (queries,) is the value that each query counts. ``choose``
    selects the estimator. Raises InvalidParameter for an ineligible table.

    The published count of a value that f records hold has the variance f (1 - 1/gamma):

    >>> everybody = np.full((10, 1), 100)
    >>> errors = expected_errors(everybody[:, 0], 5, everybody, [0])
    >>> errors.variance.round(9), abs(errors.bias.round(9))
    (array([80.]), array([0.]))
    """
    total = np.asarray(counts, np.float64)
    held = np.asarray(histograms, np.float64)
    rows = np.asarray(asked, np.intp)
    require_eligible(total.astype(np.int64), gamma)
    operator, weights = _law(total, gamma), _weights(total, gamma)
    mean_weight = weights @ operator
    subset = held.T
    bias = np.einsum("qu,qu->q", mean_weight[rows], subset) - held[rows, np.arange(rows.size)]
    between, spread, crossed = _per_record(operator, weights, mean_weight, gamma)
    shown = operator * (1 - 1 / gamma)
    part = (held.sum(axis=0) / total.sum())[:, np.newaxis]
    inside = (
        (1 - part) ** 2 * spread[rows]
        + 2 * part * (1 - part) * crossed[rows]
        + part**2 * shown[rows]
    )
    outside = part**2 * (spread[rows] - 2 * crossed[rows] + shown[rows])
    variance = (
        subset * inside + (total - subset) * outside + subset * (1 - subset / total) * between[rows]
    ).sum(axis=1)
    return Errors(bias, np.maximum(variance, 0.0))


def _law(counts: Floats, gamma: int) -> Floats:
    """Return A[s, u], the probability that a record with value u shows s."""
    inclusion = gamma * counts / counts.sum()
    if inclusion.max() <= MAX_INCLUSION and np.unique(inclusion).size <= MAX_FREQUENCIES:
        return ConditionalPoisson.fit(inclusion, gamma).operator()
    operator = np.tile(background_probability(counts, gamma)[:, np.newaxis], counts.size)
    np.fill_diagonal(operator, 1 / gamma)
    return operator


def _weights(counts: Floats, gamma: int) -> Floats:
    """Return W[s, v], the weight of a record that shows v in the estimate of s; NaN if s cannot be estimated."""
    form = choose(counts, gamma).weights
    return np.array([form.row(value) for value in range(counts.size)])


def _per_record(
    operator: Floats, weights: Floats, mean_weight: Floats, gamma: int
) -> tuple[Floats, Floats, Floats]:
    """Return three matrices with an entry [s, u] for a record with value u and the estimate of s.

    They are: the variance of the record's mean weight between groups; the mean variance of its weight within a
    group; the mean covariance within a group of its weight and the indicator that it shows s.
    """
    free = _free(operator, gamma)
    total = free.sum(axis=0)
    share = np.divide(free, total, out=np.zeros_like(free), where=total > 0)
    centre = weights @ share
    between = np.maximum(weights**2 @ free - centre * (weights @ free), 0) / gamma**2
    spread = weights**2 @ operator - mean_weight**2 - between
    own = np.diagonal(weights)[:, np.newaxis]
    crossed = operator * (own - mean_weight) - free * (own - centre) / gamma**2
    return between, spread, crossed


def _free(operator: Floats, gamma: int) -> Floats:
    """Return Hajek's variance term of v in the groups of u, entry [v, u]."""
    inclusion = gamma * operator
    np.fill_diagonal(inclusion, 0.0)
    free: Floats = np.maximum(inclusion * (1 - inclusion), 0.0)
    return free


def remaining_errors(counts: ArrayLike, remaining: ArrayLike, gamma: int) -> HistogramErrors:
    """Return the errors of the counts of all records that are left of well mixed groups, whichever have left.

    ``counts`` are the true counts of all that were grouped, ``remaining`` those of the ones that are left.

    >>> remaining_errors([100] * 10, [100] * 10, 5).of_values().round(3)[:2]
    array([8.944, 8.944])
    """
    drawn, left = np.asarray(counts, np.float64), np.asarray(remaining, np.float64)
    operator = operator_of(drawn, gamma)
    if (drawn == left).all():
        return of_decoys(operator, drawn)
    weights = np.asarray(np.linalg.inv(operator), np.float64)
    shown: Vector = operator @ left
    # What the noise of the histogram adds to the estimates: the weights are made of it.
    moved = np.zeros_like(operator)
    for value in np.flatnonzero(drawn):
        step = STEP * (drawn[value] + drawn.mean())
        step = min(step, drawn[value] / 2)
        low, high = drawn.copy(), drawn.copy()
        low[value], high[value] = drawn[value] - step, drawn[value] + step
        ends = [np.linalg.inv(operator_of(each, gamma)) @ shown for each in (low, high)]
        moved[:, value] = (ends[1] - ends[0]) / (2 * step)
    inside, outside = weights + moved, moved
    between = _free(operator, gamma)
    part = np.divide(left, drawn, out=np.zeros_like(left), where=drawn > 0)
    covariance = (
        inside @ _within(operator, between, left, gamma) @ inside.T
        + outside @ _within(operator, between, drawn - left, gamma) @ outside.T
        + weights @ _means(between, left * (1 - part), gamma) @ weights.T
    )
    return HistogramErrors(covariance)


def _within(operator: Matrix, free: Matrix, records: Floats, gamma: int) -> Matrix:
    """Return the covariance of published values given the groups, summed over the records of each value."""
    shown: Matrix = np.diag(operator @ records) - (operator * records) @ operator.T
    return shown - _means(free, records, gamma)


def _means(free: Matrix, records: Floats, gamma: int) -> Matrix:
    """Return the covariance between groups of the mean published values of their records."""
    total = free.sum(axis=0)
    shared = np.divide(records, total, out=np.zeros_like(total), where=total > 0)
    found: Matrix = (np.diag(free @ records) - (free * shared) @ free.T) / gamma**2
    return found
