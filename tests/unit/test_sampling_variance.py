"""Means and variances of the estimate under sampling, scaling and duplicating."""

from __future__ import annotations

import numpy as np
import pytest
from reference.duplicated_sample import duplicated_variance, paper_moments
from scipy.stats import binom

from duckdb_priv.mechanism.sampling_variance import perturbed_variance, weighted_variance
from duckdb_priv.mechanism.uniform import Uniform

GOLDEN = [
    # counts, value, published, retention, domain size, the paper's mean and variance,
    # variance of duplicates at a constant factor, variance without sampling
    ([5, 15], 0, 15, 0.5, 2, 4.991071, 23.5406, 23.6667, 15),
    ([5, 15], 1, 15, 0.5, 2, 15.008929, 25.1892, 25.3333, 15),
    ([100, 200, 700], 2, 40.7, 0.5, 14, 700.031727, 18206.98, 18291.86, 737.755),
    ([30, 40], 1, 50, 0.4, 10, 40.000960, 121.298, 121.541, 72.675),
    ([3, 2, 1], 0, 0.6, 0.5, 5, 1.542, 17.006, 60.60, 3.96),
]


@pytest.mark.parametrize(
    ("counts", "value", "s", "p", "m", "mean", "paper", "duplicated", "perturbed"), GOLDEN
)
def test_golden(
    counts: list[int],
    value: int,
    s: float,
    p: float,
    m: int,
    mean: float,
    paper: float,
    duplicated: float,
    perturbed: float,
) -> None:
    operator, size = Uniform(p, m), sum(counts)
    found = paper_moments(counts, value, s, operator)
    assert found.mean == pytest.approx(mean, abs=1e-6)
    assert found.variance == pytest.approx(paper, rel=3e-5)
    assert duplicated_variance(size, counts[value], s, operator) == pytest.approx(
        duplicated, rel=3e-6
    )
    assert perturbed_variance(size, counts[value], operator) == pytest.approx(perturbed, rel=1e-6)


def test_example_5_15_is_not_the_guarantee_that_the_paper_reads_into_it() -> None:
    """Of 5 and 15 records, 15 are to be sampled: 3.75 and 11.25, each rounded by its own coin."""
    more_than_15 = 0.75 * 0.25
    assert more_than_15 == 0.1875
    assert paper_moments([5, 15], 0, 15, Uniform(0.5, 2)).mean < 5


def test_an_empty_sample_biases_the_paper_s_estimate() -> None:
    assert paper_moments([3, 2, 1], 0, 0.6, Uniform(0.5, 5)).mean - 3 == pytest.approx(-1.458)


def test_weights_cost_less_than_duplicates_and_nothing_without_sampling() -> None:
    operator = Uniform(0.5, 14)
    size, count = np.array([100, 400, 77]), np.array([10, 399, 7])
    np.testing.assert_allclose(
        weighted_variance(size, count, size, operator), perturbed_variance(size, count, operator)
    )
    weighted = weighted_variance(size, count, 57, operator)
    duplicated = duplicated_variance(size, count, 57, operator)
    assert (weighted < duplicated).all()
    # The part of the draws in the perturbation's variance is largest at 4/3 duplicates: 12.5%.
    worst = duplicated_variance(76, 0, 57, operator) / weighted_variance(76, 0, 57, operator)
    assert worst == pytest.approx(1.125)


def test_weighted_variance_is_that_of_the_enumerated_estimate() -> None:
    operator, size, count, s = Uniform(0.3, 5), 23, 9, 7
    share = count * s / size
    weight, floor = size / s, int(share)
    chances, values = [], []
    for held, chance in ((floor, 1 - share + floor), (floor + 1, share - floor)):
        own = binom.pmf(np.arange(held + 1), held, operator.own)
        others = binom.pmf(np.arange(s - held + 1), s - held, operator.other)
        chances.append(chance * np.convolve(own, others))
        values.append(weight * (np.arange(s + 1) - s * operator.other) / operator.retention)
    probability, estimate = np.concatenate(chances), np.concatenate(values)
    mean = probability @ estimate
    assert mean == pytest.approx(count)
    assert weighted_variance(size, count, s, operator) == pytest.approx(
        probability @ (estimate - mean) ** 2
    )
