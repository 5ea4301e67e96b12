"""Exact tails against golden numbers, full enumeration and independent convolutions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism import tails as tails_module
from duckdb_priv.mechanism.tails import tails
from duckdb_priv.mechanism.uniform import Uniform


@pytest.mark.parametrize(
    ("p", "size", "count", "upper", "lower"),
    [
        # Groups as large as the paper's threshold allows: promised delta .30, .30, .30, .46, …
        (0.5, 122, 61, 0.01013, 0.01162),
        (0.5, 363, 73, 0.01993, 0.01782),
        (0.7, 81, 40, 0.00089, 0.00368),
        (0.5, 78, 39, 0.03058, 0.03982),
        (0.5, 199, 100, 0.00190, 0.00282),
        (0.5, 57, 57, 0.00790, 0.00817),
    ],
)
def test_golden(p: float, size: int, count: int, upper: float, lower: float) -> None:
    found = tails(size, count, Uniform(p, 14), epsilon=0.3)
    assert found.upper == pytest.approx(upper, abs=5e-6)
    assert found.lower == pytest.approx(lower, abs=5e-6)


def test_first_group_size_that_fails() -> None:
    """Half of each group holds the value; the tails jump, so failing is not monotone in size."""
    size = np.arange(1, 200)
    count = np.round(size / 2).astype(np.int64)
    occurs = count > 0
    size, count = size[occurs], count[occurs]
    worst = np.minimum(*tails(size, count, Uniform(0.5, 14), epsilon=0.3))
    for delta, first in ((0.05, 63), (0.14, 19), (0.22, 3), (0.30, 3)):
        assert size[worst < delta][0] == first
    assert (worst[size > 63] >= 0.05).any()


def test_an_estimate_on_the_limit_does_not_exceed_it() -> None:
    """At the largest epsilon the lower limit is the estimate of no observed record at all."""
    upper, lower = tails(4, 2, Uniform(0.5, 14), epsilon=8 / 7)
    assert lower == 0
    assert upper == pytest.approx(0.020767713973344)


def rational_tails(
    size: int, count: int, published: int, p: Fraction, m: int, epsilon: Fraction
) -> tuple[Fraction, Fraction]:
    """Sum over every outcome of every coin, in rational arithmetic."""
    q = (1 - p) / m
    share = Fraction(count * published, size)
    floor = share.numerator // share.denominator
    f = Fraction(count, size)
    upper = lower = Fraction(0)
    for held, chance in ((floor, 1 - (share - floor)), (floor + 1, share - floor)):
        if chance == 0:
            continue
        show = [p + q] * held + [q] * (published - held)
        for outcome in product((0, 1), repeat=published):
            weight = chance
            for shown, probability in zip(outcome, show, strict=True):
                weight *= probability if shown else 1 - probability
            error = ((sum(outcome) - published * q) / (p * published) - f) / f
            upper += weight * (error > epsilon)
            lower += weight * (error < -epsilon)
    return upper, lower


@pytest.mark.parametrize(
    ("size", "count", "published"),
    [(1, 1, 1), (3, 2, 3), (6, 1, 6), (6, 6, 6), (7, 3, 4), (50, 1, 5), (9, 9, 2), (10, 4, 5)],
)
def test_equals_the_sum_over_all_draws(size: int, count: int, published: int) -> None:
    p, epsilon = Fraction(1, 2), Fraction(1, 4)
    found = tails(size, count, Uniform(float(p), 4), float(epsilon), published)
    exact = rational_tails(size, count, published, p, 4, epsilon)
    assert [float(v) for v in found] == pytest.approx([float(v) for v in exact], abs=1e-15)


def test_equals_the_convolution_for_larger_groups() -> None:
    rng = np.random.default_rng(7)
    operator, epsilon = Uniform(0.3, 5), 0.15
    size = rng.integers(1, 3000, 40)
    count = rng.integers(1, size + 1)
    found = tails(size, count, operator, epsilon)
    for n, k, upper, lower in zip(size, count, found.upper, found.lower, strict=True):
        mass = np.convolve(
            binom.pmf(np.arange(k + 1), k, operator.own),
            binom.pmf(np.arange(n - k + 1), n - k, operator.other),
        )
        estimate = (np.arange(n + 1) - n * operator.other) / operator.retention
        assert upper == pytest.approx(mass[estimate > k * (1 + epsilon) + 1e-9].sum(), abs=1e-13)
        assert lower == pytest.approx(mass[estimate < k * (1 - epsilon) - 1e-9].sum(), abs=1e-13)


def test_a_hundred_million_records_are_close_to_normal() -> None:
    operator, size, count = Uniform(0.5, 14), 10**8, 3 * 10**7
    a, q = operator.own, operator.other
    sd = np.sqrt(count * a * (1 - a) + (size - count) * q * (1 - q)) / operator.retention
    upper, lower = tails(size, count, operator, epsilon=2 * sd / count)
    assert upper == pytest.approx(norm.sf(2), rel=1e-3)
    assert lower == pytest.approx(norm.sf(2), rel=1e-3)


def test_the_paper_s_threshold_leaves_a_tail_that_no_epsilon_saves() -> None:
    """At |g| = s of equation (10) the tail is about Φ(-√(2 ln(1/δ) w/v)), whatever epsilon is."""
    operator, delta = Uniform(0.5, 14), 0.3
    a, q = operator.own, operator.other
    for f in (0.2, 0.5, 1.0):
        w, v = f * operator.retention + q, f * a * (1 - a) + (1 - f) * q * (1 - q)
        normal = norm.cdf(-np.sqrt(2 * np.log(1 / delta) * w / v))
        epsilon = 0.01
        size = int(-2 * np.log(delta) * w / (epsilon * operator.retention * f) ** 2)
        found = tails(size, round(size * f), operator, epsilon)
        assert found.upper == pytest.approx(normal, rel=0.1)
        assert found.upper < 0.1 * delta


def test_a_sample_hides_more_than_its_group() -> None:
    operator = Uniform(0.5, 14)
    whole = tails(1000, 300, operator, 0.3)
    sample = tails(1000, 300, operator, 0.3, published=57)
    assert min(sample) > 100 * max(whole)


def test_broadcasts_and_does_not_depend_on_how_sums_are_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator = Uniform(0.4, 3)
    size, count = np.array([[5], [80], [700]]), np.array([1, 2, 5])
    together = tails(size, count, operator, 0.2)
    assert together.upper.shape == (3, 3)
    monkeypatch.setattr(tails_module, "TERMS_AT_ONCE", 7)
    cut = tails(size, count, operator, 0.2)
    np.testing.assert_array_equal(together, cut)
    alone = tails(80, 5, operator, 0.2)
    assert (together.upper[1, 2], together.lower[1, 2]) == (alone.upper, alone.lower)
    assert tails(np.array([], int), np.array([], int), operator, 0.2).upper.shape == (0,)


def test_large_groups_are_reconstructed_well_and_small_ones_badly() -> None:
    operator = Uniform(0.5, 14)
    upper, lower = tails([20, 2000], [10, 1000], operator, 0.3)
    assert upper[0] + lower[0] > 0.2
    assert upper[1] + lower[1] < 1e-10


@pytest.mark.parametrize(
    ("size", "count", "epsilon", "published"),
    [
        (5, 0, 0.3, None),
        (5, 6, 0.3, None),
        (0, 0, 0.3, None),
        (5, 3, 0.0, None),
        (5, 3, float("nan"), None),
        (5, 3, 0.3, 6),
        (5, 3, 0.3, 0),
        (5.0, 3, 0.3, None),
    ],
)
def test_refuses(size: int, count: int, epsilon: float, published: int | None) -> None:
    with pytest.raises(InvalidParameter):
        tails(size, count, Uniform(0.5, 14), epsilon, published)
