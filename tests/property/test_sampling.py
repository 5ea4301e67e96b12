"""Laws of the guarantee on a sample, and of choosing a node of a lattice."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference.exponential_probabilities import exponential_probabilities
from reference.node_scores import EXCESS, QUALITIES
from scipy.stats import binom

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.lattice import Lattice, score_nodes
from duckdb_priv.mechanism.sampling import (
    sampling_delta,
    sampling_epsilon,
    sampling_k,
    tight_delta,
)

ROUNDING = 1 + 1e-9

ks = st.integers(1, 60)
betas = st.floats(0.005, 0.97)
extras = st.floats(0, 3)
deltas = st.floats(-11, -2.5).map(lambda exponent: 10**exponent)


def cost(beta: float) -> float:
    return -math.log1p(-beta)


@given(ks, betas, extras)
def test_delta_is_the_largest_tail_over_all_group_sizes(k, beta, extra):
    epsilon = cost(beta) + extra
    gamma = 1 - (1 - beta) * math.exp(-epsilon)
    n = np.arange(math.ceil(k / gamma) + 2000)
    least = np.maximum(k, np.floor(gamma * n * ROUNDING) + 1)
    tails = binom.sf(least - 1, n, beta)
    assert sampling_delta(k, beta, epsilon) == pytest.approx(tails.max(), rel=1e-9, abs=1e-290)


@given(ks, betas, extras, st.integers(1, 20), st.floats(0, 1))
def test_delta_falls_with_k_and_with_epsilon(k, beta, extra, more_k, more_epsilon):
    epsilon = cost(beta) + extra
    delta = sampling_delta(k, beta, epsilon)
    assert sampling_delta(k + more_k, beta, epsilon) <= delta * ROUNDING
    assert sampling_delta(k, beta, epsilon + more_epsilon) <= delta * ROUNDING


@given(ks, betas, extras)
def test_the_tight_delta_is_never_larger(k, beta, extra):
    epsilon = cost(beta) + extra
    assert 0 < tight_delta(k, beta, epsilon) <= sampling_delta(k, beta, epsilon) * ROUNDING


@given(betas, extras, deltas)
def test_smallest_k_suffices_and_the_one_before_does_not(beta, extra, delta):
    assume(delta < beta)
    epsilon = cost(beta) + extra
    k = sampling_k(beta, epsilon, delta)
    assert sampling_delta(k, beta, epsilon) <= delta < sampling_delta(k - 1, beta, epsilon)


@settings(max_examples=50)
@given(st.integers(2, 60), betas, deltas)
def test_smallest_epsilon_suffices_and_a_smaller_one_does_not(k, beta, delta):
    assume(delta < beta)
    assume(beta**k < delta / ROUNDING)
    epsilon = sampling_epsilon(k, beta, delta)
    assert sampling_delta(k, beta, epsilon) <= delta
    below = epsilon - 1e-10 * max(1.0, epsilon)
    assert below < cost(beta) or sampling_delta(k, beta, below) > delta


@given(ks, betas, st.floats(0.001, 0.999))
def test_the_parameters_that_a_refusal_names_are_accepted(k, beta, share):
    epsilon = cost(beta) * share
    with pytest.raises(InvalidParameter) as refused:
        sampling_delta(k, beta, epsilon)
    with_beta, with_epsilon = refused.value.hint.split(";")
    sampling_delta(k, beta, float(with_beta.split()[-1]))
    sampling_delta(k, float(with_epsilon.split()[-1]), epsilon)


@st.composite
def hierarchies(draw):
    """[levels, leaves] codes: from 1 to 6 leaves, merged at random by up to 2 further levels."""
    leaves = draw(st.integers(1, 6))
    levels = [np.arange(leaves)]
    for _ in range(draw(st.integers(0, 2))):
        merge = np.array(
            draw(st.lists(st.integers(0, leaves - 1), min_size=leaves, max_size=leaves))
        )
        levels.append(merge[levels[-1]])
    return np.array(levels)


@st.composite
def tables(draw):
    """A lattice, and a table of cells for it, in which cells may come twice."""
    lattice = Lattice(tuple(draw(st.lists(hierarchies(), min_size=1, max_size=4))))
    cells = draw(st.integers(1, 30))
    codes = [
        np.array(draw(st.lists(st.integers(0, h.shape[1] - 1), min_size=cells, max_size=cells)))
        for h in lattice.hierarchies
    ]
    counts = draw(st.lists(st.integers(1, 9), min_size=cells, max_size=cells))
    return lattice, codes, np.array(counts)


def class_sizes(lattice, codes, counts, node):
    classes: dict[tuple[int, ...], int] = {}
    for cell, count in enumerate(counts):
        key = tuple(
            int(h[level, code[cell]])
            for h, level, code in zip(lattice.hierarchies, node, codes, strict=True)
        )
        classes[key] = classes.get(key, 0) + int(count)
    return np.array(list(classes.values()))


@settings(max_examples=60)
@given(tables(), st.integers(1, 12))
def test_rolling_up_scores_every_node_as_grouping_it_does(table, threshold):
    lattice, codes, counts = table
    expected = [
        EXCESS.measure(class_sizes(lattice, codes, counts, node), threshold)
        for node in lattice.nodes()
    ]
    assert score_nodes(lattice, codes, counts, threshold).tolist() == expected


@settings(max_examples=60)
@given(tables(), st.integers(1, 12), st.data())
def test_one_record_changes_no_probability_by_more_than_exp_epsilon(table, threshold, data):
    lattice, codes, counts = table
    added = [data.draw(st.integers(0, h.shape[1] - 1)) for h in lattice.hierarchies]
    more = (
        [np.append(c, leaf) for c, leaf in zip(codes, added, strict=True)],
        np.append(counts, 1),
    )
    rate = Fraction(0.7) / int(lattice.precision().max() or 1)
    scores, scores_more = (
        score_nodes(lattice, *cells, threshold) * lattice.precision()
        for cells in ((codes, counts), more)
    )
    p, p_more = (exponential_probabilities(s, rate) for s in (scores, scores_more))
    assert np.abs(np.log(p_more / p)).max() <= 0.7 * ROUNDING


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=8),
    st.integers(1, 12),
    st.sampled_from(QUALITIES),
    st.data(),
)
def test_sensitivity_and_monotonicity_are_as_stated(sizes, threshold, quality, data):
    grown = list(sizes)
    grown[data.draw(st.integers(0, len(sizes) - 1))] += 1
    before, after = (
        quality.measure(np.array([c for c in classes if c], dtype=np.int64), threshold)
        for classes in (sizes, grown)
    )
    assert abs(after - before) <= quality.sensitivity(threshold)
    assert after >= before or not quality.monotone


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=6), st.fractions(0, 3))
def test_probabilities_are_proportional_to_exponentials(scores, rate):
    weights = np.exp(float(rate) * np.array(scores))
    probabilities = exponential_probabilities(np.array(scores), Fraction(rate))
    assert probabilities == pytest.approx(weights / weights.sum(), rel=1e-9)
