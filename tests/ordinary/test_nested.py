"""Queries around queries that count: what they make of the counts has the interval that it has in one query."""

from __future__ import annotations

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.errors import QueryRefused

PAIRS = {
    "shares above counts": (
        "SELECT disease, n, 100.0 * n / sum(n) OVER () AS p FROM (SELECT disease, count(*) AS n FROM visits"
        " GROUP BY disease) AS t WHERE disease <> 'none' ORDER BY disease",
        "SELECT disease, count(*) AS n, 100.0 * count(*) / sum(count(*)) OVER () AS p FROM visits"
        " WHERE disease <> 'none' GROUP BY disease ORDER BY disease",
    ),
    "a chain of WITH": (
        "WITH old AS (SELECT * FROM visits WHERE age > 30), counted AS (SELECT disease AS d, count(*) AS n FROM old"
        " GROUP BY 1), shares AS (SELECT d, n / sum(n) OVER () AS share FROM counted)"
        " SELECT * FROM shares ORDER BY d",
        "SELECT disease AS d, count(*) / sum(count(*)) OVER () AS share FROM visits WHERE age > 30 GROUP BY ALL"
        " ORDER BY d",
    ),
    "a window over a filtered count": (
        "SELECT a, n, sum(n) OVER (ORDER BY a) AS r FROM (SELECT age AS a, count(*) FILTER (WHERE disease = 'flu') AS n"
        " FROM visits GROUP BY 1) ORDER BY a",
        "SELECT age AS a, count_if(disease = 'flu') AS n, sum(count_if(disease = 'flu')) OVER (ORDER BY age) AS r"
        " FROM visits GROUP BY 1 ORDER BY 1",
    ),
    "other names for the results": (
        "WITH c(w, k) AS (SELECT ward, count(*) FROM visits WHERE disease = 'flu' GROUP BY 1)"
        " SELECT w, m, m / sum(m) OVER () AS s FROM (SELECT * RENAME (k AS m) FROM c) AS t(w, m) ORDER BY w",
        "SELECT ward AS w, count(*) AS m, count(*) / sum(count(*)) OVER () AS s FROM visits WHERE disease = 'flu'"
        " GROUP BY 1 ORDER BY 1",
    ),
    "counts of smaller groups": (
        "SELECT w, sum(n) AS n, sum(CASE WHEN disease = 'flu' THEN n ELSE 0 END) / sum(n) AS p FROM"
        " (SELECT ward AS w, disease, count(*) AS n FROM visits WHERE age > 20 GROUP BY w, disease) AS source"
        " WHERE disease <> 'none' GROUP BY w ORDER BY 1",
        "SELECT ward AS w, count(*) AS n, count_if(disease = 'flu') / count(*) AS p FROM visits"
        " WHERE age > 20 AND disease <> 'none' GROUP BY ward ORDER BY ward",
    ),
    "the first ones": (
        "SELECT ward AS where, a - b AS more FROM (SELECT ward, count_if(disease = 'flu') AS a,"
        " count_if(disease = 'none') AS b FROM visits GROUP BY 1 ORDER BY ward DESC LIMIT 2) AS t",
        "SELECT ward AS where, count_if(disease = 'flu') - count_if(disease = 'none') AS more FROM visits"
        " GROUP BY ward ORDER BY ward DESC LIMIT 2",
    ),
    "all records in a subquery": (
        "SELECT ward, count(*) / (SELECT count(*) FROM visits AS v WHERE v.disease <> 'none') AS s FROM visits"
        " WHERE disease = 'flu' GROUP BY ward ORDER BY ward",
        "SELECT ward, count_if(disease = 'flu') / sum(count_if(disease <> 'none')) OVER () AS s FROM visits"
        " GROUP BY ward ORDER BY ward",
    ),
    "records of the same condition in a subquery": (
        "SELECT disease, sum(cost) / (SELECT sum(cost) FROM visits WHERE age > 30) AS s FROM visits"
        " WHERE age > 30 AND disease <> 'none' GROUP BY disease ORDER BY disease",
        "SELECT disease, sum(cost) / sum(sum(cost)) OVER () AS s FROM visits WHERE age > 30 GROUP BY disease"
        " QUALIFY disease <> 'none' ORDER BY disease",
    ),
    "two counts in one row": (
        "SELECT 100.0 * count(*) / (SELECT count(*) FROM visits WHERE disease <> 'none') AS p FROM visits"
        " WHERE disease = 'flu' AND age > 30",
        "SELECT 100.0 * count(*) FILTER (WHERE disease = 'flu' AND age > 30) / count_if(disease <> 'none')"
        " AS p FROM visits",
    ),
}  # fmt: skip


def same(found: object, expected: object) -> bool:
    number = isinstance(expected, float)
    return found == (pytest.approx(expected, rel=1e-9, abs=1e-12) if number else expected)


@pytest.mark.parametrize("form", ["two_weights", "rank_one"])
@pytest.mark.parametrize("which", PAIRS)
def test_a_nested_query_has_the_interval_of_a_plain_one(which: str, form: str, release) -> None:
    nested, plain = PAIRS[which]
    names, answers = [], []
    for query in (nested, plain):
        answer = duckdb_priv.reconstruct(release(form), query, intervals=True)
        names.append([name for name, *_ in answer.description])
        answers.append(answer.fetchall())
    assert any(name.endswith("_low") for name in names[0])
    assert names[0] == names[1]
    found, right = answers
    assert len(found) == len(right) > 0
    for row, expected in zip(found, right, strict=True):
        assert all(map(same, row, expected))
    # Without intervals it is the same answer.
    kept = [
        number
        for number, name in enumerate(names[0])
        if not name.endswith(("_stderr", "_low", "_high"))
    ]
    without = duckdb_priv.reconstruct(release(form), nested).fetchall()
    for row, alone in zip(found, without, strict=True):
        assert all(map(same, [row[each] for each in kept], alone))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS m FROM (SELECT disease, count(*) AS n FROM visits GROUP BY 1) AS t WHERE n > 10",
        "SELECT DISTINCT n > 10 AS m FROM (SELECT disease, count(*) AS n FROM visits GROUP BY 1) AS t",
        "SELECT count(*) / (SELECT sum(cost) FROM visits WHERE disease = 'flu' AND age > 30 HAVING sum(cost) > 0) AS m"
        " FROM visits WHERE disease = 'none'",
    ],
)  # fmt: skip
def test_what_is_no_sum_of_counts_has_no_interval(query: str, release) -> None:
    answer = duckdb_priv.reconstruct(release("two_weights"), query, intervals=True)
    assert [name for name, *_ in answer.description] == ["m"]
    assert answer.fetchall()


def test_a_join_with_other_estimates_is_refused(release) -> None:
    query = (
        "SELECT sum(1 / t.n) AS s FROM visits, (SELECT count(*) AS n FROM visits WHERE disease = 'flu') AS t"
        " WHERE disease = 'none'"
    )
    assert duckdb_priv.reconstruct(release("two_weights"), query).fetchall()
    with pytest.raises(QueryRefused, match="or is joined to"):
        duckdb_priv.rewrite_sql(release("two_weights"), query, intervals=True)


@pytest.mark.parametrize("intervals", [False, True])
def test_groups_that_are_added_up_again_are_known(intervals: bool, release) -> None:
    counts = "(SELECT ward, disease, count(*) AS n FROM visits GROUP BY ALL)"
    for query in (
        f"SELECT ward, sum(n) AS n FROM {counts} GROUP BY ward ORDER BY ward",
        f"WITH c AS {counts} SELECT ward, sum(n) AS n FROM c GROUP BY 1 ORDER BY 1",
    ):
        for form in ("two_weights", "two_by_two"):
            connection = release(form)
            answer = duckdb_priv.reconstruct(connection, query, intervals).fetchall()
            plain = "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY ward"
            assert answer == connection.execute(plain).fetchall()


def test_two_releases_in_one_statement_are_counted_each_on_its_own(path) -> None:
    count = "(SELECT count(*) AS n FROM {}.visits WHERE disease = 'flu')"
    with duckdb.connect() as connection:
        for name, form in (("r", "two_weights"), ("s", "blocks")):
            connection.execute(f"ATTACH '{path(form)}' AS {name} (READ_ONLY)")
        counts = [count.format(each) for each in "rs"]
        alone = [
            duckdb_priv.reconstruct(connection, f"FROM {each}").fetchone()[0] for each in counts
        ]
        assert alone[0] != alone[1]
        for query in (
            f"SELECT a.n AS one, b.n AS other FROM {counts[0]} AS a, {counts[1]} AS b",
            f"SELECT {counts[0]} AS one, {counts[1]} AS other",
        ):
            for intervals in (False, True):
                answer = duckdb_priv.reconstruct(connection, query, intervals)
                row = dict(
                    zip((name for name, *_ in answer.description), answer.fetchone(), strict=True)
                )
                assert [row["one"], row["other"]] == pytest.approx(alone)


def test_the_largest_of_exact_counts_is_known(release) -> None:
    exact = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
    beside = exact.replace(" FROM", ", count_if(disease = 'flu') AS flu FROM")
    connection = release("two_by_two")
    for question in ("SELECT max(n) FROM ({}) AS t", "SELECT min(n) FROM ({}) AS t"):
        answer = duckdb_priv.reconstruct(connection, question.format(beside)).fetchall()
        assert answer == connection.execute(question.format(exact)).fetchall()


SUBTOTALS = (
    "SELECT ward, disease, count(*) AS n, avg(cost) AS c FROM visits GROUP BY {} ORDER BY ALL"
)


@pytest.mark.parametrize(
    "groups", ["ROLLUP (ward, disease)", "GROUPING SETS ((disease), (ward), ())"]
)
def test_subtotals_by_public_columns_are_exact(groups: str, release) -> None:
    connection = release("two_by_two")
    public = "SELECT ward, count(*), avg(cost) FROM visits GROUP BY ROLLUP (ward) ORDER BY ALL"
    right = connection.execute(public).fetchall()
    plain = duckdb_priv.reconstruct(connection, SUBTOTALS.format(groups)).fetchall()
    ends = duckdb_priv.reconstruct(connection, SUBTOTALS.format(groups), True).fetchall()
    kept = [(*row[:3], row[6]) for row in ends]
    assert len(kept) == len(plain)
    for row in right:
        known = [row[0], None, *map(pytest.approx, row[1:])]
        assert list(known) in [list(each) for each in plain]
        (found,) = (each for each in ends if [*each[:3], each[6]] == known)
        assert found[3:6] == (0, row[1], row[1])


def test_a_constant_in_a_quotient_counts(release) -> None:
    counts = "count_if(disease = 'flu') AS a, count_if(disease = 'none') AS b"
    for shifted, plain in (("(a + b) / b", "1 + a / b"), ("(a + 1000) / b", "a / b + 1000 / b")):
        rows = [
            duckdb_priv.reconstruct(
                release("two_weights"),
                f"SELECT {each} AS s FROM (SELECT {counts} FROM visits) AS t",
                True,
            ).fetchone()
            for each in (shifted, plain)
        ]
        assert rows[0][0] == pytest.approx(rows[1][0])
        assert rows[0][2] < rows[0][0] < rows[0][3]
        assert rows[0][1] == pytest.approx(rows[1][1], rel=1e-6)


MEAN = "SELECT avg(age) AS mean FROM visits WHERE disease = 'flu'"


@pytest.mark.parametrize(
    "rows",
    [
        f"SELECT * FROM visits WHERE age > ({MEAN})",
        f"SELECT * FROM (SELECT *, ({MEAN}) AS mean FROM visits) AS s WHERE age > mean AND mean > 0",
        f"SELECT v.* FROM visits AS v JOIN ({MEAN}) AS m ON v.age > m.mean",
    ],
)
def test_estimates_within_rows_are_answered_where_the_rows_are_counted(rows: str, release) -> None:
    connection = release("two_weights")
    ((mean,),) = duckdb_priv.reconstruct(connection, MEAN).fetchall()
    count = "SELECT count(*) FROM {} WHERE disease = 'none'"
    right = duckdb_priv.reconstruct(connection, f"{count.format('visits')} AND age > {mean}")
    (expected,) = right.fetchone()
    once = duckdb_priv.reconstruct(connection, count.format(f"({rows}) AS t")).fetchall()
    twice = f"WITH r AS ({rows}) {count.format('r')} UNION ALL {count.format('r')}"
    found = [*once, *duckdb_priv.reconstruct(connection, twice).fetchall()]
    assert found == [(pytest.approx(expected),)] * 3
