"""Windows over estimates: their intervals are those of the same question without a window."""

from __future__ import annotations

import math

import pytest

import duckdb_priv
from duckdb_priv.errors import QueryRefused

FORMS = ["two_weights", "rank_one", "operator", "two_attributes", "listed", "scaled"]
FROM_HISTOGRAM = ["two_by_two", "conditional_poisson"]


def answers(connection, query: str) -> list[tuple]:
    return duckdb_priv.reconstruct(connection, query, intervals=True).fetchall()


@pytest.mark.parametrize("form", FORMS)
def test_a_share_of_a_window_is_that_of_a_filter(form: str, release) -> None:
    windows = answers(
        release(form),
        "SELECT ward, disease, count(*) / sum(count(*)) OVER (PARTITION BY ward) AS share FROM visits"
        " WHERE disease IN ('flu', 'cancer') AND age > 30 GROUP BY ward, disease ORDER BY ALL",
    )
    filters = answers(
        release(form),
        "SELECT ward, count_if(disease = 'cancer') / count(*) AS a, count_if(disease = 'flu') / count(*) AS b"
        " FROM visits WHERE disease IN ('flu', 'cancer') AND age > 30 GROUP BY ward ORDER BY ward",
    )
    expected = [row[1 + 4 * n : 5 + 4 * n] for row in filters for n in (0, 1)]
    assert len(windows) == len(expected) == 6
    for (_, _, *found), right in zip(windows, expected, strict=True):
        # What sampling may add is a bound, and larger for a total.
        slack = 0.15 if form == "scaled" else 1e-6
        assert found[0] == pytest.approx(right[0], rel=1e-9)
        assert found[1] == pytest.approx(right[1], rel=slack)
        if form != "scaled":
            # That the variance of a total of two values grows with it is taken to be as for one of them.
            assert found[2:] == pytest.approx(right[2:], rel=1e-2, abs=1e-9)


@pytest.mark.parametrize("form", FROM_HISTOGRAM)
def test_weights_from_a_histogram_leave_a_wider_share(form: str, release) -> None:
    (share,) = answers(
        release(form),
        "SELECT count(*) / sum(count(*)) OVER () AS share FROM visits GROUP BY disease"
        " QUALIFY disease = 'flu'",
    )
    (count,) = answers(
        release(form), "SELECT count(*) / 3000 AS share FROM visits WHERE disease = 'flu'"
    )
    assert share[0] == pytest.approx(count[0], rel=1e-6)
    assert 0.99 * count[1] <= share[1] < 4 * count[1]


@pytest.mark.parametrize("form", ["two_weights", "operator"])
def test_a_running_total_by_the_attribute_is_a_count_of_a_range(form: str, release) -> None:
    rows = answers(
        release(form),
        "SELECT disease, sum(count(*)) OVER (ORDER BY disease) AS n, avg(count(*)) OVER () AS a FROM visits"
        " WHERE age > 30 GROUP BY disease ORDER BY disease",
    )
    for disease, *found in rows[:3]:
        (right,) = answers(
            release(form),
            f"SELECT count(*) AS n FROM visits WHERE disease <= '{disease}' AND age > 30",
        )
        assert found[:2] == pytest.approx(right[:2], rel=1e-9)
    # All groups together are all records, which are known.
    assert rows[0][6] == pytest.approx(0, abs=1e-3)


def test_groups_of_public_columns_vary_apart(release) -> None:
    rows = answers(
        release("two_weights"),
        "SELECT age, count(*) AS n, sum(count(*)) OVER w AS r, count(*) - lag(count(*)) OVER w AS d,"
        " avg(count(*)) OVER (ORDER BY age ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS m,"
        " 100 * (count(*) / lag(count(*)) OVER w - 1) AS p, count(*) - lag(count(*), 1, 0) OVER w AS g"
        " FROM visits WHERE disease = 'flu' GROUP BY age WINDOW w AS (ORDER BY age) ORDER BY age",
    )
    errors = [row[2] for row in rows]
    for place, row in enumerate(rows):
        assert row[22] == pytest.approx(row[10] if place else row[2], rel=1e-9)
        assert row[6] == pytest.approx(math.hypot(*errors[: place + 1]), rel=1e-9)
        if place:
            assert row[10] == pytest.approx(math.hypot(*errors[place - 1 : place + 1]), rel=1e-9)
            assert row[14] == pytest.approx(row[10] / 2, rel=1e-9)
            assert row[19] < row[17] < row[20]
        else:
            # There is nothing before the first one.
            assert row[9:13] == (None, None, None, None)


def test_conditions_on_keys_choose_records(release) -> None:
    query = "SELECT ward, count(*) / sum(count(*)) OVER () AS s FROM visits WHERE disease = 'flu'{} GROUP BY ward{}"
    chosen = answers(release("two_weights"), query.format("", " HAVING ward <> 'north'"))
    right = answers(release("two_weights"), query.format(" AND ward <> 'north'", ""))
    # Sums are added up in any order.
    assert sorted(chosen) == [
        (ward, *map(pytest.approx, numbers)) for ward, *numbers in sorted(right)
    ]
    assert len(chosen) == 2


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("sum(count(*)) OVER () AS s FROM visits GROUP BY disease HAVING count(*) > 3", "QUALIFY"),
        ("max(count(*)) OVER () AS s FROM visits GROUP BY disease", "this window over estimates"),
        ("lag(count(*)) OVER (ORDER BY disease) AS s FROM visits GROUP BY disease", "depend on an attribute"),
        ("sum(count(*)) OVER () AS s FROM visits GROUP BY ROLLUP (disease)", "subtotals"),
    ],
)  # fmt: skip
def test_intervals_that_are_not_known_are_refused(query: str, says: str, release) -> None:
    assert duckdb_priv.reconstruct(release("two_weights"), f"SELECT {query}").fetchall()
    with pytest.raises(QueryRefused, match=says):
        duckdb_priv.rewrite_sql(release("two_weights"), f"SELECT {query}", intervals=True)
