"""Numbers per value that score intervals need for a release of decoy groups: variance, skewness and step size.

All follow from the weights and the operator (``score_terms``, ``operator.half_step``). This module computes them for
the classes of equally frequent values, without a values x values matrix.
Source: Wilson (1927) for the score interval; ``conditional_poisson.md`` for weights and matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.mechanism.arrays import Floats, Vector
from duckdb_priv.mechanism.conditional_poisson import ConditionalPoisson, InverseWeights
from duckdb_priv.mechanism.score_terms import SILENT


@dataclass(frozen=True)
class IntervalTerms:
    """One number per value, in the order of the histogram."""

    slope: Vector
    """Increase of the estimate's variance for each further record that truly has the value."""
    half_step: Vector
    """Half of the increase of the estimate when one more record shows the value."""
    tied_joint: Vector
    """Probability that a group holds the value and a given other value of the same frequency."""
    scatter: Vector
    """Variance that one record with another value adds, averaged over the release."""
    most_scatter: Vector
    """Largest variance that any record adds."""
    upward: Vector
    """Largest ratio of third cumulant to variance of a record's contribution; 0 if all are negative."""
    downward: Vector
    """The same ratio for the negative of the contribution."""


def interval_terms(
    design: ConditionalPoisson, weights: InverseWeights, shown: NDArray[np.bool_]
) -> IntervalTerms:
    """Return the terms of all values. ``design`` covers the values that are ``shown``, ``weights`` covers all.

    A value that no record shows has the estimate 0; its step is that of a single record that shows it.

    >>> design = ConditionalPoisson.fit([0.75, 0.5, 0.5, 0.25], size=2)
    >>> terms = interval_terms(design, design.inverse(), np.ones(4, bool))
    >>> terms.half_step.round(6), terms.tied_joint.round(6)
    (array([2.488959, 1.533078, 1.533078, 1.175142]), array([0.      , 0.133796, 0.133796, 0.      ]))
    """
    size, values = design.size, int(design.class_of.size)
    _, first = np.unique(design.class_of, return_index=True)
    one = np.flatnonzero(shown)[first]
    own, tied = weights.own[one], weights.tied[one]
    # Between classes a weight is a slope. The diagonal is for the count - 1 other values of the same class.
    gap = weights.odds[one] - weights.odds[one][:, np.newaxis]
    np.fill_diagonal(gap, 1.0)
    rise = weights.potential[one][:, np.newaxis] - weights.potential[one]
    between = weights.inclusion[one][:, np.newaxis] * rise / gap
    np.fill_diagonal(between, tied)
    others = np.broadcast_to(design.multiplicity, between.shape).astype(np.float64)
    np.fill_diagonal(others, design.multiplicity - 1.0)
    # moved[k, l]: probability that a record with a value of class k shows one given other value of class l.
    moved = design.joint / (size * design.inclusion[:, np.newaxis])
    np.fill_diagonal(moved, np.where(design.multiplicity > 1, np.diagonal(moved), 0.0))
    count = design.multiplicity.astype(np.float64)

    def own_moment(power: int) -> Vector:
        return np.asarray(own**power / size + (others * between**power * moved).sum(axis=1))

    def other_moments(power: int) -> Floats:
        """Return moments of the weight of a record, by its class (columns) and the class of the estimate (rows).

        The record shows its own value, the estimated value, or another one.
        """
        weight = between**power
        usual = (weight * count) @ moved.T
        itself = weight * (1 / size - np.diagonal(moved))
        asked = (own**power - np.diagonal(weight))[:, np.newaxis] * moved.T
        return np.asarray(usual + itself + asked)

    own_variance = own_moment(2) - 1
    scatters = other_moments(2)
    records = np.tile(design.multiplicity * design.inclusion, (own.size, 1))
    np.fill_diagonal(records, (design.multiplicity - 1) * design.inclusion)
    records /= np.maximum(records.sum(axis=1, keepdims=True), 1e-300)
    scatter = (records * scatters).sum(axis=1)
    leaning = [
        np.divide(third, second, out=np.zeros_like(second), where=second > SILENT)
        for third, second in (
            (own_moment(3) - 3 * (own_variance + 1) + 2, own_variance),
            ((records * other_moments(3)).sum(axis=1), scatter),
        )
    ]
    most = np.maximum(np.where(records > 0, scatters, 0).max(axis=1), own_variance)
    apart = max(values - 1, 1)
    slope = own_variance - scatter
    half_step = (own - (others * between).sum(axis=1) / apart) / 2
    paired = np.where(design.multiplicity > 1, np.diag(design.joint), 0.0)

    def of_values(classes: Vector, absent: float) -> Vector:
        found = np.full(shown.size, absent)
        found[shown] = classes[design.class_of]
        return found

    upward, downward = np.maximum(0, np.maximum(*leaning)), np.maximum(0, -np.minimum(*leaning))
    return IntervalTerms(
        slope=of_values(slope, size - 1.0),
        half_step=of_values(half_step, size / 2),
        tied_joint=of_values(paired, 0.0),
        scatter=of_values(scatter, 0.0),
        most_scatter=of_values(most, 0.0),
        upward=of_values(upward, float(size)),
        downward=of_values(downward, 0.0),
    )
