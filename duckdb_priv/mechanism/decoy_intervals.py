"""What score intervals need to know of a conditional Poisson release, in numbers per value.

The variance of an estimate grows with the true count, and estimates move in steps: both follow from the
weights and the matrix of publication (``operator.variance_slope``, ``operator.half_step``). Here they are
computed from the classes of equally frequent values, without a values x values matrix.
Source: Wilson (1927) for the score interval; ``conditional_poisson.md`` for weights and matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.conditional_poisson import ConditionalPoisson, InverseWeights


@dataclass(frozen=True)
class IntervalTerms:
    """Per value, in the order of the histogram."""

    slope: Vector
    """How much the variance of the estimate grows when one more record truly has the value."""
    half_step: Vector
    """Half of what one more record that shows the value adds to its estimate."""
    tied_joint: Vector
    """Probability that a group holds the value and a given other value of the same frequency."""


def interval_terms(
    design: ConditionalPoisson, weights: InverseWeights, shown: NDArray[np.bool_]
) -> IntervalTerms:
    """Return the terms of all values; ``design`` is of those that are ``shown``, ``weights`` of all.

    A value that no record shows is estimated as 0, with the steps of a record that shows it alone.

    >>> design = ConditionalPoisson.fit([0.75, 0.5, 0.5, 0.25], size=2)
    >>> terms = interval_terms(design, design.inverse(), np.ones(4, bool))
    >>> terms.half_step.round(6), terms.tied_joint.round(6)
    (array([2.488959, 1.533078, 1.533078, 1.175142]), array([0.      , 0.133796, 0.133796, 0.      ]))
    """
    size, values = design.size, int(design.class_of.size)
    _, first = np.unique(design.class_of, return_index=True)
    one = np.flatnonzero(shown)[first]
    own, tied = weights.own[one], weights.tied[one]
    # Between classes a weight is a slope; on the diagonal stand ties, of which there are count - 1.
    gap = weights.odds[one] - weights.odds[one][:, np.newaxis]
    np.fill_diagonal(gap, 1.0)
    rise = weights.potential[one][:, np.newaxis] - weights.potential[one]
    between = weights.inclusion[one][:, np.newaxis] * rise / gap
    np.fill_diagonal(between, tied)
    others = np.broadcast_to(design.multiplicity, between.shape).astype(np.float64)
    np.fill_diagonal(others, design.multiplicity - 1.0)
    # moved[k, l]: probability that a record of a value of class k shows a given other one of class l.
    moved = design.joint / (size * design.inclusion[:, np.newaxis])
    into = 1 / size + (others.T * moved).sum(axis=0)
    own_variance = own**2 / size + (others * between**2 * moved).sum(axis=1) - 1
    all_variance = own**2 * into + (others * between**2 * into).sum(axis=1) - 1
    apart = max(values - 1, 1)
    slope = own_variance - (all_variance - own_variance) / apart
    half_step = (own - (others * between).sum(axis=1) / apart) / 2
    paired = np.where(design.multiplicity > 1, np.diag(design.joint), 0.0)

    def of_values(classes: Vector, absent: float) -> Vector:
        found = np.full(shown.size, absent)
        found[shown] = classes[design.class_of]
        return found

    return IntervalTerms(
        of_values(slope, size - 1.0), of_values(half_step, size / 2), of_values(paired, 0.0)
    )
