"""Choices of the exponential mechanism agree with its exact probabilities. The bits are seeded, so no test flakes."""

import math
import random
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from plausible import FALSE_ALARM
from reference.exponential_probabilities import exponential_probabilities
from scipy.stats import binomtest, chisquare

from duckdb_priv.mechanism import exponential_mechanism as module
from duckdb_priv.mechanism.exponential_mechanism import exponential_mechanism
from duckdb_priv.mechanism.lattice import Lattice, score_nodes


def source(seed):
    return partial(random.Random(seed).getrandbits, 64)


def assert_distribution(drawn, probabilities):
    """Return the p-value of a chi-square test; indices expected fewer than 10 times are pooled with the next one."""
    order = np.argsort(-probabilities)
    expected = len(drawn) * probabilities[order]
    observed = np.bincount(drawn, minlength=len(probabilities))[order]
    common = np.arange((expected >= 10).sum())
    p = chisquare(np.add.reduceat(observed, common), np.add.reduceat(expected, common)).pvalue
    assert p > FALSE_ALARM, f"p = {p:.1e}; a correct mechanism is below {FALSE_ALARM:.0e} so rarely"


@pytest.mark.parametrize(
    "exponent", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(0.1), Fraction(5, 2)]
)
def test_acceptance_has_probability_exp(exponent):
    draws, word = 40_000, source(11)
    accepted = sum(module._accept(exponent, word) for _ in range(draws))
    p = binomtest(accepted, draws, math.exp(-exponent)).pvalue
    assert p > FALSE_ALARM, f"{accepted} of {draws} at exp(-{exponent}); p = {p:.1e}"


def test_uniform_integers_are_uniform():
    word = source(12)
    drawn = [module._uniform_below(11, word) for _ in range(50_000)]
    assert_distribution(drawn, np.full(11, 1 / 11))


@pytest.mark.parametrize(
    ("scores", "rate"),
    [
        ([0, 1, 2, 3, 4, 5, 6], Fraction(1, 2)),
        ([-7, -7, -9, -40, -8], Fraction(0.3)),
        ([1000, 1001, 0, 1003], Fraction(1)),
    ],
)
def test_choices_follow_the_exact_probabilities(scores, rate):
    scores, word = np.array(scores), source(13)
    drawn = [exponential_mechanism(scores, rate, word) for _ in range(20_000)]
    assert_distribution(drawn, exponential_probabilities(scores, rate))


def test_nodes_of_a_lattice_follow_the_exact_probabilities():
    """Twelve nodes over 40 records, weighted by precision, at epsilon = 0.5."""
    age = np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])
    sex = np.array([[0, 1], [0, 0]])
    lattice = Lattice((age, sex, sex))
    records = np.random.default_rng(14).integers(0, [4, 2, 2], (40, 3))
    cells, counts = np.unique(records, axis=0, return_counts=True)
    weights = lattice.precision()
    scores = score_nodes(lattice, list(cells.T), counts, threshold=4) * weights
    rate = Fraction(0.5) / int(weights.max())
    probabilities = exponential_probabilities(scores, rate)
    assert np.sort(probabilities)[-3] > 0.05, "the choice must not be foregone"

    word = source(15)
    drawn = [exponential_mechanism(scores, rate, word) for _ in range(20_000)]
    assert_distribution(drawn, probabilities)


def test_the_tests_would_notice_a_missing_factor():
    """With half the rate the same check fails by far."""
    scores, word = np.arange(7), source(16)
    drawn = [exponential_mechanism(scores, Fraction(1, 4), word) for _ in range(20_000)]
    with pytest.raises(AssertionError, match="a correct mechanism is below"):
        assert_distribution(drawn, exponential_probabilities(scores, Fraction(1, 2)))
