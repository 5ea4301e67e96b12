"""Shuffled groups of real records: each has its stated noise, and intervals have the stated coverage."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pytest
from plausible import FALSE_ALARM
from scipy.stats import chi2

PUBLIC = "['decade', 'gender', 'state']"


@pytest.fixture(scope="module")
def con(secret: bytes, census: str, prepared) -> Iterator[duckdb.DuckDBPyConnection]:
    with prepared(secret=secret) as connection:
        connection.execute(
            "CREATE TABLE person AS SELECT row_number() OVER () AS id, age // 10 AS decade, gender,"
            f" state % 10 AS state, education::INTEGER AS education FROM (FROM '{census}' LIMIT 40000)"
        )
        connection.execute(
            "FROM priv.publish_shuffled('person', 'crowds', sensitive := 'education', epsilon := 1.0, delta := 1e-6,"
            f" record_id := 'id', public := {PUBLIC})"
        ).fetchall()
        yield connection


def test_every_scale_has_its_own_law(con):
    """For each scale, the true counts of its groups determine the expected published counts."""
    groups = "SELECT decade, gender, state, any_value(scale) AS scale FROM crowds GROUP BY ALL"
    shown = "SELECT scale, noisy_education::INTEGER AS value, count(*) AS shown FROM crowds GROUP BY ALL"
    true = (
        f"SELECT scale, education AS value, count(*) AS held FROM person JOIN ({groups}) USING (decade, gender, state)"
        " GROUP BY ALL"
    )
    table = con.execute(
        f"SELECT scale, coalesce(shown, 0), coalesce(held, 0) FROM ({shown}) FULL JOIN ({true}) USING (scale, value)"
    ).fetchnumpy()
    scales, shown, held = (np.asarray(column, dtype=np.float64) for column in table.values())
    statistic, values = 0.0, 14
    for scale in np.unique(scales):
        of = scales == scale
        total = held[of].sum()
        assert shown[of].sum() == total
        own, other = (1 + scale) / (1 + values * scale), scale / (1 + values * scale)
        mean = (own - other) * held[of] + other * total
        variance = held[of] * own * (1 - own) + (total - held[of]) * other * (1 - other)
        statistic += ((shown[of] - mean) ** 2 / variance).sum()
    assert chi2.sf(statistic, len(scales)) > FALSE_ALARM


def test_intervals_hold_the_truth_over_groups_of_all_sizes(con):
    ((queries, covered, spread),) = con.execute(
        "SELECT count(*), avg(covered::INTEGER), avg(((estimate - true_count) / stderr) ** 2)"
        " FROM priv.evaluate('person', 'crowds', queries := 1000)"
    ).fetchall()
    assert queries == 1000
    assert covered >= 0.94
    assert 0.8 < spread < 1.2


@pytest.mark.parametrize("groups", ["state = 0", "state = 0 AND decade >= 7"])
def test_shares_of_many_draws_err_by_what_they_state(con, groups):
    """The stated variance is that of the errors of many simulated draws of the same groups.

    For few rows the estimated variance is uncertain, and low if the estimate is low. So z has a standard deviation
    above 1 there. Intervals do not depend on this variance, and keep their coverage.
    """
    draws = 500
    ((kind,),) = con.execute("SELECT typeof(noisy_education) FROM crowds LIMIT 1").fetchall()
    con.execute(f"""
        CREATE OR REPLACE TABLE drawn AS
        WITH law AS (SELECT decade, gender, state, any_value(scale) AS scale FROM crowds GROUP BY ALL)
        SELECT draw, education, scale, CASE
            WHEN hash(draw, id, 'keep') / 18446744073709551616 < 1 / (1 + 14 * scale) THEN education::VARCHAR
            ELSE values[1 + (hash(draw, id, 'other') % 14)::INTEGER] END::{kind} AS noisy_education
        FROM person JOIN law USING (decade, gender, state), range({draws}) AS t(draw),
            (SELECT list(value ORDER BY position) AS values FROM priv.coefficient WHERE release = 'crowds')
        WHERE {groups}
    """)
    for values in ("9", "[1, 4, 5]", "15"):
        truth = f"avg((education IN ({values.strip('[]')}))::INTEGER)"
        ((squares, covered),) = con.execute(
            "SELECT avg((share.estimate - truth) ** 2) / avg(share.stderr ** 2),"
            " avg((truth BETWEEN share.low AND share.high)::INTEGER) FROM ("
            f"SELECT {truth} AS truth, priv.reconstructed_share('crowds', noisy_education, {values},"
            " weight := scale) AS share FROM drawn GROUP BY draw)"
        ).fetchall()
        assert abs(squares - 1) < 6 * np.sqrt(2 / draws)
        assert covered > 0.89
