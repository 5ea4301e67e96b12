"""Hiding in the crowd: golden numbers, the plain sum over all outcomes, and full enumeration of small shuffles."""

import itertools
import math

import numpy as np
import pytest
from reference.blocks import holds
from scipy.stats import binom

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism import shuffle
from duckdb_priv.mechanism.difference_family import cosets, singer
from duckdb_priv.mechanism.fine_grain import FineGrain
from duckdb_priv.mechanism.shuffle import (
    Pair,
    code_pair,
    joint_pairs,
    log_delta,
    log_positive_part,
    operator_pairs,
    shuffle_epsilon,
)
from duckdb_priv.mechanism.shuffled_retention import (
    joint_epsilon,
    scales_of_sizes,
    shuffled_epsilon,
    shuffled_retention,
    size_class,
)
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.mechanism.uniform import Uniform, amplified_retention

GOLDEN_EPSILONS = [
    (50, math.log(9), 20, "1.1911"),
    (50, math.log(9), 100, "0.5702"),
    (50, math.log(9), 1000, "0.1758"),
    (14, math.log(9), 100, "0.9389"),
    (14, math.log(9), 1000, "0.2957"),
    (4, 1.0, 100, "0.3985"),
    (2, 1.0, 100, "0.5161"),
    (50, 4.0, 1000, "0.9824"),
]


def delta_of(pairs: list[Pair], size: int, epsilon: float) -> float:
    return max(math.exp(log_delta(pair, size, epsilon)) for pair in pairs)


@pytest.mark.parametrize(("values", "local", "size", "epsilon"), GOLDEN_EPSILONS)
def test_golden_epsilons(values, local, size, epsilon):
    assert (
        f"{shuffled_epsilon(amplified_retention(math.exp(local), values), values, size, 1e-6):.4f}"
        == epsilon
    )


@pytest.mark.parametrize(("values", "printed"), [(50, "9.4535e-06"), (14, "1.9262e-03")])
def test_golden_deltas(values, printed):
    assert f"{delta_of([code_pair(Code(values), 9.0)], 100, 0.5):.4e}" == printed


def summed_delta(values: int, amplification: float, size: int, epsilon: float) -> float:
    """The bound as it is written: over the number of draws of the blanket, and the counts of both values."""
    total = amplification + values - 1
    found = 0.0
    for draws in range(1, size + 1):
        first = np.arange(draws + 1)
        both = np.outer(first, np.ones(draws + 1)), np.outer(np.ones(draws + 1), first)
        law = binom.pmf(both[1], draws, 1 / values) * binom.pmf(
            both[0], draws - both[1], 1 / (values - 1)
        )
        shown = [draws + (amplification - 1) * count for count in both]
        excess = np.maximum(shown[0] - math.exp(epsilon) * shown[1], 0) / total
        found += (
            binom.pmf(draws - 1, size - 1, values / total)
            * values
            / draws
            * np.nansum(law * excess)
        )
    return found


@pytest.mark.parametrize("case", range(40))
def test_the_bound_is_the_plain_sum_and_never_below_it(case):
    random = np.random.default_rng(case)
    values, size = int(random.integers(2, 60)), int(random.integers(1, 120))
    local = random.uniform(0.2, 5)
    epsilon = local * random.uniform(0.05, 0.95)
    exact = summed_delta(values, math.exp(local), size, epsilon)
    bound = delta_of([code_pair(Code(values), math.exp(local))], size, epsilon)
    assert exact * (1 - 1e-9) <= bound <= exact * (1 + 1e-3)


def histogram_law(operator: np.ndarray, truth: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The law of how often each value is published, by adding one record after the other."""
    law = {(0,) * len(operator): 1.0}
    for value in truth:
        longer: dict[tuple[int, ...], float] = {}
        for counts, probability in law.items():
            for shown, share in enumerate(operator[:, value]):
                key = (*counts[:shown], counts[shown] + 1, *counts[shown + 1 :])
                longer[key] = longer.get(key, 0.0) + probability * share
        law = longer
    return law


def worst_delta(operator: np.ndarray, size: int, epsilon: float, *, any_pair: bool) -> float:
    """The largest delta over all true values of the others, and over all pairs or that of the first two values."""
    values = operator.shape[1]
    pairs = list(itertools.permutations(range(values), 2)) if any_pair else [(0, 1)]
    worst = 0.0
    for others in itertools.combinations_with_replacement(range(values), size - 1):
        for pair in pairs:
            one, two = (histogram_law(operator, (value, *others)) for value in pair)
            excess = (p - math.exp(epsilon) * two.get(key, 0.0) for key, p in one.items())
            worst = max(worst, sum(max(each, 0.0) for each in excess))
    return worst


@pytest.mark.parametrize("values", [2, 3, 4])
def test_full_enumeration_is_never_above_and_mostly_equal(values):
    equal, cases = 0, 0
    for size, amplification, epsilon in itertools.product(
        (1, 2, 3, 4, 5), (math.e, 9.0), (0.05, 0.3, 0.8)
    ):
        operator = Uniform(amplified_retention(amplification, values), values).matrix()
        exact = worst_delta(operator, size, epsilon, any_pair=False)
        bound = delta_of([code_pair(Code(values), amplification)], size, epsilon)
        assert exact <= bound * (1 + 1e-12) <= 1.2 * exact
        equal, cases = equal + (bound <= exact * (1 + 1e-4)), cases + 1
    assert equal >= cases / 3


@pytest.mark.parametrize(
    "operator",
    [
        [[0.7, 0.1, 0.3], [0.1, 0.8, 0.2], [0.2, 0.1, 0.5]],
        [[0.5, 0.2, 0.2], [0.25, 0.7, 0.1], [0.25, 0.1, 0.7]],
        [[0.6, 0.0, 0.2], [0.2, 0.7, 0.2], [0.2, 0.3, 0.6]],
        [[0.9, 0.4], [0.1, 0.6]],
    ],
    ids=["any", "retention by value", "a zero", "two values"],
)
def test_enumeration_of_other_operators(operator):
    matrix = np.array(operator)
    for size, epsilon in itertools.product((1, 2, 3, 4), (0.1, 0.4, 0.9)):
        exact = worst_delta(matrix, size, epsilon, any_pair=True)
        assert (
            exact
            <= delta_of(operator_pairs(matrix), size, epsilon) * (1 + 1e-12)
            <= 2 * exact + 1e-9
        )


@pytest.mark.parametrize(
    ("family", "values"), [(singer(2, 3), 7), (singer(2, 3), 4), (cosets(5, 2), 5)]
)
def test_enumeration_of_a_block_design(family, values):
    code, amplification = family.code, 4.0
    held = holds(family, np.arange(code.outcomes)[:, None], np.arange(values))
    operator = np.where(held, amplification, 1.0) / code.total(amplification)
    assert operator.sum(axis=0) == pytest.approx(1)
    for size, epsilon in itertools.product((1, 2, 3, 4), (0.2, 0.7)):
        if values > 5 and size == 4 and epsilon > 0.5:
            continue
        exact = worst_delta(operator, size, epsilon, any_pair=values == 4)
        bound = delta_of([code_pair(code, amplification)], size, epsilon)
        assert exact <= bound * (1 + 1e-12) <= 2 * exact


def test_enumeration_of_two_attributes():
    """A record publishes a pair: the product of both laws, with its own worst way to differ."""
    one, two = Uniform(0.5, 2), Uniform(0.3, 2)
    operator = np.kron(one.matrix(), two.matrix())
    pairs = joint_pairs([code_pair(Code(2), each.amplification) for each in (one, two)])
    for size, epsilon in itertools.product((1, 2, 3), (0.1, 0.5)):
        exact = worst_delta(operator, size, epsilon, any_pair=True)
        assert exact <= delta_of(pairs, size, epsilon) * (1 + 1e-12) <= 1.4 * exact
    assert shuffle_epsilon(pairs, 1, 1e-6) == pytest.approx(one.ldp_epsilon + two.ldp_epsilon)


def test_enumeration_of_two_releases_of_two_attributes():
    """Each is charged once for both attributes, and the charges of both releases add up: so the ledger composes."""
    one, two = Uniform(0.5, 2), Uniform(0.3, 2)
    operator = np.kron(one.matrix(), two.matrix())
    pairs = joint_pairs([code_pair(Code(2), each.amplification) for each in (one, two)])
    for size, epsilon in itertools.product((1, 2, 3), (0.1, 0.5)):
        exact = 0.0
        for others in itertools.combinations_with_replacement(range(4), size - 1):
            for values in itertools.permutations(range(4), 2):
                first, second = (histogram_law(operator, (each, *others)) for each in values)
                twice = itertools.product(first, repeat=2)
                excess = (
                    first[a] * first[b] - math.exp(2 * epsilon) * second[a] * second[b]
                    for a, b in twice
                )
                exact = max(exact, sum(max(each, 0.0) for each in excess))
        assert exact <= 2 * delta_of(pairs, size, epsilon) <= 2.5 * exact


def test_two_versions_with_keyed_noise_have_no_crowd():
    """One of forty records leaves, and all others show what they showed: the difference is what it reported.

    So the ledger charges what is keyed record by record its local epsilon, though each version alone hides more.
    """
    operator = Uniform(0.5, 2)
    crowd = delta_of([code_pair(Code(2), operator.amplification)], 40, 0.4)
    reported = worst_delta(operator.matrix(), 1, 2 * 0.4, any_pair=True)
    assert reported > 5 * 2 * crowd


def test_an_attribute_is_not_hidden_by_its_own_crowd_alone():
    """Who knows the other attribute of everyone finds the victim's row by it: its blanket counts as well."""
    one, two = Uniform(0.3, 2), Uniform(0.9, 2)
    operator = np.kron(one.matrix(), two.matrix())
    first, second = (histogram_law(operator, (value, 1, 1, 1)) for value in (0, 2))
    reported = sum(max(p - math.exp(0.3) * second.get(key, 0.0), 0.0) for key, p in first.items())
    alone, beside = (code_pair(Code(2), each.amplification) for each in (one, two))
    assert reported > 3 * delta_of([alone], 4, 0.3)
    same = Pair(beside.first, beside.first, beside.blanket)
    assert reported <= delta_of([alone.combined(same)], 4, 0.3)


def test_operator_pairs_of_uniform_perturbation_are_its_code():
    operator = Uniform(0.3, 6)
    (pair,) = operator_pairs(operator.matrix())
    epsilon = shuffle_epsilon([pair], 40, 1e-5)
    assert epsilon == pytest.approx(shuffled_epsilon(0.3, 6, 40, 1e-5), rel=1e-5)


def test_values_that_can_be_exchanged_need_no_pairs_of_their_own():
    operator = FineGrain(np.array([0.5, 0.2, 0.5, 0.2, 0.2, 0.7])).matrix()
    few = operator_pairs(operator, [1, 0, 1, 0, 0, 2], most=8)
    for size, epsilon in ((1, 0.5), (3, 0.4), (40, 0.3)):
        every = delta_of(operator_pairs(operator), size, epsilon)
        assert delta_of(few, size, epsilon) == pytest.approx(every, rel=1e-4)
    assert len(few) == 8
    assert operator_pairs(operator, [1, 0, 1, 0, 0, 2], most=7) == []


def test_rounding_that_leaves_a_mean_just_below_0_costs_no_answer():
    """At epsilon 0 the two laws weigh the same, so that the mean of a step is 0 but for rounding."""
    operators = (Uniform(0.4, 8), Uniform(0.4, 5))
    laws = tuple((code_pair(Code(each.domain_size), each.amplification),) for each in operators)
    assert 0 < joint_epsilon(laws, 2000, 0.5) < joint_epsilon(laws, 100, 1e-6) < 6


def test_a_group_of_one_has_the_local_epsilon():
    assert shuffled_epsilon(0.4, 7, 1, 1e-6) == Uniform(0.4, 7).ldp_epsilon
    assert shuffled_retention(1.5, 1e-6, 7, 1) == pytest.approx(
        amplified_retention(math.exp(1.5), 7)
    )


@pytest.mark.parametrize("size", [2, 30, 1000, 10**5])
def test_the_search_computes_few_deltas_and_ends_close_to_the_stated_one(monkeypatch, size):
    computed = []

    def counted(*given, **options):
        computed.append(size)
        return log_positive_part(*given, **options)

    monkeypatch.setattr(shuffle, "log_positive_part", counted)
    pair = code_pair(Code(5), 9.0)
    epsilon = shuffle_epsilon([pair], size, 1e-6, 1e-2)
    assert len(computed) <= 12
    assert 1e-6 * (1 - 1e-2) <= math.exp(log_delta(pair, size, epsilon)) <= 1e-6


def test_a_value_that_only_one_true_value_shows_has_no_epsilon():
    pairs = operator_pairs(np.array([[0.5, 0.0], [0.5, 1.0]]))
    assert math.isinf(shuffle_epsilon(pairs, 50, 1e-6))


def test_epsilon_falls_with_the_group_and_rises_with_retention():
    by_size = [shuffled_epsilon(0.4, 20, size, 1e-6) for size in (1, 2, 5, 30, 200, 3000, 10**6)]
    assert by_size == sorted(by_size, reverse=True)
    by_retention = [shuffled_epsilon(p, 20, 500, 1e-6) for p in (0.05, 0.2, 0.5, 0.8)]
    assert by_retention == sorted(by_retention)
    by_delta = [shuffled_epsilon(0.4, 20, 500, delta) for delta in (1e-3, 1e-6, 1e-12, 1e-40)]
    assert by_delta == sorted(by_delta)
    assert by_delta[-1] < Uniform(0.4, 20).ldp_epsilon


@pytest.mark.parametrize(
    ("codes", "epsilon", "delta"),
    [
        ((Code(50),), 1.0, 1e-6),
        ((Code(50),), 0.2, 1e-9),
        ((Code(2),), 3.0, 1e-4),
        ((singer(3, 4).code,), 1.0, 1e-6),
        ((Code(2), Code(9)), 1.0, 1e-6),
    ],
)
def test_retentions_of_many_groups_keep_their_promise(codes, epsilon, delta):
    sizes = (1, 2, 3, 7, 20, 60, 288, 576)
    found = scales_of_sizes(codes, sizes, epsilon, delta)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert math.log1p(1 / found[1]) == pytest.approx(epsilon / len(codes), rel=1e-5)
    for size in sizes:
        above = []
        for factor in (1, 1.02):
            amplification = (1 + 1 / found[size]) * factor
            pairs = joint_pairs([code_pair(code, amplification) for code in codes])
            above.append(delta_of(pairs, size, epsilon) > delta)
        assert not above[0]
        assert above[1] or size < 60


@pytest.mark.parametrize("values", [2, 50, 1383])
def test_shuffled_retention_is_the_inverse(values):
    retention = shuffled_retention(0.7, 1e-7, values, 400)
    assert shuffled_epsilon(retention, values, 400, 1e-7) == pytest.approx(0.7, rel=1e-5)


def test_size_classes_only_round_down_and_by_little():
    sizes = np.arange(1, 100_000)
    classes = np.array([size_class(int(n)) for n in sizes])
    assert (classes <= sizes).all()
    assert (classes >= sizes * (1 - 1 / 16)).all()
    assert all(len(set(classes[2**k - 1 : 2 ** (k + 1) - 1])) == 16 for k in range(4, 16))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shuffled_epsilon(0.5, 4, 0, 1e-6), "group_size must be a whole number"),
        (lambda: shuffled_epsilon(0.5, 4, 2.5, 1e-6), "group_size must be a whole number"),
        (lambda: shuffled_epsilon(0.5, 4, 10, 0.0), "delta must lie strictly between 0 and 1"),
        (lambda: shuffled_epsilon(0.5, 4, 10, math.nan), "delta must lie strictly between"),
        (lambda: shuffled_epsilon(1.0, 4, 10, 1e-6), "retention must lie strictly between"),
        (lambda: shuffled_epsilon(0.5, 1, 10, 1e-6), "a domain needs at least 2 values"),
        (lambda: shuffled_retention(0.0, 1e-6, 4, 10), "epsilon must be above 0"),
        (lambda: shuffled_retention(math.inf, 1e-6, 4, 10), "epsilon must be above 0"),
        (lambda: shuffled_retention(1.0, 1.0, 4, 10), "delta must lie strictly between"),
        (lambda: shuffled_retention(1.0, 1e-6, 1, 10), "a domain needs at least 2 values"),
    ],
)
def test_nonsense_is_refused(call, message):
    with pytest.raises(InvalidParameter, match=message):
        call()


@pytest.mark.parametrize("case", range(30))
def test_the_positive_part_is_never_below_the_sum_over_all_outcomes(case):
    random = np.random.default_rng(case)
    count = int(random.integers(1, 7))
    values = random.normal(size=3) * random.uniform(0.1, 10)
    probabilities = random.dirichlet(np.ones(4))[:3]
    values -= max(0, 1.1 * (values @ probabilities) / probabilities.sum())
    assert values @ probabilities < 0
    exact = 0.0
    for outcome in itertools.product(range(4), repeat=count):
        chance = math.prod([*probabilities, 1 - probabilities.sum()][o] for o in outcome)
        exact += chance * max(0.0, sum([*values, 0.0][o] for o in outcome))
    bound = math.exp(log_positive_part(values, probabilities, count))
    assert exact * (1 - 1e-12) <= bound <= exact * (1 + 1e-2) + 1e-300


def test_the_positive_part_of_a_rare_event_keeps_its_digits():
    """Steps that win 1 with probability 1 in 1000, else lose 1: only a run of heads is above 0."""
    n, p = 9, 1e-3
    exact = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) * (2 * k - n) for k in range(5, n + 1))
    bound = math.exp(log_positive_part(np.array([1.0, -1.0]), np.array([p, 1 - p]), n))
    assert exact <= bound <= exact * (1 + 1e-6)


@pytest.mark.parametrize("epsilons", [(20,), (8, 8), (10, 10), (0.5, 15.4), (8, 5, 7), (14, 2)])
def test_large_epsilons_of_several_attributes_are_never_hidden_and_always_computed(epsilons):
    """Terms of the transform cancel there, until only their rounding is left."""
    laws = tuple((code_pair(Code(3), math.exp(each)),) for each in epsilons)
    for size in (1, 2, 10, 1333):
        assert joint_epsilon(laws, size, 1e-6) == pytest.approx(sum(epsilons), rel=1e-6)
