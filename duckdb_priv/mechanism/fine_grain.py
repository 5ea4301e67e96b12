"""Fine-grain perturbation: an operator with a separate retention for each value.

A record with value i keeps it with probability ``p_i``, else its value is drawn from the whole domain. So it shows each
other value with probability ``q_i = (1 - p_i) / m``, and its own with ``p_i + q_i``.
Derivations: ``fine_grain.md`` beside this file.
Source: Chaytor, Wang, "Fine grain perturbation for privacy preserving data publishing".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.errors import GuaranteeViolated, InvalidParameter
from duckdb_priv.mechanism.arrays import Matrix, Vector
from duckdb_priv.mechanism.operator import condition_number, name_of
from duckdb_priv.mechanism.requirements import Direction, Requirements
from duckdb_priv.mechanism.uniform import WORDS


@dataclass(frozen=True, eq=False)
class FineGrain:
    """The operator of fine-grain perturbation, given by its retentions.

    >>> operator = FineGrain(np.array([0.0, 0.5]))
    >>> operator.matrix()
    array([[0.5 , 0.25],
           [0.5 , 0.75]])
    """

    retentions: Vector
    """Probability ``p_i`` in [0, 1] that a record with value i keeps it, shape (m,)."""

    def __post_init__(self) -> None:
        retentions = self.retentions
        wrong = ~((retentions >= 0) & (retentions <= 1))
        if wrong.any():
            i = int(np.argmax(wrong))
            raise InvalidParameter(
                f"the retention of {name_of(i, None)} is {retentions[i]:.12g}",
                hint="a retention is a probability, from 0 to 1",
            )

    @property
    def other(self) -> Vector:
        """Probability ``q_i`` that a record with value i shows one given other value."""
        return (1 - self.retentions) / self.retentions.size

    @property
    def own(self) -> Vector:
        """Probability ``p_i + q_i`` that a record with value i shows it."""
        return self.retentions + self.other

    def matrix(self) -> Matrix:
        """Return the m x m operator: entry [y, x] is Pr[published = y | original = x]."""
        return np.diag(self.retentions) + self.other

    @property
    def identifiable(self) -> NDArray[np.bool_]:
        """Whether each value's count can be reconstructed. All can, unless several values have retention 0.

        Values with retention 0 are published with the same distribution, so only their total can be estimated.

        >>> FineGrain(np.array([0.0, 0.5, 0.0])).identifiable
        array([False,  True, False])
        """
        noise = self.retentions == 0
        return ~noise if noise.sum() > 1 else np.full(noise.size, True)

    @property
    def condition_number(self) -> float:
        """The condition number of the operator; infinite if some value is not identifiable."""
        return condition_number(self.matrix()) if self.identifiable.all() else math.inf

    @property
    def background(self) -> Vector:
        """Weights r of the observed counts O in the estimate ``r @ O`` of each value's background, shape (m,).

        Besides the records that kept their value, ``q @ X`` records show each value on average: its background. So
        ``(O_x - r @ O) / p_x`` estimates the true count of x, with the same m weights r for all values.

        >>> FineGrain(np.array([0.5, 0.5])).background
        array([0.25, 0.25])
        """
        noise = self.retentions == 0
        if noise.any():
            return np.where(noise, 1 / noise.sum(), 0.0)
        ratio = self.other / self.retentions
        return ratio / (1 + float(ratio.sum()))

    def weights(self) -> Matrix:
        """Return W: ``W[x] @ observed`` is the unbiased estimate of the true count of x.

        This is the inverse in closed form, by a rank-one update; its columns sum to 1. Values with retention 0 share
        the remaining records equally. Their rows are unbiased for that equal part. They are unbiased for the count of
        the value itself only if it is ``identifiable``.

        >>> FineGrain(np.array([0.5, 0.5])).weights()
        array([[ 1.5, -0.5],
               [-0.5,  1.5]])
        """
        noise = self.retentions == 0
        rows = np.eye(noise.size) - self.background
        rows[~noise] /= self.retentions[~noise, np.newaxis]
        if noise.any():
            rows[noise] = (1 - rows[~noise].sum(axis=0)) / noise.sum()
        return rows

    def thresholds(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return (keep, width) for each value, shape (m,): the integers by which a 64-bit word selects a value.

        A record with value i keeps it if its word is below ``keep[i]``. Otherwise it shows value number ``(word -
        keep[i]) // width[i]``. Exactly ``m * width[i]`` words are at least ``keep[i]``, so the draw is exactly uniform.
        Rounding goes towards more noise, by less than ``m / 2**64``. Only a retention of 0 is rounded up, to ``(2**64
        mod m) / 2**64``, the smallest retention with a uniform draw.

        >>> keep, width = FineGrain(np.array([0.0, 0.5])).thresholds()
        >>> [int(k) + 2 * int(w) == 2**64 for k, w in zip(keep, width)], keep.tolist() == [0, 2**63]
        ([True, True], True)
        """
        m = self.retentions.size
        widths = []
        for retention in self.retentions.tolist():
            numerator, denominator = retention.as_integer_ratio()
            wanted = -(-WORDS * (denominator - numerator) // (denominator * m))
            widths.append(min(max(wanted, 1), WORDS // m))
        keep = [WORDS - m * width for width in widths]
        return np.array(keep, dtype=np.uint64), np.array(widths, dtype=np.uint64)

    def upward_amplification(self) -> Vector:
        """Return the largest factor by which the odds of each value can rise, shape (m,).

        The maximum over all published values and all priors is ``(p_i + q_i) / min of q_k, k != i``.

        >>> FineGrain(np.array([0.0, 0.5])).upward_amplification()
        array([2. , 1.5])
        """
        with np.errstate(divide="ignore"):
            return self.own / ((1 - largest_other(self.retentions)) / self.retentions.size)

    def downward_amplification(self) -> Vector:
        """Return the largest factor by which the odds of each value can fall, shape (m,).

        The maximum over all published values and all priors is ``max of (p_k + q_k), k != i, over q_i``.

        >>> FineGrain(np.array([0.0, 0.5])).downward_amplification()
        array([1.5, 2. ])
        """
        with np.errstate(divide="ignore"):
            return largest_other(self.own) / self.other


def worst_posteriors(operator: FineGrain, requirements: Requirements) -> tuple[Vector, Vector]:
    """Return, for each requirement, the highest posterior after a prior of rho1, and the lowest after one of rho2.

    Both are in closed form, over all published values and all priors that give the value this probability. The
    requirement holds upward if the first is at most rho2, and downward if the second is at least rho1. Source:
    Evfimievski, Gehrke, Srikant (2003).

    >>> requirements = Requirements(2, values=[0], rho1=[0.1], rho2=[0.25])
    >>> highest, lowest = worst_posteriors(FineGrain(np.array([0.5, 0.5])), requirements)
    >>> float(highest[0].round(12)), float(lowest[0].round(12))
    (0.25, 0.1)
    """
    rise = operator.upward_amplification()[requirements.values]
    fall = operator.downward_amplification()[requirements.values]
    rho1, rho2 = requirements.rho1, requirements.rho2
    return 1 / (1 + (1 - rho1) / (rho1 * rise)), rho2 / (rho2 + (1 - rho2) * fall)


def verify(operator: FineGrain, requirements: Requirements, direction: Direction) -> None:
    """Raise GuaranteeViolated unless the operator meets every requirement.

    The check compares odds, because probabilities near 1 hide large changes of the odds.

    >>> requirements = Requirements(2, values=[0], rho1=[0.1], rho2=[0.25], labels="HF")
    >>> verify(FineGrain(np.array([0.6, 0.5])), requirements, "upward")
    Traceback (most recent call last):
    duckdb_priv.errors.GuaranteeViolated: value 'H': a prior of 0.1 can rise to 0.262295, past 0.25
    Hint: compute the retentions again from these requirements
    """
    rho1, rho2 = requirements.rho1, requirements.rho2
    highest, lowest = worst_posteriors(operator, requirements)
    claims = [("rise", operator.upward_amplification(), rho1, highest, rho2)]
    if direction == "both":
        claims.append(("fall", operator.downward_amplification(), rho2, lowest, rho1))
    for verb, amplification, prior, worst, bound in claims:
        wrong = amplification[requirements.values] > requirements.factors()
        if wrong.any():
            k = int(np.argmax(wrong))
            raise GuaranteeViolated(
                f"{name_of(requirements.values[k], requirements.labels)}: a prior of "
                f"{prior[k]:.6g} can {verb} to {worst[k]:.6g}, past {bound[k]:.6g}",
                hint="compute the retentions again from these requirements",
            )


def largest_other(numbers: Vector) -> Vector:
    """Return, for each position, the largest of the numbers at the other positions."""
    top = int(np.argmax(numbers))
    largest = np.full(numbers.size, numbers[top])
    largest[top] = np.delete(numbers, top).max()
    return largest
