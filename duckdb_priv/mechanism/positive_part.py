"""An upper bound of the mean positive part of a sum of many independent steps.

The bound is for ``E[max(0, Z_1 + ... + Z_n)]``, where the steps are independent and identically distributed with few
values. The delta of a shuffle is such a mean (``shuffle.md``). A Fourier transform on a lattice computes it, and every
approximation can only increase the result. Derivation: ``positive_part.md`` beside this file.

Sources: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the dots: tighter discrete approximations of
privacy loss distributions" (PETS 2022), for steps split so that their mean stays; Esscher (1932) for tilting.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.mechanism.arrays import Floats

SMALLEST_LATTICE = 1 << 13
"""Smallest number of lattice points. Sums of few steps need a fine lattice, because rounding matters most near 0."""
LARGEST_LATTICE = 1 << 20
"""Largest number of lattice points. If they do not reach the tolerance, the bound is less tight."""
STRETCHES = np.linspace(1.0, 1.3, 400)
"""Candidate widths, as multiples of the smallest possible width. One of them fits the steps well."""
TILTS = np.geomspace(0.02, 50, 160)
"""Candidate tilts for Chernoff bounds, as multiples of the best tilt."""
FORGOTTEN = 34.0
"""Sums beyond the lattice contribute less than exp(-34) of the result. A bound of that is added."""
FORGOTTEN_FREQUENCY = 46.0
"""Frequencies with an amplitude below exp(-46) are left out. Together they are below the rounding error."""
ROUNDING = 1e-10, 1e-14
"""Bounds of the relative rounding error: a constant, and an error per step."""
CANCELLED = 1e-15
"""Rounding error of a sum with cancelling terms, relative to the sum of their absolute values."""


class StepLaw(NamedTuple):
    """The distribution of one step: its values and their probabilities. With the remaining probability it is 0."""

    values: Floats
    probabilities: Floats

    @property
    def still(self) -> float:
        """Probability that a step is 0, besides that of the value 0 in ``values``."""
        return max(0.0, 1 - float(self.probabilities.sum()))

    def cumulants(self, tilts: Floats) -> Floats:
        """Return the logarithm of the mean of ``exp(tilt * Z)`` for each tilt."""
        powers = np.outer(tilts, self.values)
        top = np.maximum(powers.max(axis=1), 0)
        sums = np.exp(powers - top[:, None]) @ self.probabilities + self.still * np.exp(-top)
        cumulants: Floats = top + np.log(sums)
        return cumulants

    def drift(self, tilt: float) -> float:
        """Return the mean of ``Z exp(tilt * (Z - max))``. Its callers use only the sign."""
        return float(
            self.probabilities * np.exp(tilt * (self.values - self.values.max())) @ self.values
        )


def log_positive_part(
    values: Floats, probabilities: Floats, count: int, *, tolerance: float = 1e-6
) -> float:
    """Return the logarithm of an upper bound of the mean positive part of a sum of ``count`` independent steps.

    A step takes ``values`` with ``probabilities``, which sum to at most 1; otherwise it is 0. Its mean must be
    negative. The relative error of the bound is of the order of ``tolerance``. The result is ``-inf`` if no value is
    positive.

    Ten coins each win 1 or lose 2. The sum is 10, 7, 4 or 1 for ten, nine, eight or seven wins:

    >>> exact = (10 + 10 * 7 + 45 * 4 + 120 * 1) / 2**10
    >>> bound = math.exp(log_positive_part(np.array([1.0, -2.0]), np.array([0.5, 0.5]), 10))
    >>> exact <= bound <= exact * (1 + 1e-6)
    True
    """
    steps = StepLaw(values, probabilities)
    if values.max() <= 0:
        return -math.inf
    tilt = _saddle(steps)
    window = _window(steps, tilt, count)
    lattice, width, size = _lattice(steps, tilt, count, window, tolerance)
    cumulant, beyond = lattice.cumulants(np.array([tilt, window.outer]))
    tilted = lattice.probabilities * np.exp(tilt * lattice.values - cumulant)
    step = np.bincount(np.rint(lattice.values / width).astype(np.int64) % size, tilted, size)
    step[0] += lattice.still * math.exp(-cumulant)
    # The transform wraps around. A sum below the window is counted at its upper end, which increases the result. A sum
    # above the window is lost; the bound ``lost`` of these sums is added.
    points = size - math.ceil(window.bottom / width) - 1
    inside = width * _mean_of_tilted(np.fft.rfft(step), size, count, tilt * width, points)
    known = count * float(cumulant) + math.log(inside)
    top = points * width
    lost = (
        -math.inf
        if top >= count * lattice.values.max() - width / 2
        else math.log(max(top, 1 / window.outer)) - window.outer * top + count * float(beyond)
    )
    return float(np.logaddexp(known, lost)) + ROUNDING[0] + ROUNDING[1] * count


def _mean_of_tilted(
    transform: NDArray[np.complex128], size: int, count: int, tilt: float, points: int
) -> float:
    """Return an upper bound of the mean of ``k exp(-tilt k)``, where sums k outside 1 … ``points`` count as 0.

    ``transform`` is the Fourier transform of one step on a lattice of ``size`` points; its power is that of the sum.
    By Parseval's equation the mean is a sum over frequencies. Those with a negligible amplitude are left out.
    """
    modulus = np.abs(transform)
    alive = np.flatnonzero(modulus > math.exp(-FORGOTTEN_FREQUENCY / count))
    power = np.exp(count * np.log(transform[alive]))
    # The sum of k z^k for k from 1 to K is z (1 - (K + 1) z^K + K z^(K + 1)) / (1 - z)^2.
    logarithm = -tilt + 2j * np.pi / size * alive
    end = np.exp(points * logarithm)
    gap = -np.expm1(logarithm)
    payoff = np.exp(logarithm) * (1 - end * (1 + points * gap)) / gap**2
    terms = np.where((alive == 0) | (2 * alive == size), 1, 2) * (power * payoff).real
    # Terms can cancel until only a rounding error is left, which may be negative.
    return float(max(terms.sum(), 0.0) + CANCELLED * np.abs(terms).sum()) / size


def _saddle(steps: StepLaw) -> float:
    """Return the tilt with which a step has mean 0, rounded up."""
    high = 1 / float(np.abs(steps.values).max())
    while steps.drift(high) < 0:
        high *= 2
    low, exact = 0.0, high * 1e-6
    while high - low > exact:
        middle = (low + high) / 2
        low, high = (middle, high) if steps.drift(middle) < 0 else (low, middle)
    # Any tilt above 0 gives a bound, 0 gives none; so the upper end is returned.
    return high


class Window(NamedTuple):
    """The range of sums that a lattice must cover."""

    top: float
    """Largest sum. Larger ones are negligible, by the Chernoff bound with the tilt ``outer``."""
    bottom: float
    """Distance from 0 to the smallest sum."""
    outer: float


def _window(steps: StepLaw, tilt: float, count: int) -> Window:
    """Return the range of sums that are not negligible, by the best of many Chernoff bounds."""
    (here,) = steps.cumulants(np.array([tilt]))
    outer = tilt * (1 + TILTS)
    rises = (count * (steps.cumulants(outer) - here) + FORGOTTEN) / outer
    best = int(rises.argmin())
    falls = (count * (steps.cumulants(tilt * (1 - TILTS)) - here) + FORGOTTEN) / (tilt * TILTS)
    lowest = -count * min(float(steps.values.min()), 0.0)
    return Window(float(rises[best]), min(float(falls.min()), lowest), float(outer[best]))


def _lattice(
    steps: StepLaw, tilt: float, count: int, window: Window, tolerance: float
) -> tuple[StepLaw, float, int]:
    """Return steps on a lattice, the distance between its points, and the number of points.

    Every value is split between its two neighbours on the lattice, so that the mean of a step does not change. A split
    adds variance. The lattice is refined until that increases the result by ``tolerance`` at most.
    """
    (here,) = steps.cumulants(np.array([tilt]))
    tilted = steps.probabilities * np.exp(tilt * steps.values - here)
    allowed = 2 * tolerance / (count * tilt**2)
    highest, size = count * float(steps.values.max()), SMALLEST_LATTICE
    while True:
        points = size - 4
        least = (window.top + window.bottom) / points
        if points > count:
            # A split increases the largest value by one width at most, and so the largest sum by one width per step.
            least = min(least, (highest + window.bottom) / (points - count))
        widths = STRETCHES * least
        parts = (steps.values[:, None] / widths) % 1
        added = (tilted @ (parts * (1 - parts))) * widths**2
        best = int(added.argmin())
        if added[best] <= allowed or size >= LARGEST_LATTICE:
            break
        size *= 2
    width = float(widths[best])
    lower = np.floor(steps.values / width)
    part = steps.values / width - lower
    places = np.concatenate([lower, lower + 1])
    shares = np.concatenate([1 - part, part]) * np.tile(steps.probabilities, 2)
    return StepLaw(places[shares > 0] * width, shares[shares > 0]), width, size
