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


def test_small_groups_without_a_combination_are_covered_in_decoy_groups(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
) -> None:
    """In two releases of 300 groups: at least .94 and .98 of the groups that have no such record."""
    predicate = "disease = 'v1' AND drug <> 'd1'"
    found: dict[float, list[tuple[int, int]]] = {0.95: [], 0.99: []}
    with prepared() as connection:
        connection.execute(
            "CREATE TABLE source AS SELECT i AS id, (hash('ward' || i) % 300)::INTEGER AS ward,"
            " 'v' || floor(12 * pow((hash('value' || i) % 1000) / 1000.0, 2))::INTEGER AS disease,"
            " 'd' || floor(4 * pow((hash('drug' || i) % 1000) / 1000.0, 1.5))::INTEGER AS drug"
            " FROM range(4000) AS t(i)"
        )
        for run in range(2):
            connection.execute(
                f"CREATE OR REPLACE VIEW run AS SELECT * REPLACE (id + {run} * 1000000 AS id) FROM source"
            )
            connection.execute(
                "FROM priv.publish_splu('run', 'release', sensitive := ['disease', 'drug'], record_id := 'id',"
                " gamma := 2, replace := true, republish := true)"
            ).fetchall()
            for confidence, counted in found.items():
                asked = f"SELECT ward, count_if({predicate}) AS n FROM release GROUP BY ward"
                answered = duckdb_priv.rewrite_sql(
                    connection, asked, intervals=True, confidence=confidence
                )
                counted += connection.execute(
                    f"SELECT count(*), count_if(n_low = 0) FROM ({answered}) JOIN (SELECT ward,"
                    f" count_if({predicate}) AS truth FROM source GROUP BY ward) USING (ward) WHERE truth = 0"
                ).fetchall()
    for confidence, wanted in ((0.95, 0.94), (0.99, 0.98)):
        groups, covered = map(sum, zip(*found[confidence], strict=True))
        # The secret is known, so the share is the same in every run.
        assert covered >= wanted * groups > 100
