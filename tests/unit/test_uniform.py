"""Uniform perturbation: the operator, its integers, and the published golden numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.uniform import Uniform, amplification_gamma, max_retention

RETENTIONS = st.floats(1e-9, 1, exclude_max=True)
SIZES = st.integers(2, 10_000)


@pytest.mark.parametrize(("retention", "size"), [(0.5, 14), (0.2, 50), (0.9, 2), (0.01, 100)])
def test_the_operator_is_stochastic_symmetric_and_inverted_in_closed_form(retention, size):
    operator = Uniform(retention, size)
    matrix = operator.matrix()
    inverse = (np.eye(size) - operator.other) / retention
    assert matrix.sum(axis=0) == pytest.approx(1, abs=1e-12)
    assert np.array_equal(matrix, matrix.T)
    assert matrix @ inverse == pytest.approx(np.eye(size), abs=1e-12)
    assert inverse == pytest.approx(np.linalg.inv(matrix), abs=1e-9)
    assert sorted(np.linalg.eigvalsh(matrix)) == pytest.approx([retention] * (size - 1) + [1])


@given(RETENTIONS, SIZES)
def test_own_and_other_probabilities_fill_one(retention, size):
    operator = Uniform(retention, size)
    assert operator.own + (size - 1) * operator.other == pytest.approx(1)
    assert operator.amplification == pytest.approx(operator.own / operator.other)
    assert operator.ldp_epsilon == pytest.approx(math.log(operator.amplification))


@given(RETENTIONS, SIZES)
def test_the_integers_are_the_operator_up_to_one_part_in_two_to_the_64_per_value(retention, size):
    """Exactly: no word is left over, and rounding goes towards noise, never towards the truth."""
    keep, width = Uniform(retention, size).thresholds()
    assert keep + size * width == 2**64
    exact = Fraction(retention) * 2**64
    assert exact - size < keep <= exact


def test_a_share_of_the_words_below_the_threshold_would_be_lost_to_floating_point():
    """A double cannot tell 2**64 - 1 from 2**64, and the integers can."""
    keep, width = Uniform(0.5, 3).thresholds()
    assert (keep, width) == (2**63 - 1, (2**63 + 1) // 3)


@pytest.mark.parametrize("retention", [0, 1, -0.5, 1.5, math.nan, math.inf, 0.0, 1.0])
def test_a_retention_outside_its_bounds_is_refused_with_its_value(retention):
    with pytest.raises(InvalidParameter, match=f"strictly between 0 and 1, got {retention!r}"):
        Uniform(retention, 5)


@pytest.mark.parametrize("size", [1, 0, -3])
def test_a_domain_of_less_than_two_values_is_refused(size):
    with pytest.raises(InvalidParameter, match=f"at least 2 values, got {size}"):
        Uniform(0.5, size)


@pytest.mark.parametrize("retention", [1e-300, 5e-324, 2**-65])
def test_a_retention_that_64_bits_cannot_express_is_refused(retention):
    with pytest.raises(InvalidParameter, match="below the resolution of 64 bits"):
        Uniform(retention, 2).thresholds()


@pytest.mark.parametrize(
    ("rho1", "rho2", "gamma", "by_size"),
    [
        (0.1, 0.5, 9, {2: 0.8, 10: 0.4444444444, 14: 0.3636363636, 50: 0.1379310345}),
        (0.05, 0.5, 19, {2: 0.9, 10: 0.6428571429, 14: 0.5625, 50: 0.2647058824}),
        (0.2, 0.6, 6, {2: 0.7142857143, 10: 0.3333333333, 14: 0.2631578947, 50: 0.0909090909}),
        (0.01, 0.1, 11, {2: 0.8333333333, 10: 0.5, 14: 0.4166666667, 50: 0.1666666667}),
    ],
)
def test_the_largest_retention_of_the_paper(rho1, rho2, gamma, by_size):
    assert amplification_gamma(rho1, rho2) == pytest.approx(gamma, rel=1e-12)
    for size, retention in by_size.items():
        assert max_retention(rho1, rho2, size) == pytest.approx(retention, abs=1e-10)


beliefs = st.floats(1e-6, 1 - 1e-6)


@given(beliefs, beliefs, SIZES)
def test_the_largest_retention_satisfies_its_limits_in_floating_point_and_no_larger_one_does(
    one, other, size
):
    rho1, rho2 = sorted((one, other))
    assume(rho2 - rho1 > 1e-6)
    gamma = amplification_gamma(rho1, rho2)
    retention = max_retention(rho1, rho2, size)
    assert Uniform(retention, size).amplification <= gamma
    larger = retention + 1e-9
    assert larger >= 1 or Uniform(larger, size).amplification > gamma


@pytest.mark.parametrize(
    ("rho1", "rho2"), [(0.5, 0.1), (0.5, 0.5), (0, 0.5), (0.1, 1), (-1, 0.5), (math.nan, 0.5)]
)
def test_beliefs_out_of_order_are_refused_with_their_values(rho1, rho2):
    with pytest.raises(InvalidParameter, match=f"got {rho1!r} and {rho2!r}"):
        amplification_gamma(rho1, rho2)


@given(
    st.floats(0.01, 0.99),
    st.lists(st.floats(0.01, 1), min_size=2, max_size=8),
)
def test_posteriors_are_the_extremes_over_all_published_values(retention, weights):
    operator = Uniform(retention, len(weights))
    priors = np.array(weights) / sum(weights)
    joint = operator.matrix() * priors
    beliefs = joint / joint.sum(axis=1, keepdims=True)
    high, low = operator.posteriors(priors)
    assert high == pytest.approx(beliefs.max(axis=0))
    assert low == pytest.approx(beliefs.min(axis=0))
