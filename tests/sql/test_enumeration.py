"""Expectations by enumeration: every table that three records can become, with its exact probability."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import pytest

TRUE = (0, 0, 1)
"""What the three records truly hold, of three values."""
P = Fraction(1, 2)
Q = (1 - P) / 3
OUTCOMES = list(product(range(3), repeat=3))


def probability(shown: tuple[int, ...]) -> Fraction:
    return prod((P + Q if a == b else Q) for a, b in zip(shown, TRUE, strict=True))


@pytest.fixture(scope="module")
def answers(prepared):
    """By value and outcome: the estimate and its squared standard error, as fractions."""
    with prepared(None) as connection:
        connection.execute("CREATE TABLE source AS SELECT unnest([0, 1, 2]) AS s")
        connection.execute(
            "FROM priv.publish_uniform('source', 'r', sensitive := 's', retention := 0.5)"
        ).fetchall()
        rows = connection.execute(
            "SELECT v, n, priv.reconstructed_count('r', noisy_s, v), priv.reconstructed_stderr('r', noisy_s, v)"
            " FROM range(3) AS d(v),"
            " (SELECT n, unnest(shown)::VARCHAR::ENUM('0', '1', '2') AS noisy_s"
            " FROM (SELECT unnest(?) AS shown, unnest(range(27)) AS n)) GROUP BY v, n",
            [[list(shown) for shown in OUTCOMES]],
        ).fetchall()
    return {
        (value, OUTCOMES[number]): (
            Fraction(estimate).limit_denominator(1000),
            Fraction(stderr**2).limit_denominator(1000),
        )
        for value, number, estimate, stderr in rows
    }


def expected(answers, value, compute):
    return sum(probability(shown) * compute(*answers[value, shown]) for shown in OUTCOMES)


def test_the_outcomes_are_all_there_are(answers):
    assert len(answers) == 81
    assert sum(map(probability, OUTCOMES)) == 1


@pytest.mark.parametrize("value", [0, 1, 2])
def test_the_estimate_is_right_on_average(answers, value):
    assert expected(answers, value, lambda estimate, _: estimate) == TRUE.count(value)


@pytest.mark.parametrize("value", [0, 1, 2])
def test_the_variance_is_as_stated_and_its_estimate_right_on_average(answers, value):
    true, a = TRUE.count(value), P + Q
    variance = (true * a * (1 - a) + (3 - true) * Q * (1 - Q)) / P**2
    assert expected(answers, value, lambda estimate, _: (estimate - true) ** 2) == variance
    assert expected(answers, value, lambda _, squared: squared) == variance
