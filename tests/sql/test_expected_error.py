"""priv.expected_error of every method: what the law of the release says of questions about the whole table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import duckdb
import numpy as np
import pytest

from duckdb_priv.mechanism.decoy_variance import remaining_errors
from duckdb_priv.mechanism.reconstruction_privacy import threshold
from duckdb_priv.mechanism.sampling_variance import (
    perturbed_variance,
    suppression_bias,
    suppression_variance,
    weighted_variance,
)
from duckdb_priv.mechanism.uniform import Uniform

pytestmark = pytest.mark.once

ROWS = 6000
WORLD = f"""
    CREATE TABLE stays AS
    SELECT i AS id, i % 3 AS ward, i * i % 11 AS age, [1, 1, 1, 2, 2, 2, 3, 3, 4, 5, NULL][1 + i * i % 97 % 11] AS stage
    FROM range({ROWS}) AS t(i);
    CREATE TABLE generalizations AS
    SELECT 'age' AS attribute, age::VARCHAR AS value, level, if(level = 0, age::VARCHAR, 'any') AS generalized
    FROM (SELECT DISTINCT age FROM stays), range(2) AS t(level)
    UNION ALL SELECT 'ward', ward::VARCHAR, 0, ward::VARCHAR FROM (SELECT DISTINCT ward FROM stays)
    UNION ALL SELECT 'stage', stage::VARCHAR, level, if(level = 0, stage::VARCHAR, if(stage < 3, 'early', 'late'))
    FROM (SELECT DISTINCT stage FROM stays), range(2) AS t(level)
"""
OF = "sensitive := 'stage', record_id := 'id'"


@pytest.fixture(scope="module")
def con(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    with prepared() as connection:
        connection.execute(WORLD)
        connection.execute("CREATE TABLE asked AS SELECT 2 AS low, 4 AS high, 1.0 AS weight")
        yield connection


def error(con: duckdb.DuckDBPyConnection, questions: str | None, more: str = "") -> float:
    """Return the expected error in records."""
    ((found,),) = con.execute(
        f"SELECT priv.expected_error('stays', 'r', questions := $1{more})", [questions]
    ).fetchall()
    return found * ROWS


def publish(con: duckdb.DuckDBPyConnection, call: str) -> None:
    """Publish, each time of other people, so that no grouping of the same records is in the way."""
    con.execute("CREATE SEQUENCE IF NOT EXISTS people")
    ((number,),) = con.execute("SELECT nextval('people')").fetchall()
    if con.execute("FROM priv.release").fetchall():
        con.execute("FROM priv.drop_release('r')").fetchall()
    con.execute(f"FROM priv.publish_{call}, population := 'p{number}')").fetchall()


def counts(con: duckdb.DuckDBPyConnection, by: str = "()") -> np.ndarray:
    """Count the values, in their order and the missing one last, in each group: (groups, values)."""
    rows = con.execute(
        f"SELECT {', '.join(f'count(*) FILTER (stage = {n})' for n in range(1, 6))},"
        f" count(*) FILTER (stage IS NULL) FROM stays GROUP BY {by}"
    )
    return np.array(rows.fetchall(), dtype=np.float64)


def stated(con: duckdb.DuckDBPyConnection, variances: np.ndarray) -> None:
    """Compare with the variances of the single counts."""
    assert error(con, None) == pytest.approx(np.sqrt(variances).mean(), rel=1e-9)
    assert error(con, "values") == pytest.approx(math.sqrt(variances.mean()), rel=1e-9)
    assert 0 < error(con, "mean") < error(con, "ranges") < 3 * error(con, "values")


def test_shuffled_groups(con) -> None:
    publish(con, f"shuffled('stays', 'r', {OF}, epsilon := 1.0, delta := 1e-6")
    scales = dict(con.execute("SELECT DISTINCT (ward, age), scale FROM r").fetchall())
    sizes = dict(
        con.execute("SELECT count(*), any_value(scale) FROM r GROUP BY ward, age").fetchall()
    )
    assert len(scales) > len(sizes) > 1
    variances = np.zeros(6)
    for group in counts(con, "ward, age"):
        operator = Uniform(1 / (1 + 6 * sizes[group.sum()]), 6)
        variances += perturbed_variance(group.sum(), group, operator)
    stated(con, variances)
    # That of a range is the error that a reader sees.
    ((stderr,),) = con.execute(
        "SELECT i.stderr FROM (SELECT priv.reconstructed_list_interval('r', noisy_stage, ['2', '3', '4'],"
        " weight := scale) AS i FROM r)"
    ).fetchall()
    # Of the questions, one is of the range, and one counts what is missing.
    missing = variances[5]
    assert error(con, "asked") == pytest.approx(math.sqrt((5 * stderr**2 + missing) / 6), rel=0.05)


@pytest.mark.parametrize("sampling", ["public", "paper"])
def test_samples_of_groups(con, sampling: str) -> None:
    publish(
        con,
        f"reconstruction_private('stays', 'r', {OF}, retention := 0.5, epsilon := 0.3, delta := 0.3,"
        f" sampling := '{sampling}'",
    )
    operator, groups = Uniform(0.5, 6), counts(con, "ward, age")
    size = groups.sum(axis=1, keepdims=True)
    if sampling == "public":
        variances = weighted_variance(
            size, groups, np.minimum(size, int(threshold(1.0, operator, 0.3, 0.3))), operator
        )
        stated(con, variances.sum(axis=0))
    else:
        taken = np.minimum(
            threshold(groups.max(axis=1) / size[:, 0], operator, 0.3, 0.3), size[:, 0]
        )
        assert (taken < size[:, 0]).any()
        # Fewer rows than there are records, and copies of them: more than perturbing all of them.
        whole = perturbed_variance(ROWS, groups.sum(axis=0), operator)
        assert error(con, "values") > math.sqrt(whole.mean()) * 1.05
        stated_mean = con.execute(
            "SELECT avg(stderr) FROM priv.reconstructed_distribution('r', weight := 'scale')"
        ).fetchall()[0][0]
        assert error(con, None) == pytest.approx(stated_mean, rel=0.2)


def test_decoy_groups_before_and_after_records_leave(con) -> None:
    publish(con, f"splu('stays', 'r', {OF}, gamma := 2")
    (true,) = counts(con)
    stated(con, true / 2)
    con.execute("CREATE TABLE before AS FROM stays")
    con.execute("DELETE FROM stays WHERE stage = 1 AND id % 3 > 0")
    con.execute("FROM priv.refresh('r')").fetchall()
    (left,) = counts(con)
    found = error(con, "values") / ROWS * left.sum()
    con.execute("DELETE FROM stays")
    con.execute("INSERT INTO stays FROM before")
    variances = remaining_errors(true, left, 2).of_values() ** 2
    assert found == pytest.approx(math.sqrt(variances.mean()), rel=1e-9)


def test_generalized_samples(con) -> None:
    publish(
        con,
        "safe_k('stays', 'r', k := 10, beta := 0.1, epsilon := 1.0, hierarchies := 'generalizations',"
        " levels := {'age': 0, 'ward': 0, 'stage': 1}, exclude := ['id']",
    )
    ((first, second),) = con.execute(
        "SELECT priv.expected_error('stays', 'r.stage', hierarchies := 'generalizations'),"
        " priv.expected_error('stays', 'r.stage', questions := 'prefixes', hierarchies := 'generalizations')"
    ).fetchall()
    sizes = con.execute(
        "SELECT if(stage < 3, 0, 1) AS late, count(*) FROM stays GROUP BY ward, age, late"
    ).fetchall()
    bias, variance = np.zeros(2), np.zeros(2)
    for late, size in sizes:
        bias[late] += suppression_bias(size, 10, 0.1)
        variance[late] += suppression_variance(size, 10, 0.1)
    squares = variance + bias**2
    assert first * ROWS == pytest.approx(np.sqrt(squares).mean(), rel=1e-9)
    both = variance.sum() + bias.sum() ** 2
    assert second * ROWS == pytest.approx(math.sqrt((squares[0] + both) / 2), rel=1e-9)
    with pytest.raises(duckdb.Error, match=r"generalized values.*\n.*write hierarchies"):
        con.execute("SELECT priv.expected_error('stays', 'r.stage')").fetchall()


@pytest.mark.parametrize("call", ["anatomy('stays', 'r', l := 2,", "distribution('stays', 'r',"])
def test_a_histogram_that_is_published_as_it_is_has_no_error(con, call: str) -> None:
    publish(con, f"{call} {OF}")
    assert [error(con, each) for each in (None, "ranges", "mean", "asked")] == [0, 0, 0, 0]
    rows = con.execute(
        "SELECT value, estimate FROM priv.reconstructed_distribution('r') ORDER BY value NULLS LAST"
    ).fetchall()
    assert [estimate for _, estimate in rows] == pytest.approx(counts(con)[0])


def test_a_source_that_has_changed_is_refused_where_its_groups_matter(con) -> None:
    publish(con, f"shuffled('stays', 'r', {OF}, epsilon := 1.0, delta := 1e-6")
    con.execute("CREATE OR REPLACE TABLE fewer AS FROM stays WHERE id % 5 > 0")
    con.execute("CREATE OR REPLACE TABLE bare AS SELECT id, stage FROM stays")
    for name in ("fewer", "bare"):
        with pytest.raises(duckdb.Error, match="depend on the groups of its source"):
            con.execute(f"SELECT priv.expected_error('{name}', 'r')").fetchall()
