"""Whether columns determine another: chance, evidence, and shares."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from scipy import stats

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.determination import (
    FALSE_ALARM,
    ODDS,
    Codes,
    Groups,
    chance,
    determination,
    groups_of,
    least_count,
)
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import body, fill, read

CERTAINTY = 0.95


def grouped(rng: np.random.Generator, values: np.ndarray, size: int) -> Groups:
    """Cut a column into groups of equal size and count those that agree."""
    m = int(values.max()) + 1
    counts = np.bincount(values, minlength=m)
    cells = np.zeros((len(values) // size, m), np.int64)
    np.add.at(cells, (np.arange(len(values)) // size, values), 1)
    most, top = cells.max(axis=1), cells.argmax(axis=1)
    needed = least_count(size, counts[top] / len(values), CERTAINTY)
    return Groups(np.array([size]), np.array([len(cells)]), np.array([(most >= needed).sum()]))


@pytest.mark.parametrize("size", [2, 3, 8, 40])
@pytest.mark.parametrize("weights", [[1, 1], [8, 1, 1], [1] * 30])
def test_chance_is_the_probability_of_groups_that_are_drawn_at_random(size, weights):
    rng = np.random.default_rng(5)
    groups = 20_000
    values = rng.choice(len(weights), groups * size, p=np.array(weights) / sum(weights))
    found = grouped(rng, values, size)
    expected = chance([size], np.bincount(values), CERTAINTY)[0]
    # Shares are rounded up by 1% at most, so the chance is an upper bound that is close.
    upper = stats.binom.isf(1e-9, groups, expected)
    assert found.determined[0] <= upper
    assert found.determined[0] >= stats.binom.ppf(1e-9, groups, expected * 0.98**size)


def test_independent_columns_are_evident_as_rarely_as_stated():
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(300):
        values = rng.choice(5, 900, p=[0.4, 0.3, 0.1, 0.1, 0.1])
        groups = grouped(rng, values, 3)
        alarms += determination(groups, np.bincount(values), 900, CERTAINTY).evident
    # 300 trials at 1e-6 alarm once with probability 3e-4; the Chernoff bound makes it rarer still.
    assert alarms == 0
    assert FALSE_ALARM == 1e-6


def test_nothing_determines_what_nearly_all_have_anyway():
    rows = 10_000
    values = (np.arange(rows) % 50 == 0).astype(int)
    groups = grouped(np.random.default_rng(1), values, 100)
    found = determination(groups, np.bincount(values), rows, CERTAINTY)
    assert not found.evident
    assert found.share == 0


def test_pairs_that_agree_more_often_than_by_chance_are_evident_and_not_certain():
    """Six of ten pairs agree where five would by chance: the columns depend on each other, and neither determines."""
    found = determination(
        Groups(np.array([2]), np.array([100_000]), np.array([60_000])), [1, 1], 200_000, CERTAINTY
    )
    assert found.evident
    assert found.share == 0


def test_unique_records_are_determined_by_nobody():
    alone = Groups(np.array([1]), np.array([1000]), np.array([1000]))
    assert determination(alone, [500, 500], 1000, CERTAINTY).share == 0


@pytest.mark.parametrize("certainty", [0.5, 0, 1.1, float("nan")])
def test_a_certainty_lies_between_a_half_and_one(certainty):
    with pytest.raises(InvalidParameter, match="certainty"):
        chance([2], [1, 1], certainty)


@pytest.mark.parametrize("many", [3, 40, 1500])
@pytest.mark.parametrize("noise", [0.0, 0.03, 1.0])
def test_groups_in_memory_are_those_that_sql_counts(many, noise):
    rng = np.random.default_rng(11)
    one, two = (rng.integers(0, many, 3000) for _ in range(2))
    target = np.where(rng.random(3000) < noise, rng.integers(0, 5, 3000), (one * 7 + two) % 5)
    counted = fill(
        body(read("publisher/check", "determined")),
        {
            "counted": "SELECT 0 AS given, 0 AS target, one * 10000 + two AS key, target AS value, count(*) AS rows"
            " FROM records GROUP BY ALL",
            "prior": "SELECT 0 AS target, target AS value, count(*) AS rows FROM records GROUP BY ALL",
            "certainty": literal(CERTAINTY),
            "odds": literal(ODDS),
        },
    )
    with duckdb.connect() as connection:
        connection.register("records", {"one": one, "two": two, "target": target})
        connection.execute("SET python_enable_replacements = false")
        expected = connection.execute(
            f"SELECT size, groups, determined FROM ({counted}) WHERE size > 1"
        )
        expected = expected.fetchall()
    groups = groups_of(
        Codes(one, many) & Codes(two, many),
        Codes(target, 5),
        np.bincount(target, minlength=5),
        CERTAINTY,
    )
    found = zip(
        groups.sizes.tolist(), groups.groups.tolist(), groups.determined.tolist(), strict=True
    )
    assert sorted(found) == sorted(expected)
