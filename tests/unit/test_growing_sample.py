"""Samples of groups whose records come and go, by enumerating every order and start in whole fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import factorial

import pytest

GROUP = ("x", "x", "x", "z", "z", "w")
CAME = ("z", "x", "x")
VALUES = ("x", "z", "w")
SIZE = 4
"""Rows that a group may have."""


@cache
def samples(values: tuple[str, ...], places: int) -> tuple[tuple[frozenset[int], Fraction], ...]:
    """List what is taken of some records, by their numbers, with its probability, as systematic_sample.sql takes it."""
    if len(values) <= places:
        return ((frozenset(range(len(values))), Fraction(1)),)
    if not places:
        return ((frozenset(), Fraction(1)),)
    size, found = len(values), {}
    present = sorted(set(values))
    for order in permutations(present):
        for start in range(size):
            upto, chosen = 0, []
            for value in order:
                own = [n for n, each in enumerate(values) if each == value]
                before, upto = upto, upto + len(own)
                taken = (upto * places + size - 1 - start) // size - (
                    before * places + size - 1 - start
                ) // size
                chosen.append(list(combinations(own, taken)))
            for parts in product(*chosen):
                one = frozenset(n for part in parts for n in part)
                chance = Fraction(1, size * factorial(len(present)))
                for part in chosen:
                    chance /= len(part)
                found[one] = found.get(one, 0) + chance
    return tuple(found.items())


def left() -> Iterator[frozenset[int]]:
    for size in range(len(GROUP) + 1):
        yield from map(frozenset, combinations(range(len(GROUP)), size))


def test_every_record_is_as_likely_to_be_taken() -> None:
    for values, places in ((GROUP, SIZE), (CAME, 1), (CAME, 2)):
        for record in range(len(values)):
            chance = sum(chance for taken, chance in samples(values, places) if record in taken)
            assert chance == Fraction(places, len(values))
        assert all(len(taken) == places for taken, _ in samples(values, places))


@pytest.mark.parametrize("value", VALUES)
def test_rows_represent_those_who_stayed_and_those_who_came(value) -> None:
    """Whichever records leave, and whatever number of rows is left, rows represent the new records, or they wait."""
    for rest in left():
        remaining: Fraction = Fraction(0)
        of_new: dict[int, Fraction] = {}
        chances: dict[int, Fraction] = {}
        for taken, chance in samples(GROUP, SIZE):
            kept = taken & rest
            remaining += chance * Fraction(len(GROUP), SIZE) * sum(GROUP[n] == value for n in kept)
            places = SIZE - len(kept)
            chances[places] = chances.get(places, 0) + chance
            for new, likely in samples(CAME, places):
                assert len(kept) + len(new) <= SIZE
                scale = Fraction(len(CAME), len(new)) if new else 0
                more = chance * likely * scale * sum(CAME[n] == value for n in new)
                of_new[places] = of_new.get(places, 0) + more
        assert remaining == sum(GROUP[n] == value for n in rest)
        for places, chance in chances.items():
            assert of_new[places] == (chance * CAME.count(value) if places else 0)


def test_the_variance_of_what_is_left_is_within_what_is_stated() -> None:
    """A quarter of a squared scale for the sample; the scale for each who left, or a quarter of its square a row."""
    scale = Fraction(len(GROUP), SIZE)
    for rest, value in product(left(), VALUES):
        counts = [
            (scale * sum(GROUP[n] == value for n in taken & rest), chance)
            for taken, chance in samples(GROUP, SIZE)
        ]
        mean = sum(count * chance for count, chance in counts)
        variance = sum((count - mean) ** 2 * chance for count, chance in counts)
        gone = len(GROUP) - len(rest)
        assert variance <= scale**2 / 4 + min(SIZE * scale**2 / 4, scale * gone)


def test_a_second_sample_of_a_grown_group_shows_true_values_without_noise() -> None:
    """Half x and half z, ten rows; as many z come: rows of x go, two or three of them, and never one of z."""

    def rows(have: int, size: int) -> set[int]:
        return {(have * 10 + size - 1 - start) // size for start in range(size)}

    assert rows(500, 1000) == {5}
    assert rows(500, 2000) == {2, 3}
