"""Computes two figures of a card: the highest posteriors of values, and the size from which counts are exact enough."""

from __future__ import annotations

import math

import numpy as np

from duckdb_priv.card.charts import Z95
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.difference_family import least_by_value, sums_by_block
from duckdb_priv.methods.common.operator_audit import drawn_operator, stored_code
from duckdb_priv.release.model import Blocks, SensitiveAttribute


def highest_posteriors(attribute: SensitiveAttribute, prior: Vector) -> Vector | None:
    """Return the highest posterior of each value over all noisy values.

    Returns None if the attribute is not perturbed, or if the perturbation differs between records. ``prior`` has a
    probability for each value; they sum to one. For mechanisms that do not perturb records independently, the
    observation is whether the value is reported. Its probabilities are ``own`` for the true value, else ``other``.

    >>> numbers = {"own": (0.75, 0.75), "other": (0.25, 0.25)}
    >>> kept = SensitiveAttribute("r", "s", "ENUM", ("a", "b"), "two_weights", numbers)
    >>> highest_posteriors(kept, np.array([0.5, 0.5])).tolist()
    [0.75, 0.75]
    """
    form = form_of(attribute)
    if not form.perturbed or form.varied:
        return None
    if attribute.blocks:
        return _of_blocks(attribute, attribute.blocks, prior)
    if form.drawn and (parts := _one_by_one(attribute)):
        return _of_diagonal_and_rank_one(*parts, prior)
    operator = drawn_operator(attribute)
    if operator is not None:
        joint = operator * prior
        reported = joint.sum(axis=1, keepdims=True)
        highest: Vector = np.divide(
            joint, reported, out=np.zeros_like(joint), where=reported > 0
        ).max(axis=0)
        return highest
    own, other = (np.array(attribute.numbers[name]) for name in ("own", "other"))
    posterior: Vector = prior * own / np.maximum(prior * own + (1 - prior) * other, 1e-300)
    return posterior


def _one_by_one(attribute: SensitiveAttribute) -> tuple[Vector, Vector, Vector] | None:
    """Return d, b, c with Pr[shows y | true x] = d[x] 1{x = y} + b[y] c[x]; None if the operator has another form."""
    size = attribute.size
    if "retention" in attribute.numbers:
        kept = np.array(attribute.numbers["retention"])
        return kept, np.full(size, 1 / size), 1 - kept
    if "operator" in attribute.lists:
        return None
    other = np.array(attribute.numbers["other"])
    return np.array(attribute.numbers["own"]) - other, other, np.ones(size)


def _of_diagonal_and_rank_one(own: Vector, other: Vector, given: Vector, prior: Vector) -> Vector:
    """Return the highest posterior of each value from the parts of the operator, in time linear in the domain."""
    shown = own * prior + other * (given @ prior)
    ratio = np.divide(other, shown, out=np.zeros_like(shown), where=shown > 0)
    # The largest ratio among the other values; for the value with the largest ratio, the second largest.
    first = int(ratio.argmax())
    largest = np.full(ratio.size, ratio[first])
    largest[first] = np.delete(ratio, first).max(initial=0)
    itself = np.divide(own, shown, out=np.zeros_like(shown), where=shown > 0) + ratio * given
    found: Vector = prior * np.maximum(itself, given * largest)
    return found


def _of_blocks(attribute: SensitiveAttribute, blocks: Blocks, prior: Vector) -> Vector:
    """Return the posterior of each value if the reported block contains it and has the least other prior mass."""
    _, odds = stored_code(attribute, blocks)
    within = sums_by_block(prior, blocks.count, blocks.stride, blocks.first)
    reported = least_by_value(1 + (odds - 1) * within, len(prior), blocks.stride, blocks.first)
    highest: Vector = odds * prior / reported
    return highest


MOST = 0.95
"""The share of counts, from the size on, that must be exact enough."""


def reliable_from(counts: Vector, stderrs: Vector, error: float) -> float | None:
    """Return the size from which on nearly all counts have a 95% interval within ``error`` times the count.

    ``stderrs`` are the standard errors of ``counts``. The size is rounded up to two digits. Returns None if not even
    the largest counts are that exact.

    >>> counts = np.array([10.0, 100.0, 1000.0, 2000.0])
    >>> reliable_from(counts, np.full(4, 30.0), 0.1)
    1000.0
    >>> reliable_from(counts, np.full(4, 300.0), 0.1) is None
    True
    """
    kept = counts >= 1
    order = np.argsort(counts[kept])
    sizes, errors = counts[kept][order], (Z95 * stderrs[kept])[order]
    exact = errors <= error * sizes
    from_here = np.arange(len(exact), 0, -1)
    enough = exact & (np.cumsum(exact[::-1])[::-1] >= MOST * from_here)
    if not enough.any():
        return None
    size = float(sizes[np.argmax(enough)])
    digit = 10.0 ** max(math.floor(math.log10(size)) - 1, 0)
    return math.ceil(size / digit) * digit
