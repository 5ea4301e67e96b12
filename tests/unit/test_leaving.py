"""What is left of decoy groups when records leave, by enumerating every grouping and every draw in whole fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

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


def counted(records: tuple[int, ...]) -> list[int]:
    return [sum(VALUES[record] == value for record in records) for value in range(SIZE)]


def subsets() -> Iterator[tuple[int, ...]]:
    for size in range(len(VALUES) + 1):
        yield from combinations(range(len(VALUES)), size)


def test_a_record_that_stays_shows_by_its_value_alone(shown) -> None:
    for record, value in enumerate(VALUES):
        assert shown[record] == shown[VALUES.index(value)]


def test_weights_of_all_that_were_drawn_are_right_whoever_left(shown) -> None:
    operator = np.array(
        [[shown[VALUES.index(x)][y] for x in range(SIZE)] for y in range(SIZE)], dtype=object
    )
    weights = inverse(operator)
    largest = Fraction(0)
    for rest in subsets():
        standing = np.array([sum(shown[record][y] for record in rest) for y in range(SIZE)])
        true = np.array(counted(rest))
        assert (weights @ standing == true).all()
        bias = standing - true
        assert (bias == (operator - np.eye(SIZE, dtype=int)) @ true).all()
        largest = max(largest, *map(abs, bias))
    assert largest > 1
    # All three of the most frequent value leave: the rows that stand still show it.
    assert sum(shown[record][0] for record in range(3, 8)) == Fraction(3, 2)


def test_the_two_by_two_form_counts_all_that_were_drawn_as_they_are() -> None:
    drawn = [100, 150, 150, 150, 150, 150, 150]
    form = two_by_two(drawn, 5)
    for value, count in enumerate(drawn):
        estimate = form.row(value) @ np.array(drawn)
        assert estimate == pytest.approx(count)


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
