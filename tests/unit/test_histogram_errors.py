"""The covariance of reconstructed histograms: exact by enumeration, or against draws with fixed seeds."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from plausible import FALSE_ALARM
from scipy.stats import chi2

from duckdb_priv.mechanism.decoy_batches import operator_of
from duckdb_priv.mechanism.decoy_groups import MixedGroups
from duckdb_priv.mechanism.decoy_variance import expected_errors, remaining_errors
from duckdb_priv.mechanism.histogram_errors import (
    HistogramErrors,
    Sampled,
    of_operator,
    of_samples,
    of_scales,
)
from duckdb_priv.mechanism.questions import ranges_gram, values_gram
from duckdb_priv.mechanism.sampling_variance import weighted_variance
from duckdb_priv.mechanism.uniform import Uniform


def group(held: list[int], taken: float) -> Sampled:
    """Describe one sampled group."""
    m = len(held)
    every = np.ones(m, np.int64)
    return Sampled(
        0 * every, np.arange(m), np.array(held), sum(held) * every, taken * every.astype(np.float64)
    )


def test_the_covariance_of_single_draws_is_that_of_all_outcomes() -> None:
    operator = np.array([[0.6, 0.2, 0.1], [0.3, 0.5, 0.3], [0.1, 0.3, 0.6]])
    weights, true = np.linalg.inv(operator), (0, 1, 2, 2)
    counts = np.bincount(true)
    covariance = np.zeros((3, 3))
    for shown in product(range(3), repeat=len(true)):
        chance = np.prod([operator[y, x] for y, x in zip(shown, true, strict=True)])
        error = weights[:, shown].sum(axis=1) - counts
        covariance += chance * np.outer(error, error)
    found = of_operator(operator, weights, counts)
    assert found.covariance == pytest.approx(covariance, rel=1e-12)
    gram = ranges_gram(3)
    assert found.of(gram) ** 2 == pytest.approx((gram * covariance).sum())
    assert found.of(values_gram(3)) ** 2 == pytest.approx((found.of_values() ** 2).mean())


def test_groups_of_different_scales_add_up() -> None:
    scales, histograms = [0.2, 1.5], np.array([[5, 0, 7, 1], [2, 3, 0, 4]])
    expected = 0.0
    for scale, true in zip(scales, histograms, strict=True):
        operator = Uniform(1 / (1 + 4 * scale), 4).matrix()
        expected = expected + of_operator(operator, np.linalg.inv(operator), true).covariance
    assert of_scales(scales, histograms).covariance == pytest.approx(expected, rel=1e-12)


def test_a_question_without_an_estimate_has_an_infinite_error() -> None:
    errors = HistogramErrors(np.eye(3), silent=(1,))
    assert errors.of(ranges_gram(3)) == np.inf
    assert errors.of(np.diag([1.0, 0.0, 1.0])) == pytest.approx(2**0.5)
    assert errors.of_values().tolist() == [1, np.inf, 1]


@pytest.mark.parametrize("held", [[5, 3, 2, 1], [7, 7, 1, 1, 3], [10, 1, 1, 1, 1], [6, 3]])
def test_samples_that_keep_frequencies(held: list[int]) -> None:
    """Over all orders of the values, and all starts: variances are exact, and ranges within a half."""
    m, size, taken = len(held), sum(held), 4
    covariance = np.zeros((m, m))
    orders = list(permutations(range(m)))
    for order in orders:
        upto = np.concatenate([[0], np.cumsum(np.array(held)[list(order)])]) * taken
        for start in range(size):
            sampled = np.zeros(m)
            sampled[list(order)] = np.diff((upto + size - 1 - start) // size)
            off = sampled * size / taken - held
            covariance += np.outer(off, off) / (size * len(orders))
    found = group(held, taken).noise_of_rounding(m)
    assert np.diagonal(found) == pytest.approx(np.diagonal(covariance), rel=1e-6)
    assert found.sum(axis=0) == pytest.approx(0, abs=1e-6)
    for low, high in [(a, b) for a in range(m) for b in range(a + 1, m + 1)]:
        exact = covariance[low:high, low:high].sum()
        assert found[low:high, low:high].sum() == pytest.approx(exact, rel=0.5, abs=1e-6)


def test_samples_and_noise_have_the_variance_of_the_single_counts() -> None:
    uniform, held = Uniform(0.4, 5), [30, 21, 9, 0, 3]
    operator = uniform.matrix()
    found = of_samples(operator, np.linalg.inv(operator), held, group(held, 11), copied=False)
    assert found.of_values() ** 2 == pytest.approx(weighted_variance(63, held, 11, uniform))


def test_the_copies_of_the_paper() -> None:
    """Against draws of its algorithm with a fixed seed, for single counts and a range."""
    rng, uniform = np.random.default_rng(7), Uniform(0.5, 4)
    held, taken, runs = np.array([120, 90, 60, 30]), 70.5, 4000
    share = held * taken / held.sum()
    sampled = np.floor(share) + (rng.random((runs, 4)) < share % 1)
    scale = held.sum() / sampled.sum(axis=1, keepdims=True)
    operator = uniform.matrix()
    shown = np.zeros((runs, 4))
    for value in range(4):
        rows = np.array([rng.multinomial(int(of), operator[:, value]) for of in sampled[:, value]])
        low = np.floor(scale)
        shown += low * rows + rng.binomial(rows, scale - low)
    estimate = (shown - shown.sum(axis=1, keepdims=True) * uniform.other) / uniform.retention
    weights = np.linalg.inv(operator)
    errors = of_samples(operator, weights, held, group(held.tolist(), taken), copied=True)
    for question in ([1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]):
        of = np.outer(question, question).astype(np.float64)
        squares = (((estimate - held) @ question) ** 2).sum() / errors.of(of) ** 2
        assert FALSE_ALARM < chi2.sf(squares, runs) < 1 - FALSE_ALARM


COUNTS = np.array([600, 552, 552, 369, 369, 183, 183, 192])
LEFT = np.array([60, 552, 552, 184, 369, 183, 183, 192])


@pytest.mark.parametrize("left", [COUNTS, LEFT], ids=["all", "left"])
def test_decoy_groups_whose_records_left(left: np.ndarray) -> None:
    """Against groups that are made and drawn with fixed seeds, for single counts, a range and a mean."""
    gamma, runs = 3, 250
    value = np.repeat(np.arange(8), COUNTS)
    rank = np.concatenate([np.arange(each) for each in COUNTS])
    estimates = []
    for run in range(runs):

        def words(stream: int, count: int, run: int = run) -> np.ndarray:
            return np.random.default_rng([run, stream]).integers(0, 2**64, count, dtype=np.uint64)

        plan = MixedGroups(COUNTS, gamma, words).block(0)
        shown = plan.publish(value, rank, words(9999, value.size))
        drawn, there = (
            np.bincount(each, minlength=8) for each in (shown, shown[rank < left[value]])
        )
        estimates.append(np.linalg.solve(operator_of(drawn, gamma), there))
    errors = remaining_errors(COUNTS, left, gamma)
    off = np.array(estimates) - left
    for question in (*np.eye(8)[[0, 3, 7]], [0, 0, 1, 1, 1, 1, 0, 0], range(8)):
        of = np.outer(question, question).astype(np.float64)
        squares = ((off @ np.array(question)) ** 2).sum() / errors.of(of) ** 2
        assert FALSE_ALARM < chi2.sf(squares, runs) < 1 - FALSE_ALARM


def test_decoy_groups_that_nobody_left_have_the_variance_of_the_whole_table() -> None:
    every = np.tile(COUNTS[:, None], 8)
    whole = expected_errors(COUNTS, 3, every, np.arange(8)).variance
    assert remaining_errors(COUNTS, COUNTS, 3).of_values() ** 2 == pytest.approx(whole, rel=1e-9)
    # As good as nobody: the same but for the approximation of what groups have on average.
    nearly = remaining_errors(COUNTS, COUNTS - 1e-6, 3).covariance
    exact = remaining_errors(COUNTS, COUNTS, 3).covariance
    assert nearly == pytest.approx(exact, rel=0.05, abs=5)
