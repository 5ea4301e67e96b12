"""The exponential mechanism in exact arithmetic: choose an index with probability proportional to exp(rate * score).

Floats would round probabilities, and could round one to 0 that is positive for a neighbouring table. This module draws
and compares integers instead. Derivation: ``exponential_mechanism.md`` beside this file. Sources:
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
    """Draw an index: i has a probability exactly proportional to ``exp(rate * scores[i])``.

    ``random_word`` returns 64 independent uniform bits as an integer; for a publication they must come from a secure
    source. The function draws an index uniformly and accepts it with probability ``exp(rate * (score - best score))``.
    It needs at most ``len(scores)`` draws on average. It uses integers only, so no probability is rounded or becomes
    zero. ``lattice.md`` says with which rate the choice is private.

    >>> import secrets
    >>> exponential_mechanism(np.array([3, 900, 3]), Fraction(1), lambda: secrets.randbits(64))
    1
    """
    if not np.issubdtype(scores.dtype, np.integer) or len(scores) == 0:
        raise InvalidParameter(
            f"the exponential mechanism needs at least one integer score, got {len(scores)} of type {scores.dtype}",
            hint="multiply the scores and divide the rate by a common denominator",
        )
    best = int(scores.max())
    while True:
        index = _uniform_below(len(scores), random_word)
        if _accept(rate * (best - int(scores[index])), random_word):
            return index


def _accept(exponent: Fraction, random_word: Callable[[], int]) -> bool:
    """Return True with probability exactly ``exp(-exponent)``: one trial per whole unit, and one for the rest."""
    whole = math.floor(exponent)
    units = (_accept_unit(Fraction(1), random_word) for _ in range(whole))
    return all(units) and _accept_unit(exponent - whole, random_word)


def _accept_unit(x: Fraction, random_word: Callable[[], int]) -> bool:
    """Return True with probability exactly ``exp(-x)``, for x in [0, 1].

    Trials with success probabilities x/1, x/2, x/3, ... run until one fails. The first n all succeed with probability
    x**n / n!, so the number of the failing trial is odd with probability exp(-x).
    """
    trial = 1
    while _uniform_below(x.denominator * trial, random_word) < x.numerator:
        trial += 1
    return trial % 2 == 1


def _uniform_below(bound: int, random_word: Callable[[], int]) -> int:
    """Draw a uniform integer in [0, bound), by rejection: draw bits again until their number is below ``bound``."""
    bits = (bound - 1).bit_length()
    while True:
        number = 0
        for _ in range(-(-bits // 64)):
            number = number << 64 | random_word()
        number &= (1 << bits) - 1
        if number < bound:
            return number
