"""Exact tails of a reconstruction: the probabilities that an estimate has a relative error above epsilon.

``count`` of ``size`` records hold a value. After perturbation, ``O`` records show it. ``O`` is the sum of two
independent binomials: ``count`` trials with probability a, and the other records with q. The estimate is too high by
more than the factor epsilon if ``O`` exceeds ``n q + p count (1 + epsilon)``. It is too low if ``O`` is below
``n q + p count (1 - epsilon)``. Both probabilities are sums over all terms, without a bound or a normal approximation.
Derivation: ``tails.md`` beside this file.

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", definition 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Floats, Integers
from duckdb_priv.mechanism.uniform import Uniform

TIE = 1e-9
"""An estimate that exceeds the limit by at most this many records counts as equal to the limit."""
TERMS_AT_ONCE = 1 << 18
"""Terms of the sums that are in memory together, about 10 MB."""


class Tails(NamedTuple):
    """Probabilities that an estimate F' of the frequency f has a relative error above epsilon."""

    upper: Floats
    """Pr[(F' - f) / f > epsilon]."""
    lower: Floats
    """Pr[(F' - f) / f < -epsilon]."""


def tails(
    size: ArrayLike,
    count: ArrayLike,
    operator: Uniform,
    epsilon: float,
    published: ArrayLike | None = None,
) -> Tails:
    """Return both exact tails for groups of ``size`` records, ``count`` of which hold the value.

    ``size`` and ``count`` are arrays of whole numbers that broadcast, with ``1 <= count <= size``: a value that does
    not occur has no relative error. ``published`` is the number of records of the group that are published, by default
    all. If fewer are published, they are a sample with ``floor`` or ``ceil`` of ``count * published / size`` records of
    the value, and that many on average. The tails then include both sampling and perturbation. The absolute error is
    below 1e-14. Raises InvalidParameter for other numbers.

    According to the paper's threshold, 122 records are (0.3, 0.3)-private. They are not:

    >>> operator = Uniform(retention=0.5, domain_size=14)
    >>> upper, lower = tails(122, 61, operator, epsilon=0.3)
    >>> round(float(upper), 5), round(float(lower), 5)
    (0.01013, 0.01162)
    """
    sizes, counts, rows = np.broadcast_arrays(
        _whole(size), _whole(count), _whole(size if published is None else published)
    )
    if ((counts < 1) | (counts > sizes) | (rows < 1) | (rows > sizes)).any():
        raise InvalidParameter(
            "count and published must both be at least 1 and at most size",
            hint="leave out values that do not occur in the group",
        )
    require_error(epsilon)
    held, rest = np.divmod(counts * rows, sizes)
    part = rest / sizes
    centre = rows * operator.other
    signal = operator.retention * (held + part)
    above = np.floor(centre + signal * (1 + epsilon) + TIE).astype(np.int64)
    below = np.ceil(centre + signal * (1 - epsilon) - TIE).astype(np.int64)
    fewer = _perturbed_tails(rows, held, above, below, operator)
    more = (
        _perturbed_tails(rows, held + (rest > 0), above, below, operator) if rest.any() else fewer
    )
    return Tails(
        (1 - part) * fewer.upper + part * more.upper, (1 - part) * fewer.lower + part * more.lower
    )


def require_error(epsilon: float) -> None:
    """Raise InvalidParameter unless a relative error is positive and finite."""
    if not 0 < epsilon < np.inf:
        raise InvalidParameter(
            f"epsilon must be positive and finite, got {epsilon}", hint="0.3 is usual"
        )


def _perturbed_tails(
    rows: Integers, held: Integers, above: Integers, below: Integers, operator: Uniform
) -> Tails:
    """Return Pr[O > above] and Pr[O < below] if ``held`` of ``rows`` records hold the value."""
    shape = rows.shape
    cases, position = np.unique(
        np.stack([rows.ravel(), held.ravel(), above.ravel(), below.ravel()]),
        axis=1,
        return_inverse=True,
    )
    rows, held, above, below = cases
    # The sum is over the binomial with fewer trials. Given its successes, the tail of the other one is known.
    own_is_short = 2 * held <= rows
    trials = np.where(own_is_short, held, rows - held)
    others = rows - trials
    success = np.where(own_is_short, operator.own, operator.other)
    chance = np.where(own_is_short, operator.other, operator.own)
    # By Hoeffding, values farther than sqrt(20 trials) from the mean have probability 2 exp(-40), below 1e-17.
    reach = np.sqrt(20.0 * trials)
    first = np.maximum(np.floor(trials * success - reach), 0).astype(np.int64)
    last = np.minimum(np.ceil(trials * success + reach), trials).astype(np.int64)
    terms = last - first + 1
    sums = np.empty((2, len(terms)))
    chunk = np.cumsum(terms) // TERMS_AT_ONCE
    for cases in np.split(np.arange(len(terms)), np.flatnonzero(np.diff(chunk)) + 1):
        begins = np.cumsum(terms[cases]) - terms[cases]
        case = np.repeat(cases, terms[cases])
        successes = np.arange(len(case)) + np.repeat(first[cases] - begins, terms[cases])
        mass = binom.pmf(successes, trials[case], success[case])
        upper = mass * binom.sf(above[case] - successes, others[case], chance[case])
        lower = mass * binom.cdf(below[case] - 1 - successes, others[case], chance[case])
        sums[:, cases] = np.add.reduceat(np.stack([upper, lower]), begins, axis=1)
    upper, lower = sums[:, position.ravel()]
    return Tails(upper.reshape(shape), lower.reshape(shape))


def _whole(numbers: ArrayLike) -> Integers:
    given = np.asarray(numbers)
    if not np.issubdtype(given.dtype, np.integer):
        raise InvalidParameter(
            f"numbers of records must be whole, got an array of {given.dtype}",
            hint="pass integers; a frequency is count / size",
        )
    return given.astype(np.int64)
