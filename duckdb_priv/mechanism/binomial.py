"""Tail probabilities of the binomial distribution, computed with the incomplete beta function.

``scipy.stats`` has these functions too, but its import takes longer than a small publication. ``scipy.special`` is also
slow to import, so this module imports it at the first call.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Floats


def cdf(successes: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> Floats:
    """Return the cumulative distribution: Pr[at most ``successes``]. All arguments broadcast.

    >>> cdf([-1, 0, 1, 2], 2, 0.5)
    array([0.  , 0.25, 0.75, 1.  ])
    """
    from scipy.special import betaincc

    return _tail(betaincc, successes, trials, chance, below=0.0, beyond=1.0)


def sf(successes: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> Floats:
    """Return Pr[more than ``successes``], with a relative error of at most 1e-13 even for tiny probabilities.

    >>> sf([-1, 0, 1, 2], 2, 0.5)
    array([1.  , 0.75, 0.25, 0.  ])
    """
    from scipy.special import betainc

    return _tail(betainc, successes, trials, chance, below=1.0, beyond=0.0)


def _tail(
    function: np.ufunc,
    successes: ArrayLike,
    trials: ArrayLike,
    chance: ArrayLike,
    below: float,
    beyond: float,
) -> Floats:
    """Return a tail probability: ``function`` for 0 <= successes < trials, else ``below`` or ``beyond``."""
    k, n = np.floor(np.asarray(successes, np.float64)), np.asarray(trials, np.float64)
    inside = function(np.maximum(k, 0) + 1, np.maximum(n - k, 1), chance)
    return np.asarray(np.where(k < 0, below, np.where(k >= n, beyond, inside)))
