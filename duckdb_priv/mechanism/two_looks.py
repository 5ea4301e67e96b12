"""Posterior probabilities of a record's true value after two of its published values are seen.

Derivation: ``two_looks.md`` beside this file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from duckdb_priv.mechanism.arrays import Matrix, Vector


@dataclass(frozen=True)
class Looks:
    """The largest posterior probabilities of a true value, over all published values."""

    one: float
    """After one look."""
    both: float
    """After both looks."""
    rise: float
    """The largest increase from the posterior after one look to that after both."""


def of_one_value(before: Matrix, after: Matrix, prior: Vector) -> Looks:
    """Return the largest posteriors for a record whose value did not change, published twice with independent noise.

    Entry ``[y, x]`` of an operator is Pr[published = y | original = x]. ``prior`` has the probability of each value.

    >>> operator = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> of_one_value(operator, operator, np.array([0.5, 0.5]))
    Looks(one=0.75, both=0.9, rise=0.25)
    """
    single = _posterior(after, prior)
    return _largest(
        single, (np.outer(before[:, x], after[:, x]) * prior[x] for x in range(len(prior)))
    )


def of_changed_value(before: Matrix, after: Matrix, prior: Vector) -> Looks:
    """Return the largest posteriors of the new value, for a record whose published value changed.

    Both operators have the same outcomes. A changed published value shows that the true value changed. The prior of
    the new value is ``prior``, restricted to the values other than the old one.

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
            differ * np.outer(seen - before[:, x] * left[x], after[:, x]) * prior[x]
            for x in range(len(prior))
        ),
    )


def _posterior(operator: Matrix, prior: Vector) -> Matrix:
    joint = operator * prior
    posterior: Matrix = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    return posterior


def _largest(single: Matrix, joints: Iterable[Matrix]) -> Looks:
    """Return the largest posteriors. Entry ``[y, z]`` of a value's joint is Pr[value, first = y, second = z]."""
    stacked = np.stack(list(joints))
    total = stacked.sum(axis=0)
    both = np.where(total > 0, stacked / np.maximum(total, 1e-300), 0)
    rise = both - single.T[:, None, :]
    return Looks(
        round(float(single.max()), 12), round(float(both.max()), 12), round(float(rise.max()), 12)
    )
