"""The calculators of sampling, in SQL."""

import math

import duckdb
import pytest

from duckdb_priv.mechanism import sampling


@pytest.fixture(scope="module")
def con(prepared):
    with prepared(None) as connection:
        yield connection


def value(con, sql):
    return con.execute(f"SELECT {sql}").fetchall()[0][0]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("priv.sampling_delta(20, 0.05, 0.5)", 2.498883e-14),
        ("priv.sampling_delta(20, 0.2, 2.0)", 1.587544e-12),
        ("priv.sampling_delta(1, 0.025, 2)", 0.025),
        ("priv.sampling_k(0.1, 1, 1e-6)", 9),
        ("priv.sampling_k(0.5, 1.0, 1e-6)", 46),
        ("priv.sampling_epsilon(20, 0.1, 1e-6)", 0.291941),
        ("priv.amplified_epsilon(ln(11), 0.1)", math.log(2)),
        ("priv.amplified_epsilon(1e-12, 0.5)", 5e-13),
        ("priv.amplified_delta(1e-5, 0.1)", 1e-6),
    ],
)
def test_known_values(con, sql, expected):
    assert value(con, sql) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta", "k"),
    [
        ("0.1", 1e-5, 50),
        ("0.5", 1e-5, 52),
        ("1", 1e-5, 62),
        ("1", 1e-6, 75),
        ("2", 1e-5, 114),
        ("ln(2)", 1e-7, 81),
        ("ln(3)", 1e-8, 109),
    ],
)
def test_k_is_one_below_that_of_arx(con, epsilon, delta, k):
    """ARX samples at the highest rate, and its search returns the k behind the one that passes."""
    assert value(con, f"priv.sampling_k(1 - exp(-{epsilon}), {epsilon}, {delta})") == k - 1


def test_a_grid_is_computed_row_by_row(con):
    rows = con.execute(
        "SELECT k, beta, epsilon, priv.sampling_delta(k, beta, epsilon)"
        " FROM range(5, 25) AS k(k), (VALUES (0.05), (0.1)) AS b(beta), (VALUES (0.5), (1.0)) AS e(epsilon)"
    ).fetchall()
    assert len(rows) == 80
    for k, beta, epsilon, delta in rows:
        assert delta == sampling.sampling_delta(k, float(beta), float(epsilon))


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("priv.sampling_delta(0, 0.1, 1)", "k must be a whole number of at least 1, got 0\nHint: "),
        ("priv.sampling_delta(2.5, 0.1, 1)", "got 2.5\nHint: "),
        ("priv.sampling_delta(20, 1, 1)", "beta must lie strictly between 0 and 1, got 1\nHint: "),
        (
            "priv.sampling_delta(20, 0.1, 0.05)",
            "with this beta use epsilon >= 0.105362; with this epsilon use beta <= 0.0487701",
        ),
        ("priv.sampling_k(0.1, 1, 0.1)", "delta must be"),
        ("priv.sampling_epsilon(5, 0.1, 1e-6)", "k must be at least 7"),
        ("priv.amplified_epsilon(-1, 0.1)", "epsilon must be above 0"),
        ("priv.amplified_delta(2, 0.1)", "delta must be a probability, got 2"),
        ("priv.sampling_k(0.1, NULL, 1e-6)", "priv.sampling_k was given NULL"),
    ],
)
def test_bad_input_is_an_error_with_its_value_and_a_remedy(con, sql, message):
    with pytest.raises(duckdb.InvalidInputException) as refused:
        value(con, sql)
    assert message in str(refused.value)
    assert "Hint: " in str(refused.value)
