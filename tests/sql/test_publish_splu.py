"""Publishing by decoy groups: what is refused, what is published, and how it is counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import pytest
from answers import named_row, rows

from duckdb_priv.mechanism.splu_reconstruction import background_probability, choose

pytestmark = pytest.mark.usefixtures("unasked")

SKEWED = [900, 600, 420, 300, 240, 180, 150, 120, 90, 60]
"""Ten values; at gamma 3 the most frequent one is in nine tenths of the groups."""


def table(con: duckdb.DuckDBPyConnection, name: str, counts: list[int]) -> None:
    """Make a table in which the value v{i} occurs counts[i] times, in the order of the values."""
    con.execute(
        f"CREATE TABLE {name} AS SELECT row_number() OVER () AS id, 'v' || i AS disease,"
        f" 'w' || (n % 5) AS drug, if(n % 3 = 0, 'f', 'm') AS gender"
        f" FROM (SELECT unnest(range({len(counts)})) AS i, unnest({counts}) AS f), range(f) AS r(n)"
    )


@pytest.fixture
def con(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = prepared()
    table(connection, "visits", SKEWED)
    yield connection
    connection.close()


def publish(con: duckdb.DuckDBPyConnection, release: str = "r", **arguments: Any) -> dict[str, Any]:
    # Keyed, for the form of an estimate and its noise depend on the draw.
    chosen = {"source": "visits", "sensitive": "disease", "gamma": 3, "record_id": "id"}
    chosen |= arguments
    source = chosen.pop("source")
    # Before DuckDB 2.0, grouping is a word of the language.
    given = ", ".join(
        f'"{name}" := {value!r}' for name, value in chosen.items() if value is not None
    )
    return named_row(con, f"FROM priv.publish_splu('{source}', '{release}', {given})")


def publish_visits(con: duckdb.DuckDBPyConnection) -> None:
    table(con, "visits", SKEWED)
    publish(con)


@pytest.fixture
def released(made: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in which the visits are published, once for all tests."""
    with made(publish_visits) as connection:
        yield connection


@pytest.mark.parametrize(
    ("arguments", "stated"),
    [
        (
            {"gamma": 4},
            "a value of 'disease' is in 900 of 3,060 rows, more than 1 in gamma = 4\nHint: gamma = 3",
        ),
        ({"gamma": 1}, "gamma must be an integer of at least 2, got 1"),
        ({"gamma": 2.5}, "gamma must be an integer of at least 2, got 2.5"),
        ({"gamma": "three"}, "gamma must be an integer of at least 2, got 'three'"),
        ({"gamma": 11}, "gamma = 11 needs at least 11 distinct values, 'disease' has 10"),
        ({"grouping": "random"}, "grouping must be 'mixed' or 'largest_first', got 'random'"),
        ({"sensitive": ["disease", "gender"]}, "'gender' has 2"),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing(
    con: duckdb.DuckDBPyConnection, arguments: dict[str, Any], stated: str
) -> None:
    with pytest.raises(duckdb.Error) as raised:
        publish(con, **arguments)
    assert stated in str(raised.value)
    assert rows(con, "FROM priv.release") == rows(con, "FROM priv.ledger") == []


def test_gamma_is_required(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error, match="gamma is missing"):
        con.execute("FROM priv.publish_splu('visits', 'r', sensitive := 'disease')").fetchall()


def test_fewer_rows_than_gamma(con: duckdb.DuckDBPyConnection) -> None:
    table(con, "few", [1, 1])
    with pytest.raises(duckdb.Error, match="needs at least 3 distinct values, 'disease' has 2"):
        publish(con, source="few")


def test_records_that_fill_no_group_are_left_out(con: duckdb.DuckDBPyConnection) -> None:
    table(con, "odd", [7, 7, 6, 5, 1])
    receipt = publish(con, source="odd", gamma=3)
    assert (receipt["rows_source"], receipt["rows_published"], receipt["rows_suppressed"]) == (
        26,
        24,
        2,
    )


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("gamma", [2, 3])
def test_missing_is_a_value_like_any_other(con: duckdb.DuckDBPyConnection, gamma: int) -> None:
    con.execute("UPDATE visits SET disease = NULL WHERE disease = 'v3'")
    publish(con, gamma=gamma)
    shown, estimate = rows(
        con,
        "SELECT count_if(noisy_disease IS NULL), priv.reconstructed_count('r', noisy_disease, NULL) FROM r",
    )[0]
    assert shown > 0
    assert estimate == pytest.approx(shown)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("counts", "form"), [(SKEWED, "conditional_poisson"), ([300] * 10, "two_by_two")]
)
def test_estimates_are_the_sums_of_the_kernels_weights(
    con: duckdb.DuckDBPyConnection, counts: list[int], form: str
) -> None:
    table(con, "other", counts)
    publish(con, source="other")
    assert rows(con, "SELECT form FROM priv.attribute WHERE role = 'sensitive'") == [(form,)]
    histogram = np.array(
        [n for _, n in rows(con, "SELECT noisy_disease, count(*) FROM r GROUP BY 1 ORDER BY 1")]
    )
    part = np.array(
        [
            n
            for _, n in rows(
                con, "SELECT noisy_disease, count_if(gender = 'f') FROM r GROUP BY 1 ORDER BY 1"
            )
        ]
    )
    weights = choose(histogram, 3).weights
    for code in range(len(counts)):
        row = weights.row(code)
        value = f"v{code}"
        estimate, stderr, summed = rows(
            con,
            f"SELECT priv.reconstructed_count('r', noisy_disease, '{value}'),"
            f" priv.reconstructed_stderr('r', noisy_disease, '{value}'),"
            f" sum(priv.weight('r', noisy_disease, '{value}')) FROM r WHERE gender = 'f'",
        )[0]
        assert estimate == pytest.approx(row @ part, rel=1e-9)
        assert summed == pytest.approx(row @ part, rel=1e-9)
        share = part.sum() / histogram.sum()
        k = 1 - 1 / 3 + background_probability(histogram, 3)[code]
        kept = (1 - share * k) ** 2 + 2 * share * (1 - share) * k**2
        assert stderr == pytest.approx(np.sqrt(kept * (row**2 @ part - row @ part)), rel=1e-9)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("counts", [SKEWED, [300] * 10])
def test_the_whole_table_is_estimated_as_published(
    con: duckdb.DuckDBPyConnection, counts: list[int]
) -> None:
    table(con, "other", counts)
    publish(con, source="other")
    for method in ("inverse", "bayesian"):
        found = rows(
            con,
            f"SELECT estimate, noisy_count FROM priv.reconstructed_distribution('r', method := '{method}')",
        )
        assert [estimate for estimate, _ in found] == pytest.approx([n for _, n in found], rel=1e-3)


@pytest.mark.usefixtures("asked")
def test_a_value_in_every_group_has_bounds_and_no_estimate(con: duckdb.DuckDBPyConnection) -> None:
    table(con, "whole", [1000, 400, 300, 300])
    # Fresh noise: the published count reaches N / gamma in about every second release.
    for _ in range(200):
        receipt = publish(
            con,
            source="whole",
            gamma=2,
            record_id=None,
            exclude=["id"],
            replace=True,
            republish=True,
        )
        ((gap,),) = rows(con, "SELECT own - other FROM priv.coefficient WHERE value = 'v0'")
        if gap < 1e-12:
            break
    # One more warning says what it costs to group records again.
    for stated in ("counts of 'v0' of 'disease' have large errors", "is in all decoy groups"):
        assert any(stated in warning for warning in receipt["warnings"])
    subset = "FROM r WHERE gender = 'm'"
    with pytest.raises(duckdb.Error, match="says nothing of it but bounds"):
        rows(con, f"SELECT priv.reconstructed_count('r', noisy_disease, 'v0') {subset}")
    with pytest.raises(duckdb.Error, match="says nothing of it but bounds"):
        rows(con, f"SELECT priv.reconstructed_stderr('r', noisy_disease, 'v0') {subset}")
    with pytest.raises(duckdb.Error, match="what is published says nothing of it"):
        rows(con, "FROM priv.reconstructed_joint('r', ['disease'], ['v0'])")
    ((size,),) = rows(con, f"SELECT count(*) {subset}")
    # Shown 1,000 times: by so many records, or by so few that five standard deviations make it seem so.
    fewest = (1003.125**0.5 - 2.5 * 0.5**0.5) ** 2
    assert fewest + 5 * (fewest / 2) ** 0.5 == pytest.approx(1000)
    every = "SELECT unnest(priv.reconstructed_interval('r', noisy_disease, 'v0'))"
    assert rows(con, f"{every} FROM r") == [(None, None, pytest.approx(fewest), 1000)]
    expected = (None, None, pytest.approx(max(0, size + fewest - 2000)), min(1000, size))
    assert rows(con, f"{every} {subset}") == [expected]
    found = rows(
        con,
        "SELECT estimate, stderr, low, high FROM priv.reconstructed_distribution('r', condition := 'gender = ''m''')"
        " WHERE value = 'v0'",
    )
    assert found == [expected]
    assert rows(
        con, f"SELECT priv.reconstructed_count('r', noisy_disease, 'v1') IS NOT NULL {subset}"
    ) == [(True,)]
    likely = "FROM priv.reconstructed_distribution('r', method := 'bayesian')"
    assert rows(con, f"SELECT value {likely} WHERE estimate IS NULL") == [("v0",)]


@pytest.mark.usefixtures("asked")
def test_several_attributes_are_grouped_apart_and_multiply(con: duckdb.DuckDBPyConnection) -> None:
    receipt = publish(con, sensitive=["disease", "drug"])
    assert receipt["rows_suppressed"] == 0
    shown = rows(
        con,
        "SELECT sum(priv.weight('r.disease', noisy_disease, 'v2') *"
        " priv.weight('r.drug', noisy_drug, 'w1')) FROM r",
    )[0][0]
    true = rows(con, "SELECT count(*) FROM visits WHERE disease = 'v2' AND drug = 'w1'")[0][0]
    assert abs(shown - true) < 1000
    with pytest.raises(
        duckdb.Error, match=r"several sensitive attributes: write 'r\.disease' or 'r\.drug'"
    ):
        rows(con, "SELECT priv.reconstructed_count('r', noisy_disease, 'v2') FROM r")


def test_guarantees_are_audited(released: duckdb.DuckDBPyConnection) -> None:
    found = {
        name: (value, holds)
        for name, value, holds in rows(
            released, "SELECT guarantee, value, holds FROM priv.audit('r')"
        )
    }
    claimed = dict(rows(released, "SELECT guarantee, value FROM priv.guarantee"))
    assert claimed["decoy_group"] == pytest.approx(1 / 3)
    assert claimed["small_sum_privacy"] == pytest.approx(0.555556, abs=1e-6)
    assert claimed["large_sum_threshold"] == 149
    assert {name for name, (_, holds) in found.items() if holds} == {
        *claimed,
        "verdict",
        "eligible",
        "noise_as_stated",
    }
    assert not any(holds is False for _, holds in found.values())
    assert found["largest_likelihood_ratio"][0] == pytest.approx(3000 / (2 * 60))


def test_the_audit_sees_another_table_under_the_name(released: duckdb.DuckDBPyConnection) -> None:
    released.execute("UPDATE visits SET disease = 'v9' WHERE disease = 'v0' AND id % 3 > 0")
    held = dict(rows(released, "SELECT guarantee, holds FROM priv.audit('r')"))
    assert held["noise_as_stated"] is False


def test_the_paper_s_grouping_is_published_with_a_warning(con: duckdb.DuckDBPyConnection) -> None:
    receipt = publish(con, grouping="largest_first")
    assert any("for comparison only" in warning for warning in receipt["warnings"])
    assert (
        json.loads(rows(con, "SELECT parameters FROM priv.release")[0][0])["grouping"]
        == "largest_first"
    )


@pytest.mark.usefixtures("asked")
def test_releases_of_several_forms_answer_side_by_side(con: duckdb.DuckDBPyConnection) -> None:
    table(con, "even", [300] * 10)
    publish(con, "skewed", gamma=2)
    publish(con, "balanced", source="even", population="even")
    # Even: where the estimate of any value is negative, the most likely counts of all the others differ from theirs.
    con.execute(
        "FROM priv.publish_uniform('even', 'redrawn', sensitive := 'disease', retention := 0.5, record_id := 'id')"
    ).fetchall()
    for release in ("skewed", "balanced", "redrawn"):
        estimate, interval, likely, weighed = rows(
            con,
            f"SELECT priv.reconstructed_count('{release}', noisy_disease, 'v1'),"
            f" priv.reconstructed_interval('{release}', noisy_disease, 'v1'),"
            f" priv.reconstructed_mle('{release}', noisy_disease, 'v1'),"
            f" sum(priv.weight('{release}', noisy_disease, 'v1')) FROM {release}",
        )[0]
        assert interval["estimate"] == pytest.approx(estimate)
        assert weighed == pytest.approx(estimate)
        assert likely == pytest.approx(estimate, rel=1e-3)
