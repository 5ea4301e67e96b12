"""USE estimated: plain counts are what the weights add up to, and whatever else is asked raises, in words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import duckdb
import pytest
from ordinary.releases import CALLS, DOES_NOT_SUM, EVEN, VISITS
from ordinary.test_linear import CASES, same

from duckdb_priv.ordinary.rewrite import reconstruct

SUMMED = [form for form in CALLS if form not in DOES_NOT_SUM]
NOT_ANSWERED = {
    "filters beside each other, and what is known exactly": "takes no FILTER",
    "sums and averages of a public column over records with a value": "takes no FILTER",
    "what is known of public columns is beside estimates": "takes no DISTINCT",
    "windows in the same SELECT": "with OVER",
    "a named window": "with OVER",
    "rows of common table expressions": r"SELECT \\*",
    "qualified names and spellings": "does not have a column",
    "sums over no record": "takes no FILTER",
    "other names for the columns of a subquery": r"SELECT \\*",
    "a view over the release": "not through another",
    "a view over that view": "not through another",
    "a list of values": "GROUP BY without count",
    "a list of chosen values": r"SELECT \\*",
    "rows that are pivoted": "a PIVOT in the schema",
    "rows that are pivoted to columns that DuckDB names": "a PIVOT in the schema",
    "a list of values of two attributes": "GROUP BY without count|not real records",
}
"""By title of a case: what it is refused with."""
EXACT = "CASE WHEN grouping(disease) = 1 THEN sum(records) FILTER (shown) ELSE sum(w) END"
"""Subtotals by public columns, which ``reconstruct`` counts. Macros cannot, and add up weights."""
NOBODY = ("disease = 'flu' AND disease = 'cancer'", "disease = NULL")
"""Conditions that no record meets. Each form is asked with one of them, and two forms with both."""
PASSED_ON = [
    line
    for line in (Path(__file__).parent / "passed_on.sql").read_text("utf-8").splitlines()
    if line and not line.startswith("--")
]
"""Queries over subqueries that pass on some columns."""
REFUSED = [
    line.rpartition(" -- ")[::2]
    for line in (Path(__file__).parent / "estimated.sql").read_text("utf-8").splitlines()
    if line and not line.startswith("--")
]
"""Questions, each with a part of what it is refused with."""


@pytest.fixture
def estimated(release) -> Iterator[Callable[[str], duckdb.DuckDBPyConnection]]:
    """A connection of its own to the release of a form, whose schema is in use."""
    opened = []

    def get(form: str) -> duckdb.DuckDBPyConnection:
        opened.append(release(form).cursor())
        opened[-1].execute("USE r.estimated")
        return opened[-1]

    yield get
    for cursor in opened:
        cursor.close()


@pytest.mark.parametrize("form", SUMMED)
def test_plain_queries_answer_what_the_weights_add_up_to(form: str, release, estimated) -> None:
    connection, asked = estimated(form), 0
    every = form in ("two_weights", "two_attributes")
    for title, ordinary, weighted in CASES if every else CASES[SUMMED.index(form) % 3 :: 3]:
        if "dose" in weighted and form != "two_attributes":
            continue
        if title in NOT_ANSWERED:
            with pytest.raises(duckdb.Error, match=NOT_ANSWERED[title]):
                connection.execute(ordinary)
            continue
        asked += 1
        weighted = weighted.replace("FROM weighted", "FROM memory.main.weighted")
        weighted = weighted.replace(EXACT, "sum(w)")
        expected = sorted(release(form).execute(weighted).fetchall(), key=str)
        found = sorted(connection.execute(ordinary).fetchall(), key=str)
        assert len(found) == len(expected), title
        for row, right in zip(found, expected, strict=True):
            assert all(map(same, row, right)), (title, row, right)
    assert asked >= (30 if every else 8)


@pytest.mark.parametrize("form", SUMMED)
def test_rows_of_which_some_columns_are_passed_on_keep_their_weights(form, release, estimated):
    """All queries of one form, and each query of one other form at least."""
    connection = estimated(form)
    for query in (
        PASSED_ON if form == "two_weights" else PASSED_ON[(SUMMED.index(form) + 3) % 6 :: 6]
    ):
        if "LIMIT 1048575" in query and form in ("scaled", "by_group"):
            with pytest.raises(duckdb.Error, match="before they"):
                connection.execute(query)
            continue
        expected = sorted(reconstruct(release(form), query).fetchall(), key=str)
        found = sorted(connection.execute(query).fetchall(), key=str)
        assert len(found) == len(expected), query
        for row, right in zip(found, expected, strict=True):
            assert all(map(same, row, right)), (query, row, right)


def test_a_subquery_of_a_prepared_statement_is_refused_or_keeps_its_weights(estimated) -> None:
    connection = estimated("two_weights")
    asked = "SELECT count(*) FROM (SELECT ward FROM visits WHERE disease = {}) AS t"
    right = connection.execute(asked.format("'flu'")).fetchall()
    with pytest.raises(duckdb.InvalidInputException, match=r"SELECT \*"):
        connection.execute(asked.format("?"), ["flu"])
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE flu AS {asked.format(chr(39) + 'flu' + chr(39))}"
    )
    assert connection.execute("FROM flu").fetchall() == right
    connection.execute("CREATE OR REPLACE TEMP TABLE own AS SELECT 'visits' AS ward, 2 AS disease")
    asked_own = "SELECT count(*), current_role FROM (SELECT ward FROM own) AS visits GROUP BY ALL"
    assert connection.execute(asked_own).fetchall() == [(1, "duckdb")]
    connection.execute("CREATE OR REPLACE TEMP TABLE visits AS SELECT 'north' AS ward")
    same_name = "SELECT count(*) FROM (SELECT ward FROM visits) AS t"
    assert connection.execute(same_name).fetchall() == [(1,)]
    connection.execute("DROP TABLE temp.visits")


@pytest.mark.parametrize(("question", "words"), REFUSED)
def test_other_questions_are_refused(question: str, words: str, estimated) -> None:
    with pytest.raises(duckdb.Error, match=words):
        estimated("two_attributes").execute(question)


@pytest.mark.parametrize("form", DOES_NOT_SUM)
def test_releases_without_weights_say_so(form: str, estimated) -> None:
    for question in ("SELECT count(*) FROM visits", "SELECT 1 FROM visits WHERE disease = 'flu'"):
        with pytest.raises(duckdb.InvalidInputException, match="have no weights"):
            estimated(form).execute(question)


def test_the_schema_must_be_in_use(release, estimated) -> None:
    aside = release("two_weights").cursor()
    for place in ("r", "memory"):
        aside.execute(f"USE {place}")
        for question in ("SELECT count(*)", "SELECT ward", "SELECT sum(age)"):
            with pytest.raises(duckdb.Error):
                aside.execute(f"{question} FROM r.estimated.visits")
    with pytest.raises(duckdb.InvalidInputException, match="after USE estimated"):
        aside.execute("USE r").execute("SELECT count(*) FROM estimated.visits")


def test_the_view_of_a_file_that_is_not_in_use_is_refused(
    prepared: Callable[..., duckdb.DuckDBPyConnection], tmp_path: Path
) -> None:
    """Two years of a release have the same name: the view would count the rows of the year in use."""
    with duckdb.connect() as reader:
        for year, rows in (("older", 300), ("newer", 900)):
            with prepared() as publisher:
                publisher.execute(
                    f"CREATE TABLE source AS SELECT i AS id, i % 2 = 0 AS ill FROM range({rows}) AS t(i)"
                )
                publisher.execute(
                    "FROM priv.publish_uniform('source', 'visits', sensitive := 'ill', retention := 0.5,"
                    " record_id := 'id')"
                ).fetchall()
                path = str(tmp_path / f"{year}.duckdb")
                publisher.execute("FROM priv.export_release('visits', ?)", [path]).fetchall()
            reader.execute(f"ATTACH '{path}' AS {year} (READ_ONLY)")
        reader.execute("USE older.estimated")
        for name in (
            "visits",
            "estimated.visits",
            "older.estimated.visits",
            "OLDER.Estimated.Visits",
        ):
            assert reader.execute(f"SELECT count(*) FROM {name}").fetchall() == [(300,)]
        assert reader.execute("SELECT count(*) FROM newer.visits").fetchall() == [(900,)]
        for question in (
            "SELECT count(*) FROM newer.estimated.visits",
            "SELECT count(*) FROM NEWER.ESTIMATED.VISITS WHERE ill",
            "SELECT (SELECT count(*) FROM visits) - (SELECT count(*) FROM newer.estimated.visits)",
            "PREPARE asked AS SELECT count(*) FROM newer.estimated.visits",
        ):
            with pytest.raises(duckdb.InvalidInputException, match=r"USE name\.estimated"):
                reader.execute(question).fetchall()
        reader.execute("PREPARE asked AS SELECT count(*) FROM older.estimated.visits")
        assert reader.execute("EXECUTE asked").fetchall() == [(300,)]
        reader.execute("USE newer.estimated")
        with pytest.raises(duckdb.InvalidInputException, match="a statement that names it"):
            reader.execute("EXECUTE asked").fetchall()


@pytest.mark.parametrize("form", ["two_weights", "operator", "blocks", "by_group", "scaled"])
@pytest.mark.parametrize(
    "condition",
    [
        "disease = 'flu'",
        "disease IN ('flu', 'cancer') AND age > 40",
        "disease = 'flu' OR age > 50 AND disease <> 'none'",
        "length(disease) * 10 > age",
    ],
)
def test_standard_errors_are_those_of_ordinary_sql(form: str, condition, release, estimated):
    counted = f"FROM visits WHERE {condition} GROUP BY ward ORDER BY ward"
    found = estimated(form).execute(f"SELECT ward, count(*), count_stderr() {counted}").fetchall()
    connection = release(form)
    right = reconstruct(connection, f"SELECT ward, count(*) AS n {counted}", intervals=True)
    for row, (ward, n, stderr, *_) in zip(found, right.fetchall(), strict=True):
        assert row == (ward, pytest.approx(n), pytest.approx(stderr)), (form, condition)


@pytest.mark.parametrize("form", ["two_weights", "two_attributes", "operator", "blocks", "scaled"])
@pytest.mark.parametrize(
    "condition",
    ["disease = 'flu'", "disease <> 'none' OR age > 40", "age > 1000 AND disease = 'flu'"],
)
def test_quantiles_are_those_of_ordinary_sql(form: str, condition, release, estimated) -> None:
    query = (
        "SELECT ward, median(age), quantile_cont(cost, [0, 0.3, 1]), quantile_disc(day, 0.25),"
        " quantile_disc(age, -0.4), quantile(ward, 0.5), quantile_disc(cost, [0.1, 0.9]),"
        " median(if(age > 30, cost, NULL)), quantile_cont(age, -0.2)"
        f" FROM visits WHERE {condition} GROUP BY ward ORDER BY ward"
    )
    found = estimated(form).execute(query).fetchall()
    for row, expected in zip(found, reconstruct(release(form), query).fetchall(), strict=True):
        for one, right in zip(row, expected, strict=True):
            near = right if isinstance(right, str | dt.date) else pytest.approx(right, rel=1e-9)
            assert one == near, (row, expected)


@pytest.mark.parametrize(
    ("form", "where"), [*zip(SUMMED, cycle(NOBODY)), (SUMMED[0], NOBODY[1]), (SUMMED[1], NOBODY[0])]
)
def test_what_nobody_can_be_is_known(form: str, where: str, release, estimated) -> None:
    calls = {"count": "*", "sum": "age", "avg": "age"}
    plain = ", ".join(f"{name}({given}) AS {name}" for name, given in calls.items())
    expected = reconstruct(
        release(form), f"SELECT {plain} FROM visits WHERE {where}", intervals=True
    ).fetchall()
    with_ends = ", ".join(
        f"{name}{end}({given if given != '*' or not end else ''})"
        for name, given in calls.items()
        for end in ("", "_stderr", "_low", "_high")
    )
    asked = f"SELECT {with_ends} FROM visits WHERE {where}"
    assert estimated(form).execute(asked).fetchall() == expected
    within = f"SELECT count_if({where}) AS n, sum(if({where}, age, 0)) AS s FROM visits"
    assert reconstruct(release(form), within, intervals=True).fetchall() == [(0,) * 8]
    both = within.replace(" AS n", f", count_if_low({where}), count_if_high({where})")
    assert estimated(form).execute(both).fetchall() == [(0,) * 4]


@pytest.mark.parametrize("form", ["two_weights", "two_attributes", "by_group", "operator"])
def test_a_constant_does_not_vary(form: str, release, estimated) -> None:
    """Rounding leaves no variance, and no slope along it."""
    query = (
        "SELECT ward, sqrt(var_samp(0.1)) AS s, stddev(if(disease = 'flu', 1 / 3, 1 / 3)) AS d,"
        " covar_pop(cost, 0.1) AS c, regr_slope(cost, 0.1) AS b, regr_r2(cost, 0.1) AS r,"
        " regr_intercept(0.7, cost) AS a"
        " FROM visits WHERE disease <> 'flu' GROUP BY ward ORDER BY ward"
    )
    for answer in (estimated(form).execute(query), reconstruct(release(form), query)):
        for _, *zeros, slope, fit, intercept in answer.fetchall():
            assert (zeros, slope, fit, intercept) == ([0, 0, 0], None, None, pytest.approx(0.7))
    fine = "SELECT cost, var_pop(2024) FROM visits WHERE disease <> 'flu' GROUP BY cost"
    assert {row[1] for row in reconstruct(release(form), fine).fetchall()} <= {0, None}


def test_what_adds_up_to_whole_numbers_is_not_divided_as_them(estimated) -> None:
    """As ``docs/sql.md`` says: a macro has one type, whether it adds up weights or records."""
    asked = "SELECT floor(sum(age) / 11), sum(age) // 11, sum(age) / 11 FROM visits"
    ((floor, whole, part),) = estimated("two_weights").execute(asked).fetchall()
    assert floor < whole == part < floor + 1


def test_quantiles_of_other_tables_are_those_of_duckdb(estimated) -> None:
    """Also where a column has the name of a part of the macro."""
    connection = estimated("two_weights")
    values = [
        "range / 7",
        "DATE '2024-01-01' + range::INTEGER",
        "range::DECIMAL(9, 2)",
    ]
    calls = "{0}median({1}), {0}quantile_cont({1}, 0.3), {0}quantile_disc({1}, [0.2, 0.9])"
    query = f"SELECT {calls} FROM own HAVING {{0}}median({{1}}) IS NOT NULL"
    for number, name in enumerate("aeimprsvzxq"):
        value = values[number % 3]
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE own AS SELECT {value} AS {name} FROM range(11)"
        )
        answers = []
        for schema in ("", "system.main."):
            answer = connection.execute(query.format(schema, name))
            answers.append(([kind for _, kind, *_ in answer.description], answer.fetchall()))
        assert answers[0] == answers[1]


def test_the_table_may_come_first(estimated) -> None:
    asked = estimated("two_weights").execute
    rest = "WHERE disease = 'flu' GROUP BY ward ORDER BY ward"
    ((first, *_), *_) = found = asked(f"FROM visits SELECT count(*) {rest}").fetchall()
    assert found == [
        (pytest.approx(n),) for (n,) in asked(f"SELECT count(*) FROM visits {rest}").fetchall()
    ]
    assert first != 3000
    assert asked("FROM visits SELECT count(*)").fetchall() == [(pytest.approx(3000),)]


def test_an_average_over_an_estimate_that_is_not_above_zero_is_null(estimated) -> None:
    rows = (
        estimated("two_weights")
        .execute(
            "SELECT ward, age, day, count(*), avg(cost) FROM visits WHERE disease = 'flu' GROUP BY ALL"
        )
        .fetchall()
    )
    assert any(n <= 0 for *_, n, _ in rows)
    assert all((average is None) == (n <= 0) for *_, n, average in rows)


def test_errors_take_the_bias_off_a_sum_of_squares(estimated, release) -> None:
    """Of all groups by ward and age: within five standard errors of the truth, which the counts are not."""
    squares = (
        estimated("two_weights")
        .execute(
            "SELECT sum(n * n - e * e), sum(n * n), sqrt(sum(4 * n * n * e * e + 2 * e ** 4)) FROM"
            " (SELECT ward, age, disease, count(*) AS n, count_stderr() AS e FROM visits GROUP BY ALL)"
        )
        .fetchone()
    )
    with duckdb.connect() as source:
        source.execute(VISITS.format(rows=3000, disease=EVEN))
        (truth,) = source.execute(
            "SELECT sum(n * n) FROM (SELECT ward, age, disease, count(*) AS n FROM source GROUP BY ALL)"
        ).fetchone()
    unbiased, biased, error = squares
    assert abs(unbiased - truth) < 5 * error < 10 * abs(biased - truth)


def test_other_tables_are_counted_as_ever_while_the_schema_is_in_use(estimated) -> None:
    connection = estimated("two_weights")
    connection.execute("CREATE TEMP TABLE own AS SELECT range AS k, 'a' AS b FROM range(4)")
    assert connection.execute(
        "SELECT max(k), min(b), count(*), sum(k), avg(k), list(k ORDER BY k) FROM own"
    ).fetchall() == [(3, "a", 4, 6, 1.5, [0, 1, 2, 3])]
    moments = "stddev(k + 1e9), var_pop(k + 1e9), corr(k, k * 2), regr_count(k, k)"
    assert connection.execute(f"SELECT {moments} FROM own").fetchone() == pytest.approx(
        (1.2909944, 1.25, 1, 4)
    )
    assert [row[0] for row in connection.execute("SUMMARIZE own").fetchall()] == ["k", "b"]
    connection.execute(
        "CREATE TEMP TABLE marks AS SELECT ward, count(*) AS n FROM visits GROUP BY ward"
    )
    assert connection.execute("SELECT sum(n), max(n) > 0 FROM marks").fetchone() == (
        pytest.approx(3000),
        True,
    )
    assert connection.execute(
        "WITH c AS (SELECT ward, count(*) AS n FROM visits GROUP BY ward) SELECT sum(n), count(*) FROM c"
    ).fetchone() == (pytest.approx(3000), 3)


def test_lists_of_values_and_extremes_of_public_columns_are_known(estimated) -> None:
    asked = estimated("two_attributes").execute
    domain = [("asthma",), ("cancer",), ("flu",), ("none",), (None,)]
    wards = [('it\'s "far"',), ("north",), ("south",)]
    for question, values in {
        "SELECT DISTINCT disease FROM visits ORDER BY 1 NULLS LAST LIMIT 10": domain,
        "SELECT disease FROM visits WHERE disease LIKE '%n%' GROUP BY disease ORDER BY 1": [
            ("cancer",),
            ("none",),
        ],
        "SELECT count(*) FROM (SELECT DISTINCT disease FROM visits)": [(5,)],
        "SELECT ward FROM visits WHERE age > 30 GROUP BY ward ORDER BY ward": wards,
        "SELECT min(age), max(age) FROM visits WHERE age < 70": [(20, 60)],
        "SELECT max(age), count_if(disease = 'flu') > 0 FROM visits": [(70, True)],
        "SELECT count(*) FROM visits WHERE disease = ''": [(0,)],
    }.items():
        assert asked(question).fetchall() == values, question


def test_counts_are_pivoted_and_totalled(estimated) -> None:
    asked = estimated("two_attributes").execute
    counted = "(SELECT ward, disease, count(*) AS n FROM visits GROUP BY ALL)"
    pivoted = asked(
        f"PIVOT {counted} ON disease IN ('flu', 'none') USING system.main.sum(n) GROUP BY ward"
    ).fetchall()
    right = asked(
        "SELECT ward, count_if(disease = 'flu'), count_if(disease = 'none') FROM visits GROUP BY ward"
    ).fetchall()
    assert sorted(pivoted) == [
        (ward, *map(pytest.approx, counts)) for ward, *counts in sorted(right)
    ]
    totals = asked(f"SELECT DISTINCT sum(n) OVER () FROM {counted}").fetchall()
    assert totals == [(pytest.approx(3000),)]


def test_statements_around_a_query_answer(estimated, tmp_path: Path) -> None:
    connection = estimated("two_weights")
    question = "SELECT count(*) FROM visits WHERE disease = 'flu'"
    ((right,),) = connection.execute(question).fetchall()
    path = tmp_path / "out.csv"
    connection.execute(f"/* a tool */ CREATE OR REPLACE TEMP TABLE made AS (\n{question}\n);")
    connection.execute(f"INSERT INTO made {question}")
    connection.execute(f"COPY ({question}) TO '{path}' (HEADER false)")
    connection.execute(f"PREPARE asked AS {question.replace(chr(39) + 'flu' + chr(39), '$1')}")
    found = connection.execute("FROM made").fetchall()
    found += connection.execute("EXECUTE asked('flu')").fetchall()
    found += [(float(path.read_text("utf-8")),)]
    assert found == [(pytest.approx(right),)] * 4
    assert "GROUP" in str(connection.execute(f"EXPLAIN {question}").fetchall()).upper()


def test_a_prepared_statement_is_judged_too(estimated) -> None:
    connection = estimated("two_weights")
    connection.execute("PREPARE every AS SELECT ward FROM visits WHERE disease = 'flu'")
    with pytest.raises(duckdb.InvalidInputException, match="not real records"):
        connection.execute("EXECUTE every").fetchall()


def test_rows_that_a_join_repeats_vary_together(estimated) -> None:
    connection = estimated("two_weights")
    asked = "SELECT count(*), count_stderr() FROM visits"
    ((n, stderr),) = connection.execute(f"{asked} WHERE disease = 'flu'").fetchall()
    twice = f"{asked} JOIN (VALUES ('flu'), ('flu')) AS t(code) ON code = disease"
    assert connection.execute(twice).fetchall() == [
        (pytest.approx(2 * n), pytest.approx(2 * stderr))
    ]


def test_a_client_that_does_not_call_the_macros_gets_an_error(
    path: Callable[[str], Path], tmp_path: Path
) -> None:
    """As in a version of DuckDB in which a macro does not come before a function of DuckDB."""
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(path("two_weights").read_bytes())
    with duckdb.connect(str(copy)) as connection:
        connection.execute("USE estimated")
        assert connection.execute("SELECT count(*) FROM visits").fetchall() == [(3000,)]
        connection.execute("DROP MACRO estimated.count_star")
        with pytest.raises(duckdb.InvalidInputException, match="does not call the aggregates"):
            connection.execute("SELECT count(*) FROM visits")


def test_every_way_to_run_a_statement_in_python_answers(estimated) -> None:
    connection = estimated("two_weights")
    question = "SELECT count(*) FROM visits WHERE disease = 'flu'"
    right = connection.execute(question).fetchall()
    assert connection.sql(question).fetchall() == right
    assert (
        connection.execute("SELECT count(*) FROM visits WHERE disease = ?", ["flu"]).fetchall()
        == right
    )
    connection.execute(f"CREATE OR REPLACE TEMP TABLE flu AS {question}")
    assert connection.execute("FROM flu").fetchall() == right
    with pytest.raises(duckdb.InvalidInputException, match="not real records"):
        connection.sql("SELECT ward FROM visits WHERE disease = 'flu'").fetchall()


def test_columns_can_be_looked_at(estimated) -> None:
    connection = estimated("two_attributes")
    assert connection.execute("SELECT * FROM visits LIMIT 0").fetchall() == []
    shown = {name: kind for name, kind, *_ in connection.execute("DESCRIBE visits").fetchall()}
    assert list(shown) == ["age", "ward", "cost", "day", "disease", "dose"]
    assert (shown["disease"], shown["dose"]) == ("VARCHAR", "INTEGER")
    described = connection.execute("SELECT * FROM visits LIMIT 0").description
    assert [name for name, *_ in described] == list(shown)


@pytest.mark.parametrize("name", ["current_role", "CURRENT_USER"])
def test_a_column_called_like_the_weight_is_not_taken_for_it(
    name: str, prepared, tmp_path: Path
) -> None:
    path = str(tmp_path / "taken.duckdb")
    with prepared() as publisher:
        publisher.execute(
            f"CREATE TABLE source AS SELECT i AS id, i % 3 AS {name},"
            " ['no', 'flu'][1 + (hash(i) % 2)::INTEGER] AS disease FROM range(300) AS t(i)"
        )
        publisher.execute(
            "FROM priv.publish_uniform('source', 'visits', sensitive := 'disease', retention := 0.5,"
            " record_id := 'id')"
        ).fetchall()
        publisher.execute("FROM priv.export_release('visits', ?)", [path]).fetchall()
    with duckdb.connect(path, read_only=True) as reader:
        reader.execute("USE estimated")
        with pytest.raises(duckdb.InvalidInputException, match="no weights"):
            reader.execute(f"SELECT {name}, count(*) FROM visits GROUP BY ALL")


def test_a_value_in_every_decoy_group_is_not_counted(
    prepared: Callable[..., duckdb.DuckDBPyConnection], tmp_path: Path
) -> None:
    path = tmp_path / "r.duckdb"
    with prepared() as publisher:
        publisher.execute(
            "CREATE TABLE source AS SELECT i AS id, if(i % 2 = 0, 'a', 'b' || (i // 2) % 4) AS disease"
            " FROM range(2000) AS t(i)"
        )
        publisher.execute(
            "FROM priv.publish_splu('source', 'r', sensitive := 'disease', record_id := 'id', gamma := 2)"
        ).fetchall()
        publisher.execute("FROM priv.export_release('r', ?)", [str(path)]).fetchall()
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS f (READ_ONLY)")
        connection.execute("USE f.estimated")
        with pytest.raises(duckdb.Error, match="in every decoy group"):
            connection.execute("SELECT disease, count(*) FROM r GROUP BY ALL").fetchall()
        ((n,),) = connection.execute("SELECT count(*) FROM r WHERE disease = 'b1'").fetchall()
        assert abs(n - 250) < 150
