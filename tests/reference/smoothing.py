"""Smoothed counts: estimates of one value in many cells that use its share of the whole release.

In a cell of few records the noise is larger than the count. The share of the value in the whole release is known much
better. So each cell's estimate moves towards that share (empirical Bayes): by more if it is noisier, by less if cells
really differ. The result is biased and has a smaller mean squared error over the cells. Sums over cells must use the
unbiased estimates. Derivation, and why the interval is that of the unbiased estimate: ``mechanism/smoothing.md``.

Sources: Efron and Morris, "Stein's estimation rule and its competitors" (1973) and "Limiting the risk of Bayes and
empirical Bayes estimators" (1972); DerSimonian and Laird (1986) for the variance between cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Floats

LARGEST_MOVE = 1.96
"""Largest move of an estimate, in standard errors."""
CLEAR = 2.5
"""Counts more than this many standard errors above 0 are moved less, the larger they are."""
PASSES = 2
"""Number of estimates of the variance between cells; each uses weights from the previous one."""


def smoothed_counts(
    estimates: ArrayLike, variances: ArrayLike, slopes: ArrayLike, totals: ArrayLike, share: float
) -> Floats:
    """Return the smoothed counts of one value in cells.

    Arrays of shape (cells,): unbiased ``estimates``, their estimated ``variances``, the ``slopes`` with which a
    variance grows with the true count, and ``totals``, the records in each cell, above 0. ``share`` is the estimated
    share of the value in the whole release. The results lie within 0 and the totals.

    If the cells differ by no more than their noise, all get the share of the whole release:

    >>> smoothed_counts([4, 16], [100, 100], [0, 0], [100, 100], 0.1).tolist()
    [10.0, 10.0]

    If they differ by much more, the estimates hardly move:

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
"""Replaces a variance or a count of 0 in denominators."""
