"""Tails of the binomial distribution, from the incomplete beta function.

``scipy.stats`` has them too, and takes longer to import than a small publication takes. So does ``scipy.special``,
which is loaded at the first call: where nothing agrees, nothing is computed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.mechanism.arrays import Floats


def cdf(successes: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> Floats:
    """Return the probability of at most so many successes; all arguments broadcast.

    >>> cdf([-1, 0, 1, 2], 2, 0.5)
    array([0.  , 0.25, 0.75, 1.  ])
    """
    from scipy.special import betaincc

    return _tail(betaincc, successes, trials, chance, below=0.0, beyond=1.0)


def sf(successes: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> Floats:
    """Return the probability of more successes than these, exact to a relative 1e-13 however small.

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
    """Return a tail, which the incomplete beta function gives for 0 <= successes < trials."""
    k, n = np.floor(np.asarray(successes, np.float64)), np.asarray(trials, np.float64)
    inside = function(np.maximum(k, 0) + 1, np.maximum(n - k, 1), chance)
    return np.asarray(np.where(k < 0, below, np.where(k >= n, beyond, inside)))
