"""priv.workload, priv.evaluate and priv.evaluation_summary against plain counts and the analyst's macros."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pytest
from plausible import FALSE_ALARM
from scipy import stats

from duckdb_priv.card.report import publisher_card
from duckdb_priv.engine.source import Source
from duckdb_priv.evaluation.workload import TABLE, DrawArguments, draw

VISITS = """
    CREATE TABLE visits AS SELECT id, 20 + id * 7919 % 60 AS age, if(id % 2 = 0, 'f', 'm')::ENUM('f', 'm') AS "Gender",
        if(id % 7 = 6, NULL, 'ward ' || id % 7) AS value, (id % 4 + 0.1)::DOUBLE AS estimate,
        ['asthma', 'cold', 'flu', NULL][1 + id % 13 % 4] AS disease, id % 11 < 3 AS smoker
    FROM range(6000) AS t(id)
"""


@pytest.fixture(scope="module")
def con(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = prepared()
    connection.execute(VISITS)
    for name, retention in (("strict", 0.2), ("mild", 0.6)):
        connection.execute(
            f"FROM priv.publish_uniform('visits', '{name}', sensitive := ['disease', 'smoker'],"
            f" retention := {retention}, record_id := 'id')"
        ).fetchall()
    yield connection
    connection.close()


def workload(
    con: duckdb.DuckDBPyConnection, more: str = "", sensitive: str = "'disease'"
) -> list[tuple[int, dict[str, str | None], str, str | None, int, float]]:
    return con.execute(
        f"FROM priv.workload('visits', sensitive := {sensitive}, record_id := 'id'{more}) ORDER BY query"
    ).fetchall()


def where(conditions: dict[str, str | None]) -> str:
    tests = [
        f'"{name}"::VARCHAR IS NOT DISTINCT FROM ' + ("NULL" if value is None else f"'{value}'")
        for name, value in conditions.items()
    ]
    return " AND ".join(["true", *tests])


def test_a_workload_states_the_true_counts(con: duckdb.DuckDBPyConnection) -> None:
    drawn = workload(con, ", queries := 400", "['disease', 'smoker']")
    assert len(drawn) == 400
    assert {attribute for _, _, attribute, _, _, _ in drawn} == {"disease", "smoker"}
    assert {len(conditions) for _, conditions, *_ in drawn} == {1, 2, 3}
    assert any(None in conditions.values() for _, conditions, *_ in drawn)
    for _, conditions, attribute, value, true_count, selectivity in drawn[::20]:
        query = f"SELECT count(*) FROM visits WHERE {where({**conditions, attribute: value})}"
        assert con.execute(query).fetchall() == [(true_count,)]
        assert selectivity == true_count / 6000


def test_no_query_is_drawn_twice(con: duckdb.DuckDBPyConnection) -> None:
    drawn = workload(con)
    assert len(
        {(str(sorted(conditions.items())), of, value) for _, conditions, of, value, _, _ in drawn}
    ) == len(drawn)


def test_a_workload_keeps_to_its_limits(con: duckdb.DuckDBPyConnection) -> None:
    for more, low, high in (
        ("", 6, 6000),
        (", min_selectivity := 0.01", 60, 6000),
        (", selectivity := [0.002, 0.005]", 12, 30),
        (", small_counts := 10", 1, 10),
    ):
        counts = [row[4] for row in workload(con, more)]
        assert counts
        assert low <= min(counts) <= max(counts) <= high
    assert {len(row[1]) for row in workload(con, ", max_public_attributes := 1")} == {1}


def test_a_seed_repeats_a_workload(con: duckdb.DuckDBPyConnection) -> None:
    assert workload(con, ", queries := 50, seed := 7") == workload(
        con, ", queries := 50, seed := 7"
    )
    assert workload(con, ", queries := 50, seed := 7") != workload(
        con, ", queries := 50, seed := 8"
    )


def test_queries_follow_the_law_of_drawing_and_rejecting() -> None:
    """One public attribute of 2 values, one of 4: the first query over many seeds, against the exact law."""
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE t AS SELECT i % 2 AS a, i % 4 AS b, i % 2 AS s FROM range(80) AS t(i)"
    )
    types = dict.fromkeys(("a", "b", "s"), "BIGINT")
    source = Source("t", "t", types, ("a", "b"), ("s",), (), (), 80)
    draws = 120
    found: Counter[int] = Counter()
    for seed in range(draws):
        draw(
            con,
            source,
            DrawArguments(queries=1, max_public_attributes=2, small_counts=80, seed=seed),
        )
        conditions = con.execute(f"SELECT conditions FROM {TABLE}").fetchall()[0][0]
        found[len(conditions) * 2 + ("b" in conditions)] += 1
    con.close()
    # Sizes are equally likely. a alone: 1/4 of the draws, of which 2 of 4 cells count someone; b alone: 1/4, 4 of 8;
    # both: 1/2, and 4 of 16.
    law = {2: 1 / 8, 3: 1 / 8, 5: 1 / 8}
    total = sum(law.values())
    p = stats.chisquare(
        [found[key] for key in law], [draws * w / total for w in law.values()]
    ).pvalue
    assert p > FALSE_ALARM, found


def test_releases_are_evaluated_as_an_analyst_asks_them(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE drawn AS FROM priv.workload('visits', sensitive := ['disease', 'smoker'],"
        " queries := 100, record_id := 'id')"
    )
    rows = con.execute(
        "FROM priv.evaluate('visits', ['strict', 'mild'], workload := 'drawn', confidence := 0.9)"
    ).fetchall()
    assert len(rows) == 200
    for release, _, conditions, of, value, records, true_count, *rest in rows[::10]:
        *answer, error, covered, true_count_all = rest
        value_sql = "NULL" if value is None else f"'{value}'"
        expected = con.execute(
            f"SELECT unnest(priv.reconstructed_interval('{release}.{of}', noisy_{of}, {value_sql},"
            " confidence := 0.9)),"
            f" count(*) FROM {release} WHERE {where(conditions)}"
        ).fetchall()[0]
        assert (*answer, records) == pytest.approx(expected)
        assert error == pytest.approx(abs(answer[0] - true_count) / true_count)
        assert covered == (answer[2] <= true_count <= answer[3])
        # No record was left out of these releases.
        assert true_count_all == true_count


def test_anyone_may_write_a_workload(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("""
        CREATE OR REPLACE TABLE mine AS FROM (VALUES
            (1, MAP {'GENDER': 'f', 'value': NULL}, 'DISEASE', 'flu'),
            (2, MAP {}, 'disease', NULL),
            (3, MAP {'estimate': '0.1', 'age': '33'}, 'smoker', 'true'),
            (4, MAP {'age': '7'}, 'smoker', 'false')) AS t(query, conditions, attribute, value)
    """)
    rows = con.execute(
        "SELECT query, records, true_count, estimate, low, high, relative_error, covered"
        " FROM priv.evaluate('visits', 'mild', workload := 'mine') ORDER BY query"
    ).fetchall()
    counts = con.execute("""
        SELECT count(*) FILTER ("Gender" = 'f' AND value IS NULL),
            count(*) FILTER ("Gender" = 'f' AND value IS NULL AND disease = 'flu'),
            count(*), count(*) FILTER (disease IS NULL),
            count(*) FILTER (estimate = 0.1 AND age = 33), count(*) FILTER (estimate = 0.1 AND age = 33 AND smoker)
        FROM visits
    """).fetchall()[0]
    assert [number for row in rows[:3] for number in row[1:3]] == list(counts)
    assert all(row[7] for row in rows)
    assert rows[3][1:] == (0, 0, 0, 0, 0, None, True)


def test_the_bayesian_method_has_no_interval(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute(
        "SELECT min(estimate) >= 0, count(low), count(covered), count(relative_error) > 90"
        " FROM priv.evaluate('visits', 'mild', queries := 100, method := 'bayesian')"
    ).fetchall()
    assert rows == [(True, 0, 0, True)]


def test_aggregate_utility_is_the_mean_distance_of_frequencies(
    con: duckdb.DuckDBPyConnection,
) -> None:
    for attribute in ("disease", "smoker"):
        ((expected,),) = con.execute(f"""
            SELECT 1 - avg(abs(estimate - n)) / 6000
            FROM priv.reconstructed_distribution('mild.{attribute}') AS shown
            JOIN (SELECT {attribute}::VARCHAR AS value, count(*) AS n FROM visits GROUP BY ALL) AS held
                ON shown.value::VARCHAR IS NOT DISTINCT FROM held.value
        """).fetchall()
        ((utility, error),) = con.execute(
            f"SELECT priv.aggregate_utility('visits', 'mild.{attribute}'),"
            f" priv.expected_error('visits', 'mild.{attribute}')"
        ).fetchall()
        assert utility == pytest.approx(expected, abs=1e-12)
        assert 0 < error < 0.02


def test_a_summary_sums_an_evaluation_up(con: duckdb.DuckDBPyConnection) -> None:
    summary = con.execute(
        "SELECT selectivity, queries, median_relative_error, mean_relative_error, coverage, record_utility,"
        " root_mean_squared_error FROM priv.evaluation_summary('visits', 'mild', small_counts := 8)"
    ).fetchall()
    (whole,) = con.execute("""
        SELECT count(*), median(relative_error), avg(relative_error), avg(covered::INTEGER),
            sqrt(avg((estimate - true_count) ** 2)) / 6000
        FROM priv.evaluate('visits', 'mild')
    """).fetchall()
    name, queries, median, mean, coverage, record_utility, squared = summary[-1]
    assert name == "all"
    assert (queries, median, mean, coverage, squared) == pytest.approx(whole)
    assert summary[0][0] == "at most 8 records"
    assert sum(row[1] for row in summary[:-1]) == queries
    # Domains of 4 and 2 values, of which 0.6 are kept.
    assert 0.6 + 0.4 / 4 <= record_utility <= 0.6 + 0.4 / 2
    assert coverage > 0.93


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("priv.workload('visits')", "no sensitive column is named"),
        ("priv.workload('visits', sensitive := 'disease', queries := 0)", "queries must be"),
        (
            "priv.workload('visits', sensitive := 'disease', selectivity := [0.2, 0.1])",
            "between 0 and 1",
        ),
        (
            "priv.workload('visits', sensitive := 'disease', selectivity := [0, 1], small_counts := 3)",
            "give only one",
        ),
        (
            "priv.workload('visits', sensitive := 'disease', selectivity := [0.9, 1])",
            "no query over",
        ),
        (
            "priv.workload('nowhere', sensitive := 'disease')",
            "no table or view is called 'nowhere'",
        ),
        ("priv.evaluate('visits', 'mlid')", "did you mean 'mild'"),
        ("priv.evaluate('visits', [])", "no release is named"),
        ("priv.evaluate('visits', 'mild', confidence := 2)", "confidence must lie"),
        ("priv.evaluate('visits', 'mild', method := 'magic')", "method must be"),
        ("priv.evaluate('visits', 'mild', workload := 'visits')", "has no column 'attribute'"),
        ("priv.evaluation_summary('visits', 'mild', small_counts := -1)", "small_counts must be"),
    ],
)
def test_bad_input_is_one_clear_sentence(
    con: duckdb.DuckDBPyConnection, statement: str, message: str
) -> None:
    with pytest.raises(duckdb.Error, match=message):
        con.execute(f"FROM {statement}").fetchall()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("1, MAP {'ward': 'x'}, 'disease', 'flu'", "uses 'ward', which is not a public column of"),
        ("1, MAP {'id': '1'}, 'disease', 'flu'", "uses 'id', which is not a public column of"),
        (
            "1, MAP {'smoker': 'true'}, 'disease', 'flu'",
            "uses 'smoker', which is not a public column",
        ),
        (
            "1, MAP {'age': 'old'}, 'disease', 'flu'",
            "query 1 has the condition age = 'old', which is not a BIGINT",
        ),
        (
            "1, MAP {'age': '30'}, 'disease', 'plague'",
            "'plague', which is not in the attribute's domain",
        ),
        ("1, MAP {'age': '30'}, 'age', '30'", "uses 'age', which is not a sensitive column"),
        ("NULL, MAP {'age': '30'}, 'disease', 'flu'", "no unique number"),
    ],
)
def test_a_query_that_cannot_be_answered_is_named(
    con: duckdb.DuckDBPyConnection, query: str, message: str
) -> None:
    con.execute(
        f"CREATE OR REPLACE TABLE wrong AS FROM (VALUES ({query})) AS t(query, conditions, attribute, value)"
    )
    with pytest.raises(duckdb.Error, match=message):
        con.execute("FROM priv.evaluate('visits', 'mild', workload := 'wrong')").fetchall()


def test_every_mechanism_is_evaluated(
    con: duckdb.DuckDBPyConnection, together: Callable[..., AbstractContextManager[None]]
) -> None:
    """Side by side: the reconstruction of each covers, and knows how many records keep their value."""
    con.execute("""
        CREATE OR REPLACE TABLE survey AS SELECT id, 'area ' || id % 5 AS area, if(id % 2 = 0, 'f', 'm') AS gender,
            'answer ' || (id * 7919 % 101) % 8 AS answer FROM range(20000) AS t(id)
    """)
    mechanisms = {
        "uniform": "retention := 0.4",
        "fine_grain": "tolerance := 5, min_retention := 0.1",
        "splu": "gamma := 4",
        "reconstruction_private": "retention := 0.5, epsilon := 0.3, delta := 0.3, republish := true",
    }
    with together(con):
        for mechanism, arguments in mechanisms.items():
            con.execute(
                f"FROM priv.publish_{mechanism}('survey', '{mechanism}', sensitive := 'answer', record_id := 'id',"
                f" {arguments})"
            ).fetchall()
    rows = con.execute(
        "SELECT release, queries, coverage, record_utility FROM priv.evaluation_summary('survey',"
        " ['uniform', 'fine_grain', 'splu', 'reconstruction_private']) WHERE selectivity = 'all'"
    ).fetchall()
    assert len(rows) == 4
    for release, queries, coverage, record_utility in rows:
        assert queries == rows[0][1] > 100
        assert coverage > 0.85, release
        assert 0.05 < record_utility < 0.8, release
    assert {row[0]: row[3] for row in rows}["splu"] == pytest.approx(0.25)


def test_a_generalized_sample_is_evaluated_against_a_view_that_generalizes(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("""
        CREATE OR REPLACE TABLE people AS SELECT 20 + i % 40 AS age, if(i % 3 = 0, 'f', 'm') AS gender
        FROM range(20000) AS t(i);
        CREATE OR REPLACE TABLE levels AS
        SELECT 'age' AS attribute, age::VARCHAR AS value, level,
            if(level = 0, age::VARCHAR, (age // 10 * 10)::VARCHAR || 's') AS generalized
        FROM (SELECT DISTINCT age FROM people), range(2) AS t(level)
        UNION ALL SELECT 'gender', gender, level, if(level = 0, gender, '*')
        FROM (SELECT DISTINCT gender FROM people), range(2) AS t(level);
        CREATE OR REPLACE VIEW broader AS SELECT (age // 10 * 10)::VARCHAR || 's' AS age, gender FROM people
    """)
    con.execute(
        "FROM priv.publish_safe_k('people', 'sampled', k := 20, beta := 0.2, epsilon := 1.0, hierarchies := 'levels',"
        " levels := {'age': 1, 'gender': 0})"
    ).fetchall()
    rows = con.execute(
        "SELECT map_keys(conditions), attribute, estimate, covered"
        " FROM priv.evaluate('broader', 'sampled', confidence := 0.99999999999)"
    ).fetchall()
    assert {tuple(row[0]) for row in rows} == {("age",), ("gender",)}
    assert all(row[1] not in row[0] for row in rows)
    assert all(row[3] for row in rows)
    generalized = con.execute(
        "SELECT map_keys(conditions), attribute, estimate, covered"
        " FROM priv.evaluate('people', 'sampled', confidence := 0.99999999999, hierarchies := 'levels')"
    ).fetchall()
    assert sorted(generalized) == sorted(rows)


@pytest.mark.parametrize(
    ("release", "message"),
    [
        ("'mild'", "release 'mild' is not generalized"),
        ("['sampled', 'coarser']", "generalized to different levels"),
    ],
)
def test_hierarchies_are_for_releases_of_one_generalization(
    con: duckdb.DuckDBPyConnection, release: str, message: str
) -> None:
    con.execute("""
        CREATE OR REPLACE TABLE people AS SELECT i % 4 AS age FROM range(20000) AS t(i);
        CREATE OR REPLACE TABLE levels AS
        SELECT 'age' AS attribute, age::VARCHAR AS value, level, if(level = 0, age::VARCHAR, '*') AS generalized
        FROM range(4) AS a(age), range(2) AS t(level)
    """)
    for name, level in (("sampled", 0), ("coarser", 1)):
        con.execute(
            f"FROM priv.publish_safe_k('people', '{name}', k := 20, beta := 0.2, epsilon := 1.0,"
            f" hierarchies := 'levels', levels := {{'age': {level}}}, replace := true)"
        ).fetchall()
    with pytest.raises(duckdb.Error, match=message):
        con.execute(f"FROM priv.evaluate('people', {release}, hierarchies := 'levels')").fetchall()


def test_nothing_is_left_behind(con: duckdb.DuckDBPyConnection) -> None:
    before = con.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
    con.execute("FROM priv.evaluation_summary('visits', 'mild', queries := 20)").fetchall()
    assert con.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall() == before


def test_the_workload_of_the_papers_takes_seconds(
    prepared: Callable[..., duckdb.DuckDBPyConnection], census: str
) -> None:
    """5,000 queries over 500,000 records: drawn, counted, reconstructed."""
    con = prepared()
    con.execute(
        f"CREATE TABLE census AS SELECT row_number() OVER () AS id, * EXCLUDE (occ_major) FROM '{census}'"
    )
    con.execute(
        "FROM priv.publish_uniform('census', 'out', sensitive := 'occupation', retention := 0.3, record_id := 'id')"
    ).fetchall()
    started = time.process_time()
    queries, coverage, error = con.execute(
        "SELECT queries, coverage, mean_relative_error FROM priv.evaluation_summary('census', 'out')"
        " WHERE selectivity = 'all'"
    ).fetchall()[0]
    seconds = time.process_time() - started
    con.close()
    assert queries == 5000
    assert 0.93 < coverage < 0.99
    assert 0.02 < error < 0.3
    assert seconds < 60, f"{seconds:.1f} s of the processor; it takes under 10"


def test_a_release_is_compared_with_what_entered_and_with_all(con, tmp_path: Path) -> None:
    """Fifteen patients have 160 stays each, of which two enter: counts are of what entered."""
    con.execute(
        "CREATE OR REPLACE TABLE stays AS SELECT i AS id, if(i % 10 < 3, i % 50, i) AS patient, i % 4 AS ward,"
        " if(i % 10 < 3, 'often', 'rarely') AS disease FROM range(8000) AS t(i);"
        " CREATE OR REPLACE TABLE two AS FROM (VALUES (1, MAP {}, 'disease', 'often'),"
        " (2, MAP {}, 'disease', 'rarely'))"
        " AS t(query, conditions, attribute, value);"
        " FROM priv.publish_uniform('stays', 'limited', sensitive := 'disease', epsilon := 2.0, record_id := 'id',"
        " person := 'patient', max_rows := 2, public := ['ward'])"
    )
    rows = con.execute(
        "SELECT value, records, true_count, true_count_all, covered"
        " FROM priv.evaluate('stays', 'limited', workload := 'two') ORDER BY query"
    ).fetchall()
    assert rows == [("often", 5630, 30, 2400, True), ("rarely", 5630, 5600, 5600, True)]
    con.execute("FROM priv.export_release('limited', ?)", [str(tmp_path / "r.duckdb")])
    ((left,),) = con.execute(
        "SELECT value FROM priv.guarantee WHERE release = 'limited' AND guarantee = 'records_left_out'"
    ).fetchall()
    with duckdb.connect(tmp_path / "r.duckdb", read_only=True) as reader:
        text = " ".join(line for (line,) in reader.execute("FROM READ_ME").fetchall())
        assert f"About {left:,.0f} records (give or take 3,072) are not here" in text
        ((card,),) = reader.execute("FROM priv.card").fetchall()
        assert "Missing records." in card
    of_publisher = publisher_card(con, "limited")
    assert "Some of its records did not enter the release" in of_publisher
    assert '<td class="number">2,400</td>' in of_publisher
    con.execute("FROM priv.drop_release('limited'); DROP TABLE stays; DROP TABLE two")


def test_values_that_are_surely_missing_are_named(con) -> None:
    """Half of 6,000 patients have a second record, of asthma; one of both enters."""
    con.execute(
        "CREATE OR REPLACE TABLE stays AS SELECT i AS id, i % 6000 AS patient, i % 5 AS ward,"
        " if(i >= 6000, 'asthma', (['flu', 'cold', 'none', NULL])[1 + i % 4]) AS disease FROM range(9000) AS t(i);"
        " CREATE OR REPLACE TABLE one AS FROM (VALUES (1, MAP {}, 'disease', 'asthma'))"
        " AS t(query, conditions, attribute, value);"
        " FROM priv.publish_uniform('stays', 'limited', sensitive := 'disease', epsilon := 2.0, record_id := 'id',"
        " person := 'patient', max_rows := 1, public := ['ward'])"
    )
    ((stated, parameters),) = con.execute(
        "SELECT statement, parameters FROM priv.guarantee"
        " WHERE release = 'limited' AND guarantee = 'values_left_out'"
    ).fetchall()
    given = json.loads(parameters)
    shown = {each["value"]: each["records"] for each in given["values"]}
    assert f"Of the missing records about {shown['asthma']:,} have disease 'asthma'" in stated
    ((missing,),) = con.execute(
        "SELECT true_count_all - true_count FROM priv.evaluate('stays', 'limited', workload := 'one')"
    ).fetchall()
    # Discrete Laplace noise is beyond this once in a thousand million.
    assert abs(shown["asthma"] - missing) <= math.log(1e9) * given["within"] / math.log(20)
    con.execute("FROM priv.drop_release('limited'); DROP TABLE stays; DROP TABLE one")


def test_records_that_wait_are_in_the_truth_of_all_only(con) -> None:
    """160 new records of one value can't be grouped, and one record has left: the rest is what the release counts."""
    con.execute(
        "CREATE OR REPLACE TABLE stays AS SELECT i AS id, i % 2 AS ward, 'd' || i % 4 AS disease,"
        " if(i % 3 = 0, NULL, 's' || i % 3) AS drug FROM range(1200) AS t(i);"
        " CREATE OR REPLACE TABLE three AS FROM (VALUES (1, MAP {}, 'disease', 'd1'), (2, MAP {}, 'drug', NULL),"
        " (3, MAP {'ward': '1'}, 'disease', 'd1')) AS t(query, conditions, attribute, value);"
        " FROM priv.publish_splu('stays', 'grouped', sensitive := ['disease', 'drug'], gamma := 2, record_id := 'id',"
        " population := 'waiting', public := ['ward'])"
    )
    asked = (
        "SELECT records, true_count, true_count_all FROM priv.evaluate('stays', 'grouped', workload := 'three')"
        " ORDER BY query"
    )
    assert con.execute(asked).fetchall() == [(1200, 300, 300), (1200, 400, 400), (600, 300, 300)]
    con.execute(
        "INSERT INTO stays SELECT i, i % 2, 'd1', CASE i % 3 WHEN 0 THEN NULL ELSE 's' || i % 3 END"
        " FROM range(1200, 1360) AS t(i); DELETE FROM stays WHERE id = 1"
    )
    con.execute("FROM priv.refresh('grouped')").fetchall()
    assert con.execute("SELECT count(*) FROM grouped").fetchall() == [(1199,)]
    assert con.execute(asked).fetchall() == [(1199, 299, 459), (1199, 400, 454), (599, 299, 379)]
    con.execute("FROM priv.drop_release('grouped'); DROP TABLE stays; DROP TABLE three")


def test_records_without_a_place_in_a_full_group_are_in_the_truth_of_all_only(con) -> None:
    """Of a ward of 40 a few rows stand for all; five records that came later have none, and one value is new."""
    con.execute(
        "CREATE OR REPLACE TABLE stays AS SELECT i AS id, i % 2 AS ward, if(i < 30, 'a', NULL) AS disease"
        " FROM range(80) AS t(i);"
        " CREATE OR REPLACE TABLE two AS FROM (VALUES (1, MAP {}, 'disease', 'b'),"
        " (2, MAP {'ward': '0'}, 'disease', NULL)) AS t(query, conditions, attribute, value);"
        " FROM priv.publish_reconstruction_private('stays', 'few_rows', sensitive := 'disease', retention := 0.9,"
        " epsilon := 0.5, delta := 0.3, record_id := 'id', domain := ['a', 'b', NULL], population := 'few_rows',"
        " public := ['ward'])"
    )
    asked = (
        "SELECT records, true_count, true_count_all FROM priv.evaluate('stays', 'few_rows', workload := 'two')"
        " ORDER BY query"
    )
    assert con.execute(asked).fetchall() == [(80, 0, 0), (40, 25, 25)]
    con.execute("INSERT INTO stays SELECT 100 + i, 0, if(i = 4, 'c', 'b') FROM range(5) AS t(i)")
    assert con.execute(asked).fetchall() == [(80, 0, 4), (40, 25, 25)]
    con.execute("FROM priv.drop_release('few_rows'); DROP TABLE stays; DROP TABLE two")
