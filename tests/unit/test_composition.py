"""What releases add up to."""

import math

import numpy as np
import pytest
from reference.composition import (
    advanced_composition,
    basic_composition,
    parallel_composition,
)
from scipy.stats import binom

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.composition import EpsilonDelta, substituted
from duckdb_priv.mechanism.sampling import sampling_delta, tight_delta


def test_fifty_releases():
    releases = [EpsilonDelta(0.1, 1e-7)] * 50
    advanced = advanced_composition(releases, slack=1e-6)
    assert round(advanced.epsilon, 4) == 4.2428
    assert advanced.delta == pytest.approx(6e-6)
    basic = basic_composition(releases)
    assert (basic.epsilon, basic.delta) == pytest.approx((5.0, 5e-6))


def test_advanced_composition_of_different_epsilons():
    """sqrt(2 ln(1e6) * 0.05) + 0.1 (e^0.1 - 1) + 0.2 (e^0.2 - 1), by hand."""
    loss = advanced_composition([EpsilonDelta(0.1), EpsilonDelta(0.2, 1e-8)], slack=1e-6)
    assert loss.epsilon == pytest.approx(1.1753940 + 0.0105171 + 0.0442806, abs=1e-6)
    assert loss.delta == pytest.approx(1.01e-6)


@pytest.mark.parametrize("slack", [1e-3, 1e-6])
def test_advanced_composition_holds_for_randomized_response(slack):
    """r answers with epsilon each: the privacy loss is epsilon (2 Bin - r), its tail is exact."""
    epsilon, r = 0.1, 200
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    bound = advanced_composition([EpsilonDelta(epsilon)] * r, slack)
    kept = np.arange(r + 1)
    loss = epsilon * (2 * kept - r)
    truth = binom.pmf(kept, r, keep) @ np.maximum(1 - np.exp(bound.epsilon - loss), 0)
    assert 0 < truth <= bound.delta
    assert bound.epsilon < basic_composition([EpsilonDelta(epsilon)] * r).epsilon


def test_disjoint_parts_cost_the_largest():
    parts = [EpsilonDelta(0.5, 1e-6), EpsilonDelta(1.0, 1e-9)]
    assert parallel_composition(parts) == EpsilonDelta(1.0, 1e-6)


def test_exchanging_a_record_is_removing_and_adding():
    assert substituted(EpsilonDelta(math.log(3), 1e-6)) == EpsilonDelta(2 * math.log(3), 4e-6)


def test_substitution_bounds_the_worst_exchange_of_safe_k():
    """One record moves from a group of m to a group of n: the exact divergence of both counts."""
    k, beta, epsilon = 4, 0.2, 0.5
    bound = substituted(EpsilonDelta(epsilon, tight_delta(k, beta, epsilon)))

    def published(size):
        chances = binom.pmf(np.arange(26), size, beta)
        return np.concatenate(([chances[:k].sum()], chances[k:]))

    sizes = range(k, 25, 3)
    worst = max(
        np.maximum(
            np.outer(published(n), published(m + 1))
            - math.exp(bound.epsilon) * np.outer(published(n + 1), published(m)),
            0,
        ).sum()
        for n in sizes
        for m in sizes
    )
    assert 0 < worst <= bound.delta


def test_choosing_a_scheme_and_then_sampling_adds_up():
    total = basic_composition([EpsilonDelta(0.2), EpsilonDelta(0.8, sampling_delta(20, 0.1, 0.8))])
    assert total.epsilon == 1.0
    assert total.delta == pytest.approx(1.56e-12, rel=5e-3)


@pytest.mark.parametrize("rule", [basic_composition, parallel_composition])
def test_nothing_released_costs_nothing(rule):
    assert rule([]) == EpsilonDelta(0.0, 0.0)


def test_large_losses_promise_nothing_rather_than_overflow():
    assert substituted(EpsilonDelta(2000.0, 1e-9)) == EpsilonDelta(4000.0, 1.0)
    assert substituted(EpsilonDelta(2000.0)) == EpsilonDelta(4000.0, 0.0)
    assert advanced_composition([EpsilonDelta(2000.0)], 1e-6).epsilon == math.inf
    assert basic_composition([EpsilonDelta(1.0, 0.7)] * 2).delta == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: advanced_composition([EpsilonDelta(1.0)], 0.0), "slack must .* got 0.0"),
    ],
)
def test_bad_input_is_refused_with_its_value(call, message):
    with pytest.raises(InvalidParameter, match=message) as refused:
        call()
    assert refused.value.hint
