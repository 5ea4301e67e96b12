"""Discrete Laplace noise, sampled exactly: whole numbers in, whole numbers out, no float between.

``Pr[Z = z]`` is proportional to ``exp(-epsilon |z|)``. A Laplace sample that was computed in floats
and rounded leaks through the gaps between floats (Mironov, 2012); here every probability is a
ratio of integers and every coin is tossed with whole random bits, so the distribution is the
stated one and not close to it. Derivation: ``discrete_laplace.md`` beside this file.

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
"""Returns as many words of 64 uniform bits as it is asked for."""

PRECISION = 2**62
"""Epsilon is used in multiples of 1 / PRECISION: every float from 2**-10 on is one exactly."""
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

    A count that changes by at most 1 when a record comes or goes is published
    epsilon-differentially private so. Standard deviation close to ``sqrt(2) / epsilon``. An epsilon
    below 2**-10 is rounded down, by less than 2**-62. Raises InvalidParameter for counts that are
    not whole or reach 2**53, and for epsilon outside [2**-32, 64].

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
            "noise is added to whole numbers below 2**53 only",
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
    """Return ``size`` samples with Pr[z] proportional to exp(-|z| s / t); t is a power of 2."""
    samples = np.zeros(size, dtype=np.int64)
    pending = np.arange(size)
    while len(pending):
        # The magnitude X = U + t V is geometric with ratio exp(-1 / t): V with ratio exp(-1), and
        # U in 0 … t - 1 with weight exp(-U / t).
        u = (bits(len(pending)) & np.uint64(t - 1)).astype(np.int64)
        v = _geometric(len(pending), bits)
        # floor(X / s), split so that no product exceeds 63 bits.
        magnitude = v * (t // s) + (u + v * (t % s)) // s
        negative = (bits(len(pending)) & np.uint64(1)).astype(bool)
        # Zero has one sign only.
        accepted = _bernoulli_exp(u, t, bits) & ~(negative & (magnitude == 0))
        samples[pending[accepted]] = np.where(negative, -magnitude, magnitude)[accepted]
        pending = pending[~accepted]
    return samples


def _geometric(size: int, bits: Bits) -> Integers:
    """Return how often a coin with probability exp(-1) succeeds before its first failure."""
    successes = np.zeros(size, dtype=np.int64)
    pending = np.arange(size)
    while len(pending):
        pending = pending[_bernoulli_exp(np.ones(len(pending), dtype=np.int64), 1, bits)]
        successes[pending] += 1
    return successes


def _bernoulli_exp(u: Integers, t: int, bits: Bits) -> NDArray[np.bool_]:
    """Return coins that succeed with probability exp(-u / t), ``0 <= u <= t``, t a power of 2.

    Toss coins of probability u/t, u/2t, u/3t, … until one fails: the number of tosses is odd with
    exactly that probability (the alternating series of exp).
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
    """Return uniform whole numbers below ``bound``."""
    limit = np.uint64(2**64 - 2**64 % bound - 1)
    words = np.array(bits(size))
    while (biased := words > limit).any():
        words[biased] = bits(int(biased.sum()))
    return words % np.uint64(bound)
