"""What two published values of one record tell together: of its true value, or of the two that it had.

Derivation: ``two_looks.md`` beside this file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from duckdb_priv.mechanism.arrays import Matrix, Vector


@dataclass(frozen=True)
class Looks:
    """The largest beliefs that published values cause."""

    one: float
    """The largest posterior of a true value after one look."""
    both: float
    """The largest after both."""
    rise: float
    """How much the second look adds to the posterior of one, at most."""


def of_one_value(before: Matrix, after: Matrix, prior: Vector) -> Looks:
    """Two looks at one true value, with independent noise.

    Entry ``[y, x]`` of an operator is Pr[published = y | original = x]; ``prior`` are probabilities of the values.

    >>> operator = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> of_one_value(operator, operator, np.array([0.5, 0.5]))
    Looks(one=0.75, both=0.9, rise=0.25)
    """
    single = _posterior(after, prior)
    return _largest(single, (_outer(before[:, x], after[:, x]) * prior[x] for x in _values(prior)))


def of_changed_value(before: Matrix, after: Matrix, prior: Vector) -> Looks:
    """A record that is seen to have changed: looks at the value that it had, and at the other one that it has.

    Both operators have the same outcomes, and what is published differs. The new value is believed to be drawn as
    ``prior`` says among all others.

    >>> operator = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> of_changed_value(operator, operator, np.array([0.5, 0.5]))
    Looks(one=0.75, both=0.9, rise=0.15)
    """
    single = _posterior(after, prior)
    # Pr[had x, has another]: prior(x) prior(z) / (1 - prior(x)).
    left = prior / np.maximum(1 - prior, 1e-300)
    seen = before @ left
    differ = 1 - np.eye(len(before))
    return _largest(
        single,
        (
            differ * _outer(seen - before[:, x] * left[x], after[:, x]) * prior[x]
            for x in _values(prior)
        ),
    )


def _values(prior: Vector) -> range:
    return range(len(prior))


def _outer(first: Vector, second: Vector) -> Matrix:
    joint: Matrix = first[:, None] * second[None, :]
    return joint


def _posterior(operator: Matrix, prior: Vector) -> Matrix:
    joint = operator * prior
    posterior: Matrix = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    return posterior


def _largest(single: Matrix, joints: Iterable[Matrix]) -> Looks:
    """Compare posteriors; entry ``[y, z]`` of the joint of a value is its probability with both published values."""
    stacked = np.stack(list(joints))
    total = stacked.sum(axis=0)
    both = np.where(total > 0, stacked / np.maximum(total, 1e-300), 0)
    rise = both - single.T[:, None, :]
    return Looks(
        round(float(single.max()), 12), round(float(both.max()), 12), round(float(rise.max()), 12)
    )
