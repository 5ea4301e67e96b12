"""Reconstruct counts from several batches of records, each with its own decoy groups.

Batches have different frequencies, so they have different operators. The operator of all published rows is a mixture
of these, weighted by the number of records of each batch that are left. Derivation: ``leaving.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Counts, Matrix, Vector
from duckdb_priv.mechanism.conditional_poisson import MAX_INCLUSION, ConditionalPoisson
from duckdb_priv.mechanism.operator import invert

MOST_VALUES = 100
"""Largest domain of a mixture, because a release stores all its weights in macros."""
STEPS = 500
"""Largest number of steps of expectation maximization."""
SETTLED = 1e-9
"""Expectation maximization ends when no count changes by more than this share of all records."""


@dataclass(frozen=True)
class Batch:
    """The published histograms of one batch, in the order of the domain."""

    drawn: Counts
    """Published values of all records that were ever in the batch's groups."""
    remaining: Counts
    """Published values of the records that are still published."""


def drawn_in_all(batches: Sequence[Batch]) -> Counts:
    """Return the published histogram of all records that were ever in a group of any batch."""
    found: Counts = np.sum([batch.drawn for batch in batches], axis=0)
    return found


@dataclass(frozen=True)
class Mixture:
    """The operator of all published rows, and its inverse."""

    operator: Matrix
    weights: Matrix

    def errors(self, counts: Counts, cell: int) -> Vector:
        """Return the standard error of each value's count among ``cell`` records distributed as ``counts``."""
        share = counts / counts.sum()
        found: Vector = np.sqrt(cell * np.maximum(self.weights**2 @ share - share, 0))
        return found


def mixture(batches: Sequence[Batch], gamma: int) -> Mixture | None:
    """Return the mixture of some batches, or None if it has too many values or cannot be inverted.

    >>> first = Batch(np.array([40, 40, 40, 40]), np.array([20, 20, 20, 20]))
    >>> found = mixture([first, first], 2)
    >>> found.operator.round(3).tolist()[0], round(float(found.weights[0].sum() * 40), 6)
    ([0.5, 0.167, 0.167, 0.167], 40.0)
    """
    size = batches[0].drawn.size
    if size > MOST_VALUES:
        return None
    try:
        operators = [operator_of(batch.drawn, gamma) for batch in batches]
        operator = _mixed(operators, batches)
        return Mixture(operator, invert(operator))
    except InvalidParameter:
        return None


def _mixed(operators: Sequence[Matrix], batches: Sequence[Batch]) -> Matrix:
    """Return the mean of the batches' operators, weighted value by value by the published rows of each batch."""
    parts = np.array(
        [most_likely(operator, each) for operator, each in zip(operators, batches, strict=True)]
    )
    whole = parts.sum(axis=0)
    drawn = np.array([batch.drawn for batch in batches], np.float64)
    # A value with an estimated count of 0 is weighted by all records ever drawn, or equally if there are none.
    shares = np.where(whole > 0, parts, np.where(drawn.sum(axis=0) > 0, drawn, 1.0))
    shares = shares / shares.sum(axis=0)
    mixed: Matrix = np.sum(
        [share * each for share, each in zip(shares, operators, strict=True)], axis=0
    )
    normal: Matrix = mixed / mixed.sum(axis=0)
    return normal


def operator_of(drawn: Counts | Vector, gamma: int) -> Matrix:
    """Return Pr[published = y | true = x], entry ``[y, x]``, for well mixed groups with the histogram ``drawn``.

    Values that are in all groups take one place in each. The other values share the remaining places by a conditional
    Poisson design. A record of a value that no row showed would have had decoys in proportion to their frequencies.

    >>> operator_of(np.array([100, 50, 50, 0]), 2).round(4).tolist()
    [[0.5, 0.5, 0.5, 0.25], [0.25, 0.5, 0.0, 0.125], [0.25, 0.0, 0.5, 0.125], [0.0, 0.0, 0.0, 0.5]]
    """
    counts = np.asarray(drawn, np.float64)
    inclusion = np.zeros(counts.size)
    joint = np.zeros((counts.size, counts.size))
    everywhere = np.zeros(counts.size, np.bool_)
    others = counts > 0
    # Each value that is in all groups leaves one place less for the other values.
    while others.any():
        places = gamma - int(everywhere.sum())
        inclusion[others] = places * counts[others] / counts[others].sum()
        more = others & (inclusion > MAX_INCLUSION)
        if not more.any():
            break
        everywhere |= more
        others &= ~more
    inclusion[everywhere] = 1
    places = gamma - int(everywhere.sum())
    if others.any() and places > 0:
        fitted = ConditionalPoisson.fit(inclusion[others], places)
        joint[np.ix_(others, others)] = fitted.joint_inclusion()
    joint[everywhere] = inclusion
    joint[:, everywhere] = inclusion[:, np.newaxis]
    shown = inclusion > 0
    operator = np.divide(joint, gamma * inclusion, out=np.zeros_like(joint), where=shown)
    absent = ~shown
    operator[:, absent] = ((gamma - 1) / gamma * counts / counts.sum())[:, np.newaxis]
    operator[absent, absent] = 1 / gamma
    found: Matrix = operator / operator.sum(axis=0)
    return found


def most_likely(operator: Matrix, batch: Batch) -> Vector:
    """Return the most likely true counts of the published rows of a batch, by expectation maximization.

    The iteration starts from the shares of ``drawn``. If no record left the batch, the histogram is its own estimate.
    """
    remaining = batch.remaining.astype(np.float64)
    total = remaining.sum()
    if total in (0, batch.drawn.sum()):
        return remaining
    found: Vector = batch.drawn * (total / batch.drawn.sum())
    for _ in range(STEPS):
        expected = operator @ found
        ratio = np.divide(remaining, expected, out=np.zeros_like(expected), where=expected > 0)
        after = found * (ratio @ operator)
        moved = np.abs(after - found).max()
        found = after
        if moved <= SETTLED * total:
            break
    return found
