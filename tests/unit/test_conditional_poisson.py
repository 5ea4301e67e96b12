"""The conditional Poisson design against brute force, golden numbers and dense linear algebra."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism import conditional_poisson
from duckdb_priv.mechanism.conditional_poisson import ConditionalPoisson


def capped(counts, size, largest):
    """Inclusion probabilities proportional to counts, none above ``largest``."""
    inclusion = size * counts / counts.sum()
    while inclusion.max() > largest * (1 + 1e-9):
        inclusion = np.minimum(inclusion, largest)
        inclusion *= size / inclusion.sum()
    return inclusion


def zipf(values, exponent=1.0):
    return 1 / np.arange(1, values + 1) ** exponent


DESIGNS = {
    "two of three": (np.array([0.9, 0.6, 0.5]), 2),
    "zipf": (capped(zipf(20), 5, 0.9), 5),
    "steep": (capped(zipf(40, 2.0), 5, 0.99), 5),
    "ties": (np.repeat([0.8, 0.5, 0.4, 0.1], [2, 2, 5, 4]), 5),
    "balanced": (np.full(12, 0.25), 3),
    "all but one": (np.array([0.9, 0.9, 0.9, 0.9, 0.7, 0.7]), 5),
    "large groups": (capped(zipf(120), 50, 0.95), 50),
    "rare values": (3 * np.r_[1e6, 9e5, 8e5, 5e5, [1] * 20, 7] / (3.2e6 + 27), 3),
}


@pytest.fixture(params=DESIGNS)
def design(request):
    inclusion, size = DESIGNS[request.param]
    return ConditionalPoisson.fit(inclusion, size), inclusion


@pytest.mark.parametrize(
    ("inclusion", "pairs"),
    [
        (
            (0.8, 0.5, 0.4, 0.3),
            {
                (0, 1): 0.34800217,
                (0, 2): 0.26341622,
                (0, 3): 0.18858160,
                (1, 2): 0.08858160,
                (1, 3): 0.06341622,
                (2, 3): 0.04800217,
            },
        ),
        (
            (0.75, 0.5, 0.5, 0.25),
            {
                (0, 1): 0.30810203,
                (0, 2): 0.30810203,
                (0, 3): 0.13379594,
                (1, 2): 0.13379594,
                (1, 3): 0.05810203,
                (2, 3): 0.05810203,
            },
        ),
    ],
)
def test_golden_joint_inclusion(inclusion, pairs):
    joint = ConditionalPoisson.fit(inclusion, 2).joint_inclusion()
    assert_allclose([joint[pair] for pair in pairs], list(pairs.values()), atol=5e-9)


@pytest.mark.parametrize(("values", "size"), [(4, 2), (6, 3), (8, 5), (7, 6)])
def test_the_design_is_that_of_its_odds_by_enumeration(values, size):
    rng = np.random.default_rng(values)
    inclusion = capped(rng.exponential(size=values) + 0.2, size, 0.95)
    design = ConditionalPoisson.fit(inclusion, size)
    odds = design.odds[design.class_of]
    joint, total = np.zeros((values, values)), 0.0
    for group in itertools.combinations(range(values), size):
        weight = odds[list(group)].prod()
        total += weight
        joint[np.ix_(group, group)] += weight
    joint /= total
    assert_allclose(np.diag(joint), inclusion, rtol=1e-11)
    assert_allclose(design.joint_inclusion(), joint, rtol=1e-11)


def test_joint_inclusion_adds_up(design):
    fitted, inclusion = design
    joint = fitted.joint_inclusion()
    assert_allclose(joint.sum(axis=1), fitted.size * inclusion, rtol=1e-10)
    assert_allclose(joint, joint.T, rtol=1e-12)
    assert (joint >= 0).all()
    # Frechet: no pair is together more often than its rarer value is there at all.
    assert (joint <= np.minimum.outer(inclusion, inclusion) * (1 + 1e-9)).all()


def test_the_operator_keeps_the_histogram(design):
    fitted, inclusion = design
    operator = fitted.operator()
    assert_allclose(operator.sum(axis=0), 1, rtol=1e-10)
    assert_allclose(operator @ inclusion, inclusion, rtol=1e-10)
    assert_allclose(np.diag(operator), 1 / fitted.size, rtol=1e-15)


def test_the_compact_inverse_is_the_inverse(design):
    fitted, inclusion = design
    operator, weights = fitted.operator(), fitted.inverse().matrix()
    dense = np.linalg.inv(operator)
    scale = np.abs(dense).max()
    assert_allclose(weights, dense, atol=1e-9 * scale)
    assert_allclose(weights.sum(axis=0), 1, atol=1e-9 * scale)
    assert_allclose(weights @ inclusion, inclusion, rtol=1e-8)


def test_odds_are_equal_exactly_where_frequencies_are():
    inverse = ConditionalPoisson.fit(*DESIGNS["ties"]).inverse()
    assert np.unique(inverse.odds).size == 4
    assert np.array_equal(
        np.unique(inverse.odds, return_inverse=True)[1], [3] * 2 + [2] * 2 + [1] * 5 + [0] * 4
    )


def test_balanced_values_have_the_two_by_two_form():
    values, gamma = 20, 5
    weights = ConditionalPoisson.fit(np.full(values, gamma / values), gamma).inverse().matrix()
    background = (gamma - 1) / (gamma * (values - 1))
    other = -background / (1 / gamma - background)
    expected = np.full((values, values), other) + np.eye(values) / (1 / gamma - background)
    assert_allclose(weights, expected, rtol=1e-12)


@pytest.mark.parametrize("gamma", [5, 20])
def test_large_domains_are_solved_as_well(gamma):
    counts = np.maximum(1, np.round(1e6 * capped(zipf(700, 0.8), gamma, 0.9)))
    fitted = ConditionalPoisson.fit(gamma * counts / counts.sum(), gamma)
    inverse = fitted.inverse()
    operator = fitted.operator()
    for value in (0, 1, 10, 350, 699):
        identity = inverse.row(value) @ operator
        assert_allclose(identity, np.eye(700)[value], atol=1e-8)


def test_frequencies_that_nearly_tie_are_distinguished():
    counts = 10_000_000 + np.array([-2, -1, 0, 1, 2, 3, 4, 5.0])
    fitted = ConditionalPoisson.fit(2 * counts / counts.sum(), 2)
    assert_allclose(fitted.inverse().matrix() @ fitted.operator(), np.eye(8), atol=1e-7)


@pytest.mark.parametrize(
    ("inclusion", "size", "message"),
    [
        ([1.0, 0.5, 0.5], 2, "must lie above 0 and be at most 0.9999, got 0.5 to 1"),
        ([0.9, 0.6, 0.5, 0.0], 2, "must lie above 0 and be at most 0.9999, got 0 to 0.9"),
        ([], 2, "must lie above 0 and be at most 0.9999"),
        ([0.5, np.nan], 1, "must lie above 0 and be at most 0.9999"),
    ],
)
def test_impossible_inclusion_probabilities_are_refused(inclusion, size, message):
    with pytest.raises(InvalidParameter, match=message):
        ConditionalPoisson.fit(inclusion, size)


def test_too_many_distinct_frequencies_are_refused(monkeypatch):
    monkeypatch.setattr(conditional_poisson, "MAX_FREQUENCIES", 3)
    assert ConditionalPoisson.fit([0.8, 0.5, 0.5, 0.2], 2).inclusion.size == 3
    with pytest.raises(InvalidParameter, match=r"at most 3 distinct frequencies, got 4"):
        ConditionalPoisson.fit([0.8, 0.5, 0.4, 0.3], 2)


def test_a_search_that_does_not_end_is_an_error(monkeypatch):
    monkeypatch.setattr(conditional_poisson, "_MAX_STEPS", 2)
    with pytest.raises(InvalidParameter, match=r"no odds were found .* up to 0\.8"):
        ConditionalPoisson.fit([0.8, 0.5, 0.4, 0.3], 2)
