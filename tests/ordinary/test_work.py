"""What would take hours is refused before it runs."""

from __future__ import annotations

import pytest

import duckdb_priv
from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary import frame

BY_DAY = "SELECT day, count(*) AS n FROM visits WHERE disease = 'flu'{} GROUP BY day"


def test_more_classes_than_the_cap_are_refused(release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "CAP", 5000)
    with pytest.raises(QueryRefused, match=r"times 5 values are .* more than 5,000") as refused:
        duckdb_priv.rewrite_sql(release("two_weights"), BY_DAY.format(""))
    assert "coarser" in str(refused.value)
    # Cells are counted, not rows.
    for query in (BY_DAY.format(" AND age = 30"), BY_DAY.replace("day", "ward").format("")):
        assert duckdb_priv.reconstruct(release("two_weights"), query).fetchall()


def test_attributes_multiply(release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "CAP", 300)
    query = "SELECT count(*) AS n FROM visits WHERE disease = 'flu'{}"
    assert duckdb_priv.reconstruct(release("two_attributes"), query.format("")).fetchall()
    with pytest.raises(
        QueryRefused, match=r"20 combinations .* times 5 values times 4 values are 400"
    ):
        duckdb_priv.rewrite_sql(release("two_attributes"), query.format(" AND dose = 1"))


def test_what_cannot_be_counted_alone_counts_as_its_rows(
    release, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = (
        "SELECT (SELECT count(*) FROM visits v WHERE v.ward = w.ward AND v.disease = 'flu') AS n"
        " FROM memory.main.wards AS w"
    )
    monkeypatch.setattr(frame, "CAP", 15_000)
    assert duckdb_priv.reconstruct(release("two_weights"), query).fetchall()
    monkeypatch.setattr(frame, "CAP", 14_999)
    with pytest.raises(QueryRefused, match="3,000 combinations"):
        duckdb_priv.rewrite_sql(release("two_weights"), query)
