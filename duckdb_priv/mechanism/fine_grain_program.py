"""The linear program of fine-grain perturbation, which finds the best retentions that the requirements allow.

Each requirement (rho1, rho2) of a value is a constraint. Derivations, and a constraint that the paper's own program
lacks: ``fine_grain.md`` beside this file.
Source: Chaytor, Wang, "Fine grain perturbation for privacy preserving data publishing".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import block_array, eye_array

from duckdb_priv.errors import InvalidParameter, PublicationFailed
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.fine_grain import FineGrain, largest_other, verify
from duckdb_priv.mechanism.requirements import Direction, Requirements, shares_of

MARGIN = 1e-12
"""Relative distance of retentions from their bounds, so that rounding violates no requirement."""

NEGLIGIBLE_RETENTION = 1e-6
"""Optimal retentions below this become 0: no table is large enough to estimate counts with them."""


def uniform_retention(gamma: Vector) -> float:
    """Return the largest retention that is allowed for all values together, ``(g - 1) / (m - 1 + g)``.

    g is the smallest number of ``gamma``. Uniform perturbation would have to use this retention for all values. It is
    also the largest possible minimum retention of fine-grain perturbation.

    >>> uniform_retention(np.array([3.0, np.inf]))
    0.5
    """
    tightest = float(gamma.min())
    return (tightest - 1) / (gamma.size - 1 + tightest)


def optimal_operator(
    frequencies: ArrayLike,
    requirements: Requirements,
    *,
    direction: Direction = "both",
    min_retention: float = 0.0,
) -> FineGrain:
    """Return the operator that publishes the most records unchanged and meets the requirements.

    ``frequencies`` are shares or counts of the values, shape (m,). With a ``min_retention`` above 0 (met to 11 digits)
    the operator is invertible, but fewer records are published unchanged. Without it, the optimum often gives the most
    sensitive values retention 0. Source: the paper's linear program; direction 'both' adds constraints that its
    Theorem 1 needs and the program lacks.

    Raises InvalidParameter, GuaranteeViolated, and PublicationFailed if the solver gives up.

    Half of the records have a value whose odds may at most triple. The other value has no requirement:

    >>> requirements = Requirements(2, values=[0], rho1=[0.1], rho2=[0.25])
    >>> optimal_operator([0.5, 0.5], requirements).retentions.round(9)
    array([0.5, 0.5])
    >>> optimal_operator([0.5, 0.5], requirements, direction="upward").retentions.round(9)
    array([1.        , 0.33333333])
    """
    shares, gamma = shares_of(frequencies), requirements.gamma()
    bound = uniform_retention(gamma)
    if min_retention != 0 and not NEGLIGIBLE_RETENTION <= min_retention <= bound:
        raise InvalidParameter(
            f"min_retention is {min_retention!r}; these requirements allow 0, or "
            f"{NEGLIGIBLE_RETENTION:g} to {bound:.12g}",
            hint="lower min_retention, or relax the tightest requirement",
        )
    retentions = _solve(shares, gamma, direction, min_retention)
    retentions[retentions < NEGLIGIBLE_RETENTION] = min_retention
    operator = FineGrain(_shrink_into_bounds(retentions, gamma, direction))
    verify(operator, requirements, direction)
    return operator


def _solve(shares: Vector, gamma: Vector, direction: Direction, min_retention: float) -> Vector:
    """Return optimal retentions, up to the tolerance of the solver.

    The m (m - 1) constraints on pairs bound, for each value i, the largest retention among the *other* values. That is
    the larger of two running maxima: before i and after i in the domain. With these as variables, 8 m constraints have
    the same optimum.
    """
    m = gamma.size
    bounded = np.isfinite(gamma)
    one = eye_array(m, format="csr")
    this, previous = one[1:], one[:-1]
    running_maxima = block_array(
        [
            [previous, -this, None],  # before[i] >= p[i - 1]
            [None, previous - this, None],  # before[i] >= before[i - 1]
            [this, None, -previous],  # after[i - 1] >= p[i]
            [None, None, this - previous],  # after[i - 1] >= after[i]
        ]
    )
    # (m - 1) p_i + gamma_i s_i <= gamma_i - 1 with s_i the largest other, divided by gamma_i.
    s = one[bounded]
    p = s.multiply(((m - 1) / gamma[bounded])[:, np.newaxis]).tocsr()
    requirements = [[p, s, None], [p, None, s]]
    if direction == "both":
        requirements += [[s, p, None], [s, None, p]]
    limit = 1 - 1 / gamma[bounded]
    solution = linprog(
        np.concatenate([-m * shares, np.zeros(2 * m)]),
        A_ub=block_array([[running_maxima], [block_array(requirements)]], format="csr"),
        b_ub=np.concatenate([np.zeros(4 * (m - 1)), np.tile(limit, len(requirements))]),
        bounds=np.column_stack([np.repeat([min_retention, 0], [m, 2 * m]), np.ones(3 * m)]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not solution.success:
        raise PublicationFailed(
            f"the linear program for {m} values was not solved: {solution.message}",
            hint="choose requirements that do not differ by many orders of magnitude",
        )
    return np.asarray(solution.x[:m], dtype=np.float64)


def _shrink_into_bounds(retentions: Vector, gamma: Vector, direction: Direction) -> Vector:
    """Scale all retentions down until every constraint holds with a relative ``MARGIN``.

    Scaling down never violates a constraint: each bounds a sum of retentions with positive factors.
    """
    bounded = np.isfinite(gamma)
    limit = np.maximum(gamma[bounded] * (1 - MARGIN) - 1, 0)
    own, other = retentions[bounded], largest_other(retentions)[bounded]
    load = (gamma.size - 1) * own + gamma[bounded] * other
    if direction == "both":
        load = np.maximum(load, (gamma.size - 1) * other + gamma[bounded] * own)
    scale = np.divide(limit, load, out=np.ones_like(load), where=load > limit)
    return retentions * float((1 - MARGIN) * scale.min())
