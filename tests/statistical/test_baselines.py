"""The baselines where what they suppose is true: values that do not go with public columns."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from scipy import stats

import duckdb_priv

FALSE_ALARM = 1e-9
"""Chance that a correct mechanism fails one of these tests."""
RUNS = 20
COVERAGE = 0.94


@pytest.mark.parametrize(
    "call", ["anatomy('source', 'r', l := 4, republish := true", "distribution('source', 'r'"]
)
def test_counts_of_independent_values_are_right_on_average_and_covered(call: str) -> None:
    """Each of six wards has the same eight diseases, in the same numbers."""
    with duckdb_priv.connect() as con:
        con.execute(
            "CREATE TABLE source AS SELECT 'v' || i AS disease, ward FROM (SELECT unnest(range(8)) AS i,"
            " unnest([90, 80, 70, 60, 50, 30, 15, 5]) AS f), range(6) AS w(ward), range(f) AS r(n)"
        )
        true = np.tile([90, 80, 70, 60, 50, 30, 15, 5], 6)
        found = [_published(con, call) for _ in range(RUNS)]
    estimates, low, high = (
        np.array([run[name] for run in found]) for name in ("estimate", "low", "high")
    )
    errors = estimates - true
    # Where every release says the same, rounding is all that differs.
    z = errors.mean(axis=0) / np.maximum(errors.std(axis=0, ddof=1), 1e-6) * np.sqrt(RUNS)
    tail = 2 * stats.t.sf(np.abs(z), RUNS - 1)
    assert tail.min() * len(z) > FALSE_ALARM, f"mean errors of {z.round(2)} standard errors"
    covered = (low <= true + 1e-9) & (true <= high + 1e-9)
    assert covered.mean() >= COVERAGE


def _published(con: duckdb.DuckDBPyConnection, call: str) -> dict[str, np.ndarray]:
    con.execute(f"FROM priv.publish_{call}, sensitive := 'disease', replace := true)").fetchall()
    return con.execute(
        "SELECT estimate, low, high FROM priv.reconstructed_distribution('r', group_columns := 'ward')"
        " ORDER BY ward, value"
    ).fetchnumpy()
