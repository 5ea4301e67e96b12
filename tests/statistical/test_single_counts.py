"""Intervals have the stated coverage for every single count, however small, and not only on average over counts.

One release has 200 copies of a small table; their records have different ids, and so independent noise. The secret is
fixed. With other secrets, a mechanism with a coverage of 94 % would fail with probability 1e-9. benchmarks/coverage.py
has the same test on real and correlated records, for every mechanism.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pytest
from plausible import FALSE_ALARM
from scipy.stats import binom

COPIES = 200
MECHANISMS = {
    "block_design": "epsilon := 1.5",
    "fine_grain": "tolerance := 20, min_retention := 0.05",
    "reconstruction_private": "retention := 0.4, epsilon := 0.3, delta := 0.3, republish := true",
    "shuffled": "epsilon := 1.0, delta := 1e-6",
}
SOURCE = f"""
    CREATE TABLE source AS
    SELECT copy * 1000 + i AS id, copy, i % 2 AS ward, i * i % 7 // 2 AS age,
        (CASE WHEN i < 60 THEN 0 WHEN i < 100 THEN 1 ELSE 2 + (i - 100) % 12 END)::INTEGER AS disease
    FROM range({COPIES}) AS c(copy), range(140) AS r(i)
"""
"""There are 14 values: one has 60 records, one 40 and the others 3 or 4. In wards of 70, some counts are 0."""


@pytest.fixture(scope="module")
def publisher(secret: bytes, prepared) -> Iterator[duckdb.DuckDBPyConnection]:
    with prepared(secret=secret) as connection:
        connection.execute(SOURCE)
        yield connection


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_count_that_is_published_often_is_covered_often(publisher, mechanism):
    publisher.execute(
        f"FROM priv.publish_{mechanism}('source', '{mechanism}', sensitive := 'disease', record_id := 'id',"
        f" public := ['copy', 'ward', 'age'], {MECHANISMS[mechanism]})"
    )
    weighed = ", weight := 'scale'" if mechanism in ("reconstruction_private", "shuffled") else ""
    covered = []
    for by in ("copy", "copy, ward", "copy, age"):
        counts = publisher.execute(
            f"SELECT count_if(coalesce(n, 0) BETWEEN low - 1e-6 AND high + 1e-6), count(*)"
            f" FROM priv.reconstructed_distribution('{mechanism}', group_columns := '{by}'{weighed})"
            f" LEFT JOIN (SELECT {by}, disease AS value, count(*) AS n FROM source GROUP BY ALL) USING ({by}, value)"
            f" GROUP BY {by.replace('copy', 'value')}"
        ).fetchall()
        covered += counts
    held, times = np.array(covered).T
    assert (times == COPIES).all()
    assert len(times) >= 14 * 6
    assert (binom.cdf(held, times, 0.94) > FALSE_ALARM / len(times)).all()
