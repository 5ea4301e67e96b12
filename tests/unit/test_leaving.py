"""What is left of decoy groups when records leave, by enumerating every grouping and every draw in whole fractions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from duckdb_priv.mechanism.decoy_batches import Batch, mixture, operator_of
from duckdb_priv.mechanism.splu_reconstruction import two_by_two

VALUES = (0, 0, 0, 1, 1, 2, 2, 3)
"""The values of eight records; groups are of two."""
GAMMA, SIZE = 2, 4


def groupings(records: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
    """List every way to pair records of different values."""
    if not records:
        yield []
        return
    first, *rest = records
    for other in rest:
        if VALUES[other] != VALUES[first]:
            for more in groupings(tuple(each for each in rest if each != other)):
                yield [(first, other), *more]


@pytest.fixture(scope="module")
def shown() -> list[list[Fraction]]:
    """Of each record, how probably it shows each value, over all groupings and draws."""
    every = list(groupings(tuple(range(len(VALUES)))))
    found = [[Fraction(0)] * SIZE for _ in VALUES]
    for pairs in every:
        for pair in pairs:
            for record in pair:
                for other in pair:
                    found[record][VALUES[other]] += Fraction(1, GAMMA * len(every))
    return found


def counted(records: Iterable[int]) -> list[int]:
    return [sum(VALUES[record] == value for record in records) for value in range(SIZE)]


def subsets() -> Iterator[tuple[int, ...]]:
    for size in range(len(VALUES) + 1):
        yield from combinations(range(len(VALUES)), size)


def test_a_record_that_stays_shows_by_its_value_alone(shown) -> None:
    for record, value in enumerate(VALUES):
        assert shown[record] == shown[VALUES.index(value)]


def test_weights_of_all_that_were_drawn_are_right_whichever_records_left(shown) -> None:
    operator = np.array(
        [[shown[VALUES.index(x)][y] for x in range(SIZE)] for y in range(SIZE)], dtype=object
    )
    weights = inverse(operator)
    largest = Fraction(0)
    for rest in subsets():
        remaining = np.array([sum(shown[record][y] for record in rest) for y in range(SIZE)])
        true = np.array(counted(rest))
        assert (weights @ remaining == true).all()
        bias = remaining - true
        assert (bias == (operator - np.eye(SIZE, dtype=int)) @ true).all()
        largest = max(largest, *map(abs, bias))
    assert largest > 1
    # All three of the most frequent value leave: the remaining rows still show it.
    assert sum(shown[record][0] for record in range(3, 8)) == Fraction(3, 2)


def test_the_two_by_two_form_counts_all_that_were_drawn_as_they_are() -> None:
    drawn = [100, 150, 150, 150, 150, 150, 150]
    form = two_by_two(drawn, 5)
    for value, count in enumerate(drawn):
        estimate = form.row(value) @ np.array(drawn)
        assert estimate == pytest.approx(count)


def test_two_batches_are_counted_by_the_mixture_of_their_operators(shown) -> None:
    """The second batch is of other frequencies. Whichever records left, the estimates of all rows are right."""
    first = np.array(
        [[shown[VALUES.index(x)][y] for x in range(SIZE)] for y in range(SIZE)], dtype=object
    )
    # The same groups with the values the other way round: the rarest of the first batch is the most frequent here.
    second, came = first[::-1, ::-1], np.array(counted(range(8)))[::-1]
    by_all = inverse((first * counted(range(8)) + second * came) / (counted(range(8)) + came))
    largest = Fraction(0)
    for rest in subsets():
        stayed = np.array(counted(rest))
        shows = first @ stayed + second @ came
        weights = inverse((first * stayed + second * came) / (stayed + came))
        assert (weights @ shows == stayed + came).all()
        largest = max(largest, *map(abs, by_all @ shows - stayed - came))
    assert largest > Fraction(1, 4)


@pytest.mark.parametrize(
    ("drawn", "gamma"),
    [([40, 30, 20, 10], 2), ([50, 30, 20, 0], 2), ([25, 25, 25, 25], 4), ([30, 30, 20, 10, 0], 3)],
)
def test_the_operator_of_a_batch_is_that_of_its_groups(drawn: list[int], gamma: int) -> None:
    counts = np.array(drawn)
    operator = operator_of(counts, gamma)
    assert operator.sum(axis=0) == pytest.approx(1)
    assert np.diag(operator) == pytest.approx(1 / gamma)
    assert operator @ counts == pytest.approx(counts)
    # Two values meet as often from the one as from the other.
    together = operator * counts
    assert together == pytest.approx(together.T)
    assert (operator <= 1 / gamma + 1e-12).all()


def test_a_mixture_counts_as_its_batches_do() -> None:
    first, second = np.array([400, 300, 200, 100, 0]), np.array([0, 0, 30, 30, 60])
    left = operator_of(first, 2) @ [40, 300, 200, 100, 0]
    batches = [Batch(first, left.round().astype(np.int64)), Batch(second, second)]
    mixed = mixture(batches, 2)
    assert mixed is not None
    found = mixed.weights @ (batches[0].remaining + second)
    assert found == pytest.approx([40, 300, 230, 130, 60], abs=2)
    assert mixed.weights @ mixed.operator == pytest.approx(np.eye(5), abs=1e-9)


def test_a_large_domain_has_no_mixture() -> None:
    drawn = np.full(101, 10)
    assert mixture([Batch(drawn, drawn)] * 2, 2) is None


def inverse(matrix: np.ndarray) -> np.ndarray:
    """Invert a matrix of fractions (Gauss and Jordan)."""
    size = len(matrix)
    rows = np.hstack(
        [matrix, np.array([[Fraction(i == j) for j in range(size)] for i in range(size)])]
    )
    for place in range(size):
        pivot = next(row for row in range(place, size) if rows[row][place] != 0)
        rows[[place, pivot]] = rows[[pivot, place]]
        rows[place] = rows[place] / rows[place][place]
        for row in range(size):
            if row != place:
                rows[row] = rows[row] - rows[row][place] * rows[place]
    return rows[:, size:]
