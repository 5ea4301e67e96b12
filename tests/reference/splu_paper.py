"""The paper's own reconstruction for SPLU-Gen, for comparison only.

Its estimators use f / N for the probability that another value is published as s; ``mechanism/splu.md`` explains this
error. Releases use ``splu_reconstruction.py``.
Source: Fu, Wang and others, "Small sum privacy and large sum utility in data publishing",
equations 6 to 9, 13 and 14.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.mechanism.arrays import Vector

PAPER_STOP = 0.01
"""The paper stops when no state changes by more than 1 percent, which is far too early."""


def paper_linear(
    observed: ArrayLike, subset: ArrayLike, count: ArrayLike, rows: int, gamma: int
) -> Vector:
    """Return (y - (f / N) n) / (1 / gamma - f / N), the linear form of the paper's equations.

    ``observed`` of the ``subset`` records show the value that ``count`` of ``rows`` rows hold. For the whole table the
    result is 0 instead of the count.

    >>> paper_linear(24, 200, 100, 1000, 5).round(9), paper_linear(100, 1000, 100, 1000, 5) + 0.0
    (np.float64(40.0), np.float64(0.0))
    """
    share = np.asarray(count, np.float64) / rows
    estimate: Vector = (np.asarray(observed) - share * np.asarray(subset)) / (1 / gamma - share)
    return estimate


def paper_iterative(
    observed: ArrayLike,
    subset: ArrayLike,
    count: ArrayLike,
    rows: int,
    gamma: int,
    stop: float = PAPER_STOP,
    max_rounds: int = 10_000,
) -> tuple[Vector, NDArray[np.int64]]:
    """Return the paper's iterated estimate of the count in the subset, and the rounds it took.

    Arguments are as in ``paper_linear``; array entries are separate queries. Four states (value or other, inside or
    outside the subset) start at the published counts. Equation 13 updates them, with a background computed from the
    states, until none changes by more than the share ``stop``. A state that tends to 0 never meets this rule;
    ``max_rounds`` then ends the iteration.

    >>> estimate, rounds = paper_iterative(24, 200, 100, 1000, 5)
    >>> estimate.round(3), rounds
    (array([32.388]), array([29]))
    >>> paper_iterative(24, 200, 100, 1000, 5, stop=1e-12)[0].round(6)
    array([54.415688])
    """
    shown, size, total = np.atleast_1d(
        *(np.asarray(each, np.float64) for each in np.broadcast_arrays(observed, subset, count))
    )
    # The states are: the value and the other values outside the subset, then inside it.
    published = np.stack([total - shown, rows - size - total + shown, shown, size - shown])
    state = published.copy()
    rounds = np.zeros(shown.size, np.int64)
    moving = np.arange(shown.size)
    for number in range(1, max_rounds + 1):
        before = state[:, moving]
        after = _round(before, published[:, moving], rows, gamma)
        state[:, moving], rounds[moving] = after, number
        moving = moving[(np.abs(after - before) > stop * before).any(axis=0)]
        if not moving.size:
            break
    return state[2], rounds


def paper_joint(
    published: ArrayLike, gamma: int, stop: float = PAPER_STOP, max_rounds: int = 10_000
) -> tuple[Vector, NDArray[np.int64]]:
    """Return the paper's iterated joint count of several values, and the rounds it took (equations 13 and 14).

    ``published[g, o, q]`` counts the records of part g of the table that show pattern o of query q: bit i of o
    says whether they show its value of attribute i. The estimate is that of the first part, all values at once.
    With one attribute it is ``paper_iterative``:

    >>> estimate, rounds = paper_joint([[[176], [24]], [[724], [76]]], 5)
    >>> estimate.round(3), rounds
    (array([32.388]), array([29]))
    """
    shown = np.asarray(published, np.float64)
    _, states, queries = shown.shape
    held = (np.arange(states)[:, np.newaxis] >> np.arange(states.bit_length() - 1)) & 1 == 1
    state = shown.copy()
    rounds, moving = np.zeros(queries, np.int64), np.arange(queries)
    for number in range(1, max_rounds + 1):
        before, seen = state[..., moving], shown[..., moving]
        share = np.einsum("gsq,si->iq", before, held) / before.sum(axis=(0, 1))
        # For each state and attribute, the probability that the value is published.
        shows = np.where(held[..., np.newaxis], 1 / gamma, share)
        likelihood = np.where(held[:, np.newaxis, :, np.newaxis], shows, 1 - shows).prod(axis=2)
        expected = np.einsum("osq,gsq->goq", likelihood, before)
        ratio = np.divide(seen, expected, out=np.zeros_like(seen), where=expected > 0)
        after = before * np.einsum("osq,goq->gsq", likelihood, ratio)
        state[..., moving], rounds[moving] = after, number
        moving = moving[(np.abs(after - before) > stop * before).any(axis=(0, 1))]
        if not moving.size:
            break
    return state[0, -1], rounds


def _round(state: Vector, published: Vector, rows: int, gamma: int) -> Vector:
    """Divide the published counts among the states, by their present odds."""
    share = (state[0] + state[2]) / rows
    moved = np.empty_like(state)
    for value, other in ((0, 1), (2, 3)):
        of_shown = _part(state[value] / gamma, state[other] * share)
        of_rest = _part(state[value] * (1 - 1 / gamma), state[other] * (1 - share))
        moved[value] = of_shown * published[value] + of_rest * published[other]
        moved[other] = published[value] + published[other] - moved[value]
    return moved


def _part(one: Vector, other: Vector) -> Vector:
    """Return one / (one + other), or 0 if both are 0."""
    part: Vector = np.divide(one, one + other, out=np.zeros_like(one), where=one + other > 0)
    return part
