"""What is kept of a connection goes when its catalog changes; counts are rounded on request; frames are found."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

import duckdb_priv
from duckdb_priv.errors import InvalidParameter, QueryRefused
from duckdb_priv.ordinary import kept

FLU = "SELECT count(*) AS n FROM visits WHERE disease = 'flu'"


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """The statements that rewriting runs, but for the look at the state."""
    found: list[str] = []
    run = kept.run

    def counted(connection, sql, parameters=None):
        found.append(sql)
        return run(connection, sql, parameters)

    monkeypatch.setattr("duckdb_priv.ordinary.published.run", counted)
    return found


@pytest.mark.parametrize("form", ["two_weights", "rank_one", "two_by_two", "two_attributes"])
def test_a_statement_that_is_asked_again_asks_the_catalog_nothing(asked, path, form) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path(form)}' AS r (READ_ONLY)")
        connection.execute("USE r")
        first = duckdb_priv.rewrite_sql(connection, FLU, intervals=True)
        assert asked
        asked.clear()
        assert duckdb_priv.rewrite_sql(connection, FLU, intervals=True) == first
        assert asked == []
        # Other texts and options are other statements; what the releases are is known.
        assert duckdb_priv.rewrite_sql(connection, FLU) != first
        assert not any(".release" in each for each in asked)


def test_another_file_under_the_same_name_is_looked_at(path) -> None:
    with duckdb.connect() as connection:
        texts = []
        for form in ("two_weights", "blocks", "two_weights"):
            connection.execute("USE memory")
            connection.execute("DETACH DATABASE IF EXISTS r")
            connection.execute(f"ATTACH '{path(form)}' AS r (READ_ONLY)")
            connection.execute("USE r")
            texts.append(duckdb_priv.rewrite_sql(connection, FLU))
        assert texts[0] == texts[2] != texts[1]
        connection.execute("CREATE TEMP TABLE visits AS SELECT 'flu' AS disease")
        assert duckdb_priv.rewrite_sql(connection, FLU) == FLU
        connection.execute("DROP TABLE temp.visits")
        assert duckdb_priv.rewrite_sql(connection, FLU) == texts[2]
        connection.execute("USE memory")
        assert duckdb_priv.rewrite_sql(connection, FLU) == FLU


def test_nothing_is_kept_of_releases_that_may_change(prepared) -> None:
    with prepared() as publisher:
        for value in ("flu", "gout"):
            publisher.execute(
                "CREATE OR REPLACE TABLE source AS SELECT i AS id, i % 4 AS ward,"
                f" ['{value}', 'none', 'cold'][1 + i % 3] AS disease FROM range(900) t(i)"
            )
            publisher.execute(
                "FROM priv.publish_uniform('source', 'visits', sensitive := 'disease', retention := 0.5,"
                f" record_id := 'id', population := '{value}')"
            ).fetchall()
            assert duckdb_priv.rewrite_sql(publisher, FLU.replace("flu", value))
            if value == "flu":
                publisher.execute("FROM priv.drop_release('visits')").fetchall()
        with pytest.raises(QueryRefused, match="has no value"):
            duckdb_priv.rewrite_sql(publisher, FLU)


def test_whole_numbers_are_rounded_to_the_nearest_on_request(release) -> None:
    connection = release("two_weights")
    query = (
        "SELECT ward, count(*) AS n, sum(age) AS years, avg(age) AS age FROM visits"
        " WHERE disease = 'flu' GROUP BY ward ORDER BY years DESC"
    )
    plain = duckdb_priv.reconstruct(connection, query).fetchall()
    rounded = duckdb_priv.reconstruct(connection, query, counts="rounded")
    rows = rounded.fetchall()
    assert [ward for ward, *_ in rows] == [ward for ward, *_ in plain]
    for (_, n, years, age), (_, count, total, mean) in zip(rows, plain, strict=True):
        assert isinstance(n, int)
        assert isinstance(years, int)
        assert abs(n - count) <= 0.5 + 1e-9
        assert abs(years - total) <= 0.5 + 1e-9
        assert age == pytest.approx(mean)
    beside = duckdb_priv.reconstruct(connection, query, intervals=True, counts="rounded").fetchall()
    assert [row[1] for row in beside] == [row[1] for row in rows]
    assert all(isinstance(row[3], float) for row in beside)
    with pytest.raises(InvalidParameter, match="counts must be one of"):
        duckdb_priv.rewrite_sql(connection, query, counts="whole")


def test_data_frames_of_the_caller_are_tables(release) -> None:
    chosen = pa.table({"code": ["flu", "cancer"], "points": [1, 10]})
    query = "SELECT sum(points) AS s FROM visits JOIN chosen ON code = disease"
    (found,) = duckdb_priv.reconstruct(release("two_weights"), query).fetchone()
    case = "SELECT sum(CASE disease WHEN 'flu' THEN 1 WHEN 'cancer' THEN 10 END) AS s FROM visits"
    (right,) = duckdb_priv.reconstruct(release("two_weights"), case).fetchone()
    assert found == pytest.approx(right)
    assert chosen.num_rows == 2
