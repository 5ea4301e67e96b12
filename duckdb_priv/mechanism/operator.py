"""Perturbation operators in general: their inverse, errors and privacy.

An operator P is a column-stochastic matrix with the entries ``[y, x]`` = Pr[published = y | original = x]. A subset
with true counts X shows counts O with ``E[O] = P X``. With the weights ``W = P^-1``, the linear estimate ``W[x] @ O``
of the true count of x is unbiased. Derivations: ``operator.md`` beside this file.
Sources: Gouweleeuw, Kooiman, Willenborg, de Wolf, "Post randomisation for statistical disclosure
control" (1998), for the matrix and its inverse; Evfimievski, Gehrke, Srikant, "Limiting privacy
breaches in privacy preserving data mining" (2003), for amplification.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Matrix, Vector

COLUMN_SUM_TOLERANCE = 1e-12
"""Largest allowed difference between the sum of a column and 1."""

MAX_CONDITION_NUMBER = 1e8
"""Largest condition number of an operator that is inverted. Beyond it, half of the digits of a double are lost."""


def name_of(value: int, labels: Sequence[object] | None) -> str:
    """Return a name for the value at this position of the domain, for messages.

    >>> name_of(1, ["flu", "HIV"]), name_of(1, None)
    ("value 'HIV'", 'value number 1')
    """
    return f"value number {value}" if labels is None else f"value {labels[value]!r}"


def check_operator(matrix: ArrayLike, labels: Sequence[object] | None = None) -> Matrix:
    """Return a square matrix as an array of doubles. Raises InvalidParameter if it is not an operator.

    The entries of an operator are finite and non-negative. Each column (one for each original value) sums to 1 within
    ``COLUMN_SUM_TOLERANCE``. ``labels`` are the values of the domain, in the order of the
    matrix; messages use them.

    >>> check_operator([[0.9, 0.2], [0.1, 0.7]], labels=["flu", "HIV"])
    Traceback (most recent call last):
    duckdb_priv.errors.InvalidParameter: the probabilities of original value 'HIV' sum to 0.9, not 1
    Hint: the probabilities of an original value must sum to 1 over all published values, within 1e-12
    """
    operator = np.array(matrix, dtype=np.float64)
    # The condition is negated so that it also catches NaN, for which every comparison is false.
    wrong = np.argwhere(~(np.isfinite(operator) & (operator >= 0)))
    if wrong.size:
        y, x = wrong[0]
        raise InvalidParameter(
            f"the probability that original {name_of(x, labels)} is published as "
            f"{name_of(y, labels)} is {float(operator[y, x])}",
            hint="write a probability from 0 to 1",
        )
    sums = operator.sum(axis=0)
    x = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[x] - 1) > COLUMN_SUM_TOLERANCE:
        raise InvalidParameter(
            f"the probabilities of original {name_of(x, labels)} sum to {sums[x]:.14g}, not 1",
            hint="the probabilities of an original value must sum to 1 over all published values, within "
            f"{COLUMN_SUM_TOLERANCE:g}",
        )
    return operator


def condition_number(operator: Matrix) -> float:
    """Return the largest over the smallest singular value: how far W can blow up an error.

    >>> round(condition_number(np.array([[0.75, 0.25], [0.25, 0.75]])), 12)
    2.0
    """
    return float(np.linalg.cond(operator))


def invert(operator: Matrix) -> Matrix:
    """Return the weights W = P^-1: ``W[x] @ observed`` estimates the true count of x, unbiased.

    The columns of W sum to 1 like those of P, so the estimates sum to the number of records.

    Raises InvalidParameter when the condition number is above ``MAX_CONDITION_NUMBER``.

    With the retention 1/2 and two values:

    >>> invert(np.array([[0.75, 0.25], [0.25, 0.75]])).round(12)
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """
    condition = condition_number(operator)
    if not condition <= MAX_CONDITION_NUMBER:
        raise InvalidParameter(
            f"the operator cannot be inverted: its condition number is {condition:.3g}, "
            f"at most {MAX_CONDITION_NUMBER:.0e} is allowed",
            hint="let more records keep their value, or use the iterative Bayesian estimate",
        )
    return np.asarray(np.linalg.inv(operator), dtype=np.float64)


def linear_variance(weights: Matrix, operator: Matrix, true_counts: ArrayLike) -> Vector:
    """Return the variance of each value's linear estimate in a subset with these true counts.

    ``Var[x] = sum_u X_u sum_y W[x, y]^2 P[y, u] - X_x``, shape (m,), in squared records. The subset is fixed, and its
    choice does not depend on the perturbed column; only the perturbation is random. Each row of ``weights`` must
    satisfy ``W[x] @ P = e_x``.

    >>> P = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> linear_variance(invert(P), P, [70, 30]).round(9)
    array([75., 75.])
    """
    true_counts = np.asarray(true_counts, dtype=np.float64)
    variance: Vector = weights**2 @ (operator @ true_counts) - true_counts
    return variance


def half_step(weights: Matrix) -> Vector:
    """Return the continuity correction of each value's estimate: half of its step, shape (m,).

    Counts are whole, so estimates change in steps. The correction is ``(W[x, x] - mean of W[x, y], y != x) / 2``. For
    uniform perturbation it is ``1 / (2p)``. It is at least half a record, because true counts are whole.

    >>> half_step(invert(np.array([[0.75, 0.25], [0.25, 0.75]]))).round(12)
    array([1., 1.])
    >>> half_step(invert(np.array([[0.4, 0, 0.6], [0.6, 0.4, 0], [0, 0.6, 0.4]]))).round(12)
    array([0.5, 0.5, 0.5])
    """
    own = np.diagonal(weights)
    half: Vector = (own - (weights.sum(axis=1) - own) / (len(weights) - 1)) / 2
    return np.maximum(half, 0.5)


def amplification(operator: Matrix) -> float:
    """Return the amplification: the largest ratio of two probabilities in a row.

    For every published value, the odds between two original values change by at most this factor. It is infinite if a
    published value is possible for some original values and impossible for others.

    >>> amplification(np.array([[0.75, 0.25], [0.25, 0.75]]))
    3.0
    """
    published = operator[operator.any(axis=1)]
    with np.errstate(divide="ignore"):
        return float((published.max(axis=1) / published.min(axis=1)).max())


def ldp_epsilon(operator: Matrix) -> float:
    """Return the epsilon of local differential privacy: the logarithm of the amplification.

    >>> round(ldp_epsilon(np.array([[0.75, 0.25], [0.25, 0.75]])), 6)
    1.098612
    """
    return math.log(amplification(operator))


def largest_posterior(operator: Matrix, prior: ArrayLike) -> Vector:
    """Return the largest posterior of each original value, over all published values, shape (m,).

    This is ``max_y P[y, x] f_x / (P f)_y``, where f is ``prior``: frequencies or counts. Published values with
    probability 0 are left out.

    >>> largest_posterior(np.array([[0.75, 0.25], [0.25, 0.75]]), [0.9, 0.1]).round(6)
    array([0.964286, 0.25    ])
    """
    joint = operator * np.asarray(prior, dtype=np.float64)
    joint = joint[joint.any(axis=1)]
    largest: Vector = (joint / joint.sum(axis=1, keepdims=True)).max(axis=0, initial=0.0)
    return largest


def identifiability_classes(operator: Matrix, *, tolerance: float = 1e-9) -> NDArray[np.intp]:
    """Return a class number for each original value; values of one class cannot be distinguished.

    Two values are in one class if their columns differ by at most ``tolerance`` in every entry. Then their published
    values have the same distribution, and only their total can be reconstructed. The result has shape (m,); classes are
    numbered from 0 in the order of first appearance.

    >>> identifiability_classes(np.array([[0.8, 0.2, 0.2], [0.1, 0.5, 0.5], [0.1, 0.3, 0.3]]))
    array([0, 1, 1])
    """
    # Imported here, because few publications need it and the import takes longer than a small publication.
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial.distance import pdist, squareform

    equal = squareform(pdist(operator.T, metric="chebyshev")) <= tolerance
    classes: NDArray[np.intp] = connected_components(equal, directed=False)[1].astype(np.intp)
    return classes
