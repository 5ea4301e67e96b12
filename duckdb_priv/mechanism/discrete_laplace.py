"""Exact sampling of discrete Laplace noise, in integer arithmetic.

``Pr[Z = z]`` is proportional to ``exp(-epsilon |z|)``. The gaps between floats in a rounded Laplace sample reveal the
true count (Mironov, 2012). Here every probability is a ratio of integers, and every coin compares random integers. So
the distribution is exactly the stated one. Derivation: ``discrete_laplace.md`` beside this file.

Source: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy" (2020),
algorithms 1 and 2, which build on von Neumann (1951) and Forsythe (1972).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Integers

Bits = Callable[[int], NDArray[np.uint64]]
"""A function that returns the given number of uniform 64-bit words."""

PRECISION = 2**62
"""Epsilon is rounded down to a multiple of 1 / PRECISION. Every float of at least 2**-10 is such a multiple."""
SMALLEST_EPSILON = 2.0**-32
LARGEST_EPSILON = 64.0


def secure_bits(words: int) -> NDArray[np.uint64]:
    """Return 64-bit words from the operating system's cryptographic generator.

    >>> secure_bits(3).shape
    (3,)
    """
    return np.frombuffer(secrets.token_bytes(8 * words), dtype=np.uint64)


def laplace_count(n: ArrayLike, epsilon: float, bits: Bits = secure_bits) -> Integers:
    """Return each count of ``n`` plus independent discrete Laplace noise of scale 1 / epsilon.

    The result is epsilon-differentially private if adding or removing a record changes a count by at most 1. The
    standard deviation is close to ``sqrt(2) / epsilon``. An epsilon below 2**-10 is rounded down, by less than 2**-62.
    Raises InvalidParameter for counts that are not whole or reach 2**53, and for epsilon outside [2**-32, 64].

    >>> noisy = laplace_count(np.full(1000, 100), epsilon=1.0)
    >>> noisy.dtype, bool(90 < noisy.mean() < 110)
    (dtype('int64'), True)
    """
    counts = np.asarray(n)
    if (
        not np.issubdtype(counts.dtype, np.integer)
        or ((counts <= -(2**53)) | (counts >= 2**53)).any()
    ):
        raise InvalidParameter(
            "noise can be added only to whole numbers below 2**53",
            hint="pass integer counts, not sums or averages",
        )
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise InvalidParameter(
            f"epsilon must lie between 2**-32 and 64, got {epsilon}",
            hint="0.01 to 1 is usual; above 64 nothing is hidden",
        )
    scale = Fraction(int(Fraction(epsilon) * PRECISION), PRECISION)
    noise = _discrete_laplace(counts.size, scale.numerator, scale.denominator, bits)
    return counts.astype(np.int64) + noise.reshape(counts.shape)


def _discrete_laplace(size: int, s: int, t: int, bits: Bits) -> Integers:
    """Draw ``size`` samples with Pr[z] proportional to exp(-|z| s / t); t is a power of 2."""
    samples = np.zeros(size, dtype=np.int64)
    pending = np.arange(size)
    while len(pending):
        # The magnitude X = U + t V is geometric with ratio exp(-1 / t): V is geometric with ratio exp(-1), and
        # U is in 0 … t - 1 with a probability proportional to exp(-U / t).
        u = (bits(len(pending)) & np.uint64(t - 1)).astype(np.int64)
        v = _geometric(len(pending), bits)
        # floor(X / s), split so that no product exceeds 63 bits.
        magnitude = v * (t // s) + (u + v * (t % s)) // s
        negative = (bits(len(pending)) & np.uint64(1)).astype(bool)
        # Negative zero is rejected, so that zero is not counted twice.
        accepted = _bernoulli_exp(u, t, bits) & ~(negative & (magnitude == 0))
        samples[pending[accepted]] = np.where(negative, -magnitude, magnitude)[accepted]
        pending = pending[~accepted]
    return samples


def _geometric(size: int, bits: Bits) -> Integers:
    """Draw how often a coin with probability exp(-1) succeeds before its first failure, ``size`` times."""
    successes = np.zeros(size, dtype=np.int64)
    pending = np.arange(size)
    while len(pending):
        pending = pending[_bernoulli_exp(np.ones(len(pending), dtype=np.int64), 1, bits)]
        successes[pending] += 1
    return successes


def _bernoulli_exp(u: Integers, t: int, bits: Bits) -> NDArray[np.bool_]:
    """Draw True with probability exp(-u / t), for each u; ``0 <= u <= t``, and t is a power of 2.

    Coins of probability u/t, u/2t, u/3t, … are tossed until one fails. The number of tosses is odd with exactly that
    probability (the alternating series of exp).
    """
    odd = np.zeros(len(u), dtype=bool)
    pending = np.arange(len(u))
    toss = 0
    while len(pending):
        toss += 1
        odd[pending] = toss % 2 == 1
        numerator = (bits(len(pending)) & np.uint64(t - 1)).astype(np.int64)
        pending = pending[(numerator < u[pending]) & (_below(toss, len(pending), bits) == 0)]
    return odd


def _below(bound: int, size: int, bits: Bits) -> NDArray[np.uint64]:
    """Draw ``size`` uniform integers below ``bound``."""
    limit = np.uint64(2**64 - 2**64 % bound - 1)
    words = np.array(bits(size))
    while (biased := words > limit).any():
        words[biased] = bits(int(biased.sum()))
    return words % np.uint64(bound)
