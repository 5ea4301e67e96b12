"""Uniform perturbation, or k-ary randomized response: keep a value with probability p, else draw from the domain.

Let ``q = (1 - p) / m``. A record shows its own value with probability ``a = p + q``, and each other value with
probability ``q``. Derivations: ``uniform.md`` beside this file.
Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", section 3;
Evfimievski, Gehrke, Srikant (2003) for amplification.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.errors import InvalidParameter


@dataclass(frozen=True)
class Uniform:
    """The operator of uniform perturbation over a domain of ``domain_size`` values.

    >>> operator = Uniform(retention=0.5, domain_size=2)
    >>> operator.own, operator.other
    (0.75, 0.25)
    """

    retention: float
    """Probability p that a record keeps its value, in (0, 1)."""
    domain_size: int
    """How many values m a redrawn record may take, its own included; at least 2."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.retention) and 0 < self.retention < 1):
            raise InvalidParameter(
                f"retention must lie strictly between 0 and 1, got {self.retention!r}",
                hint="0 publishes pure noise, 1 publishes the truth; 0.2 to 0.5 is usual",
            )
        if self.domain_size < 2:
            raise InvalidParameter(
                f"a domain needs at least 2 values, got {self.domain_size}",
                hint="with one value there is nothing to perturb; exclude the column instead",
            )

    @property
    def other(self) -> float:
        """Probability q that a record shows one given other value."""
        return (1 - self.retention) / self.domain_size

    @property
    def own(self) -> float:
        """Probability a = p + q that a record shows its own value."""
        return self.retention + self.other

    def matrix(self) -> NDArray[np.float64]:
        """Return the m x m operator: entry [y, x] is Pr[published = y | original = x]."""
        m = self.domain_size
        operator: NDArray[np.float64] = self.retention * np.eye(m) + self.other
        return operator

    @property
    def amplification(self) -> float:
        """Largest likelihood ratio of a published value under two true values: (p + q) / q.

        >>> Uniform(retention=0.5, domain_size=2).amplification
        3.0
        """
        return 1 + self.domain_size * self.retention / (1 - self.retention)

    @property
    def ldp_epsilon(self) -> float:
        """Parameter of local differential privacy: the logarithm of the amplification."""
        return math.log(self.amplification)

    def posteriors(
        self, priors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the largest and the smallest posterior of each value, over all published values.

        ``priors`` has one probability per value; they sum to one. A posterior is highest if the value itself is
        published, and lowest if another value is.

        >>> high, low = Uniform(retention=0.5, domain_size=2).posteriors(np.array([0.5, 0.5]))
        >>> high.tolist(), low.tolist()
        ([0.75, 0.75], [0.25, 0.25])
        """
        shown = self.retention * priors + self.other
        high = priors * self.own / shown
        # The posterior of x is lowest after the most probable published value y != x.
        top = np.argmax(shown)
        commonest = np.full(len(priors), shown[top])
        commonest[top] = np.partition(shown, -2)[-2]
        return high, priors * self.other / commonest

    def thresholds(self) -> tuple[int, int]:
        """Return (keep, width), the integers by which a record's 64-bit word selects a value.

        If the word is below ``keep``, the record keeps its value. Otherwise it shows value number
        ``(word - keep) // width``. Exactly ``domain_size * width`` words are at least ``keep``, so the draw is exactly
        uniform. Rounding goes towards more noise, by less than m / 2**64.

        >>> keep, width = Uniform(retention=0.5, domain_size=4).thresholds()
        >>> keep == 2**63, keep + 4 * width == 2**64
        (True, True)
        """
        numerator, denominator = self.retention.as_integer_ratio()
        redrawn = WORDS * (denominator - numerator)
        width = -(-redrawn // (denominator * self.domain_size))
        keep = WORDS - self.domain_size * width
        if keep <= 0:
            raise InvalidParameter(
                f"retention {self.retention!r} is below the resolution of 64 bits",
                hint="choose a larger retention",
            )
        return keep, width


WORDS = 2**64
"""The number of different 64-bit words."""
MAX_EPSILON = 30.0
"""Largest epsilon. Above it the retention is nearly 1: almost every value would be published unchanged."""


def amplification_gamma(rho1: float, rho2: float) -> float:
    """Return the largest amplification with which no prior of at most rho1 becomes a posterior above rho2.

    gamma = rho2 (1 - rho1) / (rho1 (1 - rho2)). With the same gamma, no prior of at least rho2 becomes a posterior
    below rho1 (Evfimievski, Gehrke, Srikant 2003, section 3).

    >>> round(amplification_gamma(0.1, 0.5), 12)
    9.0
    """
    if not 0 < rho1 < rho2 < 1:
        raise InvalidParameter(
            f"rho1 and rho2 must satisfy 0 < rho1 < rho2 < 1, got {rho1!r} and {rho2!r}",
            hint="rho1 is a prior, rho2 the largest posterior that is allowed: write 0.1 and 0.5, for example",
        )
    return rho2 * (1 - rho1) / (rho1 * (1 - rho2))


def max_retention(rho1: float, rho2: float, domain_size: int) -> float:
    """Return the largest retention that satisfies (rho1, rho2)-privacy: (gamma - 1) / (m - 1 + gamma).

    >>> round(max_retention(0.1, 0.5, 10), 10)
    0.4444444444
    """
    return amplified_retention(amplification_gamma(rho1, rho2), domain_size)


def epsilon_retention(epsilon: float, domain_size: int) -> float:
    """Return the largest retention that is epsilon-locally differentially private.

    >>> round(epsilon_retention(math.log(3), 2), 12)
    0.5
    """
    return amplified_retention(epsilon_amplification(epsilon), domain_size)


def epsilon_amplification(epsilon: float) -> float:
    """Return exp(epsilon), the largest factor by which the odds between two values may change.

    >>> epsilon_amplification(2.0)
    7.38905609893065
    """
    if not (math.isfinite(epsilon) and 0 < epsilon <= MAX_EPSILON):
        raise InvalidParameter(
            f"epsilon must lie above 0 and be at most {MAX_EPSILON:g}, got {epsilon!r}",
            hint="the odds between two true values change by a factor of exp(epsilon) at most; 0.5 to 3 is usual",
        )
    return math.exp(epsilon)


def amplified_retention(amplification: float, domain_size: int) -> float:
    """Return the largest retention whose amplification is at most this, also after rounding to a float.

    >>> amplified_retention(3.0, 2)
    0.5
    """
    retention = (amplification - 1) / (domain_size - 1 + amplification)
    while Uniform(retention, domain_size).amplification > amplification:
        retention = math.nextafter(retention, 0)
    return retention
