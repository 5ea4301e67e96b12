"""Conditional Poisson design: the distribution of one well mixed decoy group, and a compact inverse of its operator.

Toss one independent coin per value, with odds w, and keep the outcome if exactly ``size`` coins show heads. No design
with the same inclusion probabilities has a larger entropy. Well mixed decoy groups follow this design, with inclusion
probabilities gamma f / rows. So the published histogram determines the operator and its inverse. Five numbers per value
determine the whole inverse. Derivations: ``conditional_poisson.md``.
Source: Chen, Dempster, Liu (1994), "Weighted finite population sampling to maximize entropy",
Biometrika 81; Hong (2013) for the Fourier sum; the compact inverse is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.errors import InvalidParameter

MAX_FREQUENCIES = 4096
"""Largest number of distinct inclusion probabilities. A d x d matrix then takes 134 MB."""

MAX_INCLUSION = 0.9999
"""Largest inclusion probability. Beyond it, the inverse multiplies the noise a thousandfold."""

_MAX_STEPS = 40
_TOLERANCE = 1e-12
"""Relative error of the inclusion probabilities at which the odds are accepted."""


@dataclass(frozen=True)
class InverseWeights:
    """The inverse W of the operator, stored as five numbers per value.

    The sum of W[x, y] over the published values y of a set of records estimates how many of them hold x. The diagonal
    is W[x, x] = ``own[x]``. For y != x of the same inclusion probability, W[x, y] = ``tied[x]``. For all other y

        W[x, y] = inclusion[x] * (potential[x] - potential[y]) / (odds[y] - odds[x]).
    """

    inclusion: NDArray[np.float64]
    """Probability that a group holds the value."""
    odds: NDArray[np.float64]
    """The odds w of the design. Two values have equal odds if and only if their ``inclusion`` is equal."""
    potential: NDArray[np.float64]
    """The solution of joint_inclusion @ potential = odds."""
    own: NDArray[np.float64]
    tied: NDArray[np.float64]

    def row(self, value: int) -> NDArray[np.float64]:
        """Return W[value, :], the weight of each published value in the estimate of ``value``."""
        gap = self.odds - self.odds[value]
        same = gap == 0
        slope = (self.potential[value] - self.potential) / np.where(same, 1, gap)
        scaled: NDArray[np.float64] = self.inclusion[value] * slope
        weights = np.where(same, self.tied[value], scaled)
        weights[value] = self.own[value]
        return weights

    def matrix(self) -> NDArray[np.float64]:
        """Return the whole matrix W, (values, values)."""
        return np.array([self.row(value) for value in range(self.odds.size)])


@dataclass(frozen=True)
class ConditionalPoisson:
    """A fitted design. Values of equal inclusion probability form one class, and each class has one set of numbers.

    >>> design = ConditionalPoisson.fit([0.8, 0.5, 0.4, 0.3], size=2)
    >>> design.joint_inclusion()[0].round(8)
    array([0.8       , 0.34800217, 0.26341622, 0.1885816 ])
    """

    size: int
    """How many values a group holds."""
    class_of: NDArray[np.intp]
    """(values,) the class of each value; the arrays below have one entry per class."""
    multiplicity: NDArray[np.int64]
    inclusion: NDArray[np.float64]
    odds: NDArray[np.float64]
    joint: NDArray[np.float64]
    """Probability that a group holds two given different values, one of each class."""

    @classmethod
    def fit(cls, inclusion: ArrayLike, size: int) -> ConditionalPoisson:
        """Return the design with these inclusion probabilities; Newton's method finds its odds.

        ``inclusion`` has one entry per value, above 0 and at most ``MAX_INCLUSION``; the entries sum to ``size``. The
        cost is O(steps * d**2 * size) for d distinct entries, with few steps.
        """
        wanted = np.asarray(inclusion, np.float64)
        if not (wanted.size and (wanted > 0).all() and (wanted <= MAX_INCLUSION).all()):
            raise InvalidParameter(
                f"inclusion probabilities must lie above 0 and be at most {MAX_INCLUSION}, got "
                f"{wanted.min(initial=1.0):g} to {wanted.max(initial=0.0):g}",
                hint="a value in every group or in no group cannot be estimated; use the 2x2 form",
            )
        distinct, class_of, multiplicity = np.unique(
            wanted, return_inverse=True, return_counts=True
        )
        if distinct.size > MAX_FREQUENCIES:
            raise InvalidParameter(
                f"the design can have at most {MAX_FREQUENCIES} distinct frequencies, got "
                f"{distinct.size}",
                hint="use the 2x2 form, or merge rare values",
            )
        odds, joint = _solve(distinct, multiplicity, size)
        return cls(size, class_of, multiplicity, distinct, odds, joint)

    def joint_inclusion(self) -> NDArray[np.float64]:
        """Return J, (values, values): Pr[both in a group], with ``inclusion`` on the diagonal."""
        joint = self.joint[np.ix_(self.class_of, self.class_of)]
        np.fill_diagonal(joint, self.inclusion[self.class_of])
        return joint

    def operator(self) -> NDArray[np.float64]:
        """Return A, (values, values): A[y, x] = Pr[published = y | true = x].

        A group that holds x also holds y with probability J[x, y] / inclusion[x]. A record publishes each of the
        ``size`` values of its group with the same probability.
        """
        inclusion: NDArray[np.float64] = self.inclusion[self.class_of]
        return self.joint_inclusion() / (self.size * inclusion)

    def inverse(self) -> InverseWeights:
        """Return the inverse of ``operator()``, without forming a values x values matrix.

        >>> design = ConditionalPoisson.fit([0.75, 0.5, 0.5, 0.25], size=2)
        >>> (design.inverse().matrix() @ design.operator()).round(12) + 0.0
        array([[1., 0., 0., 0.],
               [0., 1., 0., 0.],
               [0., 0., 1., 0.],
               [0., 0., 0., 1.]])
        """
        # J maps vectors that are constant within classes to such vectors. On these it is the matrix below, scaled
        # to a unit diagonal. On differences of two members of one class it is multiplication by ``apart``.
        count, joint_own = self.multiplicity, np.diag(self.joint)
        scale = np.sqrt(count / self.inclusion)
        scaled = self.joint * np.outer(scale, scale)
        np.fill_diagonal(scaled, 1 + (count - 1) * joint_own / self.inclusion)
        between = np.linalg.inv(scaled) / np.sqrt(np.outer(self.inclusion, self.inclusion))
        potential = between @ (np.sqrt(count) * self.odds) / np.sqrt(count)
        apart = np.where(count > 1, self.inclusion - joint_own, np.inf)
        tied = (np.diag(between) - 1 / apart) / count
        own = np.where(count > 1, tied + 1 / apart, np.diag(between))
        factor = self.size * self.inclusion
        parts = (self.inclusion, self.odds, potential, factor * own, factor * tied)
        return InverseWeights(*(part[self.class_of] for part in parts))


def _solve(
    wanted: NDArray[np.float64], multiplicity: NDArray[np.int64], size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the odds and joint inclusion of distinct inclusion probabilities.

    Newton's method maximizes the likelihood, which is concave in the logarithms of the odds. A common factor of all
    odds is free; it is chosen so that the coins show ``size`` heads on average.
    """
    # The scaling makes rare values as accurate, relatively, as frequent ones. The likelihood does not depend on a
    # common factor of the odds; ``flat`` makes the matrix invertible in that direction.
    scale = np.sqrt(multiplicity / wanted)
    both = np.outer(scale, scale)
    flat = np.outer(scale * wanted, scale * wanted) / size
    log_odds = np.log(wanted / (1 - wanted))
    for _ in range(_MAX_STEPS):
        coin = 1 / (1 + np.exp(-log_odds))
        log_odds -= (multiplicity @ coin - size) / (multiplicity @ (coin * (1 - coin)))
        inclusion, joint = _inclusion(log_odds, multiplicity, size)
        missing = wanted - inclusion
        if (np.abs(missing) <= _TOLERANCE * wanted).all():
            return np.exp(log_odds), joint
        slope = (joint - np.outer(inclusion, inclusion)) * both
        within = (multiplicity - 1) * (np.diag(joint) - inclusion**2)
        np.fill_diagonal(slope, (inclusion * (1 - inclusion) + within) / wanted)
        step = np.linalg.solve(slope + flat, missing * scale) / np.sqrt(multiplicity * wanted)
        log_odds += np.clip(step, -2, 2)
    raise InvalidParameter(
        f"no odds were found for inclusion probabilities up to {wanted.max():g}",
        hint="use the 2x2 form",
    )


def _inclusion(
    log_odds: NDArray[np.float64], multiplicity: NDArray[np.int64], size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return inclusion and joint inclusion probabilities of the coins, given ``size`` heads.

    The generating function of the number of heads, ``prod(1 - p + p z)``, is summed over roots of unity. Unlike
    recursions for elementary symmetric polynomials, this neither cancels nor overflows. The number of roots is odd, so
    that no factor is 0. The sum also counts numbers of heads that differ from ``size`` by a multiple of the number of
    roots; there are so many roots that their probability is below 1e-30.
    """
    points = 4 * size + 41
    turn = np.exp(2j * np.pi * np.arange(points) / points)
    coin = 1 / (1 + np.exp(-log_odds))
    factor = 1 - coin + coin * turn[:, np.newaxis]
    heads = np.exp(np.log(factor) @ multiplicity) * turn**-size
    heads /= heads.sum().real
    shown = coin * turn[:, np.newaxis] / factor
    inclusion = (heads @ shown).real
    joint = ((shown.T * heads) @ shown).real
    return inclusion, joint
