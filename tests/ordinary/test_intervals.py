"""Intervals: those of priv.reconstructed_interval where both can answer, and honest ones elsewhere."""

from __future__ import annotations

import math

import duckdb
import numpy as np
import pytest
from ordinary.queries import Queries, Table
from ordinary.releases import CALLS, DISEASES, EVEN, VISITS

import duckdb_priv
from duckdb_priv.errors import QueryRefused


@pytest.mark.parametrize("form", CALLS)
@pytest.mark.parametrize(
    ("condition", "confidence"), [("true", 0.95), ("age IN ('30', '60')", 0.8)]
)
def test_counts_of_one_value_have_the_interval_of_the_macro(
    form: str, condition: str, confidence: float, release
) -> None:
    connection = release(form)
    columns = {name for name, *_ in connection.execute("DESCRIBE visits").fetchall()}
    column = "noisy_disease" if "noisy_disease" in columns else "disease"
    weight = "scale" if "scale" in columns else "NULL"
    values = ["none", "flu", "asthma", "cancer", None]
    tests = ["disease IS NULL" if value is None else f"disease = '{value}'" for value in values]
    counts = ", ".join(f"count(*) FILTER (WHERE {test}) AS c{n}" for n, test in enumerate(tests))
    query = f"SELECT ward, {counts} FROM visits WHERE {condition} GROUP BY ward ORDER BY ward"
    beside = duckdb_priv.reconstruct(
        connection, query, intervals=True, confidence=confidence
    ).fetchall()
    query = f"SELECT ward, disease, count(*) AS n FROM visits WHERE {condition} GROUP BY ALL"
    by_value = {
        (ward, value): row
        for ward, value, *row in duckdb_priv.reconstruct(
            connection, query, True, confidence
        ).fetchall()
    }
    for number, value in enumerate(values):
        literal = "NULL" if value is None else f"'{value}'"
        expected = connection.execute(
            f"SELECT ward, unnest(priv.reconstructed_interval('visits.disease', {column}, {literal},"
            f" weight := {weight}, confidence := {confidence}))"
            f" FROM visits WHERE {condition} GROUP BY ward ORDER BY ward"
        ).fetchall()
        for (ward, *row), (_, *right) in zip(beside, expected, strict=True):
            assert row[4 * number] == pytest.approx(right[0], rel=1e-9, abs=1e-9)
            if form == "sample":
                # The macro knows that the classes have the value, and so how many may be hidden.
                assert row[4 * number : 4 * number + 3] == pytest.approx(right[:3], rel=1e-6)
                assert row[4 * number + 3] >= right[3]
                assert by_value.get((ward, value), row)[3] >= right[3]
                continue
            assert row[4 * number : 4 * number + 4] == pytest.approx(right, rel=1e-6, abs=1e-6)
            assert by_value[ward, value] == pytest.approx(right, rel=1e-6, abs=1e-6)


def test_what_is_known_has_no_interval(release) -> None:
    answer = duckdb_priv.reconstruct(
        release("two_weights"),
        "SELECT ward, count(*) AS n, avg(age) AS a, count_if(disease = 'flu') AS flu, ward || '!' AS w,"
        " CASE WHEN count_if(disease = 'flu') > 3 THEN 'many' END AS how FROM visits GROUP BY ward",
        intervals=True,
    )
    names = [name for name, *_ in answer.description]
    assert names == ["ward", "n", "a", "flu", "flu_stderr", "flu_low", "flu_high", "w", "how"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ward, count(*) AS n FROM visits WHERE age > (SELECT a FROM t) GROUP BY ward",
        "SELECT ward, count_if(disease = 'flu' AND age > (SELECT a FROM t)) AS n FROM visits GROUP BY ward",
        "SELECT age > (SELECT a FROM t) AS old, count(*) AS n FROM visits GROUP BY ALL",
        "SELECT sum(age - (SELECT a FROM t)) AS s FROM visits",
        "SELECT ward, count(*) AS n FROM visits, t WHERE age > a GROUP BY ward",
        "SELECT n FROM (SELECT ward, count(*) AS n FROM visits JOIN t ON age > a GROUP BY ward)",
        "SELECT median(age) AS m FROM visits WHERE age > (SELECT a FROM t)",
    ],
)
def test_records_that_an_estimate_chooses_have_no_interval(query, release) -> None:
    with_t = f"WITH t AS (SELECT avg(age) AS a FROM visits WHERE disease = 'flu') {query}"
    assert duckdb_priv.reconstruct(release("two_weights"), with_t).fetchall()
    with pytest.raises(QueryRefused, match="that another estimate chooses"):
        duckdb_priv.rewrite_sql(release("two_weights"), with_t, intervals=True)
    known = with_t.replace("disease = 'flu') SELECT", "ward = 'north') SELECT")
    assert duckdb_priv.reconstruct(release("two_weights"), known, True).fetchall()


def test_what_is_pivoted_has_no_intervals_among_its_columns(release) -> None:
    query = (
        "PIVOT (SELECT ward, disease, count(*) AS n FROM visits GROUP BY ALL) ON ward USING sum(n)"
    )
    answers = [
        duckdb_priv.reconstruct(release("two_weights"), query, intervals).fetchall()
        for intervals in (False, True)
    ]
    assert len(answers[0]) == len(answers[1]) == 5


def test_what_varies_together_is_taken_together(release) -> None:
    """All records have one disease or another, so the counts vary against each other, and their sum not at all."""
    total, error, low, high = duckdb_priv.reconstruct(
        release("two_weights"),
        "SELECT count_if(disease = 'flu') + count_if(disease <> 'flu') + count_if(disease IS NULL) AS total"
        " FROM visits",
        intervals=True,
    ).fetchall()[0]
    assert (total, low, high) == pytest.approx((3000, 3000, 3000), abs=1e-3)
    assert error == pytest.approx(0, abs=1e-4)
    row = duckdb_priv.reconstruct(
        release("two_weights"),
        "SELECT count_if(disease = 'flu') - count_if(disease <> 'flu' OR disease IS NULL) AS d,"
        " count_if(disease = 'flu') AS a FROM visits",
        intervals=True,
    ).fetchall()[0]
    assert row[1] == pytest.approx(2 * row[5])


@pytest.mark.parametrize("form", ["two_by_two", "conditional_poisson"])
def test_a_condition_has_one_interval_wherever_it_is(form: str, release) -> None:
    """Weights from a histogram share its noise, over all true values that a record may have."""
    condition = "disease = 'flu' OR age = 30"
    above = duckdb_priv.reconstruct(
        release(form), f"SELECT count_if({condition}) AS n FROM visits", True
    ).fetchone()
    below = f"SELECT count(*) AS n FROM visits WHERE {condition}"
    assert duckdb_priv.reconstruct(release(form), below, True).fetchone() == pytest.approx(above)
    grouped = f"SELECT age, disease, count(*) AS n FROM visits WHERE {condition} GROUP BY ALL"
    found = duckdb_priv.reconstruct(release(form), grouped, True).fetchall()
    right = duckdb_priv.reconstruct(release(form), grouped).fetchall()
    assert len(found) == len(right) < 15
    query = f"SELECT {condition} AS g, count(*) AS n FROM visits GROUP BY g"
    with pytest.raises(QueryRefused, match="together"):
        duckdb_priv.rewrite_sql(release(form), query, intervals=True)


def test_assigned_values_vary_by_what_the_rows_are_asked_for(release) -> None:
    """By definition: the sum over all pairs of row and value of what is left without the means of both, squared."""
    connection = release("constant")
    rows = connection.execute("SELECT age, ward = 'north' FROM visits").fetchnumpy()
    age, north = rows.values()
    shares = dict(
        connection.execute(
            "SELECT value, own FROM priv.coefficient WHERE attribute = 'disease'"
        ).fetchall()
    )
    for asked, added in (
        (
            "count(*) AS e FROM visits WHERE disease = 'flu' OR age = 30",
            lambda v: (v == "flu") | (age == 30),
        ),
        ("sum(age) AS e FROM visits WHERE disease = 'flu'", lambda v: age * (v == "flu")),
        (
            "count_if(disease = 'flu') - count_if(disease = 'none' AND ward = 'north') AS e FROM visits",
            lambda v: (v == "flu") - 1.0 * (north & (v == "none")),
        ),
    ):
        adds = np.array([added(value) for value in shares], dtype=float)
        own = np.array(list(shares.values()))
        left = adds - own @ adds - adds.mean(axis=1, keepdims=True) + (own @ adds).mean()
        variance = len(age) / (len(age) - 1) * (own @ left**2).sum()
        answer = duckdb_priv.reconstruct(connection, f"SELECT {asked}", True).fetchone()
        assert answer[0] == pytest.approx((own @ adds).sum())
        assert answer[1] == pytest.approx(math.sqrt(variance))


def test_scaled_counts_have_scaled_intervals(release) -> None:
    row = duckdb_priv.reconstruct(
        release("two_weights"),
        "SELECT count_if(disease = 'flu') AS a, -100 * count_if(disease = 'flu') / 7 AS b,"
        " round(count_if(disease = 'flu') * 100.0 / count(*), 1) AS percent FROM visits",
        intervals=True,
    ).fetchall()[0]
    _, error, low, high = row[:4]
    assert row[5:8] == pytest.approx((error * 100 / 7, -high * 100 / 7, -low * 100 / 7))
    assert row[9:12] == pytest.approx((error / 30, low / 30, high / 30))


@pytest.mark.parametrize(
    ("moved", "of", "factor", "constant"),
    [
        ("count(*) + 1000", "count(*)", 1, 1000),
        ("1 - count(*) / 3000", "count(*)", -1 / 3000, 1),
        ("(count_if(ward = 'north') - 7) * 2", "count_if(ward = 'north')", 2, -14),
        ("(1 - count_if(age > 40) / count(*)) * 100", "count_if(age <= 40) / count(*)", 100, 0),
        ("sum(-age) / count(*)", "avg(age)", -1, 0),
        ("CASE WHEN count(*) > 10 THEN count(*) / 2 + 3 ELSE 0 END", "count(*)", 0.5, 3),
    ],
)
def test_intervals_move_with_what_they_are_of(moved, of, factor, constant, release) -> None:
    question = f"SELECT {moved} AS a, {of} AS b FROM visits WHERE disease = 'flu'"
    ((a, stderr, low, high, b, stderr_b, low_b, high_b),) = duckdb_priv.reconstruct(
        release("two_weights"), question, intervals=True
    ).fetchall()
    assert a == pytest.approx(factor * b + constant)
    assert stderr == pytest.approx(abs(factor) * stderr_b)
    ends = sorted((factor * low_b + constant, factor * high_b + constant))
    if "1 - count_if" not in moved:  # the delta method is symmetrical
        assert [low, high] == pytest.approx(ends)
    assert low < a < high


@pytest.mark.parametrize(
    "form", ["two_attributes", "operator", "scaled", "two_by_two", "conditional_poisson"]
)
def test_a_mean_and_its_interval_move_with_the_amounts(form: str, release) -> None:
    """By numbers of an attribute, and by public ones where several attributes choose the records."""
    connection = release(form)
    asked, where = ["length(disease)", "length(disease) * cost"], "true"
    if form == "two_attributes":
        asked, where = ["age::INTEGER"], "disease = 'flu' AND dose < 3"
    for amount in asked:
        near, far = (
            duckdb_priv.reconstruct(
                connection,
                f"SELECT avg({moved} + {amount}) AS m FROM visits WHERE {where} GROUP BY ward ORDER BY ward",
                intervals=True,
            ).fetchall()
            for moved in (0, 2000)
        )
        for (mean, stderr, low, high), right in zip(near, far, strict=True):
            assert right[1] == pytest.approx(stderr, rel=1e-5)
            moved = [each - 2000 for each in (right[0], *right[2:])]
            assert moved == pytest.approx([mean, low, high], rel=1e-5)


def test_what_is_not_shown_has_no_interval(release) -> None:
    question = (
        "SELECT CASE WHEN count(*) > 1e6 THEN count(*) ELSE 0 END AS a, greatest(count(*), 1e6) AS b FROM visits"
        " WHERE disease = 'flu'"
    )
    answer = duckdb_priv.reconstruct(release("two_weights"), question, intervals=True)
    assert answer.fetchall() == [(0, None, None, None, 1e6)]


def test_a_quotient_whose_denominator_may_be_zero_is_open(release) -> None:
    condition = "age = 40 AND day < DATE '2024-01-12'"
    ((ratio, stderr, low, high, mean, stderr_of_mean, _, high_of_mean),) = duckdb_priv.reconstruct(
        release("two_weights"),
        "SELECT count_if(disease = 'none') / count_if(disease = 'flu') AS r,"
        " avg(cost) FILTER (WHERE disease = 'flu') AS m"
        f" FROM visits WHERE {condition}",
        intervals=True,
    ).fetchall()
    assert stderr is stderr_of_mean is None
    assert 0 <= low < ratio < mean
    assert math.isinf(high)
    # A mean is never more than the most there is.
    (most,) = (
        release("two_weights").execute(f"SELECT max(cost) FROM visits WHERE {condition}").fetchone()
    )
    assert high_of_mean == pytest.approx(most)


def test_where_a_function_has_no_slope_nothing_is_known_of_its_error(release) -> None:
    question = (
        "SELECT ward, day, sqrt(greatest(count_if(disease = 'flu'), 0)) AS root,"
        " ln(greatest(count_if(disease = 'flu'), 0)) AS logarithm, stddev(age) AS spread"
        " FROM visits WHERE disease = 'flu' GROUP BY ALL"
    )
    rows = duckdb_priv.reconstruct(release("two_weights"), question, intervals=True).fetchall()
    for each in rows:
        for place in (2, 6, 10):
            value, *ends = each[place : place + 4]
            known = value is not None and math.isfinite(value) and (value > 0 or place == 6)
            assert all(end is None or math.isfinite(end) for end in ends)
            assert known or ends == [None] * 3
            assert ends == [None] * 3 or ends[0] > 0
    assert any(each[3] is None for each in rows)
    assert any(each[3] is not None for each in rows)


def test_totals_of_groups_have_the_interval_of_the_ungrouped_count(release) -> None:
    rows = duckdb_priv.reconstruct(
        release("two_weights"),
        "SELECT ward, count(*) AS n FROM visits WHERE disease = 'flu' GROUP BY ROLLUP (ward) ORDER BY ward NULLS FIRST",
        intervals=True,
    ).fetchall()
    (alone,) = duckdb_priv.reconstruct(
        release("two_weights"),
        "SELECT count(*) AS n FROM visits WHERE disease = 'flu'",
        intervals=True,
    ).fetchall()
    assert rows[0][1:3] == pytest.approx(alone[:2])
    assert rows[0][3:] == pytest.approx(alone[2:], abs=4)


def test_records_that_are_joined_several_times_vary_together(release) -> None:
    query = "SELECT count(*) AS n FROM visits v {} WHERE disease = 'flu'"
    (once,) = duckdb_priv.reconstruct(
        release("two_weights"), query.format("JOIN range(1) t(i) ON true"), intervals=True
    ).fetchall()
    (thrice,) = duckdb_priv.reconstruct(
        release("two_weights"), query.format("JOIN range(3) t(i) ON true"), intervals=True
    ).fetchall()
    assert thrice[:2] == pytest.approx([3 * each for each in once[:2]])


FEW = (
    "two_weights", "two_attributes", "rank_one", "operator", "scaled", "two_by_two", "conditional_poisson",
)  # fmt: skip
"""Forms whose truth is fixed and whose reports are random."""


@pytest.mark.parametrize("form", FEW)
def test_intervals_of_random_queries_hold_the_truth(form: str, release) -> None:
    """Known secret, known queries: the same figures in every run; a twentieth of 95% intervals may miss."""
    connection = release(form)
    attributes = ["disease", "dose"] if form == "two_attributes" else ["disease"]
    left_out = "id" if form == "two_attributes" else "id, dose"
    with duckdb.connect() as true:
        true.execute(VISITS.format(rows=3000, disease=DISEASES.get(form, EVEN)))
        true.execute(f"CREATE TABLE visits AS SELECT * EXCLUDE ({left_out}) FROM source")
        queries = Queries(Table.of(true, "visits", attributes), seed=7)
        scores, covered = [], []
        for query in (queries.draw() for _ in range(25)):
            right = {row[:-1]: row[-1] for row in true.execute(query.sql).fetchall()}
            answer = duckdb_priv.reconstruct(connection, query.sql, intervals=True)
            if "e_low" not in [name for name, *_ in answer.description]:
                continue
            for *keys, estimate, error, low, high in answer.fetchall():
                missing = 0 if query.kind in ("count", "sum", "difference") else None
                value = right.get(tuple(keys), missing)
                if value is not None and estimate is not None:
                    covered.append(low - 1e-6 <= float(value) <= high + 1e-6)
                    if error > 1e-6:
                        scores.append((estimate - float(value)) / error)
    assert len(covered) > 50
    assert sum(covered) / len(covered) > 0.9
    assert 0.5 < math.sqrt(sum(min(each**2, 64) for each in scores) / len(scores)) < 1.5


@pytest.mark.parametrize(
    ("attribute", "other"), [("y_place", "y_share"), ("weight", "n_h"), ("k", "l0")]
)
def test_attributes_may_have_the_names_of_steps(attribute: str, other: str, prepared) -> None:
    with prepared() as connection:
        connection.execute(
            f"CREATE TABLE source AS SELECT i AS id, 'v' || hash(i) % 4 AS {attribute},"
            f" 'd' || hash(7 * i) % 3 AS {other} FROM range(600) AS t(i)"
        )
        connection.execute(
            f"FROM priv.publish_uniform('source', 'release', sensitive := ['{attribute}', '{other}'],"
            " record_id := 'id', retention := 0.5)"
        ).fetchall()
        for condition in (f"{attribute} = 'v1'", f"{attribute} = 'v1' AND {other} = 'd1'"):
            query = f"SELECT count_if({condition}) AS n FROM release"
            ((n, stderr, low, high),) = duckdb_priv.reconstruct(connection, query, True).fetchall()
            assert low <= n <= high
            assert stderr > 0
