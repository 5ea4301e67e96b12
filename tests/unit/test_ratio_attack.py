"""The ratio attack's tails, against enumeration and simulation."""

import numpy as np
import pytest

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.discrete_laplace import laplace_count
from duckdb_priv.mechanism.ratio_attack import ratio_tails


def test_tails_are_those_of_all_pairs_of_noise():
    n, k, budget, epsilon = 6, 3, 1.5, 0.4
    noise = np.arange(-40, 41)
    mass = np.exp(-budget * np.abs(noise)) * (1 - np.exp(-budget)) / (1 + np.exp(-budget))
    x, y = np.meshgrid(k + noise, n + noise)
    pairs = np.outer(mass, mass)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(y > 0, x / np.where(y > 0, y, 1), np.nan)
    upper, lower = ratio_tails(n, k, budget, epsilon)
    assert float(upper) == pytest.approx(pairs[ratio > k / n * (1 + epsilon) + 1e-9].sum())
    assert float(lower) == pytest.approx(pairs[ratio < k / n * (1 - epsilon) - 1e-9].sum())


def test_simulated_answers_agree():
    """Fixed bits; with others a correct mechanism fails with probability 1e-9."""
    rng = np.random.default_rng(7)

    def bits(words):
        return rng.integers(0, 2**64, words, dtype=np.uint64)

    runs, n, k = 40_000, 120, 80
    noisy = laplace_count(np.full((2, runs), [[k], [n]]), 0.1, bits)
    ratio = noisy[0] / noisy[1]
    upper, lower = ratio_tails(n, k, 0.1, 0.3)
    for seen, expected in ((ratio > 1.3 * k / n, upper), (ratio < 0.7 * k / n, lower)):
        p = float(expected)
        assert abs(seen.sum() - runs * p) < 6.1 * np.sqrt(runs * p * (1 - p))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((10, 0, 0.1, 0.3), "count must be at least 1 and at most size"),
        ((10, 11, 0.1, 0.3), "count must be at least 1 and at most size"),
        ((10, 5, 0, 0.3), "epsilon_dp"),
        ((10, 5, np.inf, 0.3), "epsilon_dp"),
        ((10, 5, 0.1, 0), "epsilon must be positive"),
    ],
)
def test_bad_input_is_refused(arguments, says):
    with pytest.raises(InvalidParameter, match=says):
        ratio_tails(*arguments)
