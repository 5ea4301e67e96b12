"""Baselines are unbiased if their assumption holds: values are independent of public columns.

The secret and the records are fixed, so the tests fail only when the code changes.
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import numpy as np
import pytest
from scipy import stats

FALSE_ALARM = 1e-9
"""Chance that a correct mechanism with normal errors fails one of these tests, for a secret chosen at random."""
SOURCE = """
    CREATE TABLE source AS SELECT (i * 10 + ward) * 100 + n AS id, 'v' || i AS disease, ward
    FROM (SELECT unnest(range(8)) AS i, unnest([90, 80, 70, 60, 50, 30, 15, 5]) AS f), range(6) AS w(ward),
        range(f) AS r(n)
"""
RUNS = 20
COVERAGE = 0.94


@pytest.mark.parametrize(
    "call", ["anatomy('numbered', 'r', l := 4, republish := true", "distribution('numbered', 'r'"]
)
def test_counts_of_independent_values_are_right_on_average_and_covered(
    made: Callable[..., duckdb.DuckDBPyConnection], call: str
) -> None:
    """Each of six wards has the same eight diseases, in the same numbers."""
    true = np.tile([90, 80, 70, 60, 50, 30, 15, 5], 6)
    with made(duckdb.DuckDBPyConnection.execute, SOURCE) as con:
        found = [_published(con, run, call) for run in range(RUNS)]
    estimates, low, high = (
        np.array([run[name] for run in found]) for name in ("estimate", "low", "high")
    )
    errors = estimates - true
    # All releases have the same estimates here, up to rounding.
    z = errors.mean(axis=0) / np.maximum(errors.std(axis=0, ddof=1), 1e-6) * np.sqrt(RUNS)
    tail = 2 * stats.t.sf(np.abs(z), RUNS - 1)
    assert tail.min() * len(z) > FALSE_ALARM, f"mean errors of {z.round(2)} standard errors"
    covered = (low <= true + 1e-9) & (true <= high + 1e-9)
    assert covered.mean() >= COVERAGE


def _published(con: duckdb.DuckDBPyConnection, run: int, call: str) -> dict[str, np.ndarray]:
    """Publish with different record ids in every run, so that the noise differs from run to run."""
    con.execute(
        f"CREATE OR REPLACE VIEW numbered AS SELECT * REPLACE (id + {run} * 1_000_000 AS id) FROM source"
    )
    con.execute(
        f"FROM priv.publish_{call}, sensitive := 'disease', record_id := 'id', replace := true)"
    ).fetchall()
    return con.execute(
        "SELECT estimate, low, high FROM priv.reconstructed_distribution('r', group_columns := 'ward')"
        " ORDER BY ward, value"
    ).fetchnumpy()
