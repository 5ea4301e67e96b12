"""What decoy groups guarantee, in SQL: the golden numbers of the binomial law."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import duckdb
import pytest


@pytest.fixture(scope="module")
def con(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = prepared(None)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("gamma", "epsilon", "alpha", "probability"),
    [
        (10, 0.3, 3, 0.612580),
        (2, 0.3, 3, 0.5),
        (10, 0.3, 10, 0.241032),
        (2, 0.3, 10, 0.115318),
        (10, 0.5, 2, 0.254530),
        (7, 0.1, 5, 0.603431),
    ],
)
def test_small_sum_privacy(
    con: duckdb.DuckDBPyConnection, gamma: int, epsilon: float, alpha: int, probability: float
) -> None:
    found = con.execute(f"SELECT priv.small_sum_privacy({gamma}, {epsilon}, {alpha})").fetchall()
    assert found[0][0] == pytest.approx(probability, abs=1e-6)


@pytest.mark.parametrize(
    ("gamma", "epsilon", "error", "chebyshev", "exact"),
    [
        (10, 0.1, 0.1, 900, 251),
        (10, 0.3, 0.05, 200, 41),
        (5, 0.3, 0.1, 89, 24),
        (2, 0.1, 0.1, 500, 141),
    ],
)
def test_large_sum_thresholds(
    con: duckdb.DuckDBPyConnection,
    gamma: int,
    epsilon: float,
    error: float,
    chebyshev: int,
    exact: int,
) -> None:
    given = f"({gamma}, {epsilon}, {error})"
    found = con.execute(
        f"SELECT priv.large_sum_threshold{given}, priv.exact_large_sum_threshold{given}"
    ).fetchall()
    assert found == [(chebyshev, exact)]


def test_calculators_take_columns(con: duckdb.DuckDBPyConnection) -> None:
    found = con.execute(
        "SELECT list(priv.large_sum_threshold(gamma, 0.3, 0.1) ORDER BY gamma) FROM (VALUES (5), (2)) AS t(gamma)"
    ).fetchall()
    assert found == [([56.0, 89.0],)]


@pytest.mark.parametrize(
    ("call", "stated"),
    [
        ("small_sum_privacy(1, 0.3, 3)", "gamma must be an integer of at least 2, got 1"),
        ("small_sum_privacy(5, 0.3, 0)", "alpha must be an integer in 1"),
        ("small_sum_privacy(5, 0.3, 2.5)", "alpha must be an integer"),
        ("small_sum_privacy(5, 0, 3)", "epsilon must lie above 0"),
        ("large_sum_threshold(5, 0.3, 1)", "error_probability must lie strictly between 0 and 1"),
        ("large_sum_threshold(5, NULL, 0.1)", "was given NULL"),
        ("exact_large_sum_threshold(10, 0.0001, 0.1)", "use large_sum_threshold"),
    ],
)
def test_bad_arguments_are_errors(con: duckdb.DuckDBPyConnection, call: str, stated: str) -> None:
    with pytest.raises(duckdb.Error, match=stated):
        con.execute(f"SELECT priv.{call}").fetchall()
