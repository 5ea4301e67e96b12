"""Counts over two attributes in groups of few records: how often their intervals hold the truth."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest
from scipy.stats import binom

import duckdb_priv

RECORDS = """
    CREATE TABLE source AS
    SELECT i AS id, i // 8 AS ward, 'a' || hash(i) % 5 AS disease, 'b' || hash(i * 7 + 1) % 3 AS drug
    FROM range(12000) AS t(i)
"""
PREDICATES = ("disease = 'a0' AND drug = 'b0'", "disease = 'a0' OR drug = 'b0'")


@pytest.mark.parametrize("predicate", PREDICATES)
def test_intervals_of_products_hold_in_groups_of_eight(
    predicate: str, prepared: Callable[..., duckdb.DuckDBPyConnection]
) -> None:
    """Of 1,500 groups: at least .94 and .98 in every class, at a false alarm of 1e-9; none has no width."""
    with prepared() as connection:
        connection.execute(RECORDS)
        connection.execute(
            "FROM priv.publish_uniform('source', 'release', sensitive := ['disease', 'drug'], record_id := 'id',"
            " retention := 0.5)"
        ).fetchall()
        for confidence, wanted in ((0.95, 0.94), (0.99, 0.98)):
            asked = f"SELECT ward, count_if({predicate}) AS n FROM release GROUP BY ward"
            answered = duckdb_priv.rewrite_sql(
                connection, asked, intervals=True, confidence=confidence
            )
            rows = connection.execute(
                f"SELECT truth > 0, count(*), count_if(n_low <= truth AND truth <= n_high), min(n_high - n_low)"
                f" FROM ({answered}) JOIN (SELECT ward, count_if({predicate}) AS truth FROM source GROUP BY ward)"
                " USING (ward) GROUP BY ALL"
            ).fetchall()
            assert len(rows) == 2
            for _, groups, covered, least in rows:
                assert covered >= binom.ppf(1e-9, groups, wanted)
                assert least > 0
