"""What holds for every operator, whatever its numbers."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference.operator_estimates import (
    estimated_variance,
    iterative_bayesian,
)

from duckdb_priv.mechanism import operator as op
from duckdb_priv.mechanism.score_terms import score_terms


@st.composite
def operators(draw):
    """A column-stochastic matrix that can be inverted well."""
    m = draw(st.integers(2, 6))
    noise = draw(arrays(float, (m, m), elements=st.floats(0.01, 1)))
    noise /= noise.sum(axis=0)
    retentions = draw(arrays(float, m, elements=st.floats(0.1, 0.95)))
    operator = op.check_operator(np.diag(retentions) + noise * (1 - retentions))
    assume(op.condition_number(operator) < 100)
    return operator


@st.composite
def operators_and_counts(draw, least=0):
    operator = draw(operators())
    counts = draw(arrays(np.int64, len(operator), elements=st.integers(least, 10_000)))
    assume(counts.any())
    return operator, counts


@given(operators_and_counts())
def test_estimates_are_right_on_average_and_keep_the_total(case):
    operator, counts = case
    weights = op.invert(operator)
    assert weights @ (operator @ counts) == pytest.approx(counts, abs=1e-6)
    assert (weights @ counts).sum() == pytest.approx(counts.sum())


@given(operators_and_counts())
def test_estimated_variance_is_right_on_average_and_variance_is_none_negative(case):
    operator, counts = case
    weights = op.invert(operator)
    variance = op.linear_variance(weights, operator, counts)
    scale = (weights**2).max() * counts.sum()
    assert estimated_variance(weights, operator @ counts) == pytest.approx(
        variance, abs=1e-9 * scale
    )
    assert variance.min() > -1e-9 * scale


@given(operators_and_counts(), st.randoms(use_true_random=False))
def test_the_order_of_the_domain_does_not_matter(case, random):
    operator, counts = case
    order = random.sample(range(len(counts)), len(counts))
    renamed = operator[np.ix_(order, order)]
    weights, renamed_weights = op.invert(operator), op.invert(renamed)
    shares = (counts + 1) / (counts + 1).sum()
    terms = score_terms(weights, operator, shares)
    renamed_terms = score_terms(renamed_weights, renamed, shares[order])
    for before, after in [
        (terms.slope, renamed_terms.slope),
        (terms.most_scatter, renamed_terms.most_scatter),
        (op.half_step(weights), op.half_step(renamed_weights)),
        (op.largest_posterior(operator, counts), op.largest_posterior(renamed, counts[order])),
    ]:
        assert after == pytest.approx(before[order], rel=1e-6, abs=1e-9)


@given(operators_and_counts(least=1))
def test_amplification_bounds_what_any_published_value_says_about_any_original(case):
    operator, counts = case
    prior = counts / counts.sum()
    posterior = op.largest_posterior(operator, prior)
    odds, prior_odds = posterior / (1 - posterior), prior / (1 - prior)
    assert (odds <= op.amplification(operator) * prior_odds * (1 + 1e-9)).all()
    assert op.amplification(operator) >= 1


@settings(max_examples=50)
@given(operators_and_counts())
def test_no_other_distribution_makes_the_observed_counts_more_likely(case):
    operator, observed = case
    bayesian = iterative_bayesian(operator, observed, tolerance=1e-7)
    total = observed.sum()
    assert bayesian.min() >= 0
    assert bayesian.sum() == pytest.approx(total)

    def log_likelihood(counts):
        with np.errstate(divide="ignore"):
            logs = np.log(operator @ (counts / total))
        return (observed * logs)[observed > 0].sum() / total

    linear = op.invert(operator) @ observed
    clipped = np.maximum(linear, 0)
    rivals = [clipped * total / clipped.sum(), *(total * np.eye(len(observed))), observed]
    for rival in rivals:
        assert log_likelihood(bayesian) >= log_likelihood(rival) - 2e-7
    if linear.min() > 0.01 * total:
        assert bayesian == pytest.approx(linear, rel=1e-2)
