"""Baselines are unbiased if their assumption holds: values are independent of public columns.

The secret and the records are fixed, so the tests fail only when the code changes.
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import numpy as np
import pytest
from plausible import FALSE_ALARM
from scipy import stats

COPIES = 20
COUNTS = [90, 80, 70, 60, 50, 30, 15, 5]
SOURCE = f"""
    CREATE TABLE source AS SELECT copy * 1_000_000 + (i * 10 + ward) * 100 + n AS id, 'v' || i AS disease, ward, copy
    FROM (SELECT unnest(range(8)) AS i, unnest({COUNTS}) AS f), range(6) AS w(ward), range({COPIES}) AS c(copy),
        range(f) AS r(n)
"""
COVERAGE = 0.94


@pytest.mark.parametrize("call", ["anatomy('source', 'r', l := 4", "distribution('source', 'r'"])
def test_counts_of_independent_values_are_right_on_average_and_covered(
    made: Callable[..., duckdb.DuckDBPyConnection], call: str
) -> None:
    """Each of six wards has the same eight diseases, in the same numbers; the copies of a ward have different ids."""
    true = np.tile(COUNTS, 6)
    with made(duckdb.DuckDBPyConnection.execute, SOURCE) as con:
        con.execute(
            f"FROM priv.publish_{call}, sensitive := 'disease', record_id := 'id')"
        ).fetchall()
        found = con.execute(
            "SELECT estimate, low, high FROM"
            " priv.reconstructed_distribution('r', group_columns := 'copy, ward') ORDER BY copy, ward, value"
        ).fetchnumpy()
    estimates, low, high = (
        found[name].reshape(COPIES, true.size) for name in ("estimate", "low", "high")
    )
    errors = estimates - true
    # All copies may have the same estimates, up to rounding.
    z = errors.mean(axis=0) / np.maximum(errors.std(axis=0, ddof=1), 1e-6) * np.sqrt(COPIES)
    tail = 2 * stats.t.sf(np.abs(z), COPIES - 1)
    assert tail.min() * len(z) > FALSE_ALARM, f"mean errors of {z.round(2)} standard errors"
    covered = (low <= true + 1e-9) & (true <= high + 1e-9)
    assert covered.mean() >= COVERAGE
