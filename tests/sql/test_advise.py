"""priv.advise against what releases then measure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import duckdb
import numpy as np
import pytest


@pytest.fixture(scope="module")
def con(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = prepared()
    connection.execute("""
        CREATE TABLE visits AS SELECT id, 20 + id * 7919 % 40 AS age, if(id % 2 = 0, 'f', 'm') AS gender,
            'ward ' || id % 7 AS ward, ['asthma', 'cold', 'flu', NULL][1 + id % 13 % 4] AS disease
        FROM range(20000) AS t(id)
    """)
    connection.execute("CREATE TABLE no_rules AS SELECT 'age' AS name")
    yield connection
    connection.close()


def advice(
    con: duckdb.DuckDBPyConnection,
    more: str = "",
    table: str = "visits",
    mechanism: str = "uniform",
) -> list[tuple]:
    return con.execute(
        "SELECT parameters, epsilon, mean_relative_error, median_relative_error, meets, statement, guarantee"
        f" FROM priv.advise('{table}', sensitive := 'disease', record_id := 'id'{more}) WHERE mechanism = ?",
        [mechanism],
    ).fetchall()


def workload(con: duckdb.DuckDBPyConnection, table: str, more: str = "") -> str:
    """Draw the questions that advice and releases are both asked about."""
    con.execute(
        f"CREATE OR REPLACE TABLE {table}_asked AS FROM priv.workload('{table}', sensitive := 'disease',"
        f" record_id := 'id', queries := 300{more})"
    )
    return f", workload := '{table}_asked'"


def measured_errors(
    con: duckdb.DuckDBPyConnection, statement: str, table: str, more: str = "", releases: int = 4
) -> tuple[float, float]:
    """Average the errors over releases whose noise differs by their record ids and repeat from run to run."""
    measured = []
    for number in range(1, releases + 1):
        con.execute(
            f"CREATE OR REPLACE VIEW {table}_again AS SELECT * REPLACE (id + {number} * 1000000 AS id) FROM {table}"
        )
        con.execute(
            statement.replace(f"'{table}', '{table}_public'", f"'{table}_again', 'again'").replace(
                ");", f", replace := true{more});"
            )
        ).fetchall()
        measured += con.execute(
            "SELECT avg(relative_error), median(relative_error)"
            f" FROM priv.evaluate('{table}_again', 'again', workload := '{table}_asked')"
        ).fetchall()
    mean, median = (sum(column) / len(measured) for column in zip(*measured, strict=True))
    return mean, median


def test_errors_are_as_predicted(con: duckdb.DuckDBPyConnection) -> None:
    """Within a tenth, of uniform perturbation."""
    asked = workload(con, "visits")
    (row,) = advice(con, f"{asked}, retentions := [0.4]")
    mean, median = measured_errors(con, row[5], "visits")
    assert row[2] == pytest.approx(mean, rel=0.1)
    assert row[3] == pytest.approx(median, rel=0.1)


def test_errors_of_fine_grain_releases_are_as_predicted(con: duckdb.DuckDBPyConnection) -> None:
    """Of frequencies near powers of two, which the noise of the reference frequencies leaves where they are."""
    con.execute("""
        CREATE TABLE skewed AS SELECT id, id % 9 AS ward, id % 2 AS gender,
            CASE WHEN id % 101 < 51 THEN 'cold' WHEN id % 101 < 76 THEN 'flu' WHEN id % 101 < 89 THEN 'mumps'
                ELSE 'rabies' END AS disease
        FROM range(30000) AS t(id)
    """)
    asked = workload(con, "skewed")
    (row,) = advice(con, f"{asked}, tolerances := [3]", "skewed", "fine_grain")
    mean, median = measured_errors(con, row[5], "skewed")
    assert row[2] == pytest.approx(mean, rel=0.1)
    assert row[3] == pytest.approx(median, rel=0.1)
    assert "The posterior of a value of reference frequency f is at most 3 f" in row[6]


def test_errors_of_decoy_groups_are_as_predicted(con: duckdb.DuckDBPyConnection) -> None:
    """Of even and of uneven values, which are reconstructed in two ways; one of the latter errs by up to a quarter."""
    con.execute("""
        CREATE TABLE uneven AS SELECT id, id % 2 AS gender, id * 7919 % 10 AS ward,
            CASE WHEN id % 97 < 40 AND id % 2 = 0 THEN 'cold' WHEN id % 89 < 25 THEN 'flu'
                ELSE ['asthma', 'mumps', 'rabies', 'gout'][1 + (id * id) % 101 % 4] END AS disease
        FROM range(20000) AS t(id)
    """)
    for table, gamma, releases in (("visits", 2, 4), ("uneven", 3, 8)):
        asked = workload(con, table)
        (row,) = advice(con, f"{asked}, gammas := [{gamma}]", table, "splu")
        mean, median = measured_errors(con, row[5], table, ", republish := true", releases=releases)
        assert row[2] == pytest.approx(mean, rel=0.1)
        assert row[3] == pytest.approx(median, rel=0.1)
        assert f"the shown value is true with probability 1/{gamma}" in row[6]


def test_errors_of_reconstruction_private_releases_are_as_predicted(
    con: duckdb.DuckDBPyConnection,
) -> None:
    """Micro groups of five hundred records, of which few are published."""
    asked = workload(con, "visits", ", exclude := 'ward'")
    more = f"{asked}, exclude := 'ward', retentions := [0.6]"
    (row,) = advice(con, more, mechanism="reconstruction_private")
    (uniform,) = advice(con, more)
    mean, median = measured_errors(con, row[5], "visits", ", republish := true")
    assert row[2] == pytest.approx(mean, rel=0.1)
    assert row[3] == pytest.approx(median, rel=0.1)
    assert row[2] > 2 * uniform[2]
    assert "Of every micro group" in row[6]


def test_errors_of_generalized_samples_are_as_predicted(con: duckdb.DuckDBPyConnection) -> None:
    """Questions about generalized values, of groups of which some are suppressed as often as not."""
    con.execute("""
        CREATE TABLE people AS SELECT id, 20 + (id * id) % 101 % 40 AS age, if(id % 3 = 0, 'f', 'm') AS gender,
            ['cold', 'flu', 'gout', 'mumps'][1 + (id * 7919) % 97 % 13 % 4] AS disease
        FROM range(6000) AS t(id);
        CREATE TABLE levels AS
            SELECT 'age' AS attribute, age::VARCHAR AS value, level,
                if(level = 0, age::VARCHAR, (age // 10 * 10)::VARCHAR || 's') AS generalized
            FROM (SELECT DISTINCT age FROM people), range(2) AS t(level)
            UNION ALL SELECT 'gender', gender, 0, gender FROM (SELECT DISTINCT gender FROM people)
            UNION ALL SELECT 'disease', disease, 0, disease FROM (SELECT DISTINCT disease FROM people);
        CREATE TABLE about_people AS FROM priv.workload('people', sensitive := 'disease', record_id := 'id',
            queries := 300);
        CREATE TABLE groups AS SELECT row_number() OVER () - 1 AS number, * FROM (
            SELECT age // 10 AS age, gender, disease, count(*) AS size FROM people GROUP BY ALL);
        CREATE TABLE counted AS
            SELECT query, number FROM (
                SELECT query, value, conditions['age']::INTEGER // 10 AS age, conditions['gender'] AS gender
                FROM about_people) AS q
            JOIN groups AS g ON disease = value AND g.age = coalesce(q.age, g.age)
                AND g.gender = coalesce(q.gender, g.gender)
    """)
    found = con.execute("""
        SELECT mean_relative_error, median_relative_error, suppressed, parameters->>'k'
        FROM priv.advise('people', sensitive := 'disease', record_id := 'id', workload := 'about_people',
            epsilon := 1.0, hierarchies := 'levels', levels := {'age': 1, 'gender': 0, 'disease': 0}, ks := [20, 40],
            betas := [0.25]) WHERE mechanism = 'safe_k' ORDER BY suppressed
    """).fetchall()
    assert len(found) == 2
    sizes = con.execute("SELECT size FROM groups ORDER BY number").fetchnumpy()["size"]
    pairs = con.execute("SELECT query, number FROM counted").fetchnumpy()
    member = np.zeros((len(np.unique(pairs["query"])), len(sizes)))
    member[pairs["query"] - 1, pairs["number"]] = 1
    true = member @ sizes
    sampled = np.random.default_rng(1).binomial(sizes, 0.25, (4000, len(sizes)))
    for mean, median, suppressed, k in found:
        kept = np.where(sampled >= int(k), sampled, 0) / 0.25
        errors = np.abs(kept @ member.T - true) / true
        assert mean == pytest.approx(errors.mean(), rel=0.1)
        # Errors are not quite normal where a group is in or out as a whole.
        assert median == pytest.approx(np.median(errors), rel=0.2)
        assert suppressed == pytest.approx(1 - kept.sum(axis=1).mean() / sizes.sum(), abs=0.005)


def test_the_statement_about_a_generalized_sample_publishes(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("""
        CREATE TABLE guests AS SELECT id, id % 3 AS room, id % 4 AS disease FROM range(3000) AS t(id);
        CREATE TABLE guest_levels AS
            SELECT 'room' AS attribute, room::VARCHAR AS value, level, if(level = 0, room::VARCHAR, '*') AS generalized
            FROM range(3) AS r(room), range(2) AS l(level)
            UNION ALL SELECT 'disease', disease::VARCHAR, 0, disease::VARCHAR FROM range(4) AS d(disease)
    """)
    rows = con.execute("""
        SELECT parameters, epsilon, delta, meets, statement, guarantee FROM priv.advise('guests',
            sensitive := 'disease', record_id := 'id', epsilon := 1.0, delta := 1e-6, hierarchies := 'guest_levels',
            levels := {'room': 1, 'disease': 0}) WHERE mechanism = 'safe_k' ORDER BY mean_relative_error
    """).fetchall()
    for parameters, epsilon, delta, meets, _, _ in rows:
        assert epsilon == 1.0
        assert meets == (delta <= 1e-6)
        k, beta = (json.loads(parameters)[name] for name in ("k", "beta"))
        assert con.execute(f"SELECT priv.sampling_delta({k}, {beta}, 1.0)").fetchall() == [(delta,)]
    # The smallest k that a rate of 0.2 allows.
    assert {"k": 14, "beta": 0.2}.items() <= json.loads(rows[0][0]).items()
    con.execute(rows[0][4]).fetchall()
    shown = con.execute(
        "SELECT mechanism, parameters FROM priv.release WHERE release = 'guests_public'"
    )
    mechanism, parameters = shown.fetchall()[0]
    assert mechanism == "safe_k"
    assert json.loads(parameters)["delta"] == rows[0][2]
    assert rows[0][5].startswith("Whether any one record is in the source or not")


def test_errors_on_the_census_are_as_predicted(con: duckdb.DuckDBPyConnection, census: str) -> None:
    con.execute(
        "CREATE TABLE census AS SELECT row_number() OVER () AS id, age, gender, education, race,"
        f" occupation AS disease FROM '{census}' LIMIT 20_000"
    )
    con.execute(
        "CREATE TABLE asked AS FROM priv.workload('census', sensitive := 'disease', record_id := 'id', queries := 250,"
        " max_public_attributes := 2)"
    )
    for retention in (0.2, 0.5):
        con.execute(
            f"FROM priv.publish_uniform('census', 'out_{retention * 10:.0f}', sensitive := 'disease',"
            f" record_id := 'id', retention := {retention})"
        ).fetchall()
    predicted = {
        json.loads(row[0])["retention"]: row[2]
        for row in advice(con, ", workload := 'asked', retentions := [0.2, 0.5]", "census")
    }
    con.execute(
        "FROM priv.publish_splu('census', 'decoys', sensitive := 'disease', record_id := 'id', gamma := 5,"
        " population := 'decoys')"
    ).fetchall()
    # A sample of micro groups varies by a tenth: four of them, as of other people, average that out.
    samples = [f"sampled_{number}" for number in range(4)]
    for name in samples:
        con.execute(
            f"FROM priv.publish_reconstruction_private('census', '{name}', sensitive := 'disease',"
            f" record_id := 'id', retention := 0.5, epsilon := 0.5, delta := 0.5, population := '{name}')"
        ).fetchall()
    measured = dict(
        con.execute(
            "SELECT regexp_replace(release, '^sampled_.*', 'sampled'), avg(relative_error)"
            f" FROM priv.evaluate('census', {['out_2', 'out_5', 'decoys', *samples]}, workload := 'asked')"
            " GROUP BY ALL"
        ).fetchall()
    )
    (decoys,) = advice(con, ", workload := 'asked', gammas := [5]", "census", "splu")
    (sampled,) = advice(
        con,
        ", workload := 'asked', retentions := [0.5], reconstruction_epsilons := [0.5],"
        " reconstruction_deltas := [0.5]",
        "census",
        "reconstruction_private",
    )
    assert measured == pytest.approx(
        {
            "out_2": predicted[0.2],
            "out_5": predicted[0.5],
            "decoys": decoys[2],
            "sampled": sampled[2],
        },
        rel=0.1,
    )


def test_what_meets_the_requirement_comes_first_and_the_most_accurate_on_top(
    con: duckdb.DuckDBPyConnection,
) -> None:
    rows = advice(con, ", rho1 := 0.1, rho2 := 0.5")
    meets = [row[4] for row in rows]
    assert meets == sorted(meets, reverse=True)
    assert meets[0]
    errors = [row[2] for row in rows if row[4]]
    assert errors == sorted(errors)
    best = json.loads(rows[0][0])["retention"]
    assert con.execute(f"SELECT priv.max_retention(0.1, 0.5, 4) = {best!r}::DOUBLE").fetchall() == [
        (True,)
    ]
    assert "0.1 becomes a posterior of at most 0.5" in rows[0][6]


def test_an_epsilon_is_met_by_the_largest_retention(con: duckdb.DuckDBPyConnection) -> None:
    best = advice(con, ", epsilon := 1.5")[0]
    assert best[4]
    assert best[1] == pytest.approx(1.5, rel=1e-9)
    assert best[1] <= 1.5


def test_an_error_can_be_required(con: duckdb.DuckDBPyConnection) -> None:
    rows = advice(con, ", max_error := 0.1")
    assert {row[2] <= 0.1 for row in rows if row[4]} == {True}
    assert not all(row[4] for row in rows)


def test_the_statement_publishes(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(advice(con, ", exclude := ['ward'], retentions := [0.3]")[0][5]).fetchall()
    assert con.execute(
        "SELECT mechanism, parameters FROM priv.release WHERE release = 'visits_public'"
    ).fetchall() == [("uniform", '{"retention": 0.3}')]
    assert "ward" not in [row[0] for row in con.execute("DESCRIBE visits_public").fetchall()]


def test_advice_can_be_about_a_workload_of_ones_own(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("""
        CREATE TABLE everybody AS FROM (VALUES (1, MAP {}::MAP(VARCHAR, VARCHAR), 'disease', 'flu'))
            AS t(query, conditions, attribute, value)
    """)
    (row,) = advice(con, ", workload := 'everybody', retentions := [0.5]")
    n, (k,) = 20000, con.execute("SELECT count(*) FROM visits WHERE disease = 'flu'").fetchall()[0]
    a, q = 0.625, 0.125
    sd = (k * a * (1 - a) + (n - k) * q * (1 - q)) ** 0.5 / 0.5
    assert row[2] == pytest.approx(sd / k * 0.7978845608)
    assert row[3] == pytest.approx(sd / k * 0.6744897502)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (", rho1 := 0.1", "rho2 is missing"),
        (", rho1 := 0.5, rho2 := 0.1", "must satisfy 0 < rho1 < rho2 < 1"),
        (", epsilon := -1", "epsilon must be a positive number"),
        (", retentions := [1.5]", "retention must lie strictly between 0 and 1"),
        (", retentions := 0.3", "retentions must be a list of numbers"),
        (", tolerances := [0.5]", "tolerance must be above 1"),
        (", gammas := [1]", "gamma must be an integer of at least 2"),
        (", gammas := [2.5]", "gammas must be a list of whole numbers, got"),
        (", delta := 0.1", "delta is given without epsilon"),
        (", reconstruction_deltas := [2]", "delta must lie strictly between 0 and 1"),
        (", hierarchies := 'no_rules'", "has no column 'attribute'"),
    ],
)
def test_bad_input_is_one_clear_sentence(
    con: duckdb.DuckDBPyConnection, more: str, message: str
) -> None:
    with pytest.raises(duckdb.Error, match=message):
        advice(con, more)


TWO = "sensitive := ['disease', 'drug'], record_id := 'id', person := 'patient', max_rows := 2, public := ['ward']"


@pytest.fixture(scope="module")
def two(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = prepared()
    connection.execute(
        "CREATE TABLE stays AS SELECT i AS id, i // 3 AS patient, 'w' || hash('w' || i) % 4 AS ward,"
        " 'd' || hash('d' || i) % 9 AS disease, 'm' || hash('m' || i) % 12 AS drug, i * 7 % 90 AS zip"
        " FROM range(12_000) AS t(i)"
    )
    yield connection
    connection.close()


@pytest.mark.parametrize("required", ["rho1 := 0.1, rho2 := 0.4", "epsilon := 1.0"])
def test_several_columns_of_a_person_are_advised_together(two, required):
    """What is advised can be published as it is written, and promises a person what the advice says."""
    found = two.execute(
        "SELECT mechanism, epsilon, guarantee, statement"
        f" FROM priv.advise('stays', {TWO}, {required}, queries := 60) WHERE meets"
    ).fetchall()
    assert {mechanism for mechanism, *_ in found} == {"uniform", "block_design"}
    for mechanism in ("uniform", "block_design"):
        epsilon, guarantee, statement = next(row[1:] for row in found if row[0] == mechanism)
        assert "person := ['patient'], max_rows := 2" in statement
        assert "2 noisy values in each of up to 2 records" in guarantee
        two.execute(statement).fetchall()
        ((value, stated),) = two.execute(
            "SELECT value, statement FROM priv.guarantee WHERE guarantee = 'privacy_of_a_person'"
        ).fetchall()
        assert value == pytest.approx(4 * epsilon, rel=1e-6)
        assert stated in guarantee
        two.execute("FROM priv.drop_release('stays_public')")


def test_the_error_of_several_columns_is_that_of_questions_about_each(two):
    def errors(columns: str) -> dict[str, float]:
        return dict(
            two.execute(
                "SELECT parameters, mean_relative_error FROM priv.advise('stays', record_id := 'id', queries := 100,"
                f" person := 'patient', public := ['ward'], sensitive := {columns}) WHERE mechanism = 'uniform'"
            ).fetchall()
        )

    both, one, other = (errors(each) for each in ("['disease', 'drug']", "'disease'", "'drug'"))
    assert {*both} == {*one} & {*other}
    for parameters, error in both.items():
        assert (
            min(one[parameters], other[parameters])
            < error
            < max(one[parameters], other[parameters])
        )


@pytest.mark.parametrize(
    ("more", "stated"),
    [
        (", max_rows := 2", "needs person and record_id"),
        (", record_id := 'id', max_rows := 2", "needs person and record_id"),
        (", person := 'nobody'", "'stays' has no column 'nobody'"),
        (", public := ['nobody']", "'stays' has no column 'nobody'"),
        (", person := 'disease'", "is both sensitive and"),
    ],
)
def test_a_person_and_public_columns_must_be_there(two, more, stated):
    with pytest.raises(duckdb.Error, match=stated):
        two.execute(f"FROM priv.advise('stays', sensitive := 'disease'{more})")
