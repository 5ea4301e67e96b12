"""The guarantees of SPLU-Gen: published small counts have large relative errors, large counts have small ones.

Decoy groups have gamma distinct values. If f records hold a value, its published count f' is
binomial(gamma f, 1/gamma), with mean f and variance f (1 - 1/gamma). All functions are exact for this distribution or
proven bounds. Relative errors are rational numbers, so that 0.3 means 3/10. Derivations, and errors of the paper's
bounds: ``splu.md``.
Source: Fu, Wang and others, "Small sum privacy and large sum utility in data publishing",
Definition 2, Lemmas 1 and 2, Theorems 3 and 4.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism import binomial
from duckdb_priv.mechanism.eligibility import require_gamma

Convention = Literal["lemma_2", "definition_2"]
"""The errors that count: more than epsilon f (Lemma 2), or at least epsilon f (Definition 2)."""

Relative = float | str | Fraction
"""A relative error. A float means the decimal number that Python prints for it."""

MAX_SMALL_SUM = 1_000_000
MAX_THRESHOLD = 5_000_000
"""Largest counts that a search covers. Each search takes seconds at most."""


def error_probabilities(
    gamma: int, counts: ArrayLike, epsilon: Relative, convention: Convention = "lemma_2"
) -> NDArray[np.float64]:
    """Return the exact probability that a published count f' errs by more than epsilon f, for each true count f.

    >>> error_probabilities(10, [1, 2, 3], 0.3).round(6)
    array([0.61258 , 0.71482 , 0.763912])
    """
    require_gamma(gamma)
    relative = _rational(epsilon)
    # With Python integers, the ends of the window are exact for every decimal epsilon.
    true = np.asarray(counts, np.int64).astype(object)
    low = true * (relative.denominator - relative.numerator)
    high = true * (relative.denominator + relative.numerator)
    if convention == "lemma_2":
        first, last = -(-low // relative.denominator), high // relative.denominator
    else:
        first, last = low // relative.denominator + 1, -(-high // relative.denominator) - 1
    trials, chance = (true * gamma).astype(np.int64), 1 / gamma
    below = binomial.cdf(first.astype(np.int64) - 1, trials, chance)
    above = binomial.sf(last.astype(np.int64), trials, chance)
    outside: NDArray[np.float64] = below + above
    return outside


def small_sum_privacy(
    gamma: int, epsilon: Relative, alpha: int, convention: Convention = "lemma_2"
) -> float:
    """Return a lower bound of the probability that a published count errs by more than epsilon, up to count alpha.

    It is the minimum of Pr[|f' - f| > epsilon f] over f = 1 … alpha (Theorem 4). The published count, taken as an
    estimate of the true one, has a relative error above epsilon at least this often. This holds for that estimator,
    not for every adversary (``splu.md``).

    >>> round(small_sum_privacy(10, 0.3, 3), 6)
    0.61258
    >>> round(small_sum_privacy(10, 0.5, 2), 6), round(
    ...     small_sum_privacy(10, 0.5, 2, "definition_2"), 6
    ... )
    (0.25453, 0.61258)
    """
    if not isinstance(alpha, int | np.integer) or not 1 <= alpha <= MAX_SMALL_SUM:
        raise InvalidParameter(
            f"alpha must be an integer in 1 … {MAX_SMALL_SUM}, got {alpha!r}",
            hint="it is the largest count that must stay private: write 5, for example",
        )
    return float(error_probabilities(gamma, np.arange(1, alpha + 1), epsilon, convention).min())


def large_sum_threshold(gamma: int, epsilon: Relative, error_probability: Relative) -> int:
    """Return a count T such that Pr[|f' - f| >= epsilon f] is at most ``error_probability`` for every f >= T.

    This is Chebyshev's bound (1 - 1/gamma) / (epsilon**2 error_probability), rounded up. The paper's Theorem 3 divides
    by the count twice, so its threshold is far too low.

    >>> large_sum_threshold(10, 0.1, 0.1)
    900
    """
    relative, chance = _rational(epsilon), _probability(error_probability)
    require_gamma(gamma)
    return math.ceil((1 - Fraction(1, int(gamma))) / (relative**2 * chance))


def exact_large_sum_threshold(gamma: int, epsilon: Relative, error_probability: Relative) -> int:
    """Return the smallest T such that Pr[|f' - f| >= epsilon f] is at most ``error_probability`` for every f >= T.

    The search runs downwards from a count above which Chebyshev's or Bernstein's inequality proves the bound.

    >>> exact_large_sum_threshold(10, 0.1, 0.1)
    251
    """
    chebyshev = large_sum_threshold(gamma, epsilon, error_probability)
    relative, chance = float(_rational(epsilon)), float(_probability(error_probability))
    bernstein = 2 * (1 - 1 / gamma + relative / 3) * math.log(2 / chance) / relative**2
    top = min(chebyshev, math.ceil(bernstein))
    if top > MAX_THRESHOLD:
        raise InvalidParameter(
            f"the exact threshold for epsilon = {epsilon} and error probability "
            f"{error_probability} may be as large as {top}; the search covers {MAX_THRESHOLD}",
            hint="use large_sum_threshold, a bound in closed form",
        )
    step = 4096
    for high in range(top, 0, -step):
        counts = np.arange(max(1, high - step + 1), high + 1)
        errs = error_probabilities(gamma, counts, epsilon, "definition_2") > chance
        if errs.any():
            return int(counts[errs][-1]) + 1
    return 1


def _rational(epsilon: Relative) -> Fraction:
    exact = _exactly(epsilon)
    if not 0 < exact <= 1:
        raise InvalidParameter(
            f"epsilon must lie above 0 and be at most 1, got {epsilon!r}",
            hint="it is a relative error: 0.3 means 30 percent",
        )
    return exact


def _probability(value: Relative) -> Fraction:
    exact = _exactly(value)
    if not 0 < exact < 1:
        raise InvalidParameter(
            f"error_probability must lie strictly between 0 and 1, got {value!r}",
            hint="it bounds how often a large count errs by epsilon: write 0.05, for example",
        )
    return exact


def _exactly(number: Relative) -> Fraction:
    """Return a number as a fraction of its decimal form, or 0, which no caller allows, if it is not finite."""
    try:
        return Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        return Fraction(0)
