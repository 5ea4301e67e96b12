"""SPLU: what it promises, and reconstruction in its corrected and its literal forms."""

import hashlib
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.decoy_weights import conditional_poisson_weights, count_bounds
from reference.splu_paper import paper_iterative, paper_linear
from reference.whole_plan import mixed_groups

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism import splu_reconstruction
from duckdb_priv.mechanism.conditional_poisson import ConditionalPoisson, InverseWeights
from duckdb_priv.mechanism.splu import (
    MAX_SMALL_SUM,
    error_probabilities,
    exact_large_sum_threshold,
    large_sum_threshold,
    small_sum_privacy,
)
from duckdb_priv.mechanism.splu_reconstruction import (
    TwoByTwo,
    background_probability,
    cell_errors,
    choose,
    two_by_two,
)

SMALL_SUM_PRIVACY = {
    ("lemma_2", 0.3): """
        0.500000 0.500000 0.500000 0.289062 0.289062 0.289062 0.179565 0.179565 0.179565 0.115318
        0.555556 0.555556 0.555556 0.358845 0.358845 0.358845 0.245936 0.245936 0.245936 0.173609
        0.578125 0.578125 0.578125 0.386766 0.386766 0.386766 0.273841 0.273841 0.273841 0.199456
        0.590400 0.590400 0.590400 0.401877 0.401877 0.401877 0.289220 0.289220 0.289220 0.213985
        0.598122 0.598122 0.598122 0.411362 0.411362 0.411362 0.298965 0.298965 0.298965 0.223288
        0.603431 0.603431 0.603431 0.417873 0.417873 0.417873 0.305694 0.305694 0.305694 0.229754
        0.607304 0.607304 0.607304 0.422620 0.422620 0.422620 0.310621 0.310621 0.310621 0.234508
        0.610256 0.610256 0.610256 0.426236 0.426236 0.426236 0.314384 0.314384 0.314384 0.238152
        0.612580 0.612580 0.612580 0.429081 0.429081 0.429081 0.317352 0.317352 0.317352 0.241032
    """,
    ("lemma_2", 0.5): """
        0.500000 0.125000 0.125000 0.070312 0.070312 0.038574 0.038574 0.021271 0.021271 0.011818
        0.555556 0.187929 0.187929 0.120399 0.120399 0.075996 0.075996 0.048341 0.048341 0.031025
        0.578125 0.213928 0.213928 0.143034 0.143034 0.094466 0.094466 0.062913 0.062913 0.042287
        0.590400 0.228248 0.228248 0.155868 0.155868 0.105266 0.105266 0.071704 0.071704 0.049299
        0.598122 0.237335 0.237335 0.164130 0.164130 0.112330 0.112330 0.077548 0.077548 0.054038
        0.603431 0.243619 0.243619 0.169894 0.169894 0.117305 0.117305 0.081705 0.081705 0.057444
        0.607304 0.248226 0.248226 0.174143 0.174143 0.120998 0.120998 0.084812 0.084812 0.060007
        0.610256 0.251749 0.251749 0.177406 0.177406 0.123847 0.123847 0.087220 0.087220 0.062003
        0.612580 0.254530 0.254530 0.179990 0.179990 0.126111 0.126111 0.089141 0.089141 0.063602
    """,
    ("definition_2", 0.3): """
        0.500000 0.500000 0.500000 0.289062 0.289062 0.289062 0.179565 0.179565 0.179565 0.179565
        0.555556 0.555556 0.555556 0.358845 0.358845 0.358845 0.245936 0.245936 0.245936 0.245936
        0.578125 0.578125 0.578125 0.386766 0.386766 0.386766 0.273841 0.273841 0.273841 0.273841
        0.590400 0.590400 0.590400 0.401877 0.401877 0.401877 0.289220 0.289220 0.289220 0.289220
        0.598122 0.598122 0.598122 0.411362 0.411362 0.411362 0.298965 0.298965 0.298965 0.298965
        0.603431 0.603431 0.603431 0.417873 0.417873 0.417873 0.305694 0.305694 0.305694 0.305694
        0.607304 0.607304 0.607304 0.422620 0.422620 0.422620 0.310621 0.310621 0.310621 0.310621
        0.610256 0.610256 0.610256 0.426236 0.426236 0.426236 0.314384 0.314384 0.314384 0.314384
        0.612580 0.612580 0.612580 0.429081 0.429081 0.429081 0.317352 0.317352 0.317352 0.317352
    """,
    ("definition_2", 0.5): """
        0.500000 0.500000 0.218750 0.218750 0.109375 0.109375 0.057373 0.057373 0.030884 0.030884
        0.555556 0.555556 0.287913 0.287913 0.167589 0.167589 0.101885 0.101885 0.063468 0.063468
        0.578125 0.578125 0.316025 0.316025 0.193072 0.193072 0.123032 0.123032 0.080297 0.080297
        0.590400 0.590400 0.331359 0.331359 0.207348 0.207348 0.135233 0.135233 0.090306 0.090306
        0.598122 0.598122 0.341029 0.341029 0.216477 0.216477 0.143157 0.143157 0.096911 0.096911
        0.603431 0.603431 0.347688 0.347688 0.222818 0.222818 0.148713 0.148713 0.101589 0.101589
        0.607304 0.607304 0.352553 0.352553 0.227480 0.227480 0.152824 0.152824 0.105073 0.105073
        0.610256 0.610256 0.356265 0.356265 0.231051 0.231051 0.155989 0.155989 0.107768 0.107768
        0.612580 0.612580 0.359190 0.359190 0.233874 0.233874 0.158500 0.158500 0.109914 0.109914
    """,
}
"""Rows: gamma 2 to 10; columns: alpha 1 to 10."""

LARGE_SUM_THRESHOLDS = [
    # gamma, epsilon, error probability, corrected bound, exact
    (10, 0.1, 0.1, 900, 251),
    (10, 0.1, 0.05, 1800, 351),
    (10, 0.3, 0.1, 100, 31),
    (10, 0.3, 0.05, 200, 41),
    (10, 0.5, 0.05, 72, 15),
    (5, 0.1, 0.1, 800, 221),
    (5, 0.3, 0.1, 89, 24),
    (5, 0.3, 0.05, 178, 34),
    (2, 0.1, 0.1, 500, 141),
    (2, 0.3, 0.05, 112, 24),
]


def outside_by_enumeration(gamma, count, epsilon, at_least):
    """Pr[|f' - f| > epsilon f], or >=, in rational numbers."""
    total = Fraction(0)
    for shown in range(gamma * count + 1):
        error, limit = abs(shown - count), epsilon * count
        if error > limit or (at_least and error == limit):
            ways = comb(gamma * count, shown) * (gamma - 1) ** (gamma * count - shown)
            total += Fraction(ways, gamma ** (gamma * count))
    return total


# --- small sums -------------------------------------------------------------------------------


@pytest.mark.parametrize(("convention", "epsilon"), SMALL_SUM_PRIVACY)
def test_golden_small_sum_privacy(convention, epsilon):
    golden = np.array(SMALL_SUM_PRIVACY[convention, epsilon].split(), float).reshape(9, 10)
    ours = [
        [small_sum_privacy(gamma, epsilon, alpha, convention) for alpha in range(1, 11)]
        for gamma in range(2, 11)
    ]
    assert_allclose(ours, golden, atol=6e-7)


def test_golden_small_errors_do_not_depend_on_alpha_or_convention():
    golden = [0.5, 0.555556, 0.578125, 0.5904, 0.598122, 0.603431, 0.607304, 0.610256, 0.61258]
    for convention in ("lemma_2", "definition_2"):
        for alpha in (1, 4, 10):
            ours = [small_sum_privacy(gamma, 0.1, alpha, convention) for gamma in range(2, 11)]
            assert_allclose(ours, golden, atol=6e-7)


def test_the_papers_second_example():
    assert_allclose(
        error_probabilities(10, [1, 2, 3], 0.3), [0.612580, 0.714820, 0.763912], atol=6e-7
    )


@pytest.mark.parametrize("epsilon", ["0.1", "0.29", "0.3", "1/3", "0.5", "0.7", "1"])
@pytest.mark.parametrize("convention", ["lemma_2", "definition_2"])
def test_error_probabilities_are_those_of_the_binomial_law(epsilon, convention):
    counts = [1, 2, 3, 5, 10, 30]
    for gamma in (2, 3, 10):
        exact = [
            float(outside_by_enumeration(gamma, f, Fraction(epsilon), convention == "definition_2"))
            for f in counts
        ]
        assert_allclose(error_probabilities(gamma, counts, epsilon, convention), exact, rtol=1e-12)


def test_decimal_errors_are_meant_literally():
    # ceil((1 - 0.7) * 10) is 4 in floating point; 3 of 10 err by 0.7 exactly, not by more.
    assert 10 * (1 - 0.7) > 3
    by_float, by_text, by_fraction = (
        error_probabilities(5, [10], epsilon)[0] for epsilon in (0.7, "0.7", Fraction(7, 10))
    )
    assert by_float == by_text == by_fraction
    assert by_float == error_probabilities(5, [10], np.float64(0.7))[0]


def test_privacy_falls_with_alpha_and_epsilon():
    for gamma in (2, 5, 10):
        by_alpha = [small_sum_privacy(gamma, 0.3, alpha) for alpha in range(1, 30)]
        by_epsilon = [small_sum_privacy(gamma, epsilon / 20, 5) for epsilon in range(1, 21)]
        assert (np.diff(by_alpha) <= 0).all()
        assert (np.diff(by_epsilon) <= 1e-15).all()


# --- large sums -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gamma", "epsilon", "error_probability", "corrected", "exact"), LARGE_SUM_THRESHOLDS
)
def test_golden_large_sum_thresholds(gamma, epsilon, error_probability, corrected, exact):
    assert large_sum_threshold(gamma, epsilon, error_probability) == corrected
    assert exact_large_sum_threshold(gamma, epsilon, error_probability) == exact


@pytest.mark.parametrize(
    ("gamma", "epsilon", "chance"), [(2, 0.5, 0.2), (5, 0.3, 0.1), (10, 0.2, 0.01), (3, 1, 0.5)]
)
def test_the_exact_threshold_is_exact(gamma, epsilon, chance):
    threshold = exact_large_sum_threshold(gamma, epsilon, chance)
    counts = np.arange(1, 3 * large_sum_threshold(gamma, epsilon, chance))
    errs = error_probabilities(gamma, counts, epsilon, "definition_2") > chance
    assert not errs[threshold - 1 :].any()
    assert threshold == 1 or errs[threshold - 2]


def test_the_corrected_bound_holds_where_the_papers_does_not():
    for gamma in (2, 5, 10):
        for epsilon in (0.1, 0.3, 0.5):
            counts = np.arange(1, 1500)
            exact = error_probabilities(gamma, counts, epsilon, "definition_2")
            assert (exact <= (1 - 1 / gamma) / (epsilon**2 * counts)).all()
            assert (exact > 1 / (gamma * epsilon**2 * counts.astype(float) ** 2)).any()
    assert_allclose(
        error_probabilities(10, [100, 900], 0.1, "definition_2"), [0.316496, 0.001667], atol=6e-7
    )


def test_large_sum_thresholds_fall_with_epsilon_and_error_probability():
    by_epsilon = [large_sum_threshold(5, epsilon / 10, 0.05) for epsilon in range(1, 11)]
    by_chance = [exact_large_sum_threshold(5, 0.2, chance / 20) for chance in range(1, 20)]
    assert (np.diff(by_epsilon) < 0).all()
    assert (np.diff(by_chance) <= 0).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: small_sum_privacy(1, 0.3, 5), "gamma must be an integer of at least 2, got 1"),
        (lambda: small_sum_privacy(5, 0, 5), "epsilon must lie above 0 and be at most 1, got 0"),
        (lambda: small_sum_privacy(5, 1.1, 5), "epsilon must .* got 1.1"),
        (lambda: small_sum_privacy(5, float("nan"), 5), "epsilon must .* got nan"),
        (lambda: small_sum_privacy(5, "1/0", 5), "epsilon must .* got '1/0'"),
        (lambda: small_sum_privacy(5, 0.3, 0), "alpha must be an integer in 1 … 1000000, got 0"),
        (lambda: small_sum_privacy(5, 0.3, MAX_SMALL_SUM + 1), "alpha must .* got 1000001"),
        (lambda: large_sum_threshold(1, 0.3, 0.1), "gamma must be an integer of at least 2, got 1"),
        (lambda: large_sum_threshold(5, -0.1, 0.1), "epsilon must .* got -0.1"),
        (lambda: large_sum_threshold(5, 0.1, 1), "error_probability must lie strictly .* got 1"),
        (lambda: large_sum_threshold(5, 0.1, 0.0), "error_probability must .* got 0.0"),
        (lambda: exact_large_sum_threshold(0, 0.1, 0.1), "gamma must be .* got 0"),
        (lambda: exact_large_sum_threshold(5, 0.0001, 0.001), "the search covers"),
    ],
)
def test_meaningless_guarantees_are_refused(call, message):
    with pytest.raises(InvalidParameter, match=message):
        call()


# --- the 2x2 form -----------------------------------------------------------------------------


def test_golden_two_by_two():
    counts = [100] * 10
    form = two_by_two(counts, 5)
    assert form.row(0) @ [24, *[176 / 9] * 9] == pytest.approx(56, rel=1e-12)
    assert background_probability(counts, 5)[0] == pytest.approx(4 * 100 / (5 * 900), rel=1e-15)


def test_asking_about_the_whole_table_returns_the_published_counts():
    counts = np.array([300, 250, 130, 70, 50, 0])
    for form in (two_by_two(counts, 2), conditional_poisson_weights(counts, 2)):
        estimates = [form.row(value) @ counts for value in range(6)]
        assert_allclose(estimates, counts, atol=1e-9)
    # The paper's linear form answers 0.
    assert_allclose(paper_linear(counts, 800, counts, 800, 2), 0, atol=1e-9)


@pytest.mark.parametrize(
    ("part", "amplification"), [(0.5, 9), (0.8, 21), (0.9, 41), (0.95, 81), (0.99, 401)]
)
def test_golden_amplification(part, amplification):
    count = round(1_000_000 * part / 5)
    form = two_by_two([count, *[(1_000_000 - count) / 8] * 8], 5)
    assert form.amplification[0] == pytest.approx(amplification, rel=1e-9)
    assert form.own[0] - form.other[0] == pytest.approx(amplification, rel=1e-9)


@pytest.mark.parametrize("count", [500, 520])
def test_a_value_in_every_group_cannot_be_estimated(count):
    # By chance it may be published more often than it can be true.
    form = two_by_two([count, 300, 700 - count], 2)
    assert np.isnan(form.row(0)).all()
    assert form.amplification[0] == np.inf
    assert np.isfinite(form.row(1)).all()


def test_bounds_are_what_counting_allows():
    assert count_bounds(300, 1000, 800) == (100, 300)
    assert count_bounds(300, 1000, 200) == (0, 200)
    low, high = count_bounds([300, 10], 1000, [1000, 995])
    assert low.tolist() == [300, 5]
    assert high.tolist() == [300, 10]


# --- the conditional Poisson form -------------------------------------------------------------


def test_the_paired_form_inverts_the_law_of_mixed_groups():
    counts = np.array([400, 300, 300, 200, 100, 50])
    design = ConditionalPoisson.fit(3 * counts / counts.sum(), 3)
    weights = conditional_poisson_weights(counts, 3).matrix()
    assert_allclose(weights @ design.operator(), np.eye(6), atol=1e-10)


def test_values_that_no_record_shows_are_estimated_as_none():
    counts = np.array([0, 40, 30, 0, 30, 20])
    form = conditional_poisson_weights(counts, 2)
    subset = np.array([0, 9, 2, 0, 5, 1])
    rest = conditional_poisson_weights(counts[counts > 0], 2)
    shown = np.flatnonzero(counts)
    for value in (0, 3):
        assert form.row(value) @ subset == 0
    for place, value in enumerate(shown):
        assert form.row(value) @ subset == pytest.approx(rest.row(place) @ subset[shown])


def test_estimates_of_all_values_add_up_to_the_subset():
    counts = np.array([900, 700, 500, 500, 300, 100, 1])
    subset = np.array([50, 10, 30, 5, 1, 0, 1])
    weights = conditional_poisson_weights(counts, 3).matrix()
    assert (weights @ subset).sum() == pytest.approx(subset.sum(), rel=1e-11)


# --- the choice -------------------------------------------------------------------------------


def test_balanced_values_take_the_simple_form():
    choice = choose([500] * 20, 5)
    assert choice.method == "two_by_two"
    assert isinstance(choice.weights, TwoByTwo)
    assert choice.bias < 1e-9


def test_skewed_values_take_the_paired_form():
    choice = choose(np.r_[[120_000, 90_000], [40_000] * 12, [1000] * 30, 0], 5)
    assert choice.method == "conditional_poisson"
    assert isinstance(choice.weights, InverseWeights)
    assert choice.weights.odds.size == 45
    assert choice.bias > 0.25


def test_the_size_of_the_table_does_not_matter():
    counts = np.r_[[120_000, 90_000], [40_000] * 12, [1000] * 30]
    large, small = choose(counts, 5), choose(counts // 100, 5)
    assert large.bias == pytest.approx(small.bias, rel=1e-9)
    assert small.method == "conditional_poisson"


def test_the_predicted_bias_is_that_of_dense_matrices():
    counts = np.array([1800, 1200, 1000, 1000, 400, 400, 400, 30])
    gamma, rows = 3, counts.sum()
    share = counts / rows
    operator = ConditionalPoisson.fit(gamma * share, gamma).operator()
    simple = np.array([two_by_two(counts, gamma).row(value) for value in range(8)])
    # What a thousand records of one value add to the estimate of another.
    biases = 1000 * np.abs(simple @ operator - np.eye(8)).max(axis=1)
    errors = np.sqrt((simple**2 - simple) @ (1000 * share))
    choice = choose(counts, gamma)
    assert choice.bias == pytest.approx((biases / errors).max(), rel=1e-9)


def test_errors_of_a_cell_are_those_of_dense_matrices():
    counts = np.array([1800, 1200, 1000, 1000, 400, 400, 400, 0])
    share = counts / counts.sum()
    weights = np.zeros((8, 8))
    weights[:7, :7] = np.linalg.inv(ConditionalPoisson.fit(3 * share[:7], 3).operator())
    expected = np.sqrt(1000 * ((weights**2 - weights) @ share))
    assert cell_errors(choose(counts, 3), counts) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("largest", [500, 520, 499.99])
def test_a_value_in_every_group_leaves_the_simple_form_only(largest):
    choice = choose([largest, 300, 700 - largest], 2)
    assert choice.method == "two_by_two"
    assert np.isnan(choice.bias)
    assert np.isinf(cell_errors(choice, [largest, 300, 700 - largest])[0]) == (largest >= 500)


def test_noise_is_no_reason_for_bias():
    counts = np.r_[499_000, [501_000 / 20] * 20]
    choice = choose(counts, 2)
    assert choice.bias > 0.25
    assert choice.method == "conditional_poisson"
    errors = cell_errors(choice, counts)
    assert errors[0] > 1000 > 500 > errors[1]


def test_too_many_distinct_counts_take_the_simple_form(monkeypatch):
    counts = np.r_[[120_000, 90_000], [40_000] * 12, [1000] * 30]
    monkeypatch.setattr(splu_reconstruction, "MAX_FREQUENCIES", 3)
    assert choose(counts, 5).method == "two_by_two"
    monkeypatch.setattr(splu_reconstruction, "MAX_FREQUENCIES", 4)
    assert choose(counts, 5).method == "conditional_poisson"


def test_mixed_groups_follow_the_predicted_drift():
    # The mean weight of records with another value is what makes the 2x2 form biased.
    counts, gamma = np.array([40_000, 35_000, 15_000, 4_000, 3_000, 3_000]), 2
    plan = mixed_groups(
        counts,
        gamma,
        lambda stream, count: np.frombuffer(
            hashlib.shake_256(bytes([stream])).digest(8 * count), np.uint64
        ),
    )
    value = np.repeat(np.arange(6), counts)
    decoys = plan.members[plan.group_of]
    shown = np.array([np.bincount(decoys[value == u].ravel(), minlength=6) for u in range(6)])
    operator = (shown / (gamma * counts[:, np.newaxis])).T
    law = ConditionalPoisson.fit(gamma * counts / counts.sum(), gamma).operator()
    assert_allclose(operator, law, atol=0.01)
    background = background_probability(counts, gamma)
    assert abs(law[0, 1] - background[0]) > 0.03


# --- the paper's forms ------------------------------------------------------------------------


def test_golden_paper_forms():
    assert paper_linear(24, 200, 100, 1000, 5) == pytest.approx(40, rel=1e-12)
    stopped, rounds = paper_iterative(24, 200, 100, 1000, 5)
    assert stopped == pytest.approx([32.388], abs=5e-4)
    assert rounds.tolist() == [29]
    converged, _ = paper_iterative(24, 200, 100, 1000, 5, stop=1e-12)
    assert converged == pytest.approx([54.415688], abs=5e-7)


def test_the_papers_stopping_rule_stops_where_it_starts():
    # True count 27,000: every third record of the subset, three times as many as elsewhere.
    rows, count, subset, gamma = 1_000_000, 90_000, 100_000, 10
    true = 27_000
    shown = true / gamma + (subset - true) * (gamma - 1) * count / (gamma * (rows - count))
    stopped, rounds = paper_iterative(shown, subset, count, rows, gamma)
    assert rounds.tolist() == [1]
    assert stopped[0] == pytest.approx(9198, rel=2e-3)
    corrected = two_by_two([count, *[rows / 10] * 9, 10_000], gamma)
    assert shown * corrected.own[0] + (subset - shown) * corrected.other[0] == pytest.approx(true)


def test_the_papers_iteration_converges_to_a_biased_count():
    # Over a subset and the rest, together f*: f*^2 / N - f* (1 + 1 / gamma) + f' = 0.
    rows, count, gamma = 100_000, 1_000, 5
    inside, _ = paper_iterative(540, 50_000, count, rows, gamma, stop=1e-10)
    outside, _ = paper_iterative(460, 50_000, count, rows, gamma, stop=1e-10)
    total = float(inside[0] + outside[0])
    assert total**2 / rows - total * (1 + 1 / gamma) + count == pytest.approx(0, abs=1e-3)
    assert total == pytest.approx(count * gamma / (gamma + 1), rel=0.01)


def test_paper_queries_are_separate_and_end():
    alone = [paper_iterative(shown, 200, 100, 1000, 5) for shown in (24, 10, 60)]
    together = paper_iterative([24, 10, 60], 200, 100, 1000, 5)
    assert_allclose(together[0], np.concatenate([each[0] for each in alone]))
    assert together[1].tolist() == [int(each[1][0]) for each in alone]
    # A state that tends to 0 changes by a share of itself for ever.
    assert paper_iterative(30, 200, 100, 1000, 5, max_rounds=300)[1].tolist() == [300]
    # Nothing published, and everything asked for.
    assert paper_iterative([0, 100], [0, 1000], 100, 1000, 5)[0].tolist()[0] == 0
