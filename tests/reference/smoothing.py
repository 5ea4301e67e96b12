"""Smoothed counts: estimates of one value in many cells that borrow from the whole release.

A cell of a few records is estimated from noise that is larger than its count. What the whole release says of the value
is known much better: each cell's estimate is drawn towards "as frequent here as everywhere", the more the noisier it
is, and the less the more cells really differ (empirical Bayes). Such an estimate is biased on purpose and has a
smaller mean squared error over the cells; sums over cells must be made from the unbiased estimates. Derivation, and
why the interval stays that of the unbiased estimate: ``smoothing.md`` beside this file.

Sources: Efron and Morris, "Stein's estimation rule and its competitors" (1973) and "Limiting the risk of Bayes and
empirical Bayes estimators" (1972); DerSimonian and Laird (1986) for the variance between cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Floats

LARGEST_MOVE = 1.96
"""No estimate is moved further than so many of its standard errors."""
CLEAR = 2.5
"""From so many standard errors above 0 on, a count speaks for itself and is moved less and less."""
PASSES = 2
"""How often the variance between cells is estimated; the second time with the weights that follow from the first."""


def smoothed_counts(
    estimates: ArrayLike, variances: ArrayLike, slopes: ArrayLike, totals: ArrayLike, share: float
) -> Floats:
    """Return the smoothed counts of one value in cells.

    Arrays of shape (cells,): unbiased ``estimates``, their estimated ``variances``, the ``slopes`` with which a
    variance grows with the true count, and ``totals``, the records in each cell, above 0. ``share`` is the estimated
    share of the value in the whole release. The results lie within 0 and the totals.

    Where the cells differ by no more than their noise, all become as frequent as everywhere:

    >>> smoothed_counts([4, 16], [100, 100], [0, 0], [100, 100], 0.1).tolist()
    [10.0, 10.0]

    Where they differ by much more, nothing moves far:

    >>> smoothed_counts([0, 900], [1, 1], [0, 0], [1000, 1000], 0.45).round(1).tolist()
    [0.0, 900.0]
    """
    estimates, variances, slopes, totals = (
        np.asarray(each, dtype=np.float64) for each in (estimates, variances, slopes, totals)
    )
    usual = totals * min(max(share, 0.0), 1.0)
    noise = np.maximum(variances + slopes * (usual - estimates), TINY)
    between = 0.0
    for _ in range(PASSES):
        weights = (totals**2 / (noise + between * totals**2)) ** 2
        excess = ((estimates - usual) ** 2 - noise) / totals**2
        between = max(float(weights @ excess / weights.sum()), 0.0)
    drawn = noise / (noise + between * totals**2) * (usual - estimates)
    inside = np.clip(estimates, 0, totals)
    error = np.sqrt(np.maximum(variances + slopes * (inside - estimates), TINY))
    most = LARGEST_MOVE * error * np.minimum(1, CLEAR * error / np.maximum(estimates, TINY)) ** 4
    smoothed: Floats = np.clip(estimates + np.clip(drawn, -most, most), 0, totals)
    return smoothed


TINY = 1e-12
"""Stands for a variance, or a count, of 0 where one divides by it."""
