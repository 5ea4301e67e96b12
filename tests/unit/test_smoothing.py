"""Smoothed counts: closer to the truth where counts are small, never much worse where they are large."""

import numpy as np
import pytest
from reference.smoothing import LARGEST_MOVE, smoothed_counts

from duckdb_priv.mechanism.uniform import Uniform


def simulate(true, totals, operator, random):
    """Estimates of true counts from one perturbation, with their variances and slopes."""
    own, other = operator.own, operator.other
    shown = random.binomial(true, own) + random.binomial(totals - true, other)
    gap = own - other
    estimates = (shown - totals * other) / gap
    variances = (shown * (1 - other) ** 2 + (totals - shown) * other**2) / gap**2 - estimates
    slope = (own * (1 - own) - other * (1 - other)) / gap**2
    return estimates, variances, np.full(len(true), slope)


def gains(rates, totals, operator, runs=40):
    """Root mean squared error of the unbiased estimates over that of the smoothed ones, by size of count."""
    random = np.random.default_rng(11)
    errors = {}
    for _ in range(runs):
        true = random.binomial(totals, rates)
        estimates, variances, slopes = simulate(true, totals, operator, random)
        share = estimates.sum() / totals.sum()
        smoothed = smoothed_counts(estimates, variances, slopes, totals, share)
        for name, these in (("small", true <= 100), ("large", true > 500)):
            plain, better = errors.setdefault(name, ([], []))
            plain.append((estimates - true)[these] ** 2)
            better.append((smoothed - true)[these] ** 2)
    return {
        name: np.sqrt(np.concatenate(plain).mean() / np.concatenate(better).mean())
        for name, (plain, better) in errors.items()
    }


def test_small_counts_gain_and_large_ones_lose_nothing():
    """A skewed world: most cells hold hardly any, a few hold many, and the model knows nothing of that."""
    random = np.random.default_rng(3)
    totals = random.integers(500, 8000, size=300)
    rates = np.minimum(random.lognormal(-5, 0.9, size=300), 0.5)
    found = gains(rates, totals, Uniform(0.14, 50))
    assert found["small"] > 1.5
    assert found["large"] > 0.93


def test_equal_cells_become_equal():
    totals = np.full(200, 1000)
    estimates, variances, slopes = simulate(
        np.full(200, 20), totals, Uniform(0.3, 20), np.random.default_rng(1)
    )
    smoothed = smoothed_counts(estimates, variances, slopes, totals, 0.02)
    assert np.std(smoothed) < 0.35 * np.std(estimates)


def test_no_estimate_is_moved_further_than_its_limit():
    random = np.random.default_rng(5)
    totals = random.integers(100, 3000, size=500)
    true = random.binomial(totals, random.beta(0.3, 2, size=500))
    estimates, variances, slopes = simulate(true, totals, Uniform(0.2, 10), random)
    smoothed = smoothed_counts(estimates, variances, slopes, totals, true.sum() / totals.sum())
    assert ((smoothed >= 0) & (smoothed <= totals)).all()
    inside = np.clip(estimates, 0, totals)
    error = np.sqrt(variances + slopes * (inside - estimates))
    assert (np.abs(smoothed - inside) <= LARGEST_MOVE * error + 1e-9).all()
    clear = estimates > 10 * error
    assert clear.sum() > 20
    assert (np.abs(smoothed - estimates)[clear] <= 0.008 * error[clear]).all()


@pytest.mark.parametrize("share", [-0.01, 0.0, 1.0, 1.2])
def test_a_share_outside_of_its_range_is_read_as_its_end(share):
    assert smoothed_counts([5.0], [4.0], [0.1], [50.0], share).tolist() == (
        smoothed_counts([5.0], [4.0], [0.1], [50.0], min(max(share, 0.0), 1.0)).tolist()
    )


def test_no_noise_moves_nothing():
    smoothed = smoothed_counts([0.0, 7.0], [0.0, 0.0], [0.0, 0.0], [10.0, 10.0], 0.35)
    assert smoothed == pytest.approx([0, 7], abs=1e-9)
