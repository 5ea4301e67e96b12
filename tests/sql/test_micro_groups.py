"""What a publisher looks at before publishing: micro groups, thresholds, and attacks on noisy counts."""

import duckdb
import numpy as np
import pytest

from duckdb_priv.mechanism.ratio_attack import ratio_tails
from duckdb_priv.mechanism.tails import tails
from duckdb_priv.mechanism.uniform import Uniform

pytestmark = pytest.mark.usefixtures("unasked")

ASKED = "sensitive := 'disease', retention := 0.5, epsilon := 0.3, delta := 0.3"


@pytest.fixture(scope="module")
def con(prepared):
    with prepared(None) as connection:
        connection.execute(
            """CREATE TABLE visits AS SELECT row_number() OVER () AS id, ward, age, disease FROM (VALUES
            ('north', 30, 'flu', 90), ('north', 30, 'cold', 10), ('north', 40, 'flu', 20), ('south', 30, NULL, 61),
            ('south', 30, 'flu', 61), (NULL, 30, 'cold', 1)) AS t(ward, age, disease, n), range(n)"""
        )
        connection.execute('CREATE TABLE "visits 2026" AS FROM visits')
        connection.execute(
            "CREATE TABLE sized AS SELECT id, ward AS size, age AS violates, disease FROM visits"
        )
        yield connection


def test_one_row_per_group_with_exact_tails(con):
    rows = con.execute(
        f"FROM priv.micro_groups('visits', {ASKED}, record_id := 'id') ORDER BY ward, age"
    ).fetchall()
    assert [row[:3] for row in rows] == [
        ("north", 30, 100), ("north", 40, 20), ("south", 30, 122), (None, 30, 1)
    ]  # fmt: skip
    assert [row[3] for row in rows] == [0.9, 1, 0.5, 1]
    operator = Uniform(0.5, 3)
    upper, lower = tails(np.array([100, 20, 122, 1]), np.array([90, 20, 61, 1]), operator, 0.3)
    for row, high, low in zip(rows, upper, lower, strict=True):
        (allowed,) = con.execute(
            f"SELECT priv.reconstruction_threshold({row[3]}, 3, 0.5, 0.3, 0.3)"
        ).fetchall()[0]
        assert row[4] == allowed
        assert row[5] == (row[2] > allowed)
        assert row[6:] == pytest.approx((high, low), abs=1e-12)


def test_the_risk_sums_the_groups_up(con):
    groups, violating, records, single, tail = con.execute(
        f"FROM priv.reconstruction_risk('visits', {ASKED}, exclude := ['id'])"
    ).fetchall()[0]
    rows = con.execute(
        "SELECT size, violates, least(upper_tail, lower_tail)"
        f" FROM priv.micro_groups('visits', {ASKED}, exclude := 'id')"
    ).fetchall()
    assert groups == 4
    assert violating == pytest.approx(25 * sum(row[1] for row in rows))
    assert records == pytest.approx(100 * sum(row[0] for row in rows if row[1]) / 243)
    assert single == pytest.approx(100 / 243)
    assert tail == min(row[2] for row in rows)


def test_names_need_no_quotes_and_columns_of_the_source_may_be_called_as_ours(con):
    quoted = con.execute(
        f"FROM priv.micro_groups('\"visits 2026\"', {ASKED}, record_id := 'id')"
    ).fetchall()
    plain = con.execute(
        f"FROM priv.micro_groups('visits 2026', {ASKED}, record_id := 'id')"
    ).fetchall()
    assert sorted(map(str, quoted)) == sorted(map(str, plain))
    asked = f"FROM priv.reconstruction_risk('{{}}', {ASKED}, record_id := 'id')"
    assert (
        con.execute(asked.format("sized")).fetchall()
        == con.execute(asked.format("visits")).fetchall()
    )


def test_without_public_columns_there_is_one_group(con):
    rows = con.execute(
        f"FROM priv.micro_groups('visits', {ASKED}, exclude := ['id', 'ward', 'age'])"
    ).fetchall()
    assert [row[0] for row in rows] == [243]


def test_the_domain_may_be_larger_than_what_occurs(con):
    frequent, domain = (
        con.execute(
            f"SELECT max(threshold) FROM priv.micro_groups('visits', {ASKED}, record_id := 'id'{more})"
        ).fetchall()[0][0]
        for more in ("", ", domain_size := 14")
    )
    assert frequent > domain
    assert domain == pytest.approx(122.30834838)


@pytest.mark.once
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("retention := 0.5, epsilon := 0.3, delta := 0.3", "no sensitive column is named"),
        ("sensitive := 'disease', epsilon := 0.3, delta := 0.3", "retention is missing"),
        ("sensitive := 'disease', retention := 0.5, epsilon := 2, delta := 0.3", "valid for groups.*frequency 1"),
        ("sensitive := 'disease', retention := 0.5, epsilon := 0.3, delta := 1", "strictly between 0 and 1"),
        ("sensitive := 'disease', retention := 0.5, epsilon := 0.3, delta := 0.3, bound := 'best'", "no bound 'best'"),
        ("sensitive := 'deceased', retention := 0.5, epsilon := 0.3, delta := 0.3", "deceased"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(con, arguments, says):
    for macro in ("micro_groups", "reconstruction_risk"):
        with pytest.raises(duckdb.Error, match=f"(?s){says}"):
            con.execute(f"FROM priv.{macro}('visits', {arguments})").fetchall()


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("0.5, 14, 0.5, 0.3, 0.3", 122.30834838),
        ("0.5, 14, 0.5, 0.3, 0.3, bound := 'chernoff'", 111.06988004),
        ("1, 50, 0.5, 0.3, 0.3", 54.58010046),
        ("0.2, 50, 0.5, 0.3, 0.3, bound := 'chernoff'", 266.14771145),
        ("0.25, 10, 0.5, 1.2, 0.3", 18.72846585),
        ("1, 14, 0.5, 0.3, 0.05, bound := 'exact'", 23),
    ],
)
def test_thresholds_are_the_golden_ones(con, arguments, value):
    (found,) = con.execute(f"SELECT priv.reconstruction_threshold({arguments})").fetchall()[0]
    assert found == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize(
    ("arguments", "upper", "lower"),
    [
        ("0.5, 14, 0.5, 0.3, 122", 0.3459, 0.3009),
        ("0.5, 14, 0.5, 0.3, 122, bound := 'chernoff'", 0.3303, 0.2665),
        ("0.5, 14, 0.5, 0.3, 122, bound := 'exact'", 0.0101, 0.0116),
        ("0.5, 14, 0.5, 8 / 7, 4, bound := 'chernoff'", 0.6431, 0.3189),
        ("0.5, 14, 0.5, 8 / 7, 4, bound := 'exact'", 0.0208, 0),
        ("0.5, 14, 0.5, 1.5, 4", 0.5519, 0),
    ],
)
def test_bounds_of_the_tails_are_the_papers(con, arguments, upper, lower):
    found = con.execute(
        f"SELECT priv.upper_tail_bound({arguments}), priv.lower_tail_bound({arguments})"
    ).fetchall()[0]
    assert found == pytest.approx((upper, lower), abs=6e-5)


@pytest.mark.parametrize("bound", ["simplified", "chernoff"])
def test_at_the_threshold_the_lower_bound_is_delta(con, bound):
    """And no bound is below the tail that it bounds."""
    ((most,),) = con.execute(
        f"SELECT priv.reconstruction_threshold(0.5, 14, 0.5, 0.3, 0.3, bound := '{bound}')"
    ).fetchall()
    for size in range(2, 201, 2):
        ((upper, lower, too_high, too_low),) = con.execute(
            f"SELECT priv.upper_tail_bound(0.5, 14, 0.5, 0.3, {size}, bound := '{bound}'),"
            f" priv.lower_tail_bound(0.5, 14, 0.5, 0.3, {size}, bound := '{bound}'),"
            f" priv.upper_tail_bound(0.5, 14, 0.5, 0.3, {size}, bound := 'exact'),"
            f" priv.lower_tail_bound(0.5, 14, 0.5, 0.3, {size}, bound := 'exact')"
        ).fetchall()
        assert (lower >= 0.3) == (size <= most)
        assert too_high <= upper
        assert too_low <= lower <= upper


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("0, 14, 0.5, 0.3, 122", "frequency must lie in"),
        ("0.5, 14, 0.5, -1, 122", "epsilon must be positive"),
        ("0.5, 14, 0.5, 0.3, 1.5", "group_size must be a whole number"),
        ("0.5, 14, 0.5, 0.3, 121, bound := 'exact'", "no whole number of 121 records"),
        ("0.5, 14, 0.5, 0.3, 122, bound := 'best'", "there is no bound 'best'"),
        ("0.5, 14, 0.5, NULL, 122", "was given NULL"),
    ],
)
def test_bounds_of_nothing_are_refused(con, arguments, says):
    for name in ("upper_tail_bound", "lower_tail_bound"):
        with pytest.raises(duckdb.Error, match=says):
            con.execute(f"SELECT priv.{name}({arguments})").fetchall()


def test_noisy_counts_differ_by_row_and_are_whole(con):
    rows = con.execute(
        "SELECT count(DISTINCT x), avg(x), typeof(any_value(x))"
        " FROM (SELECT priv.laplace_count(1000, 0.1) AS x FROM range(2000))"
    ).fetchall()[0]
    assert rows[0] > 50
    # A false alarm of 6e-10: a little more than that of a normal mean.
    assert rows[1] == pytest.approx(1000, abs=6.2 * np.sqrt(200 / 2000))
    assert rows[2] == "BIGINT"
    with pytest.raises(duckdb.Error, match="between 2\\*\\*-32 and 64"):
        con.execute("SELECT priv.laplace_count(5, 0)").fetchall()
    with pytest.raises(duckdb.Error, match="was given NULL"):
        con.execute("SELECT priv.laplace_count(NULL, 1)").fetchall()


def test_the_ratio_attack_finds_the_frequency_of_large_groups(con):
    rows = con.execute(
        "FROM priv.ratio_attack('visits', sensitive := 'disease', epsilon_dp := 0.5, record_id := 'id')"
    ).fetchall()
    assert [row[:5] for row in rows] == [("north", 30, 100, 90, 0.9), ("south", 30, 122, 61, 0.5)]
    upper, lower = ratio_tails(np.array([100, 122]), np.array([90, 61]), 0.5, 0.3)
    for row, high, low in zip(rows, upper, lower, strict=True):
        assert row[5:8] == pytest.approx((1 - high - low, high, low))
        assert row[5] > 0.99
        assert row[8] is False
    private = con.execute(
        "SELECT bool_and(private) FROM priv.ratio_attack('visits', sensitive := 'disease', epsilon_dp := 0.01,"
        " record_id := 'id')"
    ).fetchall()
    assert private == [(True,)]
    with pytest.raises(duckdb.Error, match="epsilon_dp is missing"):
        con.execute(
            "FROM priv.ratio_attack('visits', sensitive := 'disease', record_id := 'id')"
        ).fetchall()
