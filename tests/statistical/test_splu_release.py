"""Counts reconstructed from releases by decoy groups are unbiased, and their intervals have the stated coverage.

The secret and the records are fixed, so the tests fail only when the code changes. With a random secret and normal
errors, a correct mechanism would fail a test with probability ``FALSE_ALARM``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import duckdb
import numpy as np
import pytest
from conftest import DATA
from plausible import FALSE_ALARM
from scipy import stats

Made = Callable[..., duckdb.DuckDBPyConnection]
Published = Callable[[str, str, int, int], Iterator[duckdb.DuckDBPyConnection]]

COVERAGE = 0.94, 0.99
RECORDS = 150_000
"""Number of records of the real data that are used."""


@pytest.fixture
def con(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = prepared()
    yield connection
    connection.close()


def publish(con: duckdb.DuckDBPyConnection, run: int, sensitive: str, gamma: int) -> None:
    """Publish with different record ids in every run, so that the noise differs from run to run."""
    con.execute(
        f"CREATE OR REPLACE VIEW numbered AS SELECT * REPLACE (id + {run} * 1_000_000 AS id) FROM source"
    )
    con.execute(
        f"FROM priv.publish_splu('numbered', 'release', sensitive := {sensitive}, gamma := {gamma},"
        " record_id := 'id', replace := true, republish := true)"
    ).fetchall()


@pytest.fixture
def published(made: Made) -> Published:
    """Publish a table several times; each release replaces the previous one."""

    def runs(
        table: str, sensitive: str, gamma: int, count: int
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        with made(duckdb.DuckDBPyConnection.execute, table) as con:
            for run in range(count):
                publish(con, run, sensitive, gamma)
                yield con

    return runs


@pytest.mark.parametrize("shares", ["[12, 6, 5, 4, 3, 3, 2, 1]", "[1, 1, 1, 1, 1, 1, 1, 1]"])
def test_estimates_are_right_on_average(published: Published, shares: str) -> None:
    table = (
        "CREATE TABLE source AS SELECT i * 10_000 + n AS id, 'v' || i AS disease, (i * 7 + n // 3) % 8 < 3 AS young"
        f" FROM (SELECT unnest(range(8)) AS i, unnest({shares}) AS f),"
        f" range((f * 7200 // list_sum({shares}))::BIGINT) AS r(n)"
    )
    scores = []
    # There are few end-to-end runs, because test_decoy_groups.py tests the same estimates with 400 groupings each.
    for con in published(table, "'disease'", 2, 5):
        true = con.execute(
            "SELECT count_if(young) FROM source GROUP BY disease ORDER BY disease"
        ).fetchnumpy()["count_if(young)"]
        found = con.execute(
            "SELECT estimate, stderr FROM priv.reconstructed_distribution('release', condition := 'young')"
            " ORDER BY value"
        ).fetchnumpy()
        scores.append((found["estimate"] - true) / found["stderr"])
    # The standard errors are those of the release, which a test below checks. So few runs suffice.
    z = np.mean(scores, axis=0) * np.sqrt(len(scores))
    tail = 2 * stats.norm.sf(np.abs(z))
    assert tail.min() * len(z) > FALSE_ALARM, f"mean errors of {z.round(2)} standard errors"


@pytest.mark.parametrize(
    ("file", "sensitive", "gamma", "parts"),
    [
        ("census_500k", "occupation", 5, ["education", "gender"]),
        ("census_500k", "education", 2, ["occupation"]),
        ("vaers_reactions", "reaction", 5, ["sex", "'everybody'"]),
    ],
)
def test_intervals_cover_on_real_data(
    con: duckdb.DuckDBPyConnection, file: str, sensitive: str, gamma: int, parts: list[str]
) -> None:
    """The coverage is 94 to 99 % for counts of at least 10, in small groups, in halves and in the whole table."""
    path = DATA / f"{file}.parquet"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    named = ", ".join(f"{part} AS part_{number}" for number, part in enumerate(parts))
    con.execute(
        f"CREATE TABLE source AS SELECT row_number() OVER () AS id, {named}, {sensitive} FROM '{path}'"
        f" LIMIT {RECORDS}"
    )
    covered, cells = np.zeros(len(parts), int), np.zeros(len(parts), int)
    publish(con, 0, f"'{sensitive}'", gamma)
    for number in range(len(parts)):
        part = f"part_{number}"
        covered[number], cells[number] = con.execute(
            f"WITH truth AS (SELECT {part}, {sensitive}::VARCHAR AS value, count(*) AS n FROM source GROUP BY ALL)"
            " SELECT count_if(n BETWEEN low - 1e-6 AND high + 1e-6), count(*)"
            f" FROM priv.reconstructed_distribution('release', group_columns := '{part}') AS found JOIN truth"
            f" ON truth.{part} IS NOT DISTINCT FROM found.{part}"
            " AND truth.value IS NOT DISTINCT FROM found.value::VARCHAR"
            " WHERE n >= 10"
        ).fetchall()[0]
    too_few = stats.binom.cdf(covered, cells, COVERAGE[0])
    too_many = stats.binom.sf(covered - 1, cells, COVERAGE[1])
    assert np.minimum(too_few, too_many).min() > FALSE_ALARM, f"{covered} of {cells} are covered"


def test_standard_errors_are_as_large_as_the_errors(published: Published) -> None:
    """This also holds for a large part of the table, whose noise is in the histogram that determines the weights."""
    table = (
        "CREATE TABLE source AS SELECT i AS id, 'v' || i % 40 AS disease, i % 3 = 0 OR i % 7 = 1 AS half"
        " FROM range(20000) AS t(i)"
    )
    squares: dict[str, list[float]] = {"true": [], "half": []}
    for con in published(table, "'disease'", 5, 4):
        for part, found in squares.items():
            found += (
                con.execute(
                    f"WITH truth AS (SELECT disease, count(*) AS n FROM source WHERE {part} GROUP BY ALL)"
                    f" SELECT ((estimate - n) / stderr) ** 2 AS square FROM"
                    f" priv.reconstructed_distribution('release', condition := '{part}') JOIN truth ON disease = value"
                )
                .fetchnumpy()["square"]
                .tolist()
            )
    # The mean of 160 squared standard normals has a standard deviation of .11; standard errors are slightly too large.
    assert all(0.4 < np.mean(found) < 1.45 for found in squares.values())


def test_products_of_weights_are_right_on_average(published: Published) -> None:
    table = (
        "CREATE TABLE source AS SELECT i AS id, 'v' || (i * i % 11) % 6 AS disease,"
        " 'w' || (i // 5) % 5 AS drug FROM range(6000) AS t(i)"
    )
    errors = []
    for con in published(table, "['disease', 'drug']", 2, 5):
        found = con.execute(
            "WITH truth AS (SELECT disease, drug, count(*) AS n FROM source GROUP BY ALL)"
            ", shown AS (SELECT noisy_disease, noisy_drug, count(*) AS records FROM release GROUP BY ALL)"
            " SELECT sum(records * priv.weight('release.disease', noisy_disease, disease) *"
            " priv.weight('release.drug', noisy_drug, drug)) - any_value(n) AS error"
            " FROM shown, truth GROUP BY disease, drug ORDER BY disease, drug"
        ).fetchnumpy()
        errors.append(found["error"])
    # All thirty cells have the same variance: the spread of one run about the mean is that of all of them.
    spread = np.sqrt(np.var(errors, axis=0, ddof=1).mean())
    z = np.mean(errors, axis=0) / spread * np.sqrt(len(errors))
    tail = 2 * stats.t.sf(np.abs(z), (len(errors) - 1) * len(z))
    assert tail.min() * len(z) > FALSE_ALARM, f"mean errors of {z.round(2)} standard errors"


def test_differences_in_small_groups_are_covered_and_have_a_width(published: Published) -> None:
    # In few rows, the estimated covariance of two values may exceed what their estimated variances allow.
    table = (
        "CREATE TABLE source AS SELECT i AS id, (hash('group' || i) % 300)::INTEGER AS ward, 'v' ||"
        " floor(12 * pow((hash('value' || i) % 1000) / 1000.0, 2))::INTEGER AS disease FROM range(4000) AS t(i)"
    )
    query = """
        SELECT i.low <= truth + 1e-6 AND truth - 1e-6 <= i.high AS covered, i.high - i.low AS width
        FROM (SELECT ward, count_if(disease = 'v4')::DOUBLE - count_if(disease = 'v3') AS truth
              FROM source GROUP BY ward)
        JOIN (SELECT ward, priv.reconstructed_difference('release', noisy_disease, 'v4', 'v3') AS i
              FROM release GROUP BY ward) USING (ward)
    """
    found = [con.execute(query).fetchnumpy() for con in published(table, "'disease'", 3, 4)]
    assert min(each["width"].min() for each in found) > 2
    covered = np.concatenate([each["covered"] for each in found])
    assert covered.sum() >= stats.binom.ppf(FALSE_ALARM, covered.size, 0.94)
