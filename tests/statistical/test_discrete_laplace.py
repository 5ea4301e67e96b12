"""Samples of discrete Laplace noise agree with the stated distribution.

The bits are seeded, so no test flakes; with fresh bits a correct sampler fails a test with probability 1e-9.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from plausible import FALSE_ALARM
from random_words import seeded_bits
from scipy.stats import binomtest, chisquare

from duckdb_priv.mechanism.discrete_laplace import _bernoulli_exp, laplace_count

SAMPLES = 300_000

Integers = NDArray[np.int64]


def goodness_of_fit(noise: Integers, epsilon: float) -> float:
    """Return the p-value of a chi-squared test against the discrete Laplace distribution."""
    reach = int(np.floor(np.log(len(noise) * np.tanh(epsilon / 2) / 20) / epsilon))
    values = np.arange(-reach, reach + 1)
    share = np.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(values))
    tail = np.exp(-epsilon * (reach + 1)) / (1 + np.exp(-epsilon))
    observed = np.array(
        [
            (noise < -reach).sum(),
            *(np.bincount(noise[np.abs(noise) <= reach] + reach)),
            (noise > reach).sum(),
        ]
    )
    return float(chisquare(observed, len(noise) * np.array([tail, *share, tail])).pvalue)


@pytest.mark.parametrize("epsilon", [0.03, 0.1, 1 / 3, 1.0, 2.0, 2.7])
def test_distribution(epsilon: float) -> None:
    noise = laplace_count(np.zeros(SAMPLES, int), epsilon, seeded_bits(11))
    assert goodness_of_fit(noise, epsilon) > FALSE_ALARM


def test_a_rounded_float_sample_would_be_caught() -> None:
    rounded = np.round(np.random.default_rng(5).laplace(0, 1, SAMPLES)).astype(np.int64)
    assert goodness_of_fit(rounded, 1.0) < FALSE_ALARM


def test_an_epsilon_three_percent_off_would_be_caught() -> None:
    noise = laplace_count(np.zeros(SAMPLES, int), 1.03, seeded_bits(11))
    assert goodness_of_fit(noise, 1.0) < FALSE_ALARM


@pytest.mark.parametrize(("u", "t"), [(0, 8), (1, 8), (5, 8), (7, 8), (1, 1), (2**61, 2**62)])
def test_noise_of_probability_exp(u: int, t: int) -> None:
    random_bits = _bernoulli_exp(np.full(SAMPLES, u), t, seeded_bits(12))
    assert binomtest(int(random_bits.sum()), SAMPLES, np.exp(-u / t)).pvalue > FALSE_ALARM


def test_large_noise_has_the_right_quantiles() -> None:
    """Single large values are too rare to test, so the test checks the shares beyond ``ln 2`` and ``ln 10`` scales."""
    epsilon = 2.0**-20
    noise = np.abs(laplace_count(np.zeros(SAMPLES, int), epsilon, seeded_bits(13)))
    for share in (0.5, 0.1):
        beyond = int((noise > -np.log(share) / epsilon).sum())
        assert binomtest(beyond, SAMPLES, share).pvalue > FALSE_ALARM
