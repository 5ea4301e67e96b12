"""Reconstruct counts from an SPLU release, using only its published histogram.

Two estimators give every published value a weight in the estimate of a value's count. The 2x2 form has two weights per
estimate, for the value itself and for any other value. It is unbiased if all values are equally frequent. The
conditional Poisson form has a weight for each pair of values. It is unbiased for well mixed groups of any frequencies,
but its variance is larger. ``choose`` selects the 2x2 form if its bias is small for every subset of rows. Derivations:
``splu.md``, ``conditional_poisson.md``.
Source: Fu, Wang and others, "Small sum privacy and large sum utility in data publishing",
equations 6 to 9, with the background probability corrected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.conditional_poisson import (
    MAX_FREQUENCIES,
    MAX_INCLUSION,
    ConditionalPoisson,
    InverseWeights,
)

CELL = 1000
"""Number of records in the subset for which errors are predicted."""

MAX_BIAS = 0.25
"""Largest allowed bias of the 2x2 form, in standard errors, in the worst subset of ``CELL`` records."""

HIGH_INCLUSION = 0.9
"""A value that is in at least this share of the groups has very noisy estimates."""


@dataclass(frozen=True)
class TwoByTwo:
    """Weights of the 2x2 form; NaN if a count cannot be estimated."""

    own: Vector
    """(values,) weight of a published value in the estimate of its own count."""
    other: Vector
    """(values,) weight of every other published value in that estimate."""
    amplification: Vector
    """(values,) own - other: how far one published record moves the estimate; infinite for a value in every group."""

    def row(self, value: int) -> Vector:
        """Return the weight of each published value in the estimate of ``value``."""
        weights = np.full(self.own.size, self.other[value])
        weights[value] = self.own[value]
        return weights


@dataclass(frozen=True)
class Choice:
    """The selected estimator, and the predicted bias that decided the selection."""

    method: Literal["two_by_two", "conditional_poisson"]
    weights: TwoByTwo | InverseWeights
    bias: float
    """Bias of the 2x2 form in standard errors, in the worst subset; NaN if it is unknown."""
    design: ConditionalPoisson | None = None
    """The design of the published values, if the conditional Poisson form is selected."""


def background_probability(counts: ArrayLike, gamma: int) -> Vector:
    """Return Pr[published = s | true != s] for each value s of a histogram.

    gamma f records are in groups with s, and f of them hold s. So (gamma - 1) f of the other N - f records have s as a
    decoy: b = (gamma - 1) f / (gamma (N - f)). The paper has f / N, which is too high. A published count above
    N / gamma, the largest possible count, is replaced by N / gamma.

    >>> background_probability([100, 900], 5).round(6)
    array([0.088889, 0.2     ])
    """
    published = np.asarray(counts, np.float64)
    rows = published.sum()
    count = np.minimum(published, rows / gamma)
    background: Vector = (gamma - 1) * count / (gamma * (rows - count))
    return background


def two_by_two(counts: ArrayLike, gamma: int) -> TwoByTwo:
    """Return the 2x2 weights for a published histogram, the missing value included.

    In a subset of 200 records, 24 show a value that 100 of all 1,000 records show:

    >>> form = two_by_two([100, 150, 150, 150, 150, 150, 150], 5)
    >>> round(float(24 * form.own[0] + 176 * form.other[0]), 9)
    56.0
    """
    background = background_probability(counts, gamma)
    lead = 1 / gamma - background
    estimable = lead > 1e-12
    lead = np.where(estimable, lead, np.nan)
    amplification = np.where(estimable, 1 / lead, np.inf)
    return TwoByTwo((1 - background) / lead, -background / lead, amplification)


def choose(counts: ArrayLike, gamma: int) -> Choice:
    """Select the estimator for a published histogram, by the predicted bias of the 2x2 form.

    The 2x2 form is simpler and less noisy. It is selected if its bias is at most ``MAX_BIAS`` standard errors in the
    worst subset of ``CELL`` records, which all have the value that biases it most. It is also selected if the
    conditional Poisson form does not exist, because a value is in all groups.

    >>> choose([200] * 20, 5).method, choose([20_000, 9_000, 7_000, *[4_000] * 20], 5).method
    ('two_by_two', 'conditional_poisson')
    """
    published = np.asarray(counts, np.float64)
    simple = two_by_two(published, gamma)
    shown = published > 0
    distinct = np.unique(published[shown])
    if gamma * distinct[-1] > MAX_INCLUSION * published.sum() or distinct.size > MAX_FREQUENCIES:
        return Choice("two_by_two", simple, np.nan)
    design = published_design(published, gamma)
    bias = _worst_bias(published[shown], gamma, design)
    if bias <= MAX_BIAS:
        return Choice("two_by_two", simple, bias)
    weights = for_all_values(design.inverse(), shown, gamma)
    return Choice("conditional_poisson", weights, bias, design)


def cell_errors(choice: Choice, counts: ArrayLike) -> Vector:
    """Return the standard error, in records, of each value's count among ``CELL`` records distributed as the table.

    It is infinite if the count cannot be estimated.

    >>> counts = [300, 200, 200, 100, 100, 100]
    >>> cell_errors(choose(counts, 3), counts).round()
    array([307., 116., 116.,  51.,  51.,  51.])
    """
    published = np.asarray(counts, np.float64)
    share = published / published.sum()
    found = np.empty(share.size)
    _, first, of = np.unique(published, return_index=True, return_inverse=True)
    for same, value in enumerate(first):
        noise = share @ choice.weights.row(int(value)) ** 2 - share[value]
        found[of == same] = np.sqrt(CELL * max(noise, 0.0)) if np.isfinite(noise) else np.inf
    return found


def published_design(published: Vector, gamma: int) -> ConditionalPoisson:
    """Return the conditional Poisson design of the values with a positive published count."""
    return ConditionalPoisson.fit(gamma * published[published > 0] / published.sum(), gamma)


def for_all_values(form: InverseWeights, shown: NDArray[np.bool_], gamma: int) -> InverseWeights:
    """Return weights for all values: a value that no record shows has the estimate 0, and the weight gamma itself."""
    absent = {"own": float(gamma)}
    fields: dict[str, Vector] = {}
    for name, numbers in vars(form).items():
        fields[name] = np.full(shown.size, absent.get(name, 0.0))
        fields[name][shown] = numbers
    return InverseWeights(**fields)


def _worst_bias(counts: Vector, gamma: int, design: ConditionalPoisson) -> float:
    """Return the ``bias`` of a ``Choice``, computed for one value of each distinct count."""
    one = np.unique(design.class_of, return_index=True)[1]
    share, several = counts[one] / counts.sum(), design.multiplicity > 1
    background, simple = background_probability(counts, gamma)[one], two_by_two(counts, gamma)
    own, other = simple.own[one], simple.other[one]
    # Mean weight of a record of each class in the estimate of each class; 0 if the 2x2 form had no bias.
    shown = design.joint / (gamma * design.inclusion)
    drift = simple.amplification[one][:, np.newaxis] * (shown - background[:, np.newaxis])
    np.fill_diagonal(drift, np.where(several, np.diagonal(drift), 0.0))
    variance = share * own**2 + (1 - share) * other**2 - share
    return float((np.sqrt(CELL / variance) * np.abs(drift).max(axis=1)).max())
