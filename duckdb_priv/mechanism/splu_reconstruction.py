"""Reconstruct counts from an SPLU release by its published histogram alone.

Two forms give every published value a weight in the estimate of a value's count. The 2x2 form knows
"the value" and "another value" and is exact where all values are equally frequent. The conditional
Poisson form knows each pair of values, is unbiased for well mixed groups however skewed the data,
and pays with variance. ``choose`` predicts both errors and takes the 2x2 form where its bias does
not matter. Derivations: ``splu.md``, ``conditional_poisson.md``.
Source: Fu, Wang and others, "Small sum privacy and large sum utility in data publishing",
equations 6 to 9, with the background probability corrected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.conditional_poisson import (
    MAX_FREQUENCIES,
    MAX_INCLUSION,
    ConditionalPoisson,
    InverseWeights,
)
from duckdb_priv.mechanism.eligibility import require_gamma

SUBSET, LIFT = 0.1, 1.0
"""The query that errors are predicted for: a tenth of the rows, in which the frequencies of the
values relative to the whole table scatter with standard deviation 1."""

MAX_BIAS = 0.2
"""Largest predicted bias of the 2x2 form, in standard errors: a 95% interval covers 94.5%."""

MIN_GAIN = 0.5
"""The 2x2 form is taken in spite of its bias if its error is below this part of the other's."""

HIGH_INCLUSION = 0.9
"""Share of the groups from which on a value's published column is worth a warning."""


@dataclass(frozen=True)
class TwoByTwo:
    """Weights of the 2x2 form; NaN where a count cannot be estimated."""

    own: Vector
    """(values,) weight of a published value in the estimate of its own count."""
    other: Vector
    """(values,) weight of every other published value in that estimate."""
    amplification: Vector
    """(values,) own - other: how far one published record moves the estimate; infinite where a
    value is in every group. Warn where ``gamma f' / rows`` is above ``HIGH_INCLUSION``."""

    def row(self, value: int) -> Vector:
        """Return the weight of each published value in the estimate of ``value``."""
        weights = np.full(self.own.size, self.other[value])
        weights[value] = self.own[value]
        return weights


@dataclass(frozen=True)
class Choice:
    """The form to reconstruct with, and the predictions that led to it."""

    method: Literal["two_by_two", "conditional_poisson"]
    weights: TwoByTwo | InverseWeights
    bias: float
    """Predicted bias of the 2x2 form, in its standard errors, at the worst value."""
    error: float
    """Predicted error of the 2x2 form, bias included, relative to the other's; a mean over values.
    0 where the conditional Poisson form does not exist."""
    design: ConditionalPoisson | None = None
    """Of the values that are shown, where the conditional Poisson form is taken."""


def background_probability(counts: ArrayLike, gamma: int) -> Vector:
    """Return Pr[published = s | true != s] for each value s of a histogram.

    Of the gamma f records in groups with s, f hold s, so that (gamma - 1) f of the other N - f
    have s as a decoy: b = (gamma - 1) f / (gamma (N - f)). The paper has f / N, which is too high.
    A published count above N / gamma, the most there can be, is taken for it.

    >>> background_probability([100, 900], 5).round(6)
    array([0.088889, 0.2     ])
    """
    require_gamma(gamma)
    published = np.asarray(counts, np.float64)
    rows = published.sum()
    if not rows > 0:
        raise InvalidParameter(
            "there are no published records to reconstruct from",
            hint="give the histogram of the published column",
        )
    count = np.minimum(published, rows / gamma)
    background: Vector = (gamma - 1) * count / (gamma * (rows - count))
    return background


def two_by_two(counts: ArrayLike, gamma: int) -> TwoByTwo:
    """Return the 2x2 weights for a published histogram, the missing value included.

    With 24 of 200 published records showing a value that 100 of 1,000 rows hold:

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
    """Choose the form by the errors it will make, predicted from the published histogram.

    The 2x2 form is simpler and less noisy; it is taken where its squared bias is at most
    ``MAX_BIAS**2`` of its variance at every value, so that intervals stay honest, or where the
    other form is so noisy, a value being in nearly all groups, that bias is the lesser evil.

    >>> choose([200] * 20, 5).method, choose([20_000, 9_000, 7_000, *[4_000] * 20], 5).method
    ('two_by_two', 'conditional_poisson')
    """
    published = np.asarray(counts, np.float64)
    simple = two_by_two(published, gamma)
    shown = published > 0
    distinct = np.unique(published[shown])
    if gamma * distinct[-1] > MAX_INCLUSION * published.sum() or distinct.size > MAX_FREQUENCIES:
        return Choice("two_by_two", simple, np.nan, 0.0)
    design = published_design(published, gamma)
    paired = design.inverse()
    bias, error = _predict(published[shown], gamma, design, paired)
    if bias <= MAX_BIAS or error <= MIN_GAIN:
        return Choice("two_by_two", simple, bias, error)
    weights = for_all_values(paired, shown, gamma)
    return Choice("conditional_poisson", weights, bias, error, design)


def published_design(published: Vector, gamma: int) -> ConditionalPoisson:
    """Return the design of the values that a published histogram shows."""
    require_gamma(gamma)
    return ConditionalPoisson.fit(gamma * published[published > 0] / published.sum(), gamma)


def for_all_values(form: InverseWeights, shown: NDArray[np.bool_], gamma: int) -> InverseWeights:
    """Give the values that no record shows a place: estimate 0, and gamma for a record of theirs."""
    absent = {"own": float(gamma)}
    fields: dict[str, Vector] = {}
    for name, numbers in vars(form).items():
        fields[name] = np.full(shown.size, absent.get(name, 0.0))
        fields[name][shown] = numbers
    return InverseWeights(**fields)


def _predict(
    counts: Vector, gamma: int, design: ConditionalPoisson, paired: InverseWeights
) -> tuple[float, float]:
    """Return ``bias`` and ``error`` of a ``Choice`` by the conditional Poisson law.

    For one value of each distinct count, in units of the number of records in the subset.
    """
    share = counts / counts.sum()
    subset = SUBSET * counts.sum()
    background, simple = background_probability(counts, gamma), two_by_two(counts, gamma)
    inclusion = design.inclusion[design.class_of]
    biases, errors = [], []
    for value in np.unique(design.class_of, return_index=True)[1]:
        joint = design.joint[design.class_of[value], design.class_of]
        # Mean weight of a record that holds another value; 0 if the 2x2 form were the truth.
        drift = simple.amplification[value] * (joint / (gamma * inclusion) - background[value])
        drift[value] = 0
        squared_bias = subset * LIFT**2 * (share**2 @ drift**2)
        variance, variance_paired = (
            share @ row**2 - share[value] for row in (simple.row(value), paired.row(value))
        )
        biases.append(np.sqrt(squared_bias / variance))
        errors.append(np.sqrt((variance + squared_bias) / variance_paired))
    return float(max(biases)), float(np.average(errors, weights=design.multiplicity))
