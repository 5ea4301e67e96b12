"""What would be wrong is refused, in one sentence that says what to write instead."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
import sqlglot
from sqlglot import exp

import duckdb_priv
from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.aggregates import is_aggregate, unwrapped
from duckdb_priv.ordinary.published import functions
from duckdb_priv.ordinary.rewrite import rewrite_sql

CASE = re.compile(r"-- title: (.*)\n(.*)\n-- says: (.*)\n")
CASES = CASE.findall((Path(__file__).parent / "refusals.sql").read_text("utf-8"))


@pytest.mark.parametrize(("title", "query", "says"), CASES, ids=[title for title, *_ in CASES])
def test_a_wrong_question_is_refused_with_what_to_write(title, query, says, release) -> None:
    with pytest.raises((QueryRefused, duckdb.Error)) as refused:
        release("two_weights").execute(rewrite_sql(release("two_weights"), query)).fetchall()
    assert says in str(refused.value)
    if isinstance(refused.value, QueryRefused):
        assert refused.value.hint
        assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    "subtotals", ["ROLLUP (ward)", "CUBE (ward)", "GROUPING SETS ((), (ward))"]
)
def test_subtotals_are_seen_wherever_sqlglot_keeps_them(subtotals, release, monkeypatch) -> None:
    parse = sqlglot.parse

    def as_sqlglot_28_parses(*arguments, **options):
        statements = parse(*arguments, **options)
        for group in [each for one in statements for each in one.find_all(exp.Group)]:
            for kind, name in (
                (exp.Rollup, "rollup"),
                (exp.Cube, "cube"),
                (exp.GroupingSets, "grouping_sets"),
            ):
                apart = [each for each in group.expressions if isinstance(each, kind)]
                group.set("expressions", [each for each in group.expressions if each not in apart])
                group.set(name, [*(group.args.get(name) or []), *apart])
        return statements

    connection = release("two_weights")
    count = f"SELECT ward, count(*) AS n FROM visits WHERE disease = 'flu' GROUP BY {subtotals}"
    right = duckdb_priv.reconstruct(connection, count, intervals=True).fetchall()
    monkeypatch.setattr(sqlglot, "parse", as_sqlglot_28_parses)
    found = duckdb_priv.reconstruct(connection, count, intervals=True).fetchall()
    assert len(found) == 4
    assert {ward for ward, *_ in found} == {ward for ward, *_ in right}
    for ward, *numbers in found:
        # Sums are added up in any order.
        assert any(ward == each and numbers == pytest.approx(some) for each, *some in right)
    with pytest.raises(QueryRefused, match="quantile beside subtotals"):
        rewrite_sql(connection, count.replace("count(*)", "median(age)"))


def test_every_aggregate_of_duckdb_is_known_as_one() -> None:
    kinds = {name: kind for name, kind in functions().items() if name.isidentifier()}
    assert len(kinds) > 500
    for name, kind in kinds.items():
        if kind in ("aggregate", "scalar", "macro"):
            try:
                (call,) = sqlglot.parse_one(f"SELECT {name}(a)", dialect="duckdb").expressions
            except sqlglot.errors.SqlglotError:
                continue
            assert is_aggregate(unwrapped(call)) == (kind == "aggregate"), name


def test_parameters_are_held_to_the_domain(release) -> None:
    connection = release("two_weights")
    for query, right, wrong in (
        ("SELECT count(*) FROM visits WHERE age > ? AND disease = ?", [30, "flu"], [30, "Flu"]),
        ("SELECT count(*) FROM visits WHERE disease IN ('none', $d)", {"d": "flu"}, {"d": "gout"}),
    ):
        answer = duckdb_priv.reconstruct(connection, query, parameters=right).fetchone()
        assert answer[0] > 0
        with pytest.raises(QueryRefused, match="has no value"):
            duckdb_priv.reconstruct(connection, query, parameters=wrong)


@pytest.mark.parametrize("intervals", [False, True])
@pytest.mark.parametrize(
    "mean", ["avg(day)", "avg(if(disease = 'flu', day, NULL))", "avg(day::TIMESTAMP)"]
)
def test_means_of_dates_say_what_to_write(mean, intervals, release) -> None:
    query = f"SELECT ward, {mean} AS mean FROM visits WHERE disease <> 'none' GROUP BY ward"
    with pytest.raises(duckdb.InvalidInputException, match=r"write avg\(epoch\(x\)\)"):
        duckdb_priv.reconstruct(release("two_weights"), query, intervals=intervals).fetchall()


def test_every_case_has_its_own_title() -> None:
    text = (Path(__file__).parent / "refusals.sql").read_text("utf-8")
    assert len({title for title, *_ in CASES}) == len(CASES) == text.count("-- title:")


def test_a_value_in_every_decoy_group_is_an_error_only_where_it_is_asked_for(prepared) -> None:
    with prepared() as con:
        con.execute(
            "CREATE TABLE source AS SELECT i AS id, i % 3 AS ward, if(i % 2 = 0, 'often', 'v' || (i % 5)) AS disease"
            " FROM range(2000) t(i)"
        )
        con.execute(
            "FROM priv.publish_splu('source', 'visits', sensitive := 'disease', gamma := 2, record_id := 'id')"
        ).fetchall()
        (form,) = con.execute("SELECT form FROM priv.attribute WHERE form IS NOT NULL").fetchall()[
            0
        ]
        assert form == "two_by_two"
        con.execute("UPDATE priv.coefficient SET other = own WHERE value = 'often'")
        for intervals in (False, True):
            for condition in ("disease = 'often'", "disease <> 'v1'"):
                query = (
                    f"SELECT count(*) AS n, count(*) FILTER (WHERE {condition}) AS m FROM visits"
                )
                with pytest.raises(duckdb.Error, match="is in every decoy group"):
                    duckdb_priv.reconstruct(con, query, intervals).fetchall()
            query = "SELECT ward, count(*) AS n FROM visits WHERE disease = 'v1' GROUP BY ward"
            assert len(duckdb_priv.reconstruct(con, query, intervals).fetchall()) == 3
            alone = "SELECT count(*) AS n FROM visits WHERE disease = 'v1'"
            beside = "SELECT count(*) FILTER (WHERE disease = 'v1') AS n FROM visits"
            one, two = (
                duckdb_priv.reconstruct(con, e, intervals).fetchone() for e in (alone, beside)
            )
            assert one == pytest.approx(two)


def test_a_prepared_query_answers_estimates(release) -> None:
    connection = release("two_weights").cursor()
    connection.execute("USE r")
    query = "SELECT count(*) AS n FROM visits WHERE disease = $1"
    duckdb_priv.reconstruct(connection, f'PREPARE "of one" AS {query}')
    answer = duckdb_priv.reconstruct(connection, "EXECUTE \"of one\"('flu')").fetchall()
    assert answer == duckdb_priv.reconstruct(connection, query, parameters=["flu"]).fetchall()


@pytest.mark.parametrize("sets", ["CUBE (ward), CUBE (ward)", "GROUPING SETS (ward, (ward))"])
def test_groups_that_are_asked_for_twice_have_no_intervals(sets, release) -> None:
    connection = release("two_weights")
    query = f"SELECT ward, count(*) AS n FROM visits WHERE disease = 'flu' GROUP BY {sets}"
    assert duckdb_priv.reconstruct(connection, query).fetchall()
    with pytest.raises(QueryRefused, match="the same groups more than once"):
        duckdb_priv.rewrite_sql(connection, query, intervals=True)


def test_an_attribute_called_block_is_published_and_asked_for(prepared) -> None:
    with prepared() as con:
        con.execute(
            "CREATE TABLE source AS SELECT i AS id, i % 2 AS ward, ['a', 'b', 'c'][1 + i % 3] AS block"
            " FROM range(600) t(i)"
        )
        con.execute(
            "FROM priv.publish_block_design('source', 'visits', sensitive := 'block', epsilon := 8.0,"
            " record_id := 'id')"
        ).fetchall()
        query = "SELECT block, count(*) AS n FROM visits GROUP BY block ORDER BY block"
        found = duckdb_priv.reconstruct(con, query).fetchall()
        assert [value for value, _ in found] == ["a", "b", "c"]
        # Fewer than 1 of 900 records reports another value.
        assert all(abs(count - 200) < 10 for _, count in found)
