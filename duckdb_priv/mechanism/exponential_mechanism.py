"""The exponential mechanism in exact arithmetic: a choice with probability exp(rate * score).

Floats would round probabilities, and give 0 to choices that a neighbouring table makes possible; here
integers are drawn and compared. Derivation: ``exponential_mechanism.md`` beside this file. Sources:
McSherry and Talwar, "Mechanism design via differential privacy" (FOCS 2007); Canonne, Kamath, Steinke,
"The discrete Gaussian for differential privacy" (NeurIPS 2020), algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Integers


def exponential_mechanism(scores: Integers, rate: Fraction, random_word: Callable[[], int]) -> int:
    """Return an index, index i with probability proportional to ``exp(rate * scores[i])``, exactly.

    random_word returns 64 independent uniform bits as an integer, from a secure source when
    anything is published. An index is drawn uniformly and accepted with probability
    ``exp(rate * (score - best score))``, in integers only: no float rounds a probability, and none
    is ever zero. Expects at most ``len(scores)`` draws. With integer scores and a rate from
    :meth:`~duckdb_priv.mechanism.lattice.Quality.rate` the choice is differentially private.

    >>> import secrets
    >>> exponential_mechanism(np.array([3, 900, 3]), Fraction(1), lambda: secrets.randbits(64))
    1
    """
    if not np.issubdtype(scores.dtype, np.integer) or len(scores) == 0:
        raise InvalidParameter(
            f"the exponential mechanism needs integer scores, got {len(scores)} of {scores.dtype}",
            hint="multiply the scores and divide the rate by a common denominator",
        )
    best = int(scores.max())
    while True:
        index = _uniform_below(len(scores), random_word)
        if _accept(rate * (best - int(scores[index])), random_word):
            return index


def _accept(exponent: Fraction, random_word: Callable[[], int]) -> bool:
    """Return True with probability ``exp(-exponent)``, exactly: one trial for each whole unit."""
    whole = math.floor(exponent)
    units = (_accept_unit(Fraction(1), random_word) for _ in range(whole))
    return all(units) and _accept_unit(exponent - whole, random_word)


def _accept_unit(x: Fraction, random_word: Callable[[], int]) -> bool:
    """Return True with probability ``exp(-x)`` for x in [0, 1], exactly.

    Trials with probabilities x/1, x/2, x/3, ... until one fails: the first n all succeed with
    probability x**n / n!, so the number of the failing one is odd with probability exp(-x).
    """
    trial = 1
    while _uniform_below(x.denominator * trial, random_word) < x.numerator:
        trial += 1
    return trial % 2 == 1


def _uniform_below(bound: int, random_word: Callable[[], int]) -> int:
    """Return a uniform integer in [0, bound): the lowest bits of enough words, until one fits."""
    bits = (bound - 1).bit_length()
    while True:
        number = 0
        for _ in range(-(-bits // 64)):
            number = number << 64 | random_word()
        number &= (1 << bits) - 1
        if number < bound:
            return number
