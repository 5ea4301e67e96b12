"""Counts on a sample: exact coverage, exact expectations."""

import math

import numpy as np
import pytest
from reference.scaled_count import scaled_count
from scipy.stats import binom

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.sampling_variance import suppression_bias, suppression_variance


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scaled_count(5, 0.1, confidence=95), "confidence .* got 95"),
        (lambda: scaled_count([5, -1], 0.1), "negative or missing, got -1.0"),
    ],
)
def test_bad_input_is_refused_with_its_value(call, message):
    with pytest.raises(InvalidParameter, match=message) as refused:
        call()
    assert refused.value.hint


@pytest.mark.parametrize("beta", [0.01, 0.05, 0.1, 0.2, 0.5, 1 - math.exp(-1), 0.9, 0.95])
def test_the_interval_covers_true_counts_from_ten_up(beta):
    """Coverage summed exactly over all samples, at the nominal 95%."""
    for n in [*range(10, 120), 200, 333, 1000, 5000]:
        kept = np.arange(n + 1)
        count = scaled_count(kept, beta)
        covers = (count.low <= n) & (n <= count.high)
        assert binom.pmf(kept, n, beta)[covers].sum() >= 0.95, (n, beta)


def test_the_scaled_count_and_its_standard_error_are_unbiased():
    n, beta = 40, 0.3
    kept = np.arange(n + 1)
    chance, count = binom.pmf(kept, n, beta), scaled_count(kept, beta)
    assert chance @ count.estimate == pytest.approx(n)
    assert chance @ count.stderr**2 == pytest.approx(chance @ (count.estimate - n) ** 2)


def test_suppression_bias_is_the_missing_expectation():
    for n, k, beta in [(0, 3, 0.2), (1, 1, 0.2), (2, 3, 0.5), (30, 5, 0.2), (200, 20, 0.1)]:
        kept = np.arange(n + 1)
        published = np.where(kept >= k, kept, 0) @ binom.pmf(kept, n, beta)
        assert suppression_bias(n, k, beta) == pytest.approx(published / beta - n, abs=1e-12)


def test_suppression_variance_is_that_of_the_enumeration():
    for n, k, beta in [(1, 1, 0.2), (1, 2, 0.2), (2, 2, 0.5), (30, 5, 0.2), (200, 20, 0.1)]:
        kept = np.arange(n + 1)
        published = np.where(kept >= k, kept, 0) / beta
        chance = binom.pmf(kept, n, beta)
        spread = chance @ published**2 - (chance @ published) ** 2
        assert suppression_variance(n, k, beta) == pytest.approx(spread, abs=1e-9)
