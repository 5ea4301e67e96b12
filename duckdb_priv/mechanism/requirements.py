"""A publisher's requirements for each sensitive value: bounds of its posterior probability, given its prior.

Derivations: ``fine_grain.md`` beside this file. Sources: Chaytor, Wang, "Fine grain perturbation for
privacy preserving data publishing", for requirements per value and the tolerance; Evfimievski,
Gehrke, Srikant, "Limiting privacy breaches in privacy preserving data mining" (2003), for prior and posterior.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.operator import name_of

Direction = Literal["both", "upward"]
"""'upward' bounds how far a probability may rise, as in the paper; 'both' also bounds how far it may fall."""


@dataclass(frozen=True, eq=False)
class Requirements:
    """Bounds of posteriors: a prior of at most rho1 never becomes a posterior above rho2.

    Requirement k is for the value at position ``values[k]`` of the domain. A value may have several requirements, or
    none; then it is unconstrained. In the direction 'both', a prior of at least rho2 also never becomes a posterior
    below rho1.

    Raises InvalidParameter if there is no requirement, or one without ``0 < rho1 < rho2 < 1``.

    >>> Requirements(3, values=[0, 0, 2], rho1=[0.1, 0.2, 0.05], rho2=[0.5, 0.6, 0.5]).gamma()
    array([ 6., inf, 19.])
    """

    domain_size: int
    """How many values m the domain has; at least 2."""
    values: NDArray[np.intp]
    rho1: Vector
    rho2: Vector
    labels: Sequence[object] | None = None
    """The values of the domain in its order, for messages."""

    def __post_init__(self) -> None:
        for name, kind in (("values", np.intp), ("rho1", np.float64), ("rho2", np.float64)):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=kind))
        if not self.values.size:
            raise InvalidParameter(
                "no value is constrained, so every record would be published unchanged",
                hint="give at least one value a requirement (rho1, rho2), or lower the tolerance",
            )
        wrong = ~((self.rho1 > 0) & (self.rho1 < self.rho2) & (self.rho2 < 1))
        if wrong.any():
            k = int(np.argmax(wrong))
            raise InvalidParameter(
                f"the requirement for {name_of(self.values[k], self.labels)} has "
                f"rho1 = {self.rho1[k]:.12g} and rho2 = {self.rho2[k]:.12g}",
                hint="a prior of rho1 may become a posterior of rho2, with 0 < rho1 < rho2 < 1",
            )

    @classmethod
    def from_tolerance(
        cls, frequencies: ArrayLike, tolerance: float, labels: Sequence[object] | None = None
    ) -> Self:
        """Return requirements that bound the posterior of each value of frequency f by ``tolerance`` times f.

        A value of frequency ``1 / tolerance`` or more gets no requirement. ``frequencies`` are shares or counts, shape
        (m,), all positive. Source: the paper, which calls the tolerance theta.

        Raises InvalidParameter for a tolerance of at most 1.

        >>> Requirements.from_tolerance([0.5, 0.4, 0.1], tolerance=2).gamma().round(12)
        array([ inf, 6.  , 2.25])
        """
        shares = shares_of(frequencies)
        if not (math.isfinite(tolerance) and tolerance > 1):
            raise InvalidParameter(
                f"tolerance must be above 1, got {tolerance!r}",
                hint="it is the factor by which the probability of a value may grow; 5 to 50 is usual",
            )
        values = np.flatnonzero(tolerance * shares < 1)
        return cls(shares.size, values, shares[values], tolerance * shares[values], labels)

    def factors(self) -> Vector:
        """Return the factor by which each requirement allows the odds of its value to change.

        This is the odds of rho2 over the odds of rho1, ``rho2 (1 - rho1) / (rho1 (1 - rho2))``; it is above 1. Source:
        Evfimievski, Gehrke, Srikant (2003).
        """
        return self.rho2 * (1 - self.rho1) / (self.rho1 * (1 - self.rho2))

    def gamma(self) -> Vector:
        """Return the smallest factor of each value's requirements, infinite without a requirement; shape (m,)."""
        gamma = np.full(self.domain_size, np.inf)
        np.minimum.at(gamma, self.values, self.factors())
        return gamma


def shares_of(frequencies: ArrayLike) -> Vector:
    """Return the frequencies as shares that sum to 1."""
    frequencies = np.asarray(frequencies, dtype=np.float64)
    total = frequencies.sum()
    if not (math.isfinite(total) and total > 0 and frequencies.min() >= 0):
        raise InvalidParameter(
            f"frequencies must be non-negative and not all zero, got a sum of {total}",
            hint="give the share or the number of records of each value of the domain",
        )
    return np.asarray(frequencies / total, dtype=np.float64)
