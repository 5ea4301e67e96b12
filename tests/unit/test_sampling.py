"""Golden numbers of Li, Qardaji, Su (tables 1 and 2, figures 4 to 6), and slow exact checks."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.sampling import (
    MAX_EPSILON,
    SMALLEST_DELTA,
    amplified_delta,
    amplified_epsilon,
    sampling_delta,
    sampling_epsilon,
    sampling_k,
    tight_delta,
)

TABLE_2 = {
    0.05: (6.828651e-10, 2.498883e-14, 3.194951e-17, 1.759510e-19, 3.970253e-22, 1.998186e-24),
    0.1: (4.194774e-06, 1.606253e-09, 3.436708e-12, 4.072506e-14, 3.221971e-16, 1.891000e-18),
    0.2: (2.158277e-03, 8.018356e-06, 1.891972e-07, 6.032853e-09, 4.788729e-11, 1.587544e-12),
}
TABLE_2_PAPER = {
    0.05: (6.83e-10, 2.50e-14, 3.19e-17, 1.76e-19, 3.97e-22, 2.00e-24),
    0.1: (4.19e-06, 1.61e-09, 3.44e-12, 4.07e-14, 3.22e-16, 1.89e-18),
    0.2: (2.16e-03, 8.02e-06, 1.89e-07, 6.03e-09, 4.79e-11, 1.59e-12),
}
TABLE_2_TIGHT = {
    0.05: (6.70e-12, 3.43e-16, 7.07e-19, 8.56e-21, 2.34e-23, 5.89e-25),
    0.1: (6.31e-08, 2.63e-11, 1.27e-13, 2.76e-15, 1.24e-17, 4.87e-19),
    0.2: (5.09e-05, 3.11e-07, 6.42e-09, 2.77e-10, 3.72e-12, 2.70e-13),
}
EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
CELLS = [(beta, i) for beta in TABLE_2 for i in range(6)]


def exact_tail(n: int, j: int, beta: Fraction) -> Fraction:
    """Pr[Bin(n, beta) >= j], as a rational number."""
    return sum(
        (math.comb(n, i) * beta**i * (1 - beta) ** (n - i) for i in range(j, n + 1)), Fraction(0)
    )


@pytest.mark.parametrize(("beta", "i"), CELLS)
def test_table_2(beta, i):
    delta = sampling_delta(20, beta, EPSILONS[i])
    assert delta == pytest.approx(TABLE_2[beta][i], rel=5e-7)
    assert float(f"{delta:.2e}") == TABLE_2_PAPER[beta][i]
    assert float(f"{tight_delta(20, beta, EPSILONS[i]):.2e}") == TABLE_2_TIGHT[beta][i]


def delta_over_every_group_size(k: int, beta: float, epsilon: float) -> float:
    """d(k, beta, epsilon) as it is defined, over all groups of fewer than 3000 records."""
    n = np.arange(3000)
    gamma = 1 - (1 - beta) * math.exp(-epsilon)
    least = np.maximum(k, np.floor(gamma * n + 1e-9) + 1)
    return float(binom.sf(least - 1, n, beta).max())


@pytest.mark.parametrize(("beta", "i"), CELLS)
def test_table_2_by_trying_every_group_size(beta, i):
    delta = delta_over_every_group_size(20, beta, EPSILONS[i])
    assert sampling_delta(20, beta, EPSILONS[i]) == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize(
    ("k", "beta", "epsilon", "n"),
    [(20, 0.05, 0.25, 76), (20, 0.2, 2.0, 22), (5, 0.01, 0.02, 168), (80, 0.5, 0.7, 106)],
)
def test_delta_is_exact_to_nine_digits(k, beta, epsilon, n):
    gamma = 1 - (1 - beta) * math.exp(-epsilon)
    assert gamma * n < k < gamma * (n + 1)
    exact = exact_tail(n, k, Fraction(beta))
    assert sampling_delta(k, beta, epsilon) == pytest.approx(float(exact), rel=1e-9, abs=0)


@pytest.mark.parametrize("k", [1, 2, 3, 6, 7])
def test_the_threshold_is_strict_where_it_is_a_whole_number(k):
    """epsilon = ln 2 and beta = 1/5 give gamma = 3/5: of 5 sampled records, 3 are not counted."""
    beta, gamma = Fraction(1, 5), Fraction(3, 5)
    exact = max(exact_tail(n, max(k, math.floor(gamma * n) + 1), beta) for n in range(60))
    assert sampling_delta(k, 0.2, math.log(2)) == pytest.approx(float(exact), rel=1e-9)
    lax = max(exact_tail(n, max(k, math.ceil(gamma * n)), beta) for n in range(60))
    assert (lax > exact) == (k % 3 == 0)


@pytest.mark.parametrize(
    ("k", "beta", "epsilon", "delta", "first_tail"),
    [(60, 0.4, 1.0, 6.883460574e-12, 4.905e-12), (50, 0.54, 2.55, 1.204553915e-12, 1.004e-12)],
)
def test_the_first_group_size_is_not_always_the_worst(k, beta, epsilon, delta, first_tail):
    gamma = 1 - (1 - beta) * math.exp(-epsilon)
    n = math.ceil(k / gamma) - 1
    assert binom.sf(k - 1, n, beta) == pytest.approx(first_tail, rel=1e-3)
    assert sampling_delta(k, beta, epsilon) == pytest.approx(delta, rel=1e-9)


def test_a_higher_rate_can_have_a_smaller_delta():
    assert sampling_delta(20, 0.155, 1) == pytest.approx(1.528e-10, rel=5e-4)
    assert sampling_delta(20, 0.160, 1) == pytest.approx(1.003e-10, rel=5e-4)


def test_figure_5_groups_of_one_have_delta_beta():
    deltas = [sampling_delta(k, 0.025, 2) for k in range(1, 6)]
    assert deltas == pytest.approx([0.025, 6.25e-4, 1.5625e-5, 3.90625e-7, 9.765625e-9])


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("k", [1, 2, 7, 12])
@pytest.mark.parametrize("beta", [0.05, 0.3, 0.63, 0.9])
@pytest.mark.parametrize("above", [0.0, 0.1, 0.5, 1.5])
def test_tight_delta_is_the_worst_hockey_stick_over_all_neighbours(k, beta, above):
    epsilon = -math.log1p(-beta) + above
    worst = 0.0
    for n in range(1, math.ceil(3 * k / beta)):
        outputs = np.arange(n + 1)
        without, with_record = (binom.pmf(outputs, size, beta) for size in (n - 1, n))
        for p in (without, with_record):  # counts under k look the same: nothing is published
            p[0] = p[:k].sum()
            p[1:k] = 0
        assert hockey_stick(without, with_record, epsilon) < 1e-15
        worst = max(worst, hockey_stick(with_record, without, epsilon))
    tight = tight_delta(k, beta, epsilon)
    assert tight == pytest.approx(worst, rel=1e-7)
    assert tight <= sampling_delta(k, beta, epsilon) * (1 + 1e-9)


def test_tight_delta_is_exact_to_nine_digits():
    beta, factor, n, k = Fraction(0.1), Fraction(math.exp(0.5)), 42, 20
    exact = exact_tail(n, k, beta) - factor * exact_tail(n - 1, k, beta)
    assert tight_delta(20, 0.1, 0.5) == pytest.approx(float(exact), rel=1e-9, abs=0)


MINIMAL_K = [
    *[(0.05, e, 1e-6, k) for e, k in ((0.5, 9), (1, 7), (2, 5))],
    *[(0.1, e, 1e-6, k) for e, k in ((0.5, 13), (1, 9), (2, 7))],
    *[(0.2, e, 1e-6, k) for e, k in ((0.5, 25), (1, 14), (2, 10))],
    *[(beta, 1, 1e-6, k) for beta, k in ((0.3, 22), (0.4, 31), (0.5, 46))],
    *[(0.1, 1, 1e-9, 14), (0.2, 1, 1e-9, 23), (0.2, 2, 1e-9, 15)],
    *[(0.1, 1, 1e-5, 7), (0.2, 1, 1e-5, 12)],
]


@pytest.mark.parametrize(("beta", "epsilon", "delta", "k"), MINIMAL_K)
def test_smallest_k(beta, epsilon, delta, k):
    assert sampling_k(beta, epsilon, delta) == k


@pytest.mark.parametrize(
    ("epsilon", "delta", "arx_k"),
    [
        (0.1, 1e-5, 50),
        (0.5, 1e-5, 52),
        (1.0, 1e-5, 62),
        (1.0, 1e-6, 75),
        (2.0, 1e-5, 114),
        (math.log(2), 1e-7, 81),
        (math.log(3), 1e-8, 109),
    ],
)
def test_arx_returns_the_k_after_the_one_that_suffices(epsilon, delta, arx_k):
    """ARX samples at the highest rate, and counts k up once more after its test has passed."""
    beta = -math.expm1(-epsilon)
    k = sampling_k(beta, epsilon, delta)
    assert k == arx_k - 1
    assert delta_over_every_group_size(k, beta, epsilon) <= delta
    assert delta_over_every_group_size(k - 1, beta, epsilon) > delta


def test_figure_4():
    pairs = [(15, 0.05), (22, 0.1), (35, 0.2), (60, 0.4)]
    assert [sampling_delta(k, beta, 1) for k, beta in pairs] == pytest.approx(
        [1.019e-14, 2.363e-15, 1.129e-14, 6.883e-12], rel=5e-4
    )
    assert [sampling_delta(k, beta, 2) for k, beta in pairs] == pytest.approx(
        [3.77e-18, 1.70e-19, 1.19e-20, 9.03e-19], rel=5e-3
    )


@pytest.mark.parametrize(("epsilon", "matching"), [(1, [22, 36, 79]), (2, [20, 30, 59])])
def test_figure_4_which_k_truly_matches(epsilon, matching):
    delta = sampling_delta(15, 0.05, epsilon)
    assert [sampling_k(beta, epsilon, delta) for beta in (0.1, 0.2, 0.4)] == matching


@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [
        *[(k, 0.05, e) for k, e in ((10, 0.354172), (20, 0.139762), (50, 0.058950))],
        *[(k, 0.1, e) for k, e in ((10, 0.705570), (20, 0.291941), (50, 0.121856))],
        *[(k, 0.2, e) for k, e in ((10, 1.648659), (20, 0.624154), (50, 0.257605))],
        (5, 0.05, 1.740466),
    ],
)
def test_figure_6_smallest_epsilon(k, beta, epsilon):
    smallest = sampling_epsilon(k, beta, 1e-6)
    assert smallest == pytest.approx(epsilon, abs=5e-7)
    assert sampling_delta(k, beta, smallest) <= 1e-6 < sampling_delta(k, beta, smallest - 1e-10)


def test_smallest_epsilon_is_never_below_what_sampling_costs():
    assert sampling_epsilon(400, 0.1, 1e-6) == pytest.approx(-math.log(0.9), abs=1e-11)


@pytest.mark.parametrize("beta", [0.1, 0.2])
def test_figure_6_no_epsilon_for_groups_of_five(beta):
    with pytest.raises(InvalidParameter, match=r"no epsilon reaches delta = 1e-06") as refused:
        sampling_epsilon(5, beta, 1e-6)
    enough = int(refused.value.hint.split()[-1])
    assert sampling_epsilon(enough, beta, 1e-6) < MAX_EPSILON
    assert enough == math.ceil(math.log(1e-6, beta) + 1e-9)


def test_table_1():
    assert [round(amplified_epsilon(math.log(11), b), 4) for b in (0.1, 0.01)] == [0.6931, 0.0953]
    assert [round(amplified_epsilon(1, b), 6) for b in (0.1, 0.01)] == [0.158565, 0.017037]
    assert [amplified_delta(1e-5, b) for b in (0.1, 0.01)] == pytest.approx([1e-6, 1e-7])


def test_splitting_the_budget_between_the_scheme_and_the_sample():
    deltas = [sampling_delta(20, 0.1, 1 - e) for e in (0.05, 0.1, 0.2, 0.5)]
    assert deltas == pytest.approx([1.11e-13, 2.82e-13, 1.56e-12, 1.61e-9], rel=5e-3)
    assert [sampling_k(0.1, 1 - e, 1e-6) for e in (0.05, 0.1, 0.2, 0.5)] == [9, 10, 10, 13]


@pytest.mark.parametrize(
    ("k", "beta", "epsilon", "epsilon1", "claimed", "actual"),
    [
        (5, 0.05, 3, 2, 6.03e-6, 3.07e-4),
        (20, 0.3, 2.5, 1.5, 1.18e-6, 1.04e-4),
        (20, 0.1, 2, 1, 4.07e-14, 8.77e-14),
        (20, 0.2, 2, 1, 6.03e-9, 6.84e-9),
        (50, 0.2, 2, 1, 2.33e-20, 6.03e-19),
    ],
)
def test_choosing_the_scheme_on_the_published_sample_breaks_the_guarantee(
    k, beta, epsilon, epsilon1, claimed, actual
):
    """Counterexample to theorem 3.11: the choice tilts the block beside the record to a rate b'."""
    tilted = beta * math.exp(epsilon1) / (1 - beta + beta * math.exp(epsilon1))
    worst = 0.0
    for n in range(k, 20 * k):
        j = np.arange(k, n + 1)
        block, shifted = binom.pmf(j, n - 1, tilted), binom.pmf(j - 1, n - 1, tilted)
        worst = max(worst, hockey_stick((1 - beta) * block + beta * shifted, block, epsilon))
    assert worst == pytest.approx(actual, rel=5e-3)
    assert sampling_delta(k, beta, epsilon - epsilon1) == pytest.approx(claimed, rel=5e-3)
    assert worst > sampling_delta(k, beta, epsilon - epsilon1)


def test_far_below_the_smallest_float_delta_is_not_zero():
    assert sampling_delta(5000, 0.05, 2.0) == tight_delta(5000, 0.05, 2.0) == SMALLEST_DELTA
    assert sampling_delta(3, 0.05, MAX_EPSILON) == pytest.approx(0.05**3)
    assert tight_delta(3, 0.05, MAX_EPSILON) == pytest.approx(0.05**3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sampling_delta(0, 0.1, 1), "k must be a whole number of at least 1, got 0"),
        (lambda: sampling_delta(2.5, 0.1, 1), "got 2.5"),
        (lambda: sampling_delta(20, 1.0, 1), "beta must lie strictly between 0 and 1, got 1.0"),
        (lambda: tight_delta(20, 0.0, 1), "got 0.0"),
        (lambda: sampling_delta(20, math.nan, 1), "beta .* got nan"),
        (lambda: sampling_delta(20, 0.1, math.nan), "epsilon must be above 0 .* got nan"),
        (lambda: sampling_delta(20, 0.1, 701), "epsilon must .* at most 700, got 701"),
        (lambda: sampling_k(0.1, 1, 0.1), "delta must be .* below beta = 0.1, got 0.1"),
        (lambda: sampling_epsilon(20, 0.1, 0.0), "delta .* got 0.0"),
        (lambda: amplified_epsilon(-1, 0.1), "epsilon .* got -1"),
        (lambda: amplified_epsilon(1, 1.5), "beta .* got 1.5"),
        (lambda: amplified_delta(2, 0.1), "delta must be a probability, got 2"),
    ],
)
def test_bad_input_is_refused_with_its_value(call, message):
    with pytest.raises(InvalidParameter, match=message) as refused:
        call()
    assert refused.value.hint


def test_sampling_costs_at_least_minus_log_one_minus_beta():
    with pytest.raises(InvalidParameter, match=r"epsilon = 0.05 is below -ln\(1 - beta\)") as no:
        sampling_delta(20, 0.1, 0.05)
    assert no.value.hint == (
        "with this beta use epsilon >= 0.105362; with this epsilon use beta <= 0.0487701"
    )
    assert sampling_delta(20, 0.1, 0.105362) < 1
    assert sampling_delta(20, 0.0487701, 0.05) < 1
