"""The operator for stated questions: golden numbers, the gradient, and what is claimed."""

import itertools
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import check_grad

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism import questions as q
from duckdb_priv.mechanism.alias import alias_tables, words_of

GRAMS = {
    "ranges": q.ranges_gram,
    "prefixes": q.prefixes_gram,
    "values": q.values_gram,
    "mean": lambda m: q.mean_gram(range(m)),
}


@pytest.mark.parametrize(
    ("kind", "values", "epsilon", "uniform", "at_most"),
    [
        ("ranges", 64, 1.0, 15.726, 4.05),
        ("mean", 64, 1.0, 11.211, 1.1),
        ("ranges", 16, 1.0, 4.303, 2.76),
    ],
)
def test_golden_numbers(kind, values, epsilon, uniform, at_most):
    gram, ratio = GRAMS[kind](values), math.exp(epsilon)
    plain = q.mean_error(gram, q.uniform_operator(values, ratio))
    assert round(plain, 3) == uniform
    found = q.mean_error(gram, q.choose_operator(gram, ratio))
    assert q.error_bound(gram, ratio) < found <= at_most


@pytest.mark.parametrize("kind", GRAMS)
@pytest.mark.parametrize("values", [2, 5, 24])
@pytest.mark.parametrize("epsilon", [0.1, 5.0])
def test_it_is_never_worse_than_uniform_and_never_promises_more(kind, values, epsilon):
    gram, ratio = GRAMS[kind](values), math.exp(epsilon)
    chosen = q.choose_operator(gram, ratio)
    plain = q.mean_error(gram, q.uniform_operator(values, ratio))
    assert q.mean_error(gram, chosen) <= plain * (1 + 1e-9)
    assert 1 < q.exact_amplification(chosen) <= Fraction(ratio)
    assert all(sum(words) == 2**64 for words in words_of(chosen))


@pytest.mark.parametrize("values", [2, 3, 17, 64])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("kind", ["ranges", "mean"])
def test_whatever_the_search_finds_the_choice_is_no_worse_than_uniform_as_it_is_drawn(
    monkeypatch, kind, values, epsilon
):
    gram, ratio = GRAMS[kind](values), math.exp(epsilon)
    plain = q.uniform_operator(values, ratio)
    worse = 0.7 * plain + 0.3 * np.roll(plain, 1, axis=0)
    for found in ([], [worse], [plain * (1 + 1e-15)]):
        monkeypatch.setattr(q, "_searched", lambda *_, found=found: iter(found))
        chosen = q.choose_operator(gram, ratio)
        if not found:
            drawn = q.mean_error(gram, chosen)
            assert drawn <= q.mean_error(gram, plain) * (1 + 1e-10)
        assert q.mean_error(gram, chosen) <= drawn
        assert q.exact_amplification(chosen) <= Fraction(ratio)


def test_the_guarantee_is_that_of_the_words_that_records_are_drawn_by():
    """Counted from the alias tables themselves, bin by bin."""
    chosen = q.choose_operator(q.ranges_gram(6), math.e)
    tables = alias_tables(chosen)
    drawn = np.zeros((6, 6), dtype=object)
    for x, (bounds, aliases) in enumerate(
        zip(tables.bounds.tolist(), tables.aliases.tolist(), strict=True)
    ):
        for number, (bound, alias) in enumerate(zip(bounds, aliases, strict=True)):
            if bound:
                drawn[number, x] += bound
            drawn[alias, x] += 2**tables.bits - bound
    assert drawn.sum(axis=0).tolist() == [2**64] * 6
    assert max(Fraction(max(row), min(row)) for row in drawn.tolist()) == q.exact_amplification(
        chosen
    )


def test_the_same_questions_have_the_same_operator():
    first, second = (q.choose_operator(q.prefixes_gram(12), 3.0) for _ in range(2))
    assert (first == second).all()


def test_the_gradient_is_that_of_the_error():
    rng = np.random.default_rng(1)
    problem = q._Problem(q.ranges_gram(5), 4.0)
    pattern = 0.4 * np.eye(5) + 0.3 * rng.random((5, 5))
    assert problem.error(pattern.ravel())[0] < q.INFEASIBLE
    far = check_grad(
        lambda x: problem.error(x)[0], lambda x: problem.error(x)[1], pattern.ravel(), seed=1
    )
    assert far < 1e-4 * np.linalg.norm(problem.error(pattern.ravel())[1])


def test_errors_are_those_of_single_records():
    """The mean over questions and true values, from the definition of the variance."""
    operator = q.uniform_operator(4, 3.0)
    weights = np.linalg.inv(operator)
    squares = []
    for low, high in itertools.combinations_with_replacement(range(4), 2):
        question = np.zeros(4)
        question[low : high + 1] = 1
        shown = question @ weights
        squares += [shown**2 @ operator[:, x] - question[x] ** 2 for x in range(4)]
    assert q.mean_error(q.ranges_gram(4), operator) == pytest.approx(
        math.sqrt(np.mean(squares)), rel=1e-12
    )


def test_records_show_their_own_value_as_often_as_any_order_of_symbols_lets_them():
    chosen = q.choose_operator(q.ranges_gram(6), math.e)
    assert np.trace(chosen) == pytest.approx(
        max(np.trace(chosen[list(order)]) for order in itertools.permutations(range(6))), rel=1e-12
    )


@pytest.mark.parametrize(
    ("values", "ratio", "reported"),
    [
        (1, 2.0, "2 to 128 values, got 1"),
        (129, 2.0, "2 to 128 values, got 129"),
        (4, 1.0, "epsilon from 0.001 to 20, got 0"),
        (4, math.nan, "got nan"),
        (4, math.inf, "got inf"),
    ],
)
def test_what_is_refused(values, ratio, reported):
    with pytest.raises(InvalidParameter, match=reported):
        q.choose_operator(q.values_gram(values), ratio)


def test_a_search_can_be_ended():
    def end(share):
        assert 0 < share <= 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        q.choose_operator(q.ranges_gram(8), math.e, end)


def test_the_search_has_one_thread_in_a_process_that_has_not_loaded_scipy() -> None:
    """Threads of the BLAS of scipy, which is loaded by the search, took ten times as long as the search."""
    program = (
        "from threadpoolctl import threadpool_info; from duckdb_priv.mechanism import questions as q; found = set()\n"
        "def see(_): found.update(each['num_threads'] for each in threadpool_info() if each['user_api'] == 'blas')\n"
        "q.choose_operator(q.ranges_gram(3), 2.5, see); print(found)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "{1}"
