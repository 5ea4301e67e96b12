"""Computes the coordinates of the charts on a card, and from which size on their counts are exact enough.

The template draws the charts as SVG.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from duckdb_priv.mechanism.arrays import Vector

WIDTH, HEIGHT = 360, 230
"""The size of a chart: the width of a phone's screen, so that its text is readable there."""
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 38
BINS = 12
"""The number of ranges of counts in a band."""
MAX_POINTS = 400
"""The largest number of points in a chart."""
SHOWN = 0.9
"""The share of points inside the vertical axis; the other points are drawn at its ends."""
MAX_ERROR = 2.0
"""The largest end of the vertical axis, a relative error."""
MIN_SPAN = 1.5
"""The smallest ratio between the largest and the smallest counts of a chart."""
MAX_TICKS = 7
"""The largest number of ticks on a logarithmic axis."""
Z95 = 1.959963984540054
"""Two-sided 95% quantile of the normal distribution."""
MOST = 0.95
"""The share of counts, from the size on, that must be exact enough."""


@dataclass(frozen=True)
class Axis:
    """An axis, which maps values to coordinates."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Return the coordinate of a value; values outside the axis are moved to its ends.

        >>> Axis(0, 10, 100, 200).place(2.5)
        125.0
        >>> Axis(1, 100, 0, 80, logarithmic=True).place(10)
        40.0
        """
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, at = math.log10(low), math.log10(high), math.log10(at)
        return round(self.start + (at - low) / (high - low) * (self.end - self.start), 1)


@dataclass(frozen=True)
class Tick:
    """A number on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """A chart: a band, a line in it, and points."""

    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    band: str
    """The outline of the band as an SVG path; empty without a band."""
    line: str
    points: Sequence[tuple[float, float, str]]
    """The coordinates and the tooltip of each point."""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def error_chart(counts: Vector, stderrs: Vector, errors: Vector | None) -> Chart | None:
    """Return a chart of relative errors over counts: the band with 95% of the errors and, if known, the errors.

    ``errors`` are signed and relative. Returns None if there are too few counts, or they differ too little.
    """
    kept = counts >= 1
    counts, stderrs = counts[kept], stderrs[kept]
    if len(counts) < BINS or counts.min() == counts.max():
        return None
    edges = np.quantile(np.log10(counts), np.linspace(0, 1, BINS + 1))
    of_bin = np.clip(np.searchsorted(edges, np.log10(counts), side="right") - 1, 0, BINS - 1)
    bins = [of_bin == n for n in range(BINS) if np.any(of_bin == n)]
    middles = [float(10 ** np.log10(counts[each]).mean()) for each in bins]
    widths = [float(Z95 * np.median(stderrs[each] / counts[each])) for each in bins]
    if middles[-1] < MIN_SPAN * middles[0]:
        return None
    seen = 0.0 if errors is None else float(np.quantile(np.abs(errors[kept]), SHOWN))
    top = _round_up(min(max(max(widths) * 1.25, seen), MAX_ERROR))
    x = Axis(
        float(counts.min()) / 1.1,
        float(counts.max()) * 1.1,
        LEFT,
        WIDTH - RIGHT,
        logarithmic=True,
    )
    y = Axis(-top, top, HEIGHT - BOTTOM, TOP)
    points = []
    if errors is not None:
        signed = errors[kept]
        step = max(1, math.ceil(len(counts) / MAX_POINTS))
        points = [
            (x.place(count), y.place(error), f"{count:,.0f}: {error:+.1%}")
            for count, error in zip(counts[::step].tolist(), signed[::step].tolist(), strict=True)
        ]
    return Chart(
        x_ticks=[Tick(x.place(each), short(each)) for each in round_numbers(x.low, x.high)],
        y_ticks=[
            Tick(y.place(each), f"{each:+.0%}" if each else "0")
            for each in (-top, -top / 2, 0, top / 2, top)
        ],
        band=_band(
            [x.place(each) for each in middles],
            [y.place(each) for each in widths],
            [y.place(-each) for each in widths],
        ),
        line=f"M{LEFT},{y.place(0)}H{WIDTH - RIGHT}",
        points=points,
    )


def _band(x: Sequence[float], high: Sequence[float], low: Sequence[float]) -> str:
    there = [f"{at},{top}" for at, top in zip(x, high, strict=True)]
    back = [f"{at},{bottom}" for at, bottom in zip(x[::-1], low[::-1], strict=True)]
    return "M" + "L".join([*there, *back]) + "Z"


def _round_up(value: float) -> float:
    """Round up to a number whose only nonzero digit is 1, 2 or 5.

    >>> _round_up(0.13), _round_up(0.6)
    (0.2, 1.0)
    """
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        round(power * step, 12) for step in (1, 2, 5, 10) if power * step >= value * 0.999999
    )


def round_numbers(low: float, high: float) -> list[float]:
    """List the round numbers from ``low`` to ``high``, at most MAX_TICKS if possible.

    >>> round_numbers(90, 2100)
    [100.0, 200.0, 500.0, 1000.0, 2000.0]
    >>> round_numbers(1, 10_000)
    [1.0, 10.0, 100.0, 1000.0, 10000.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1,)):
        found = [float(f"{step}e{n}") for n in powers for step in steps]
        found = [each for each in found if low <= each <= high]
        if len(found) <= MAX_TICKS:
            break
    return found


def short(number: float) -> str:
    """Write a number with the suffix k, M or G.

    >>> short(10), short(20_000), short(1_000_000)
    ('10', '20k', '1M')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


def reliable_from(counts: Vector, stderrs: Vector, error: float) -> float | None:
    """Return the size from which on nearly all counts have a 95% interval within ``error`` times the count.

    ``stderrs`` are the standard errors of ``counts``. The size is rounded up to two digits. Returns None if not even
    the largest counts are that exact.

    >>> counts = np.array([10.0, 100.0, 1000.0, 2000.0])
    >>> reliable_from(counts, np.full(4, 30.0), 0.1)
    1000.0
    >>> reliable_from(counts, np.full(4, 300.0), 0.1) is None
    True
    """
    kept = counts >= 1
    order = np.argsort(counts[kept])
    sizes, errors = counts[kept][order], (Z95 * stderrs[kept])[order]
    exact = errors <= error * sizes
    from_here = np.arange(len(exact), 0, -1)
    enough = exact & (np.cumsum(exact[::-1])[::-1] >= MOST * from_here)
    if not enough.any():
        return None
    size = float(sizes[np.argmax(enough)])
    digit = 10.0 ** max(math.floor(math.log10(size)) - 1, 0)
    return math.ceil(size / digit) * digit
