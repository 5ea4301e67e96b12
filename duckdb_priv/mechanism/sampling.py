"""The guarantee of safe k-anonymity on a random sample.

Every record enters the sample independently with probability ``beta``. A scheme that does not depend on the sample
generalizes it, and groups under ``k`` records are suppressed. The release is (epsilon, delta)-differentially private
for one record added or removed; this module computes the pairs. Derivations: ``sampling.md`` beside this file.
Source: Li, Qardaji, Su, "On sampling, anonymization,
and differential privacy or, k-anonymization meets differential privacy" (ASIACCS 2012), theorems 1
and 3.9.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
from scipy.special import betainc
from scipy.stats import binom

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Floats

EPSILON_SLACK = 1e-12
"""Precision of epsilon: ``math.log(2)`` means ln 2, although no float equals it."""
MAX_EPSILON = 700.0
"""Largest epsilon, so that exp(epsilon) is a finite float. So large an epsilon guarantees nothing."""
SMALLEST_DELTA = 1e-300
"""Smallest delta that is returned. Floats are imprecise below it, and a delta of 0 would be false."""


def sampling_delta(k: int, beta: float, epsilon: float) -> float:
    """Return the paper's d(k, beta, epsilon): the delta of safe k-anonymity on a beta-sample.

    It is the maximum over group sizes n of the probability that more than ``gamma * n``, and at least ``k``, of n
    records are sampled, with ``gamma = 1 - (1 - beta) exp(-epsilon)``. The relative error is below 1e-9. d falls with
    k and, in steps, with epsilon; it is not monotone in beta. Raises InvalidParameter unless ``k >= 1``,
    ``0 < beta < 1`` and ``epsilon >= -ln(1 - beta)``. Source: Li, Qardaji, Su, theorem 3.9 and table 2.

    >>> f"{sampling_delta(20, 0.05, 0.5):.3g}"
    '2.5e-14'

    With ``k = 1`` a record that is unique in its group is published whenever it is sampled, and nothing is private:

    >>> f"{sampling_delta(1, 0.025, 2.0):.3g}"
    '0.025'
    """
    _check_k(k)
    gap = _gap(beta, epsilon)
    largest, first, block = SMALLEST_DELTA, k, 64
    while True:
        j: Floats = np.arange(first, first + block + 1, dtype=np.float64)
        n = gap.last_size(j)
        tail = betainc(j, n - j + 1, beta)[:-1]
        running = np.maximum.accumulate(np.maximum(tail, largest))
        # By Chernoff, the tail at j is at most exp(-n divergence), which falls with j. Once that is below the
        # largest tail so far, no later tail can be larger.
        settled = np.exp(-n[1:] * gap.divergence) <= running
        if settled.any():
            return float(running[settled.argmax()])
        largest, first, block = float(running[-1]), first + block, min(2 * block, 65_536)


def tight_delta(k: int, beta: float, epsilon: float) -> float:
    """Return the smallest delta with which the mechanism is (epsilon, delta)-private.

    This is the hockey-stick divergence of the worst neighbouring tables, ``E[(J/n - gamma)+] / (1 - gamma)``. J is
    the number of sampled records in a group of ``n = max(1, ceil((k - 1) / gamma))``. The result is never above
    :func:`sampling_delta`, and often 3 to 100 times smaller. Arguments, exceptions and accuracy are the same. Source:
    ``sampling.md``, "The tight delta".

    >>> f"{tight_delta(20, 0.05, 0.5):.3g}"
    '3.43e-16'
    """
    _check_k(k)
    gap = _gap(beta, epsilon)
    n = float(gap.last_size(np.float64(k - 1))) + 1
    # Each probability is at most half of the previous one (sampling.md), so 64 terms leave out a share of 2e-17.
    j = k + np.arange(64)
    over = (j - n) + n * gap.rest
    return max(float(binom.pmf(j, n, beta) @ over) / (n * gap.rest), SMALLEST_DELTA)


def sampling_k(beta: float, epsilon: float, delta: float) -> int:
    """Return the smallest k for which ``sampling_delta(k, beta, epsilon) <= delta``.

    Raises InvalidParameter if epsilon is below ``-ln(1 - beta)``, or delta is not below beta. A delta as large as the
    sampling rate would allow publishing the sample unchanged.

    >>> sampling_k(0.1, 1.0, 1e-6)
    9
    """
    _check_delta(delta, beta)

    def suffices(k: int) -> bool:
        return sampling_delta(k, beta, epsilon) <= delta

    k = 1
    while not suffices(k):
        k *= 2
    return bisect_left(range(k), True, k // 2 + 1, key=suffices)


def sampling_epsilon(k: int, beta: float, delta: float) -> float:
    """Return the smallest epsilon for which ``sampling_delta(k, beta, epsilon) <= delta``.

    delta is a step function of epsilon. The result is above the step, by at most ``1e-11 * max(1, epsilon)``, and
    never below ``-ln(1 - beta)``. Raises InvalidParameter if no epsilon reaches ``delta``: a group of k records is
    sampled completely with probability ``beta ** k``.

    >>> round(sampling_epsilon(10, 0.1, 1e-6), 6)
    0.70557
    """
    _check_k(k)
    _check_delta(delta, beta)
    if sampling_delta(k, beta, MAX_EPSILON) > delta:
        raise InvalidParameter(
            f"no epsilon reaches delta = {delta!r} with k = {k} and beta = {beta!r}",
            hint=f"k must be at least {sampling_k(beta, MAX_EPSILON, delta)}",
        )
    failing, epsilon = 0.0, -math.log1p(-beta)
    while sampling_delta(k, beta, epsilon) > delta:
        failing, epsilon = epsilon, min(2 * epsilon, MAX_EPSILON)
    while failing and epsilon - failing > EPSILON_SLACK * max(1.0, epsilon):
        middle = (failing + epsilon) / 2
        if sampling_delta(k, beta, middle) > delta:
            failing = middle
        else:
            epsilon = middle
    return epsilon + EPSILON_SLACK


def amplified_epsilon(epsilon: float, beta: float) -> float:
    """Return the epsilon of an epsilon-private algorithm that runs on a beta-sample of its input.

    It is ``ln(1 + beta (exp(epsilon) - 1))``. If an algorithm is private because it samples at rate b, a lower rate
    b' makes it more private; then ``beta`` is b'/b. The matching delta is :func:`amplified_delta`. Source: Li,
    Qardaji, Su, theorem 1.

    >>> round(amplified_epsilon(math.log(11), 0.1), 6) == round(math.log(2), 6)
    True
    """
    check_beta(beta)
    _check_epsilon(epsilon)
    return math.log1p(beta * math.expm1(epsilon))


def amplified_delta(delta: float, beta: float) -> float:
    """Return the delta of an (epsilon, delta)-private algorithm that runs on a beta-sample: ``beta * delta``.

    The matching epsilon is :func:`amplified_epsilon`.

    >>> f"{amplified_delta(1e-5, 0.1):.0e}"
    '1e-06'
    """
    check_beta(beta)
    if not 0 <= delta <= 1:
        raise InvalidParameter(
            f"delta must be a probability, got {delta!r}", hint="1e-6 is a usual value"
        )
    return beta * delta


def _check_k(k: int) -> None:
    """Raise InvalidParameter unless ``k`` is a whole number of at least 1."""
    if not (k >= 1 and k == math.floor(k)):
        raise InvalidParameter(
            f"k must be a whole number of at least 1, got {k!r}",
            hint="priv.sampling_k(beta, epsilon, delta) computes the k that a guarantee needs",
        )


class _Gap(NamedTuple):
    """The gap between the sampling rate beta and the sampled share gamma above which a group reveals a record."""

    gamma: float
    """1 - (1 - beta) exp(-epsilon). A sampled share above it changes the odds by more than exp(epsilon)."""
    rest: float
    """1 - gamma, to full precision even if gamma rounds to 1."""
    divergence: float
    """Kullback-Leibler divergence of gamma from beta, in nats per record."""

    def last_size(self, j: Floats | np.float64) -> Floats:
        """Return the largest n with ``gamma * n < j``.

        It is computed from the equivalent ``n - j < j * rest / gamma``, which loses no digits.
        """
        room = np.ceil(j * (self.rest / self.gamma) * (1 - EPSILON_SLACK))
        return np.asarray(j - 1 + np.maximum(room, 1))


def _gap(beta: float, epsilon: float) -> _Gap:
    """Check ``beta`` and ``epsilon``, and return their gap."""
    check_beta(beta)
    _check_epsilon(epsilon)
    smallest = -math.log1p(-beta)
    if epsilon < smallest - EPSILON_SLACK:
        # The hint has five digits, rounded so that its values are valid.
        raise InvalidParameter(
            f"epsilon = {epsilon!r} is below -ln(1 - beta), the least possible with beta = {beta!r}",
            hint=f"with this beta use epsilon >= {smallest * (1 + 1e-5):.6g}; "
            f"with this epsilon use beta <= {-math.expm1(-epsilon) * (1 - 1e-5):.6g}",
        )
    rest = (1 - beta) * math.exp(-epsilon)
    excess = -(1 - beta) * math.expm1(-epsilon)
    gamma = beta + excess
    return _Gap(gamma, rest, gamma * math.log1p(excess / beta) - rest * epsilon)


def check_beta(beta: float) -> None:
    """Raise InvalidParameter unless ``beta`` is a share strictly between 0 and 1."""
    if not 0 < beta < 1:
        raise InvalidParameter(
            f"beta must lie strictly between 0 and 1, got {beta!r}",
            hint="beta is the sampling rate; 0.05 to 0.2 is usual",
        )


def _check_epsilon(epsilon: float) -> None:
    if not 0 < epsilon <= MAX_EPSILON:
        raise InvalidParameter(
            f"epsilon must be above 0 and at most {MAX_EPSILON:g}, got {epsilon!r}",
            hint="0.1 to 2 is usual",
        )


def _check_delta(delta: float, beta: float) -> None:
    check_beta(beta)
    if not SMALLEST_DELTA <= delta < beta:
        raise InvalidParameter(
            f"delta must be at least {SMALLEST_DELTA:g} and below beta = {beta!r}, got {delta!r}",
            hint="a delta as large as beta would allow publishing the sample unchanged; 1e-6 is usual",
        )
