"""Releases of numbers that answer stated questions best: their law, what is cut where, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator

import duckdb
import numpy as np
import pytest
from answers import named_row
from plausible import FALSE_ALARM
from scipy.stats import chi2

import duckdb_priv

ROWS = 20_000
WORLD = f"""
    CREATE TABLE stays AS
    SELECT i AS id, i % 3 AS ward, (hash('a' || i) % 40 + hash('b' || i) % 41)::INTEGER AS age,
        if(i % 10 = 0, NULL, (hash('c' || i) % 100_000) / 1e3) AS cost,
        DATE '2020-01-01' + (hash('d' || i) % 366)::INTEGER AS day,
        TIMESTAMP '2020-01-01 00:00:00' + to_seconds((hash('e' || i) % 86_400)::INTEGER) AS seen,
        'x' AS word
    FROM range({ROWS}) AS t(i)
"""
HIDDEN = "record_id := 'id', public := 'ward'"
PUBLISH = f"FROM priv.publish_for_questions('stays', 'r', {HIDDEN}, "
AGES = "sensitive := 'age', low := 0, high := 80, bins := 8, epsilon := 1.5"


@pytest.fixture(scope="module")
def con(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    with prepared() as connection:
        connection.execute(WORLD)
        connection.execute("CREATE TABLE asked AS SELECT 0 AS low, 17 AS high, 2.0 AS weight")
        yield connection


def publish(con: duckdb.DuckDBPyConnection, arguments: str) -> dict:
    return named_row(con, f"{PUBLISH}{arguments}, replace := true)")


def values(con: duckdb.DuckDBPyConnection) -> list[str | None]:
    rows = con.execute("SELECT value FROM priv.coefficient WHERE release = 'r' ORDER BY position")
    return [value for (value,) in rows.fetchall()]


def operator(con: duckdb.DuckDBPyConnection) -> np.ndarray:
    rows = con.execute(
        "SELECT operator FROM priv.coefficient WHERE release = 'r' ORDER BY position"
    )
    return np.array([row for (row,) in rows.fetchall()]).T


def counted(con: duckdb.DuckDBPyConnection, query: str, of: list[str | None]) -> np.ndarray:
    found = dict(con.execute(query).fetchall())
    return np.array([found.get(value, 0) for value in of], dtype=np.float64)


def test_records_show_values_with_the_probabilities_of_the_operator(con):
    publish(con, f"{AGES}, questions := 'ranges'")
    assert values(con) == ["4.5", "14.5", "24.5", "34.5", "44.5", "54.5", "64.5", "74.5"]
    places = "least(age // 10, 7)::INTEGER"
    true = counted(con, f"SELECT {places}, count(*) FROM stays GROUP BY ALL", list(range(8)))
    shown = counted(con, "SELECT noisy_age::VARCHAR, count(*) FROM r GROUP BY ALL", values(con))
    law = operator(con)
    # The covariance of sums of independent draws, of rank 7.
    covariance = np.diag(law @ true) - (law * true) @ law.T
    off = (shown - law @ true)[:-1]
    distance = off @ np.linalg.solve(covariance[:-1, :-1], off)
    assert chi2.sf(distance, 7) > FALSE_ALARM


@pytest.mark.parametrize(
    ("column", "bins", "expected"),
    [
        ("age", "low := 0, high := 80, bins := 4", ["9.5", "29.5", "49.5", "69.5"]),
        ("age", "bins := [0, 1, 2, 81]", ["0", "1", "41"]),
        ("cost", "bins := [0, 0.1, 0.3, 100]", ["0.05", "0.2", "50.15", None]),
        ("day", "bins := ['2020-01-01', '2020-02-01', '2020-12-31']", ["2020-01-16", "2020-07-16"]),
        (
            "day",
            "low := DATE '2020-01-01', high := '2020-12-31', bins := 2",
            ["2020-03-31", "2020-09-30"],
        ),
        (
            "seen",
            "low := '2020-01-01', high := '2020-01-02', bins := 2",
            ["2020-01-01 06:00:00", "2020-01-01 18:00:00"],
        ),
    ],
)
def test_a_value_is_the_middle_of_its_bin(con, column, bins, expected):
    publish(con, f"sensitive := '{column}', {bins}, epsilon := 2.0, questions := 'prefixes'")
    assert values(con) == expected
    assert (False,) not in con.execute("SELECT holds FROM priv.audit('r')").fetchall()
    assert con.execute(
        "SELECT count(*) FROM priv.audit('r') WHERE guarantee = 'noise_as_stated'"
    ).fetchone() == (1,)


def test_between_two_edges_there_are_64_bins_unless_stated(con):
    publish(con, "sensitive := 'age', questions := 'values', low := 0, high := 128, epsilon := 2.0")
    assert values(con) == [f"{2 * n}.5" for n in range(64)]


def test_random_rounding_keeps_the_mean_and_is_the_same_again(con):
    asked = "sensitive := 'age', bins := [0, 30, 80], questions := 'mean', epsilon := 1.5, rounding := 'random'"
    publish(con, asked)
    assert values(con) == ["0", "30", "80"]
    first = con.execute("FROM r ORDER BY ALL").fetchall()
    ((estimate, truth),) = con.execute(
        "SELECT 30 * priv.reconstructed_count('r', noisy_age, '30')"
        " + 80 * priv.reconstructed_count('r', noisy_age, '80'), (SELECT sum(age) FROM stays) FROM r"
    ).fetchall()
    ((variance,),) = con.execute(
        "SELECT sum((30 * priv.weight('r', noisy_age, '30') + 80 * priv.weight('r', noisy_age, '80')) ** 2) FROM r"
    ).fetchall()
    # Six standard deviations of noise and rounding, at the fixed secret.
    assert abs(estimate - truth) < 6.2 * math.sqrt(variance)
    publish(con, asked)
    assert con.execute("FROM r ORDER BY ALL").fetchall() == first
    # The audit rounds as the publication did.
    audit = "SELECT holds FROM priv.audit('r') WHERE guarantee = 'noise_as_stated'"
    assert con.execute(audit).fetchall() == [(True,)]


def test_rounding_is_to_the_edges_beside_and_by_the_distance(con):
    """Where nothing is exchanged, a record shows what rounding gives: epsilon 20 leaves all but a few in a million."""
    publish(
        con,
        "sensitive := 'age', bins := [0, 30, 80], questions := 'values', epsilon := 19, rounding := 'random'",
    )
    shown = counted(
        con, "SELECT noisy_age::VARCHAR, count(*) FROM r GROUP BY ALL", ["0", "30", "80"]
    )
    up = "SELECT sum(greatest(0, 30 - age) / 30.0), sum(greatest(0, age - 30) / 50.0) FROM stays"
    low, high = con.execute(up).fetchone()
    spread = (
        "SELECT sum(if(age < 30, age / 30.0 * (1 - age / 30.0), 0)),"
        " sum(if(age > 30, (age - 30) / 50.0 * (80 - age) / 50.0, 0)) FROM stays"
    )
    for found, mean, variance in zip(
        shown[[0, 2]], (low, high), con.execute(spread).fetchone(), strict=True
    ):
        assert abs(found - mean) < 6.2 * math.sqrt(variance)


def test_a_float_at_an_edge_is_in_the_bin_above_it(prepared):
    """0.7 as a FLOAT is a little less than 0.7 as a DOUBLE, and 0.1 a little more."""
    with prepared() as con:
        con.execute(
            "CREATE TABLE rates AS SELECT i AS id, (i % 8 / 10)::FLOAT AS rate FROM range(800) AS t(i)"
        )
        for edges, bins in (
            ("low := 0, high := 0.8, bins := 8", [100] * 8),
            ("bins := [0, 0.1, 0.7]", [100, 700]),
        ):
            con.execute(
                f"FROM priv.publish_for_questions('rates', 'r', record_id := 'id', sensitive := 'rate', {edges},"
                " questions := 'ranges',"
                " epsilon := 20, replace := true, republish := true)"
            )
            shown = con.execute("SELECT count(*) FROM r GROUP BY noisy_rate ORDER BY noisy_rate")
            assert [n for (n,) in shown.fetchall()] == bins


def test_no_gain_is_no_factor(con):
    arguments = "sensitive := 'age', questions := 'ranges', bins := [0, 40, 81], epsilon := 1.0"
    assert "the error is that of uniform perturbation" in publish(con, arguments)["guarantee"]


def test_what_is_outside_is_counted_or_clipped(con):
    with pytest.raises(duckdb.Error, match=r"records have a 'age' outside of all bins") as error:
        publish(
            con, "sensitive := 'age', bins := [20, 30, 60], questions := 'ranges', epsilon := 1.0"
        )
    (outside,) = con.execute(
        "SELECT count(*) FROM stays WHERE NOT age BETWEEN 20 AND 60"
    ).fetchone()
    assert f": {outside} records" in str(error.value)
    publish(
        con,
        "sensitive := 'age', bins := [20, 30, 60], questions := 'ranges', epsilon := 1.0, clip := true",
    )
    assert values(con) == ["24.5", "44.5"]
    assert (False,) not in con.execute("SELECT holds FROM priv.audit('r')").fetchall()


def test_the_operator_is_searched_once(con):
    asked = "sensitive := 'age', low := 0, high := 80, bins := 4, epsilon := 1.25, questions := 'prefixes'"
    con.execute("CREATE OR REPLACE TEMP TABLE known AS SELECT questions FROM priv.chosen_operator")
    publish(con, asked)
    kept = con.execute("SELECT count(*) FROM priv.chosen_operator").fetchone()
    before = operator(con)
    # Another operator is stored in its place: the next publication takes it.
    own = "questions NOT IN (SELECT questions FROM known)"
    con.execute(
        "UPDATE priv.chosen_operator SET operator = list_transform(operator, lambda p: p * 0.75 + 0.0625)"
        f" WHERE {own}"
    )
    publish(con, asked)
    assert con.execute("SELECT count(*) FROM priv.chosen_operator").fetchone() == kept
    assert operator(con) == pytest.approx(before * 0.75 + 0.0625)
    con.execute(f"DELETE FROM priv.chosen_operator WHERE {own}")


def test_several_columns_and_a_table_of_questions(con):
    receipt = publish(
        con,
        "sensitive := ['age', 'cost'], questions := {'age': 'asked', 'cost': 'mean'},"
        " bins := {'age': [0, 18, 40, 81], 'cost': 4}, low := {'cost': 0}, high := {'cost': 100}, epsilon := 1.0",
    )
    assert "the questions in asked" in receipt["guarantee"]
    (parameters,) = con.execute(
        "SELECT parameters FROM priv.release WHERE release = 'r'"
    ).fetchone()
    stated = json.loads(parameters)
    assert stated["edges"] == {"age": [0, 18, 40, 81], "cost": [0, 25, 50, 75, 100]}
    assert stated["bound"]["cost"] <= stated["error"]["cost"]
    assert (False,) not in con.execute("SELECT holds FROM priv.audit('r')").fetchall()


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ("sensitive := 'age', bins := [0, 50, 40]", "edges of 'age' do not increase"),
        ("sensitive := 'age', bins := [0, 0, 40]", "edges of 'age' do not increase"),
        ("sensitive := 'age', bins := [0, 80]", "'age' is cut into 1 bin, and 2 to 128"),
        ("sensitive := 'age', bins := []", "'age' is cut into 0 bins, and 2 to 128"),
        ("sensitive := 'age', low := 0, high := 80, bins := 129", "cut into 129 bins, and 2 to 128"),
        ("sensitive := 'age', low := 0, high := 80, bins := 128, rounding := 'random'", "make 129 values"),
        ("sensitive := 'age', low := 0, high := 80, bins := 2.5", "a list of edges or a whole number, got 2.5"),
        ("sensitive := 'age', low := 0, high := 80, bins := 100", "a bin of 'age' holds no whole number"),
        ("sensitive := 'age', low := 80, high := 0, bins := 4", "edges of 'age' do not increase"),
        ("sensitive := 'age', low := 0, bins := 4", "as a number, without low and high"),
        ("sensitive := 'age', bins := 4", "as a number, without low and high"),
        ("sensitive := 'age', low := 0", "as a number, without low and high"),
        ("sensitive := 'age'", "the bins of 'age' are missing"),
        ("sensitive := 'age', low := 0, bins := [0, 80, 90]", "are given twice"),
        ("sensitive := 'age', bins := [0, 'nan'::DOUBLE, 90]", "is .*nan.*, which is no finite number"),
        ("sensitive := 'age', bins := [0, NULL, 90]", "an edge of 'age' is NULL, which is no finite number"),
        ("sensitive := 'age', bins := ['0', 'much']", "an edge of 'age' is 'much', which is no finite number"),
        ("sensitive := 'day', bins := [0, 50, 90]", "which is no finite date"),
        ("sensitive := 'age', bins := {'cost': 3}, low := 0, high := 80", "no column of the sensitive|'cost'"),
        ("sensitive := 'word', bins := [0, 50, 90]", "'word' has type VARCHAR, which cannot be cut into bins"),
        (f"{AGES}, questions := 'wide'", "no table or view"),
        (f"{AGES}, questions := 'median'", "'median'\nHint: write 'ranges', 'prefixes', 'mean', 'values', or"),
        (f"{AGES}, questions := 'nowhere'", "a row of the table of questions 'nowhere' names no bin"),
        (f"{AGES}, questions := 'weightless'", "a row without a range, or without a weight above 0"),
        (f"{AGES}, questions := 'none'", "the table of questions 'none' has no row"),
        (f"{AGES}, questions := 'ward'", "no column 'low'"),
        (f"{AGES}, rounding := 'up'", "rounding must be 'middle' or 'random', got 'up'"),
        (f"{AGES}, rho1 := 0.1", "give either epsilon, or rho1 and rho2, not both"),
        ("sensitive := 'age', bins := [0, 40, 81], epsilon := 30", "an epsilon from 0.001 to 20, got 30\n"),
    ],
)  # fmt: skip
def test_what_is_refused(con, arguments, reported):
    con.execute("CREATE OR REPLACE TABLE nowhere AS SELECT 81 AS low, 90 AS high, 1 AS weight")
    con.execute("CREATE OR REPLACE TABLE weightless AS SELECT 0 AS low, 90 AS high, 0 AS weight")
    con.execute("CREATE OR REPLACE TABLE none AS FROM nowhere LIMIT 0")
    con.execute("CREATE OR REPLACE TABLE ward AS SELECT 1 AS ward")
    more = "" if "epsilon" in arguments else ", epsilon := 1.0"
    more += "" if "questions" in arguments else ", questions := 'ranges'"
    con.execute("FROM priv.publications()")
    before = con.execute("SELECT count(*) FROM priv.ledger()").fetchone()
    with pytest.raises(duckdb.Error, match=reported):
        publish(con, arguments + more)
    assert con.execute("SELECT count(*) FROM priv.ledger()").fetchone() == before


@pytest.mark.parametrize("wrong", ["'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE"])
def test_numbers_that_are_none_are_refused_even_where_others_are_clipped(con, wrong):
    con.execute(
        f"CREATE OR REPLACE VIEW odd AS SELECT id, ward, if(id < 3, {wrong}, cost) AS cost FROM stays"
    )
    with pytest.raises(
        duckdb.Error, match="3 records have a 'cost' that is not a number or infinite"
    ):
        con.execute(
            f"FROM priv.publish_for_questions('odd', 'r', {HIDDEN}, replace := true, sensitive := 'cost',"
            " questions := 'mean', bins := [0, 50, 100], epsilon := 1.0, clip := true)"
        ).fetchall()


def test_coarser_releases_keep_the_pattern(con):
    publish(con, f"{AGES}, questions := 'ranges'")
    con.execute("FROM priv.derive('r', 'coarse', epsilon := 0.5, replace := true)").fetchall()
    ((epsilon,),) = con.execute(
        "SELECT value FROM priv.guarantee WHERE release = 'coarse' AND guarantee = 'local_differential_privacy'"
    ).fetchall()
    assert 0.5 - 1e-6 < epsilon <= 0.5
    assert (False,) not in con.execute("SELECT holds FROM priv.audit('coarse')").fetchall()
    ((interval, truth),) = con.execute(
        "SELECT priv.reconstructed_interval('coarse', noisy_age, '44.5', confidence := 0.999999999),"
        " (SELECT count(*) FROM stays WHERE age BETWEEN 40 AND 49) FROM coarse"
    ).fetchall()
    assert interval["low"] <= truth <= interval["high"]
    with pytest.raises(duckdb.Error, match="what is asked for is no coarser"):
        con.execute("FROM priv.derive('r', 'coarse', epsilon := 1.6, replace := true)").fetchall()


def test_ordinary_sql_answers_ranges_means_and_quantiles(con, tmp_path):
    publish(
        con,
        "sensitive := 'age', low := 0, high := 81, bins := 9, questions := 'prefixes', epsilon := 2.0",
    )
    middle = "(least(age, 80) // 9 * 9 + 4)"
    for asked in (
        "count(*) FILTER (age BETWEEN 9 AND 44)",
        "avg(age)",
        "sum(age)",
        "quantile_disc(age, 0.3)",
    ):
        ((truth,),) = con.execute(
            f"SELECT {asked} FROM (SELECT {middle} AS age FROM stays)"
        ).fetchall()
        query = f"SELECT {asked} AS answer FROM r"
        ((_, _, low, high),) = duckdb_priv.reconstruct(
            con, query, intervals=True, confidence=0.999999999
        ).fetchall()
        assert low <= truth <= high, asked
    ((here,),) = duckdb_priv.reconstruct(con, "SELECT avg(age) FROM r WHERE ward = 1").fetchall()
    path = str(tmp_path / "r.duckdb")
    con.execute("FROM priv.export_release('r', ?)", [path]).fetchall()
    with duckdb.connect(path, read_only=True) as reader:
        reader.execute("USE estimated")
        ((there,),) = reader.execute("SELECT avg(age) FROM r WHERE ward = 1").fetchall()
    assert here == pytest.approx(there, rel=1e-9)


def test_errors_of_stated_questions_are_those_of_the_operator(con):
    error = "SELECT priv.expected_error('stays', 'r', questions := ?)"
    con.execute(
        f"FROM priv.publish_uniform('stays', 'r', {HIDDEN}, sensitive := 'age', epsilon := 2.0, replace := true)"
    ).fetchall()
    ((plain,),) = con.execute(error, ["mean"]).fetchall()
    publish(
        con,
        "sensitive := 'age', low := 0, high := 81, bins := 27, questions := 'mean', epsilon := 2.0",
    )
    ((chosen,),) = con.execute(error, ["mean"]).fetchall()
    assert chosen < plain / 4
    # That of a single range is what a count of it has.
    ((stated,),) = con.execute(error, ["asked"]).fetchall()
    law = operator(con)
    weights = np.linalg.inv(law)
    inside = np.arange(27) < 6
    true = counted(con, "SELECT age // 3, count(*) FROM stays GROUP BY ALL", list(range(27)))
    variance = (inside @ weights) ** 2 @ law @ true - true[inside].sum()
    assert stated == pytest.approx(math.sqrt(variance) / ROWS, rel=1e-9)


def test_errors_of_stated_questions_are_those_of_a_code_of_blocks(con):
    con.execute(
        f"FROM priv.publish_block_design('stays', 'r', {HIDDEN}, sensitive := 'age', epsilon := 1.0, replace := true)"
    ).fetchall()
    error = "SELECT priv.expected_error('stays', 'r', questions := $1)"
    found = {each: con.execute(error, [each]).fetchone()[0] for each in (None, "values", "ranges")}
    ((own, other),) = con.execute(
        "SELECT DISTINCT own, other FROM priv.coefficient WHERE release = 'r'"
    ).fetchall()
    true = counted(con, "SELECT age::VARCHAR, count(*) FROM stays GROUP BY ALL", values(con))
    variances = true * own * (1 - own) + (ROWS - true) * other * (1 - other)
    deviations = np.sqrt(variances) / (own - other) / ROWS
    assert found[None] == pytest.approx(deviations.mean(), rel=1e-9)
    assert found["values"] == pytest.approx(math.sqrt((deviations**2).mean()), rel=1e-9)
    # The same for one range, by the rows of the release: a range of many values is no sum of independent counts.
    assert found["ranges"] > found["values"]
    con.execute("CREATE OR REPLACE TABLE asked_once AS SELECT 20 AS low, 40 AS high, 1 AS weight")
    (stated,) = con.execute(error, ["asked_once"]).fetchone()
    (low, high, stderr) = con.execute(
        "SELECT i.low, i.high, i.stderr FROM (SELECT priv.reconstructed_list_interval('r', noisy_age,"
        " [i::VARCHAR FOR i IN range(20, 41)], confidence := 0.999999999) AS i FROM r)"
    ).fetchone()
    assert stated * ROWS == pytest.approx(stderr, rel=0.02)
    assert low <= true[[20 <= int(value) <= 40 for value in values(con)]].sum() <= high


@pytest.mark.parametrize(
    ("column", "arguments", "first"),
    [
        ("age", "questions := 'ranges', low := 0, high := 80, bins := 16, epsilon := 1.0", "for_questions"),
        ("cost", "questions := {'cost': 'mean'}, low := 0, high := 90, bins := 9, clip := true, rho1 := 0.1,"
         " rho2 := 0.5", "for_questions"),
        ("day", "questions := 'values', low := '2020-01-01', high := '2021-01-01', bins := 4, epsilon := 2.0",
         "uniform"),
        ("seen", "questions := 'prefixes', low := '2020-01-01', high := '2020-01-02', bins := 12, epsilon := 0.5",
         "for_questions"),
    ],
)  # fmt: skip
def test_advice_for_stated_questions_names_the_method_whose_release_has_the_least_error(
    con, for_files, column, arguments, first
):
    found = con.execute(
        "SELECT mechanism, epsilon, expected_error, basis, statement"
        f" FROM priv.advise('stays', record_id := 'id', public := 'ward', sensitive := '{column}', {arguments})"
    ).fetchall()
    assert found[0][0] == first
    assert found[0][3].startswith(f"publish_{first} has the least error for ")
    assert {"uniform", "for_questions", "fine_grain"} <= {row[0] for row in found}
    errors = [row[2] for row in found]
    assert errors == pytest.approx(sorted(errors), rel=1e-3)
    asked = "mean" if column == "cost" else arguments.split("'")[1]
    for mechanism, epsilon, error, _, statement in found:
        con.execute("DROP VIEW IF EXISTS stays_in_bins")
        # Nobody counts.
        with for_files():
            for each in statement.split("\n"):
                con.execute(each).fetchall()
        of = "stays_in_bins" if "in_bins" in statement else "stays"
        ((released, promised),) = con.execute(
            f"SELECT priv.expected_error('{of}', '{of}_public', questions := '{asked}'),"
            f" (SELECT value FROM priv.guarantee WHERE release = '{of}_public' AND guarantee LIKE 'local%')"
        ).fetchall()
        with for_files():
            con.execute(f"FROM priv.drop_release('{of}_public')").fetchall()
        # Fine-grain perturbation counts the bins with noise of epsilon 0.1, which is that of other records here.
        near = 0.1 if mechanism == "fine_grain" else 1e-9
        assert (error, epsilon) == (
            pytest.approx(released, rel=near),
            pytest.approx(promised, rel=near),
        )
    con.execute("DROP VIEW IF EXISTS stays_in_bins")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("sensitive := 'age', questions := 'ranges', bins := [0, 40, 81]", "at the same guarantee"),
        ("sensitive := 'age', questions := 'ranges', epsilon := 1.0", "bins is missing"),
        ("sensitive := 'age', bins := [0, 40, 81], epsilon := 1.0", "questions is missing"),
        ("sensitive := 'word', questions := 'values', bins := [0, 1, 2], epsilon := 1.0", "cannot be cut into bins"),
        ("sensitive := 'age', questions := 'nothing', bins := [0, 40, 81], epsilon := 1.0", "no table or view"),
        ("sensitive := 'age', questions := 'ranges', bins := [0, 40, 50], epsilon := 1.0", "outside of all bins"),
        ("sensitive := 'age', questions := {'cost': 'mean'}, bins := [0, 40, 81], epsilon := 1.0", "is called 'cost'"),
        ("sensitive := ['age', 'cost'], questions := 'mean', bins := [0, 40, 81], epsilon := 1.0", "about one column"),
        ("sensitive := 'age', questions := 'mean', bins := [0, 40, 81], epsilon := 1.0, max_error := 1", "leave out"),
        ("sensitive := 'age', questions := 'mean', bins := [0, 40, 81], epsilon := 25", "an epsilon from 0.001 to 20"),
    ],
)  # fmt: skip
def test_stated_questions_that_cannot_be_compared_are_refused(con, arguments, message):
    with pytest.raises(duckdb.Error, match=message):
        con.execute(f"FROM priv.advise('stays', record_id := 'id', {arguments})").fetchall()
