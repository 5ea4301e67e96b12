"""General operators: golden numbers, exact enumeration, and what is refused."""

import itertools
import math

import numpy as np
import pytest
from reference.operator_estimates import (
    estimated_variance,
    iterative_bayesian,
)
from scipy.optimize import brentq

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism import operator as op
from duckdb_priv.mechanism.score_terms import score_terms

SKEWED = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]])
ASYMMETRIC = np.array([[0.8, 0.3, 0.1], [0.15, 0.4, 0.2], [0.05, 0.3, 0.7]])


def uniform(retention, m):
    return retention * np.eye(m) + (1 - retention) / m


def score_interval(estimate, variance, slope, half, z=1.959963984540054):
    """Wilson's interval for a count whose variance grows by ``slope`` a record."""
    low, high = (
        estimate
        + side * half
        + z**2 * slope / 2
        + side * z * math.sqrt(variance + side * slope * half + z**2 * slope**2 / 4)
        for side in (-1, 1)
    )
    return low, high


class TestCheck:
    def test_an_operator_comes_back_as_doubles(self):
        checked = op.check_operator([[1, 0], [0, 1]])
        assert checked.dtype == np.float64
        assert checked.tolist() == [[1, 0], [0, 1]]

    def test_decimal_probabilities_need_not_sum_to_one_in_the_last_bit(self):
        assert sum([0.1] * 10) != 1
        op.check_operator(np.full((10, 10), 0.1))

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            ([[1.1, 0.0], [-0.1, 1.0]], "original value 'flu' is published as value 'HIV' is -0.1"),
            (
                [[1.0, np.nan], [0.0, 1.0]],
                "original value 'HIV' is published as value 'flu' is nan",
            ),
            (
                [[1.0, 0.0], [np.inf, 1.0]],
                "original value 'flu' is published as value 'HIV' is inf",
            ),
            ([[0.9, 0.5], [0.0, 0.5]], "original value 'flu' sum to 0.9, not 1"),
            ([[0.5, 0.5], [0.5, 0.5 + 2e-12]], "original value 'HIV' sum to 1.000000000002, not 1"),
        ],
    )
    def test_what_is_no_operator_is_named(self, matrix, message):
        with pytest.raises(InvalidParameter, match=message):
            op.check_operator(matrix, labels=["flu", "HIV"])

    def test_without_labels_values_are_numbered(self):
        with pytest.raises(InvalidParameter, match="original value number 1 sum to"):
            op.check_operator([[1.0, 0.5], [0.0, 0.0]])


class TestInverse:
    @pytest.mark.parametrize("operator", [SKEWED, ASYMMETRIC, uniform(0.05, 50)])
    def test_weights_undo_the_operator(self, operator):
        assert op.invert(operator) @ operator == pytest.approx(np.eye(len(operator)), abs=1e-12)

    def test_uniform_perturbation_has_the_inverse_of_its_retention_as_condition_number(self):
        assert op.condition_number(uniform(0.2, 14)) == pytest.approx(5)

    @pytest.mark.parametrize(
        "operator", [np.full((3, 3), 1 / 3), uniform(1e-9, 4), np.array([[0.5, 0.5], [0.5, 0.5]])]
    )
    def test_singular_and_nearly_singular_operators_are_refused(self, operator):
        with pytest.raises(
            InvalidParameter, match=r"condition number is (inf|\d.*), at most 1e\+08"
        ):
            op.invert(operator)


class TestVariance:
    @pytest.mark.parametrize("operator", [SKEWED, ASYMMETRIC])
    def test_every_outcome_of_four_records_enumerated(self, operator):
        truth = np.array([0, 1, 1, 2])
        counts = np.bincount(truth, minlength=3)
        weights = op.invert(operator)
        outcomes = list(itertools.product(range(3), repeat=truth.size))
        chance = np.array([operator[list(y), truth].prod() for y in outcomes])
        observed = np.array([np.bincount(y, minlength=3) for y in outcomes])
        estimates = observed @ weights.T
        plug_in = np.array([estimated_variance(weights, o) for o in observed])

        variance = op.linear_variance(weights, operator, counts)
        assert chance @ estimates == pytest.approx(counts, abs=1e-12)
        assert chance @ (estimates - counts) ** 2 == pytest.approx(variance, abs=1e-12)
        assert chance @ plug_in == pytest.approx(variance, abs=1e-12)

    def test_uniform_perturbation_golden(self):
        operator = uniform(0.5, 14)
        counts = [300] + [700 / 13] * 13
        variance = op.linear_variance(op.invert(operator), operator, counts)
        assert variance[0] == pytest.approx(394.897959, abs=5e-7)

    def test_publishing_the_truth_has_no_error(self):
        assert op.linear_variance(np.eye(3), np.eye(3), [5, 3, 2]).tolist() == [0, 0, 0]


class TestScoreInterval:
    @pytest.mark.parametrize(
        ("n", "observed", "p", "m", "estimate", "low", "high"),
        [
            (100, 40, 0.5, 14, 72.857143, 56.4087, 92.7898),
            (100, 2, 0.5, 14, -3.142857, None, 6.4729),
            (1000, 200, 0.2, 50, 920, 801.991, None),
        ],
    )
    def test_uniform_perturbation_golden(self, n, observed, p, m, estimate, low, high):
        operator = uniform(p, m)
        weights = op.invert(operator)
        # How the other records spread over the other values makes no difference here.
        counts = np.array([observed, n - observed] + [0] * (m - 2))
        got = (weights @ counts)[0]
        interval = score_interval(
            got,
            estimated_variance(weights, counts)[0],
            score_terms(weights, operator, np.full(m, 1 / m)).slope[0],
            op.half_step(weights)[0],
        )
        assert got == pytest.approx(estimate, abs=5e-7)
        assert interval[0] == pytest.approx(low, rel=1e-6) if low else interval[0] < 0
        assert interval[1] == pytest.approx(high, rel=1e-5) if high else interval[1] > n

    def test_uniform_slope_and_step_in_closed_form(self):
        p, m = 0.3, 7
        q = (1 - p) / m
        a = p + q
        operator = uniform(p, m)
        weights = op.invert(operator)
        slope = (a * (1 - a) - q * (1 - q)) / p**2
        found = score_terms(weights, operator, np.arange(1, m + 1) / np.arange(1, m + 1).sum())
        assert found.slope == pytest.approx(np.full(m, slope))
        assert found.scatter == pytest.approx(np.full(m, q * (1 - q) / p**2))
        assert found.most_scatter == pytest.approx(np.full(m, a * (1 - a) / p**2))
        assert found.upward == pytest.approx(np.full(m, (1 - 2 * q) / p))
        assert found.downward == pytest.approx(np.full(m, max(2 * a - 1, 0) / p))
        assert op.half_step(weights) == pytest.approx(np.full(m, 1 / (2 * p)))

    def test_slope_falls_for_a_value_that_is_published_as_it_is(self):
        operator = np.array([[1.0, 0.5], [0.0, 0.5]])
        slope = score_terms(op.invert(operator), operator, np.array([0.5, 0.5])).slope
        assert slope == pytest.approx([-1, 1])

    def test_slope_is_what_replacing_one_other_record_adds_where_others_are_equally_frequent(self):
        weights = op.invert(ASYMMETRIC)
        counts = np.array([10.0, 20.0, 30.0])
        moved = counts + np.array([1, -0.5, -0.5])
        difference = op.linear_variance(weights, ASYMMETRIC, moved) - op.linear_variance(
            weights, ASYMMETRIC, counts
        )
        assert score_terms(weights, ASYMMETRIC, np.full(3, 1 / 3)).slope[0] == pytest.approx(
            difference[0]
        )


class TestIterativeBayesian:
    @pytest.mark.parametrize("operator", [SKEWED, ASYMMETRIC])
    def test_agrees_with_the_linear_estimate_inside(self, operator):
        observed = np.round(operator @ [500, 300, 200])
        linear = op.invert(operator) @ observed
        assert linear.min() > 0
        bayesian = iterative_bayesian(operator, observed, tolerance=1e-13)
        assert bayesian == pytest.approx(linear, abs=1e-7)

    def test_agrees_with_the_constrained_maximum_likelihood_of_uniform_perturbation(self):
        p, m = 0.3, 6
        q = (1 - p) / m
        observed = np.array([300, 280, 130, 110, 90, 90])
        shares = observed / observed.sum()

        def constrained(scale):
            return np.maximum(0, (scale * shares - q) / p)

        scale = brentq(lambda scale: constrained(scale).sum() - 1, 0.1, 10, xtol=1e-15)
        expected = observed.sum() * constrained(scale)
        assert (expected == 0).any()
        bayesian = iterative_bayesian(uniform(p, m), observed, tolerance=1e-13)
        assert bayesian == pytest.approx(expected, abs=1e-5)

    def test_values_that_cannot_be_distinguished_share_their_total(self):
        operator = np.array([[0.6, 0.2, 0.2], [0.2, 0.4, 0.4], [0.2, 0.4, 0.4]])
        bayesian = iterative_bayesian(operator, operator @ [50, 40, 10], tolerance=1e-13)
        assert bayesian == pytest.approx([50, 25, 25])

    def test_without_noise_it_is_the_count(self):
        assert iterative_bayesian(np.eye(3), [5, 0, 2]) == pytest.approx([5, 0, 2])

    def test_gives_up_with_an_error(self):
        with pytest.raises(InvalidParameter, match="did not converge to 1e-08 in 3 iterations"):
            iterative_bayesian(SKEWED, [50, 30, 20], max_iterations=3)

    @pytest.mark.parametrize("observed", [[0, 0, 0], [5, -1, 3], [np.nan, 1, 1]])
    def test_counts_that_are_none_are_refused(self, observed):
        with pytest.raises(InvalidParameter, match="observed counts must be non-negative"):
            iterative_bayesian(SKEWED, observed)

    def test_counts_that_cannot_have_been_published_are_refused(self):
        operator = np.array([[1.0, 0.5, 0.3], [0.0, 0.5, 0.7], [0.0, 0.0, 0.0]])
        assert iterative_bayesian(operator, [5, 5, 0]).sum() == pytest.approx(10)
        with pytest.raises(InvalidParameter, match="never publishes"):
            iterative_bayesian(operator, [5, 5, 1])


class TestPrivacy:
    @pytest.mark.parametrize(("gamma", "m"), [(9, 2), (9, 14), (19, 50), (6, 10)])
    def test_amplification_of_the_largest_retention_is_gamma(self, gamma, m):
        operator = uniform((gamma - 1) / (m - 1 + gamma), m)
        assert op.amplification(operator) == pytest.approx(gamma)

    def test_local_differential_privacy_golden(self):
        assert op.ldp_epsilon(uniform(0.5, 50)) == pytest.approx(math.log(51))

    def test_a_value_that_rules_out_an_original_has_no_bound(self):
        operator = np.array([[1.0, 0.5], [0.0, 0.5]])
        assert op.amplification(operator) == math.inf
        assert op.ldp_epsilon(operator) == math.inf

    def test_a_value_that_is_never_published_reveals_nothing(self):
        operator = np.array([[0.75, 0.25, 0.5], [0.25, 0.75, 0.5], [0.0, 0.0, 0.0]])
        assert op.amplification(operator) == pytest.approx(3)
        posterior = op.largest_posterior(operator, [1, 1, 0])
        assert posterior == pytest.approx([0.75, 0.75, 0])

    def test_a_prior_of_rho1_becomes_rho2_at_the_largest_retention(self):
        gamma, m = 9, 14
        operator = uniform((gamma - 1) / (m - 1 + gamma), m)
        posterior = op.largest_posterior(operator, [0.1] + [0.9 / 13] * 13)
        assert posterior[0] == pytest.approx(0.5)

    def test_counts_serve_as_prior(self):
        by_count = op.largest_posterior(ASYMMETRIC, [60, 30, 10])
        assert by_count == pytest.approx(op.largest_posterior(ASYMMETRIC, [0.6, 0.3, 0.1]))


class TestIdentifiability:
    def test_equal_columns_are_one_class(self):
        operator = np.array(
            [[0.4, 0.1, 0.4, 0.1], [0.2, 0.5, 0.2, 0.1], [0.2, 0.2, 0.2, 0.7], [0.2, 0.2, 0.2, 0.1]]
        )
        assert op.identifiability_classes(operator).tolist() == [0, 1, 0, 2]

    def test_what_can_be_distinguished_is_a_class_each(self):
        assert op.identifiability_classes(ASYMMETRIC).tolist() == [0, 1, 2]

    def test_tolerance_decides_what_is_equal(self):
        operator = np.array([[0.5, 0.5 + 1e-6], [0.5, 0.5 - 1e-6]])
        assert op.identifiability_classes(operator).tolist() == [0, 1]
        assert op.identifiability_classes(operator, tolerance=1e-5).tolist() == [0, 0]
