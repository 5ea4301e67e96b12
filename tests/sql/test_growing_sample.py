"""A reconstruction-private release follows its source: rows stay, free places are filled, and counts stay right."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import duckdb
import numpy as np
import pytest
from answers import named_row
from plausible import FALSE_ALARM
from scipy import stats

pytestmark = pytest.mark.usefixtures("unasked")

GROUPS, SIZE, ROWS = 60, 40, 9
"""Micro groups, records of each, and rows that each may have at most: by retention 1, epsilon 0.5 and delta 0.3."""
VALUES = ("a", "b", "c")
PUBLISH = (
    "FROM priv.publish_reconstruction_private('v', 'r', sensitive := 'disease', retention := 0.999999999,"
    " epsilon := 0.5, delta := 0.3, record_id := 'id', domain := ['a', 'b', 'c', 'd'], public := ['ward'])"
)
READ = "SELECT ward, noisy_disease::VARCHAR, scale FROM r"


def refreshed(con) -> dict:
    return named_row(con, "FROM priv.refresh('r')")


def shown(con) -> Counter:
    return Counter(con.execute(READ).fetchall())


def true_counts(con) -> dict:
    return dict(con.execute("SELECT disease, count(*) FROM v GROUP BY ALL").fetchall())


@pytest.fixture(scope="module")
def year(prepared):
    """Versions of a release: what each showed, and what was true; the oldest leave first, and others come."""
    with prepared() as con:
        con.execute(
            f"CREATE TABLE v AS SELECT i AS id, i % {GROUPS} AS ward,"
            f" {list(VALUES)}[1 + (hash(i) % 3)::INTEGER] AS disease FROM range({GROUPS * SIZE}) AS t(i)"
        )
        con.execute(PUBLISH)
        versions = [(shown(con), true_counts(con))]
        for step in range(1, 4):
            con.execute(f"DELETE FROM v WHERE id < {step * GROUPS * 8}")
            con.execute(
                f"INSERT INTO v SELECT {step}000000 + i, i % {GROUPS}, {list(VALUES)}[1 + (hash(i) % 3)::INTEGER]"
                f" FROM range({GROUPS * 6}) AS t(i)"
            )
            receipt = refreshed(con)
            versions.append((shown(con), true_counts(con)))
        yield con, versions, receipt


def test_no_row_is_exchanged_and_no_group_has_more_than_allowed(year):
    _, versions, _ = year
    for (before, _), (after, _) in pairwise(versions):
        stayed = before & after
        # A third of the oldest left at least, and about as many rows; what stays is what stood.
        assert 0.3 * before.total() < stayed.total() < before.total()
        rows = Counter()
        for (ward, *_), count in after.items():
            rows[ward] += count
        assert max(rows.values()) == ROWS


def test_counts_stay_right_though_the_oldest_leave_first(year):
    """By the bound of the variance, a quarter of a squared scale for each row: true values are shown."""
    _, versions, receipt = year
    assert receipt["statement"].count(" wait ") <= 1
    for rows, true in versions:
        for value in VALUES:
            estimate = sum(scale * n for (_, shows, scale), n in rows.items() if shows == value)
            bound = sum(scale**2 * n for (*_, scale), n in rows.items() if scale > 1) / 4
            waiting = 40
            limit = stats.norm.isf(FALSE_ALARM / 2) * np.sqrt(bound) + waiting
            assert abs(estimate - true[value]) < limit


def test_the_audit_counts_rows_of_all_versions(year):
    con, *_ = year
    found = {
        name: (value, holds)
        for name, value, holds in con.execute(
            "SELECT guarantee, value, holds FROM priv.audit('r')"
        ).fetchall()
    }
    assert found["verdict"][0] == 0
    assert found["rows_in_all_versions"] == (ROWS, True)
    assert found["largest_sample"] == (ROWS, True)
    ((reported,),) = con.execute(
        "SELECT statement FROM priv.guarantee WHERE guarantee = 'reconstruction_privacy'"
    ).fetchall()
    assert "proves no delta" in reported
    assert "gives way" in reported


def test_new_records_of_a_full_group_wait_and_are_charged_when_they_are_drawn(con):
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 2 AS ward, 'a' AS disease FROM range(40) AS t(i)"
    )
    con.execute(PUBLISH)
    first = shown(con)
    con.execute("INSERT INTO v SELECT 100 + i, 0, 'b' FROM range(5) AS t(i)")
    assert con.execute("SELECT state FROM priv.publications()").fetchall() == [("waiting",)]
    row = refreshed(con)
    assert (row["version"], row["new_records"], shown(con)) == (1, 5, first)
    assert "5 new records wait until a record leaves" in row["statement"]
    # Record after record leaves the first ward until one of its rows is gone: five records stand for one place.
    for record in range(0, 40, 2):
        con.execute("DELETE FROM v WHERE id = $1", [record])
        row = refreshed(con)
        scales = [scale for (ward, _, scale), n in shown(con).items() for _ in range(n) if not ward]
        if len(set(scales)) > 1:
            break
    assert sorted(scales) == pytest.approx([20 / ROWS] * (ROWS - 1) + [5])
    assert row["adds"] is False
    con.execute("UPDATE v SET disease = 'c' WHERE id IN (1, 3, 5, 7)")
    assert refreshed(con)["adds"] is True
    ((spent, once),) = con.execute("SELECT max(total), max(epsilon) FROM priv.ledger()").fetchall()
    # How many records waited is said as a noisy count, which is charged beside the draws.
    ((counted,),) = con.execute("SELECT sum(epsilon) FROM priv.noisy_count").fetchall()
    assert spent == pytest.approx(2 * once + counted)


def test_the_error_of_sampling_is_that_of_who_left(con):
    """What sampling adds is that of who left, and not a quarter of a squared scale for every row."""
    con.execute(
        f"CREATE TABLE v AS SELECT i AS id, i % {GROUPS} AS ward,"
        f" {list(VALUES)}[1 + (hash(i) % 3)::INTEGER] AS disease FROM range({GROUPS * SIZE}) AS t(i)"
    )
    con.execute(PUBLISH)
    con.execute(f"DELETE FROM v WHERE id < {GROUPS}")
    refreshed(con)
    ((together,),) = con.execute(
        "SELECT (parameters ->> '$.together')::DOUBLE FROM priv.release"
    ).fetchall()
    assert together == 4
    # Where nearly all leave, the few rows that stay vary by more than a quarter each.
    con.execute(f"DELETE FROM v WHERE id < {GROUPS * (SIZE - 4)}")
    refreshed(con)
    ((together,),) = con.execute(
        "SELECT (parameters ->> '$.together')::DOUBLE FROM priv.release"
    ).fetchall()
    assert together < 1


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ("DELETE FROM priv.sampled_record; DELETE FROM v WHERE id = 1", "was not kept"),
        ("UPDATE v SET disease = 'e' WHERE id = 1", "1 value that the given domain lacks"),
    ],
)
def test_what_cannot_be_followed_is_reported(con, change, reported):
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 2 AS ward, 'a' AS disease FROM range(40) t(i)"
    )
    con.execute(PUBLISH)
    con.execute(change)
    with pytest.raises(duckdb.Error, match=reported):
        refreshed(con)
    assert con.execute("SELECT version FROM priv.release").fetchall() == [(1,)]


def test_other_public_columns_are_other_groups(con):
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 2 AS ward, 'a' AS disease FROM range(40) t(i)"
    )
    con.execute(PUBLISH.replace(", public := ['ward']", ""))
    con.execute("ALTER TABLE v ADD COLUMN floor INTEGER; UPDATE v SET floor = id % 2")
    with pytest.raises(duckdb.Error, match="'floor' would be published for the first time"):
        refreshed(con)


def test_a_table_of_which_the_check_takes_a_sample(con):
    """The tables of planning are still there when the rows are written."""
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, (hash(i, 1) % 50)::INTEGER AS ward,"
        " ['a', 'b', 'c'][1 + (hash(i) % 3)::INTEGER] AS disease FROM range(50_001) t(i)"
    )
    con.execute(PUBLISH)
    ((rows, records),) = con.execute("SELECT count(*), sum(scale) FROM r").fetchall()
    assert (rows, records) == (50 * ROWS, pytest.approx(50_001))
