"""Discrete Laplace noise: what is exact about it, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from random_words import seeded_bits

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.discrete_laplace import _below, laplace_count, secure_bits


def test_adds_the_same_noise_to_any_count() -> None:
    counts = np.array([[0, 7], [-3, 2**52]])
    noise = laplace_count(np.zeros((2, 2), int), 0.5, seeded_bits(1))
    noisy = laplace_count(counts, 0.5, seeded_bits(1))
    np.testing.assert_array_equal(noisy - counts, noise)
    assert noisy.dtype == np.int64


def test_fresh_bits_every_time() -> None:
    assert (secure_bits(4) != secure_bits(4)).all()
    zeros = np.zeros(100, int)
    assert (laplace_count(zeros, 0.01) != laplace_count(zeros, 0.01)).any()


def test_no_count_and_a_single_one() -> None:
    assert laplace_count(np.array([], int), 1.0).shape == (0,)
    assert laplace_count(5, 1.0).shape == ()


@pytest.mark.parametrize("epsilon", [2.0**-32, 1e-4, 0.1, 1.0, 1.5, 64.0])
def test_all_of_the_valid_range_stays_within_64_bits(epsilon: float) -> None:
    noise = laplace_count(np.zeros(2000, int), epsilon, seeded_bits(2))
    # Beyond 40 scales lies a share of exp(-40) of the noise.
    assert np.abs(noise).max() <= 40 / epsilon
    assert epsilon > 1 or np.abs(noise).max() > 2 / epsilon


def test_bits_that_would_bias_a_draw_below_a_bound_are_redrawn() -> None:
    """64-bit words above the largest multiple of the bound must not be used."""
    asked: list[int] = []

    def bits(words: int) -> NDArray[np.uint64]:
        asked.append(words)
        # All ones first: below 3 and below any power of two they are a multiple short.
        return np.full(words, 2**64 - 1 if len(asked) == 1 else 0, dtype=np.uint64)

    assert _below(3, 2, bits).tolist() == [0, 0]
    assert asked == [2, 2]
    assert _below(4, 2, lambda words: np.full(words, 2**64 - 1, np.uint64)).tolist() == [3, 3]


@pytest.mark.parametrize("counts", [[0.5], [2**53], [-(2**53)], np.array([2**63], np.uint64)])
def test_refuses_counts_that_are_none(counts: object) -> None:
    with pytest.raises(InvalidParameter, match="whole numbers below"):
        laplace_count(counts, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e-12, 65.0, float("inf"), float("nan")])
def test_refuses_epsilon_outside_its_range(epsilon: float) -> None:
    with pytest.raises(InvalidParameter, match="epsilon must lie"):
        laplace_count([1], epsilon)
