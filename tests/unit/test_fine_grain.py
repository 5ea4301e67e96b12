"""Fine-grain perturbation: the paper's examples, its missing constraint, and exact guarantees."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from reference.fine_grain_errors import expected_error, record_utility
from scipy.optimize import linprog

from duckdb_priv.errors import GuaranteeViolated, InvalidParameter
from duckdb_priv.mechanism import operator as op
from duckdb_priv.mechanism.fine_grain import FineGrain, verify, worst_posteriors
from duckdb_priv.mechanism.fine_grain_program import optimal_operator, uniform_retention
from duckdb_priv.mechanism.requirements import Requirements

DISEASES = ("SARS", "HIV", "H1N1", "cancer")
EXAMPLE = Requirements(
    4,
    values=[0, 1, 2, 3],
    rho1=[1 / 10, 1 / 10, 1 / 20, 1 / 10],
    rho2=[1 / 7, 1 / 4, 1 / 3, 2 / 3],
    labels=DISEASES,
)
"""The gammas of the paper's Example 1, with beliefs that give them: SARS matters most by far."""
EQUAL = np.full(4, 1 / 4)

ZIPF = 1 / np.arange(1, 41) / (1 / np.arange(1, 41)).sum()


def requirements_for(gamma):
    """One requirement for each finite gamma, from even odds."""
    gamma = np.asarray(gamma, dtype=float)
    values = np.flatnonzero(np.isfinite(gamma))
    rho2 = gamma[values] / (1 + gamma[values])
    return Requirements(gamma.size, values, np.full(values.size, 0.5), rho2)


def random_instance(rng, largest=8):
    """Frequencies and requirements that leave about one value in five unconstrained."""
    m = int(rng.integers(3, largest + 1))
    gamma = 1 + rng.exponential(6, m)
    gamma[rng.random(m) < 0.2] = np.inf
    gamma[rng.integers(m)] = 1 + rng.exponential(3)
    return rng.dirichlet(np.ones(m)), requirements_for(gamma)


def program_on_pairs(frequencies, gamma, direction, min_retention=0.0):
    """The optimum of the program as it is written down: a constraint for every pair."""
    m = gamma.size
    rows, limits = [], []
    for i in range(m):
        for j in range(m):
            bound = gamma[i] if direction == "upward" else min(gamma[i], gamma[j])
            if i != j and np.isfinite(bound):
                row = np.zeros(m)
                row[i], row[j] = m - 1, bound
                rows.append(row)
                limits.append(bound - 1)
    solution = linprog(
        -frequencies, A_ub=np.array(rows), b_ub=limits, bounds=(min_retention, 1), method="highs"
    )
    return record_utility(FineGrain(np.clip(solution.x, 0, 1)), frequencies)


def closed_form_upward(frequencies, gamma):
    """The optimum of the upward program from its two largest retentions, without a solver.

    If value k has the largest retention t and the others have at most s <= t, value k asks for
    ``(m - 1) t + gamma_k s <= gamma_k - 1`` and each other one for ``p_i <= min(s, c_i(t))`` with
    ``c_i(t) = (gamma_i (1 - t) - 1) / (m - 1)``. Between the points where two of these lines cross
    the utility is linear in t, so one of the points is best.
    """
    m, best = gamma.size, 0.0

    def ceiling(i, t):
        return 1.0 if np.isinf(gamma[i]) else (gamma[i] * (1 - t) - 1) / (m - 1)

    for k in range(m):
        others = [i for i in range(m) if i != k]

        def second(t, k=k):
            return t if np.isinf(gamma[k]) else min(t, 1 - 1 / gamma[k] - (m - 1) * t / gamma[k])

        end = min([1.0] + [1 - 1 / gamma[i] for i in others])
        if np.isfinite(gamma[k]):
            end = min(end, (gamma[k] - 1) / (m - 1))
        points = {0.0, end}
        # Lines a + b t: the diagonal, what k leaves to the others, and every ceiling.
        lines = [(0.0, 1.0)] + [
            ((gamma[i] - 1) / (m - 1), -gamma[i] / (m - 1)) for i in others if np.isfinite(gamma[i])
        ]
        if np.isfinite(gamma[k]):
            lines.append((1 - 1 / gamma[k], -(m - 1) / gamma[k]))
        for a, b in lines:
            for c, d in lines:
                if b != d:
                    points.add((c - a) / (b - d))
        for t in points:
            if 0 <= t <= end + 1e-15:
                p = np.array([max(0.0, min(second(t), ceiling(i, t))) for i in range(m)])
                p[k] = t
                best = max(best, record_utility(FineGrain(np.clip(p, 0, 1)), frequencies))
    return best


def amplifications_of_matrix(operator):
    """Both amplifications from the definition: every published value, every other original."""
    matrix = operator.matrix()
    rise = [(matrix[:, i, None] / np.delete(matrix, i, axis=1)).max() for i in range(len(matrix))]
    fall = [(np.delete(matrix, i, axis=1) / matrix[:, i, None]).max() for i in range(len(matrix))]
    return np.array(rise), np.array(fall)


def exact_violations(operator, requirements, direction):
    """Requirements broken by the stored retentions, in rational arithmetic, from the definition."""
    p = [Fraction(float(x)) for x in operator.retentions]
    m = len(p)
    matrix = [[(1 - p[x]) / m + (p[x] if x == y else 0) for x in range(m)] for y in range(m)]
    broken = []
    for i, rho1, rho2 in zip(
        requirements.values, requirements.rho1, requirements.rho2, strict=True
    ):
        rho1, rho2 = Fraction(float(rho1)), Fraction(float(rho2))
        for y in range(m):
            for k in range(m):
                own, other = matrix[y][i], matrix[y][k]
                # Posteriors when all of the remaining prior is on k.
                up = k != i and own * rho1 > rho2 * (own * rho1 + other * (1 - rho1))
                down = k != i and own * rho2 < rho1 * (own * rho2 + other * (1 - rho2))
                if up or (down and direction == "both"):
                    broken.append((int(i), y, k))
    return broken


class TestRequirements:
    def test_gammas_of_example_1(self):
        assert EXAMPLE.gamma() == pytest.approx([3 / 2, 3, 19 / 2, 18])

    def test_the_tightest_of_several_requirements_counts_and_none_is_infinite(self):
        requirements = Requirements(3, [2, 0, 2], [0.2, 0.1, 0.1], [0.6, 0.25, 0.5])
        assert requirements.gamma() == pytest.approx([3, math.inf, 6])
        assert requirements.factors() == pytest.approx([6, 3, 9])

    @pytest.mark.parametrize(
        ("rho1", "rho2"),
        [(0, 0.5), (0.5, 0.5), (0.6, 0.5), (0.5, 1), (-0.1, 0.5), (np.nan, 0.5), (0.5, np.nan)],
    )
    def test_beliefs_out_of_order_are_refused(self, rho1, rho2):
        with pytest.raises(InvalidParameter, match=f"'HIV' has rho1 = {rho1} and rho2 = {rho2}"):
            Requirements(4, [0, 1], [0.1, rho1], [0.2, rho2], labels=DISEASES)

    def test_no_requirement_at_all_is_refused(self):
        with pytest.raises(InvalidParameter, match="no value is constrained"):
            Requirements(4, [], [], [])

    def test_tolerance_leaves_frequent_values_unconstrained(self):
        requirements = Requirements.from_tolerance([500, 400, 100], 2.5)
        assert requirements.values.tolist() == [2]
        assert requirements.rho1 == pytest.approx([0.1])
        assert requirements.rho2 == pytest.approx([0.25])

    @pytest.mark.parametrize("tolerance", [1, 0.5, math.nan, math.inf])
    def test_tolerance_must_be_above_one(self, tolerance):
        with pytest.raises(InvalidParameter, match="tolerance must be above 1, got"):
            Requirements.from_tolerance([0.5, 0.5], tolerance)

    def test_a_tolerance_that_constrains_nothing_is_refused(self):
        with pytest.raises(InvalidParameter, match="no value is constrained"):
            Requirements.from_tolerance([0.5, 0.5], 2)


class TestExamples:
    def test_uniform_alternative(self):
        retention = uniform_retention(EXAMPLE.gamma())
        assert retention == pytest.approx(1 / 9)
        operator = FineGrain(np.full(4, retention))
        assert operator.own == pytest.approx(np.full(4, 1 / 3))
        assert operator.other == pytest.approx(np.full(4, 2 / 9))
        assert record_utility(operator, EQUAL) == pytest.approx(1 / 3)

    def test_the_paper_s_program(self):
        operator = optimal_operator(EQUAL, EXAMPLE, direction="upward")
        assert operator.retentions == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3], abs=1e-11)
        figure_2b = np.array(
            [
                [1 / 4, 1 / 6, 1 / 6, 1 / 6],
                [1 / 4, 1 / 2, 1 / 6, 1 / 6],
                [1 / 4, 1 / 6, 1 / 2, 1 / 6],
                [1 / 4, 1 / 6, 1 / 6, 1 / 2],
            ]
        )
        assert operator.matrix() == pytest.approx(figure_2b, abs=1e-11)
        assert record_utility(operator, EQUAL) == pytest.approx(0.4375, abs=1e-11)
        highest, lowest = worst_posteriors(operator, EXAMPLE)
        assert highest[:2] == pytest.approx([1 / 7, 1 / 4])
        # The claim about falling beliefs is false: from 1/7 one can come down to 1/13, not 1/10.
        assert lowest[0] == pytest.approx(1 / 13)
        verify(operator, EXAMPLE, "upward")
        with pytest.raises(
            GuaranteeViolated,
            match=r"'SARS': a prior of 0\.142857 can fall to 0\.0769231, past 0\.1",
        ):
            verify(operator, EXAMPLE, "both")

    def test_all_breaches_of_the_paper_s_program_concern_one_value(self):
        operator = FineGrain(np.array([0, 1 / 3, 1 / 3, 1 / 3]))
        # The stored thirds may be a bit more than a third: only breaches that are not rounding.
        relaxed = requirements_for(EXAMPLE.gamma() * (1 + 1e-9))
        assert exact_violations(operator, relaxed, "upward") == []
        assert exact_violations(operator, relaxed, "both") == [(0, 1, 1), (0, 2, 2), (0, 3, 3)]

    def test_the_corrected_program(self):
        operator = optimal_operator(EQUAL, EXAMPLE)
        assert operator.retentions == pytest.approx([0, 1 / 6, 1 / 6, 1 / 6], abs=1e-11)
        assert record_utility(operator, EQUAL) == pytest.approx(0.34375, abs=1e-11)

    @pytest.mark.parametrize(
        ("least", "upward", "both"), [(0.01, 0.428125, 0.342812), (0.05, 0.390625, 0.339063)]
    )
    def test_cost_of_a_minimum_retention(self, least, upward, both):
        for direction, utility in (("upward", upward), ("both", both)):
            operator = optimal_operator(EQUAL, EXAMPLE, direction=direction, min_retention=least)
            assert record_utility(operator, EQUAL) == pytest.approx(utility, abs=6e-7)
            assert operator.retentions.min() == pytest.approx(least, rel=1e-11)
            assert operator.identifiable.all()

    def test_unconstrained_values(self):
        frequencies, requirements = [0.4, 0.3, 0.3], requirements_for([9, math.inf, math.inf])
        upward = optimal_operator(frequencies, requirements, direction="upward")
        # Then any other published value excludes the first one: beliefs fall without bound.
        assert upward.retentions[0] == pytest.approx(1, abs=1e-11)
        assert upward.downward_amplification()[0] > 1e11
        both = optimal_operator(frequencies, requirements)
        assert both.retentions == pytest.approx(np.full(3, 8 / 11))


class TestProgram:
    def test_a_hundred_random_programs(self):
        rng = np.random.default_rng(20100)
        falling = 0
        for _ in range(100):
            frequencies, requirements = random_instance(rng)
            gamma = requirements.gamma()
            least = 0.4 * uniform_retention(gamma) * (rng.random() < 0.5)
            for direction in ("upward", "both"):
                operator = optimal_operator(
                    frequencies, requirements, direction=direction, min_retention=least
                )
                verify(operator, requirements, direction)
                assert record_utility(operator, frequencies) == pytest.approx(
                    program_on_pairs(frequencies, gamma, direction, least), abs=1e-9
                )
                rise, fall = amplifications_of_matrix(operator)
                assert (rise <= gamma).all()
                if direction == "both":
                    assert (fall <= gamma).all()
                else:
                    falling += (fall > gamma * (1 + 1e-9)).any()
        # The paper's program lets beliefs fall too far nearly always.
        assert falling > 80

    def test_upward_program_has_a_closed_form(self):
        rng = np.random.default_rng(20101)
        for _ in range(100):
            frequencies, requirements = random_instance(rng)
            operator = optimal_operator(frequencies, requirements, direction="upward")
            assert record_utility(operator, frequencies) == pytest.approx(
                closed_form_upward(frequencies, requirements.gamma()), abs=1e-9
            )

    def test_the_largest_retention_is_bounded_by_the_second_largest_only(self):
        # One value is nearly all: it alone is kept, more often than any shared maximum allows.
        requirements = requirements_for([3, 3])
        operator = optimal_operator([0.9, 0.1], requirements, direction="upward")
        assert operator.retentions == pytest.approx([2 / 3, 0], abs=1e-11)

    @pytest.mark.parametrize("direction", ["both", "upward"])
    def test_the_uniform_operator_is_the_largest_minimum(self, direction):
        bound = uniform_retention(EXAMPLE.gamma())
        operator = optimal_operator(EQUAL, EXAMPLE, direction=direction, min_retention=bound)
        assert operator.retentions == pytest.approx(np.full(4, bound), rel=1e-11)

    @pytest.mark.parametrize("least", [0.1112, 9e-7, -0.01, math.nan, 2])
    def test_an_infeasible_minimum_names_the_bound(self, least):
        with pytest.raises(InvalidParameter, match=r"allow 0, or 1e-06 to 0\.1111111"):
            optimal_operator(EQUAL, EXAMPLE, min_retention=least)

    def test_what_no_table_could_count_is_published_as_pure_noise(self):
        # The rarest of a thousand values differ so little that the optimum keeps billionths.
        frequencies = 1 / np.arange(1, 1001)
        requirements = Requirements.from_tolerance(frequencies, 50)
        operator = optimal_operator(frequencies, requirements, direction="upward")
        kept = operator.retentions[operator.identifiable]
        assert kept.size < 1000
        assert kept.min() >= 0.999e-6

    @pytest.mark.parametrize("frequencies", [[0, 0, 0, 0], [1, 1, 1, -1], [1, 1, 1, math.nan]])
    def test_frequencies_that_are_none_are_refused(self, frequencies):
        with pytest.raises(InvalidParameter, match="frequencies must be non-negative"):
            optimal_operator(frequencies, EXAMPLE)

    def test_counts_and_shares_give_the_same_operator(self):
        by_count = optimal_operator([40, 30, 20, 10], EXAMPLE).retentions
        assert (
            by_count.tolist() == optimal_operator([0.4, 0.3, 0.2, 0.1], EXAMPLE).retentions.tolist()
        )

    @pytest.mark.parametrize("direction", ["both", "upward"])
    def test_a_thousand_values_in_seconds(self, direction):
        frequencies = np.random.default_rng(20102).permutation(1 / np.arange(1, 1001))
        requirements = Requirements.from_tolerance(frequencies, 50)
        started = time.process_time()
        operator = optimal_operator(frequencies, requirements, direction=direction)
        assert time.process_time() - started < 10
        uniform = FineGrain(np.full(1000, uniform_retention(requirements.gamma())))
        assert record_utility(operator, frequencies) > record_utility(uniform, frequencies)


class TestExactness:
    """The retentions as stored meet the requirements in rational arithmetic, not nearly."""

    @pytest.mark.parametrize("direction", ["both", "upward"])
    @pytest.mark.parametrize("spread", [1e-9, 1e-4, 1.0, 1e4, 1e8])
    def test_no_requirement_is_broken_by_rounding(self, direction, spread):
        rng = np.random.default_rng(20103)
        for _ in range(15):
            m = int(rng.integers(2, 6))
            # Beliefs in sorted pairs: gammas from 1 + spread up, whatever the beliefs are.
            rho1 = rng.uniform(0.001, 0.9, m)
            odds = rho1 / (1 - rho1) * (1 + rng.exponential(spread, m))
            requirements = Requirements(m, np.arange(m), rho1, odds / (1 + odds))
            operator = optimal_operator(
                rng.dirichlet(np.ones(m)), requirements, direction=direction
            )
            assert exact_violations(operator, requirements, direction) == []

    def test_retentions_that_touch_their_bounds_without_a_margin_do_break(self):
        # What the margin is for: thirds are not doubles.
        operator = FineGrain(np.array([0, 1 / 3, 1 / 3, 1 / 3]) * (1 + 1e-15))
        assert exact_violations(operator, EXAMPLE, "upward")

    def test_the_margin_is_what_is_lost(self):
        operator = optimal_operator(EQUAL, EXAMPLE)
        assert 0 < 0.34375 - record_utility(operator, EQUAL) < 1e-11


class TestZipf:
    """A Zipf distribution over 40 values, at four tolerances."""

    @pytest.mark.parametrize(
        ("theta", "free", "first", "least", "p_uniform", "u_uniform", "u_up", "p_1", "p_40",
         "u_both", "condition", "falling", "error", "error_uniform"),
        [
            (20, 4, 292.848319, 22.51419658, 0.34974360, 0.36600001, 0.52212886, 0.87946300,
             0.043943, 0.42822720, 24.4, 31, 0.00570, 0.00133),
            (30, 7, 235.754294, 36.16401720, 0.46783047, 0.48113470, 0.62276689, 0.85441538,
             0.109357, 0.62050104, 9.76, 11, 0.00199, 0.00093),
            (40, 9, 600.057076, 51.89552784, 0.55993434, 0.57093599, 0.69598896, 0.86659502,
             0.151875, 0.69598896, 7.03, 0, 0.00123, 0.00073),
            (50, 11, 1874.931060, 70.22424618, 0.63378095, 0.64293642, 0.75160364, 0.88112386,
             0.188410, 0.75160364, 5.65, 0, 0.00086, 0.00060),
        ],
    )  # fmt: skip
    def test_golden(
        self, theta, free, first, least, p_uniform, u_uniform, u_up, p_1, p_40,
        u_both, condition, falling, error, error_uniform,
    ):  # fmt: skip
        requirements = Requirements.from_tolerance(ZIPF, theta)
        gamma = requirements.gamma()
        assert np.isinf(gamma).sum() == free
        assert gamma[free] == pytest.approx(first, abs=5e-6)
        assert gamma[-1] == gamma.min() == pytest.approx(least, abs=5e-9)

        uniform = FineGrain(np.full(40, uniform_retention(gamma)))
        assert uniform.retentions[0] == pytest.approx(p_uniform, abs=5e-9)
        assert record_utility(uniform, ZIPF) == pytest.approx(u_uniform, abs=5e-9)

        upward = optimal_operator(ZIPF, requirements, direction="upward")
        assert record_utility(upward, ZIPF) == pytest.approx(u_up, abs=6e-9)
        assert upward.retentions[0] == pytest.approx(p_1, abs=5e-9)
        assert upward.retentions[-1] == pytest.approx(p_40, abs=5e-7)
        assert upward.condition_number == pytest.approx(condition, rel=2e-3)
        too_far = upward.downward_amplification() > gamma * (1 + 1e-9)
        assert too_far.sum() == falling
        assert closed_form_upward(ZIPF, gamma) == pytest.approx(u_up, abs=6e-9)

        both = optimal_operator(ZIPF, requirements)
        assert record_utility(both, ZIPF) == pytest.approx(u_both, abs=6e-9)

        counts = 95_946 * ZIPF
        assert expected_error(upward, counts) == pytest.approx(error, abs=6e-6)
        assert expected_error(uniform, counts) == pytest.approx(error_uniform, abs=6e-6)

    def test_the_rarest_value_can_lose_all_retention(self):
        requirements = Requirements.from_tolerance(ZIPF, 20)
        both = optimal_operator(ZIPF, requirements)
        assert np.flatnonzero(both.retentions == 0).tolist() == [39]
        counts = 95_946 * ZIPF
        variance = op.linear_variance(both.weights(), both.matrix(), counts)
        assert math.sqrt(variance.max()) / 95_946 == pytest.approx(0.43, abs=5e-3)
        kept = optimal_operator(ZIPF, requirements, min_retention=0.05)
        assert expected_error(kept, counts) < expected_error(both, counts) / 4


class TestInverse:
    def test_the_closed_form_is_the_inverse(self):
        rng = np.random.default_rng(20104)
        for _ in range(200):
            operator = FineGrain(rng.uniform(0.05, 1, rng.integers(2, 9)))
            expected = np.linalg.inv(operator.matrix())
            assert operator.weights() == pytest.approx(expected, abs=1e-12 * expected.max())
            assert operator.identifiable.all()

    def test_the_background_estimates_every_count_from_m_numbers(self):
        operator = FineGrain(np.array([0.2, 0.5, 0.7]))
        observed = np.array([50, 30, 20])
        estimates = (observed - operator.background @ observed) / operator.retentions
        assert estimates == pytest.approx(operator.weights() @ observed)

    def test_one_value_of_pure_noise_can_be_inverted(self):
        operator = FineGrain(np.array([0, 1 / 3, 1 / 3, 1 / 3]))
        assert np.linalg.det(operator.matrix()) == pytest.approx(1 / 108)
        assert operator.weights() == pytest.approx(np.linalg.inv(operator.matrix()))
        assert operator.background.tolist() == [1, 0, 0, 0]
        assert operator.identifiable.all()
        assert operator.condition_number == pytest.approx(np.linalg.cond(operator.matrix()))

    @pytest.mark.parametrize("zeros", [2, 3, 5])
    def test_several_values_of_pure_noise_cannot_be_distinguished(self, zeros):
        retentions = np.array([0.0] * zeros + [0.3, 0.6])
        operator = FineGrain(retentions)
        matrix, m = operator.matrix(), zeros + 2
        assert np.linalg.matrix_rank(matrix) == m - zeros + 1
        assert operator.identifiable.tolist() == [False] * zeros + [True, True]
        assert op.identifiability_classes(matrix).tolist() == [0] * zeros + [1, 2]
        assert operator.condition_number == math.inf
        with pytest.raises(InvalidParameter, match="condition number"):
            op.invert(matrix)
        # An equal split of what the others leave is the pseudo-inverse.
        assert operator.weights() == pytest.approx(np.linalg.pinv(matrix), abs=1e-12)
        counts = np.array([7.0] * zeros + [20, 30])
        counts[0] += 3
        estimates = operator.weights() @ (matrix @ counts)
        assert estimates[zeros:] == pytest.approx([20, 30])
        assert estimates[:zeros].sum() == pytest.approx(7 * zeros + 3)
        assert expected_error(operator, counts) == math.inf

    def test_pure_noise_alone_has_no_inverse(self):
        operator = FineGrain(np.zeros(3))
        assert not operator.identifiable.any()
        assert operator.weights() == pytest.approx(np.full((3, 3), 1 / 3))


class TestThresholds:
    @pytest.mark.parametrize("size", [2, 3, 7, 40, 1000])
    def test_words_are_shared_out_exactly_and_never_against_the_noise(self, size):
        rng = np.random.default_rng(size)
        retentions = rng.uniform(1e-6, 1, size)
        retentions[0] = 0
        keep, width = FineGrain(retentions).thresholds()
        for k, w, p in zip(keep.tolist(), width.tolist(), retentions.tolist(), strict=True):
            assert k + size * w == 2**64
            assert w > 0
            kept = Fraction(k, 2**64)
            assert Fraction(p) - Fraction(size, 2**64) < kept
            assert kept <= Fraction(p) or (p == 0 and kept < Fraction(size, 2**64))

    def test_a_retention_of_one_still_leaves_a_word_for_each_value(self):
        keep, width = FineGrain(np.array([1.0, 0.5, 0.5])).thresholds()
        assert (int(keep[0]), int(width[0])) == (2**64 - 3, 1)


class TestPosteriors:
    def test_amplifications_are_those_of_the_matrix(self):
        rng = np.random.default_rng(20105)
        for m in (2, 3, 4, 7):
            for _ in range(50):
                operator = FineGrain(rng.uniform(0, 0.99, m) * (rng.random(m) < 0.8))
                rise, fall = amplifications_of_matrix(operator)
                assert operator.upward_amplification() == pytest.approx(rise)
                assert operator.downward_amplification() == pytest.approx(fall)
                assert op.amplification(operator.matrix()) == pytest.approx(rise.max())

    def test_no_prior_does_worse_than_the_worst(self):
        rng = np.random.default_rng(20106)
        for _ in range(20):
            frequencies, requirements = random_instance(rng, largest=5)
            operator = optimal_operator(frequencies, requirements)
            matrix, m = operator.matrix(), len(operator.retentions)
            highest, lowest = worst_posteriors(operator, requirements)
            for k, i in enumerate(requirements.values):
                beliefs = {}
                for rho in (requirements.rho1[k], requirements.rho2[k]):
                    rest = np.vstack([np.eye(m - 1), rng.dirichlet(np.ones(m - 1), 200)])
                    priors = np.insert(rest * (1 - rho), i, rho, axis=1)
                    beliefs[rho] = rho * matrix[:, i] / (priors @ matrix.T)
                above, below = beliefs[requirements.rho1[k]], beliefs[requirements.rho2[k]]
                # The corners, where the rest of the prior is on one value, attain the bounds.
                assert above.max() == pytest.approx(highest[k])
                assert below.min() == pytest.approx(lowest[k])
                assert above.max() <= requirements.rho2[k] * (1 + 1e-12)
                assert below.min() >= requirements.rho1[k] * (1 - 1e-12)

    def test_publishing_the_truth_gives_certainty(self):
        requirements = requirements_for([3, 3])
        highest, lowest = worst_posteriors(FineGrain(np.ones(2)), requirements)
        assert highest.tolist() == [1, 1]
        assert lowest.tolist() == [0, 0]
        with pytest.raises(GuaranteeViolated, match=r"a prior of 0\.5 can rise to 1, past 0\.75"):
            verify(FineGrain(np.ones(2)), requirements, "upward")

    def test_the_violated_one_of_several_requirements_is_named(self):
        requirements = Requirements(2, [0, 0], [0.1, 0.2], [0.9, 0.25], labels=["HIV", "flu"])
        with pytest.raises(GuaranteeViolated, match=r"'HIV': a prior of 0\.2 can rise to 0\.42"):
            verify(FineGrain(np.full(2, 0.5)), requirements, "both")

    def test_a_retention_too_large_by_a_billionth_is_found(self):
        operator = optimal_operator(EQUAL, EXAMPLE)
        with pytest.raises(GuaranteeViolated):
            verify(FineGrain(operator.retentions * (1 + 1e-9)), EXAMPLE, "both")


class TestOperator:
    def test_matrix_is_an_operator(self):
        operator = FineGrain(np.array([0.0, 0.3, 1.0]))
        op.check_operator(operator.matrix())
        assert np.diagonal(operator.matrix()) == pytest.approx(operator.own)
        assert operator.matrix()[0, 1] == pytest.approx(operator.other[1])

    @pytest.mark.parametrize("retention", [-0.1, 1.1, math.nan])
    def test_a_retention_is_a_probability(self, retention):
        with pytest.raises(InvalidParameter, match=f"value number 1 is {retention}"):
            FineGrain(np.array([0.5, retention]))
