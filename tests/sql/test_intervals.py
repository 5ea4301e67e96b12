"""Intervals, standard errors and most likely counts of the macros against formulas and optimizers of other makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import duckdb
import numpy as np
import pytest
from plausible import plausible
from scipy.optimize import brentq
from scipy.stats import norm

from duckdb_priv.sqltext.literals import enum

OPERATORS = [(0.5, 14), (0.2, 50), (0.9, 2), (0.1, 5), (0.5, 5), (0.9, 5)]


@pytest.fixture(scope="module")
def releases(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    together: Callable[..., AbstractContextManager[None]],
) -> Iterator[duckdb.DuckDBPyConnection]:
    """One release for every operator, named release_0 and so on, of an integer from 0."""
    with prepared(None) as connection:
        connection.execute("CREATE TABLE source AS SELECT i % 2 AS s FROM range(4) AS t(i)")
        with together(connection):
            for number, (retention, size) in enumerate(OPERATORS):
                connection.execute(
                    f"FROM priv.publish_uniform('source', 'release_{number}', sensitive := 's',"
                    f" retention := {retention}, domain := range({size}))"
                )
        yield connection


def noisy(number: int) -> str:
    """Write the type of the noisy column of a release."""
    return enum(map(str, range(OPERATORS[number][1])))


def possible(number: int, total: int) -> range:
    """List the counts that a value can be shown with; others are refused."""
    retention, size = OPERATORS[number]
    other = (1 - retention) / size
    return plausible(total, other, retention + other)


def intervals(
    connection: duckdb.DuckDBPyConnection, number: int, total: int, confidence: float
) -> np.ndarray:
    """Estimate, standard error, low and high for every plausible count that a value can be shown with."""
    shown = possible(number, total)
    rows = connection.execute(
        f"SELECT unnest(priv.reconstructed_interval('release_{number}', noisy_s, 1, confidence := {confidence}))"
        f" FROM (SELECT shown, (i < shown)::INTEGER::VARCHAR::{noisy(number)} AS noisy_s"
        f" FROM range({shown.start}, {shown.stop}) AS t(shown),"
        f" range({total}) AS r(i)) GROUP BY shown ORDER BY shown"
    ).fetchall()
    return np.array(rows, dtype=float)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("total", [1, 7, 100])
@pytest.mark.parametrize("number", range(4))
def test_intervals_hold_the_counts_that_the_estimate_does_not_contradict(
    releases, number, total, confidence
):
    """Numerically: the ends are where the estimate lies z standard errors and a step away, or next to the possible.

    The step is half of that between estimates, or the term of skewness where that is more.
    """
    retention, size = OPERATORS[number]
    q = (1 - retention) / size
    a = retention + q
    z = norm.ppf((1 + confidence) / 2)
    half_step, skewed = 1 / (2 * retention), (z**2 - 1) / 6 / retention
    below, above = max(half_step, skewed * (1 - 2 * q)), max(half_step, skewed * (2 * a - 1))

    def variance(count: float) -> float:
        """Of the estimate, if this were the true count: linear in it, also beyond what is possible."""
        return (count * a * (1 - a) + (total - count) * q * (1 - q)) / retention**2

    found = intervals(releases, number, total, confidence)
    shown_counts = possible(number, total)
    assert len(found) == len(shown_counts)
    for shown, (estimate, stderr, low, high) in zip(shown_counts, found, strict=True):
        assert estimate == pytest.approx((shown - total * q) / retention)
        assert stderr == pytest.approx(np.sqrt(max(variance(estimate), 0)))
        assert 0 <= low <= high <= total

        def excess(count: float, estimate: float = estimate) -> float:
            step = below if count < estimate else above
            return abs(estimate - count) - step - z * np.sqrt(variance(count))

        inside = [k for k in np.linspace(0, total, 101) if excess(k) <= 0]
        nearest = float(np.clip(estimate, 0, total))
        least, most = max(nearest - below, 0), min(nearest + above, total)
        if not inside:
            # Even the nearest possible count is contradicted; the interval is that count, and a step.
            assert (low, high) == pytest.approx((least, most))
            continue
        lowest, highest = inside[0], inside[-1]
        step = total / 100
        expected_low = 0 if lowest == 0 else brentq(excess, lowest - step, lowest)
        expected_high = total if highest == total else brentq(excess, highest, highest + step)
        assert low == pytest.approx(min(expected_low, least), abs=1e-6)
        assert high == pytest.approx(max(expected_high, most), abs=1e-6)


def possible_optimum(counts: np.ndarray, retention: float) -> np.ndarray:
    """Maximize the likelihood over frequencies that are not negative and sum to one.

    Where the gradient is the same for all positive frequencies, and not larger for those that are 0 (Karush, Kuhn
    and Tucker): f = max(0, counts / multiplier - noise).
    """
    noise = (1 - retention) / (retention * len(counts))

    def frequencies(multiplier: float) -> np.ndarray:
        return np.maximum(0, counts / multiplier - noise)

    multiplier = brentq(
        lambda m: frequencies(m).sum() - 1, counts.max() / 2 / (1 + noise), counts.sum(), xtol=1e-13
    )
    return frequencies(multiplier) * counts.sum()


COUNTS = {
    "inside": [300, 250, 200, 150, 100],
    "one at its bound": [16, 10, 8, 6, 0],
    "most at their bound": [20, 1, 1, 1, 1],
    "all equal_rows": [20, 20, 20, 20, 20],
    "one value": [15, 0, 0, 0, 0],
    "one record": [0, 1, 0, 0, 0],
}


def most_likely(
    connection: duckdb.DuckDBPyConnection, number: int, counts: list[int]
) -> list[float]:
    """Ask for every value, of rows that show the values as often as given."""
    rows = connection.execute(
        f"SELECT v, priv.reconstructed_mle('release_{number}', noisy_s, v) FROM range({len(counts)}) AS d(v), ("
        f" SELECT unnest([s FOR i IN range(shown)])::VARCHAR::{noisy(number)} AS noisy_s FROM"
        f" (SELECT unnest(range({len(counts)})) AS s, unnest(?) AS shown)) GROUP BY v ORDER BY v",
        [counts],
    ).fetchall()
    return [count for _, count in rows]


@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS.keys())
@pytest.mark.parametrize("number", [3, 4, 5])
def test_the_most_likely_counts_are_the_optimum_among_the_possible(releases, number, counts):
    retention, _ = OPERATORS[number]
    found = most_likely(releases, number, counts)
    assert sum(found) == pytest.approx(sum(counts))
    assert min(found) >= 0
    assert found == pytest.approx(possible_optimum(np.array(counts, float), retention), abs=1e-6)


def test_the_most_likely_counts_are_the_limit_of_the_iterative_bayesian_method(releases):
    """To one part in a hundred million, with the expectation step written out."""
    retention, size = OPERATORS[0]
    counts = [40, 30, 10, 5, 5, 2, 2, 2, 1, 1, 1, 1, 0, 0]
    shown = np.array(counts) / sum(counts)
    matrix = retention * np.eye(size) + (1 - retention) / size
    f = np.full(size, 1 / size)
    for _ in range(20_000):
        f = f * (matrix.T @ (shown / (matrix @ f)))
    assert most_likely(releases, 0, counts) == pytest.approx(f * sum(counts), abs=1e-6)
