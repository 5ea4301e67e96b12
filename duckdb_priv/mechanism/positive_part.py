"""The mean positive part of a sum of many small steps, never too low.

``E[max(0, Z_1 + ... + Z_n)]`` for independent, identically distributed steps with a few values is what the
privacy of a shuffle comes down to (``shuffle.md``). It is computed by a Fourier transform on a lattice, and every
approximation made on the way can only raise it. Derivation: ``positive_part.md`` beside this file.

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
"""Points of the lattice at least: sums of few steps are coarse, and a sum near 0 feels the rounding most."""
LARGEST_LATTICE = 1 << 20
"""Points of the lattice at most; where they do not reach the tolerance, the answer is only higher."""
STRETCHES = np.linspace(1.0, 1.3, 400)
"""How much wider than necessary a lattice may be: among so many widths one fits the steps well."""
TILTS = np.geomspace(0.02, 50, 160)
"""Tilts, as multiples of the best one, among which the Chernoff bounds are chosen."""
FORGOTTEN = 34.0
"""What lies beyond the lattice is less than exp(-34) of the answer; it is added all the same."""
FORGOTTEN_FREQUENCY = 46.0
"""A frequency whose amplitude is below exp(-46) is left out: together they are below the rounding."""
ROUNDING = 1e-10, 1e-14
"""Relative error of the floating point arithmetic: at most the first and, for each step, the second."""
CANCELLED = 1e-15
"""Error of a sum of terms that cancel, as a share of the sum of their sizes."""


class StepLaw(NamedTuple):
    """The law of one step: its values with their probabilities; with what is left to 1 it is 0."""

    values: Floats
    probabilities: Floats

    @property
    def still(self) -> float:
        """Probability that a step is 0 although no value says so."""
        return max(0.0, 1 - float(self.probabilities.sum()))

    def cumulants(self, tilts: Floats) -> Floats:
        """Return the logarithms of the mean of ``exp(tilt * Z)``."""
        powers = np.outer(tilts, self.values)
        top = np.maximum(powers.max(axis=1), 0)
        sums = np.exp(powers - top[:, None]) @ self.probabilities + self.still * np.exp(-top)
        cumulants: Floats = top + np.log(sums)
        return cumulants

    def drift(self, tilt: float) -> float:
        """Return the mean of ``Z exp(tilt * (Z - max))``, of which only the sign matters."""
        return float(
            self.probabilities * np.exp(tilt * (self.values - self.values.max())) @ self.values
        )


def log_positive_part(
    values: Floats, probabilities: Floats, count: int, *, tolerance: float = 1e-6
) -> float:
    """Return the logarithm of an upper bound of the mean positive part of ``count`` independent steps.

    A step takes ``values`` with ``probabilities``, which sum to at most 1; otherwise it is 0. Its mean must be
    negative. The bound is higher than the mean positive part by a share of the order of ``tolerance``. It is
    ``-inf`` where no step goes up.

    Ten coins that win 1 or lose 2: the sum is 10, 7, 4 or 1 for ten, nine, eight or seven wins.

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
    # The transform wraps around: a sum below the window lands at its upper end and is counted, which is too much; a sum
    # above the window is lost, and what is lost is added.
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
    """Return the mean of ``k exp(-tilt k)`` over the sums k from 1 to ``points`` (others count as 0), never too low.

    ``transform`` is that of one step on a lattice of ``size`` points; that of the sum is its power. By Parseval's
    equation the mean is a sum over frequencies, of which few matter: the others have lost all their weight.
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
    # Terms can cancel until only their rounding is left, which may be below 0.
    return float(max(terms.sum(), 0.0) + CANCELLED * np.abs(terms).sum()) / size


def _saddle(steps: StepLaw) -> float:
    """Find the tilt under which a step has mean 0."""
    high = 1 / float(np.abs(steps.values).max())
    while steps.drift(high) < 0:
        high *= 2
    low, exact = 0.0, high * 1e-6
    while high - low > exact:
        middle = (low + high) / 2
        low, high = (middle, high) if steps.drift(middle) < 0 else (low, middle)
    # Any tilt above 0 gives a bound, 0 gives none: so it is the upper end.
    return high


class Window(NamedTuple):
    """The sums that a lattice must hold."""

    top: float
    """What lies above is negligible, by the Chernoff bound with the tilt ``outer``."""
    bottom: float
    """How far below 0 it must reach."""
    outer: float


def _window(steps: StepLaw, tilt: float, count: int) -> Window:
    """Choose the sums to keep, by the best of many Chernoff bounds."""
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
    """Split every value between its two neighbours on a lattice, so that the mean of a step stays.

    A split adds variance. The lattice is made finer until that raises the answer by no more than ``tolerance``.
    Returns the steps on the lattice, the width between its points, and how many points it has.
    """
    (here,) = steps.cumulants(np.array([tilt]))
    tilted = steps.probabilities * np.exp(tilt * steps.values - here)
    allowed = 2 * tolerance / (count * tilt**2)
    highest, size = count * float(steps.values.max()), SMALLEST_LATTICE
    while True:
        points = size - 4
        least = (window.top + window.bottom) / points
        if points > count:
            # A split raises the largest value by a width at most, and so the largest sum by a width per step.
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
