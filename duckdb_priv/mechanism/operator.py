"""Any perturbation operator: a column-stochastic matrix, its inverse, its errors, its privacy.

Entry ``[y, x]`` of an operator P is Pr[published = y | original = x]; a subset with true counts X
shows counts O with ``E[O] = P X``. Row x of the weights ``W = P^-1`` makes a linear, unbiased
estimate ``W[x] @ O`` of the true count of x. Derivations: ``operator.md`` beside this file.
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
"""How far a column of an operator may be from summing to 1."""

MAX_CONDITION_NUMBER = 1e8
"""Beyond this, half of the digits of a double are lost in the inverse, and it is refused."""


def name_of(value: int, labels: Sequence[object] | None) -> str:
    """Return how a message names the value at this position of the domain.

    >>> name_of(1, ["flu", "HIV"]), name_of(1, None)
    ("value 'HIV'", 'value number 1')
    """
    return f"value number {value}" if labels is None else f"value {labels[value]!r}"


def check_operator(matrix: ArrayLike, labels: Sequence[object] | None = None) -> Matrix:
    """Return ``matrix`` as an array of doubles if it is an operator, else say what it lacks.

    An operator is square with at least 2 values, finite, non-negative, and each of its columns (one
    for each original value) sums to 1 within ``COLUMN_SUM_TOLERANCE``. ``labels`` are the values of
    the domain in the order of the matrix; messages then call the values by them.

    Raises InvalidParameter.

    >>> check_operator([[0.9, 0.2], [0.1, 0.7]], labels=["flu", "HIV"])
    Traceback (most recent call last):
    duckdb_priv.errors.InvalidParameter: the probabilities of original value 'HIV' sum to 0.9, not 1
    Hint: what happens to a value must sum to 1 over the published values, within 1e-12
    """
    operator = np.array(matrix, dtype=np.float64)
    if operator.ndim != 2 or operator.shape[0] != operator.shape[1] or len(operator) < 2:
        raise InvalidParameter(
            f"an operator is a square matrix of at least 2 values, got shape {operator.shape}",
            hint="give a probability for every pair of an original and a published value",
        )
    if labels is not None and len(labels) != len(operator):
        raise InvalidParameter(
            f"an operator over {len(operator)} values was given {len(labels)} labels",
            hint="give one label for each value of the domain",
        )
    # Written so that NaN, which answers no to every comparison, is refused as well.
    wrong = np.argwhere(~(np.isfinite(operator) & (operator >= 0)))
    if wrong.size:
        y, x = wrong[0]
        raise InvalidParameter(
            f"the probability that original {name_of(x, labels)} is published as "
            f"{name_of(y, labels)} is {float(operator[y, x])}",
            hint="a probability lies between 0 and 1",
        )
    sums = operator.sum(axis=0)
    x = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[x] - 1) > COLUMN_SUM_TOLERANCE:
        raise InvalidParameter(
            f"the probabilities of original {name_of(x, labels)} sum to {sums[x]:.14g}, not 1",
            hint="what happens to a value must sum to 1 over the published values, within "
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

    Half of the records redrawn from two values:

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

    ``Var[x] = sum_u X_u sum_y W[x, y]^2 P[y, u] - X_x``, shape (m,), in squared records. The subset
    is fixed and chosen without looking at the perturbed column; only the perturbation is random.
    A row of ``weights`` must satisfy ``W[x] @ P = e_x``.

    >>> P = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> linear_variance(invert(P), P, [70, 30]).round(9)
    array([75., 75.])
    """
    true_counts = np.asarray(true_counts, dtype=np.float64)
    variance: Vector = weights**2 @ (operator @ true_counts) - true_counts
    return variance


def half_step(weights: Matrix) -> Vector:
    """Return half of what one more record of a value adds to its estimate, shape (m,).

    Counts are whole, so estimates move in steps: ``h[x] = (W[x, x] - mean of W[x, y], y != x) / 2``
    is the continuity correction, ``1 / (2p)`` for uniform perturbation. Where others weigh more than the value itself,
    true counts are what moves in steps: it is half a record at least.

    >>> half_step(invert(np.array([[0.75, 0.25], [0.25, 0.75]]))).round(12)
    array([1., 1.])
    >>> half_step(invert(np.array([[0.4, 0, 0.6], [0.6, 0.4, 0], [0, 0.6, 0.4]]))).round(12)
    array([0.5, 0.5, 0.5])
    """
    own = np.diagonal(weights)
    half: Vector = (own - (weights.sum(axis=1) - own) / (len(weights) - 1)) / 2
    return np.maximum(half, 0.5)


def expected_error(weights: Matrix, operator: Matrix, true_counts: ArrayLike) -> float:
    """Return the mean standard deviation of the reconstructed frequencies of all values.

    Smaller is better: ``mean_x sqrt(Var[x]) / n`` with the n records
    of ``true_counts`` and the variances of ``linear_variance``.

    >>> P = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> round(expected_error(invert(P), P, [7000, 3000]), 12)
    0.008660254038
    """
    variance = linear_variance(weights, operator, true_counts)
    # Zero variances, as those of a value that is always published as it is, round below 0.
    return float(np.sqrt(np.maximum(variance, 0)).mean() / np.sum(true_counts))


def amplification(operator: Matrix) -> float:
    """Return the largest ratio of two probabilities in a row: how much one record can reveal.

    Whatever is published, the odds of any value against any other change by at most this factor.
    Infinite when a value can be published for some originals and not for others.

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
    """Return, for each original value, the largest posterior that a published value can give.

    ``max_y P[y, x] f_x / (P f)_y`` for someone whose prior is ``prior`` (frequencies or
    counts, at least one above 0); shape (m,). Published values of probability 0 are left out.

    >>> largest_posterior(np.array([[0.75, 0.25], [0.25, 0.75]]), [0.9, 0.1]).round(6)
    array([0.964286, 0.25    ])
    """
    joint = operator * np.asarray(prior, dtype=np.float64)
    joint = joint[joint.any(axis=1)]
    largest: Vector = (joint / joint.sum(axis=1, keepdims=True)).max(axis=0)
    return largest


def identifiability_classes(operator: Matrix, *, tolerance: float = 1e-9) -> NDArray[np.intp]:
    """Return a class number for each original value; values of one class cannot be distinguished.

    Two values are in one class when their columns differ by at most ``tolerance`` everywhere: then they
    are published in the same way, and only their total can be reconstructed. Shape (m,), numbered
    from 0 in the order of first appearance.

    >>> identifiability_classes(np.array([[0.8, 0.2, 0.2], [0.1, 0.5, 0.5], [0.1, 0.3, 0.3]]))
    array([0, 1, 1])
    """
    # Loaded here: few publications need it, and it takes longer than a small one.
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial.distance import pdist, squareform

    equal = squareform(pdist(operator.T, metric="chebyshev")) <= tolerance
    classes: NDArray[np.intp] = connected_components(equal, directed=False)[1].astype(np.intp)
    return classes
