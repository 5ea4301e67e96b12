"""Reconstruct counts where records were grouped in several batches, each with decoys of its own.

A batch of new records has other frequencies than the records before it, so what a value shows differs from batch to
batch. The operator of all published rows is a mixture, by how many records of each batch are left.
Derivation: ``leaving.md``.
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
"""Largest domain of a mixture: all its weights are written into the functions of a release."""
STEPS = 500
"""Steps of expectation maximization, at most."""
SETTLED = 1e-9
"""Largest change of a share of all records at which it ends."""


@dataclass(frozen=True)
class Batch:
    """What the records of one batch showed, by value."""

    drawn: Counts
    """Of all that were ever in its groups."""
    remaining: Counts
    """Of those that are still published."""


def drawn_in_all(batches: Sequence[Batch]) -> Counts:
    """Count what all records showed that were ever in a group."""
    found: Counts = np.sum([batch.drawn for batch in batches], axis=0)
    return found


@dataclass(frozen=True)
class Mixture:
    """The operator of all published rows, and its inverse."""

    operator: Matrix
    weights: Matrix

    def errors(self, counts: Counts, cell: int) -> Vector:
        """Return the standard error of each value's count among ``cell`` records that are like a histogram."""
        share = counts / counts.sum()
        found: Vector = np.sqrt(cell * np.maximum(self.weights**2 @ share - share, 0))
        return found


def mixture(batches: Sequence[Batch], gamma: int) -> Mixture | None:
    """Return the mixture of some batches; None where it has too many values, or cannot be inverted.

    >>> first = Batch(np.array([40, 40, 40, 40]), np.array([20, 20, 20, 20]))
    >>> found = mixture([first, first], 2)
    >>> found.operator.round(3).tolist()[0], float(found.weights[0] @ [40, 40, 40, 40])
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
    """Mix the operators of some batches by how many of the published rows are of each, value by value."""
    parts = np.array(
        [most_likely(operator, each) for operator, each in zip(operators, batches, strict=True)]
    )
    whole = parts.sum(axis=0)
    drawn = np.array([batch.drawn for batch in batches], np.float64)
    # Of a value that no row seems to have, the share among all records that were ever drawn, or any.
    shares = np.where(whole > 0, parts, np.where(drawn.sum(axis=0) > 0, drawn, 1.0))
    shares = shares / shares.sum(axis=0)
    mixed: Matrix = np.sum(
        [share * each for share, each in zip(shares, operators, strict=True)], axis=0
    )
    normal: Matrix = mixed / mixed.sum(axis=0)
    return normal


def operator_of(drawn: Counts, gamma: int) -> Matrix:
    """Return Pr[a record of x shows y], entry ``[y, x]``, of well mixed groups whose rows showed ``drawn``.

    Values that are in all groups fill a place of each; the others share the places that are left by the conditional
    Poisson law. A record of a value that no row showed would have met the others as often as they are there.

    >>> operator_of(np.array([100, 50, 50, 0]), 2).round(4).tolist()
    [[0.5, 0.5, 0.5, 0.25], [0.25, 0.5, 0.0, 0.125], [0.25, 0.0, 0.5, 0.125], [0.0, 0.0, 0.0, 0.5]]
    """
    counts = np.asarray(drawn, np.float64)
    inclusion = np.zeros(counts.size)
    joint = np.zeros((counts.size, counts.size))
    everywhere = np.zeros(counts.size, np.bool_)
    others = counts > 0
    # Each value that turns out to be in all groups leaves one place less for the rest.
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

    It begins with the same share of each value. If no record left, the rows show the counts of all that were drawn,
    which are their own estimate.
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
