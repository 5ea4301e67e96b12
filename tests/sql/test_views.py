"""The views that a release carries give what the macros give, also where the file is only attached."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from duckdb_priv.estimator import views
from duckdb_priv.release import catalog


@pytest.fixture(scope="module")
def release(
    prepared: Callable[..., duckdb.DuckDBPyConnection], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("views") / "survey.duckdb"
    with prepared(secret=None) as publisher:
        publisher.execute(
            "CREATE TABLE source AS SELECT id, hash(id) % 3 AS weight, if(id % 2 = 0, 'f', 'm') AS \"a b\","
            " ['x', 'y', NULL][(1 + hash(id, 1) % 3)::INTEGER] AS s, (hash(id, 2) % 4)::INTEGER AS \"t\"\"\""
            " FROM range(5000) t(id)"
        )
        publisher.execute(
            "FROM priv.publish_uniform('source', 'survey', sensitive := ['s', 't\"'], retention := 0.4,"
            " record_id := 'id')"
        ).fetchall()
        publisher.execute("FROM priv.export_release('survey', ?)", [str(path)]).fetchall()
    return path


def test_views_agree_with_the_macros_where_the_file_is_attached(release: Path) -> None:
    with duckdb.connect() as reader:
        reader.execute(f"ATTACH '{release}' AS r (READ_ONLY)")
        shown = reader.execute('SELECT "a b", value, estimate FROM r."survey_s_by_a b"').fetchall()
        asked = reader.execute(
            'SELECT "a b", value, greatest(round(estimate), 0)::BIGINT'
            " FROM r.priv.reconstructed_distribution('survey.s', group_columns := '\"a b\"', database := 'r')"
        ).fetchall()
        assert sorted(map(str, shown)) == sorted(map(str, asked))
        total = reader.execute(
            "SELECT sum(estimate), count(*) FROM r.survey_s_estimates"
        ).fetchall()
        assert total[0] == (pytest.approx(5000, abs=3), 3)


def test_weights_sum_to_the_estimate_of_typed_values(release: Path) -> None:
    with duckdb.connect(str(release), read_only=True) as reader:
        by_weight = reader.execute(
            'SELECT "a b", "t""", sum(estimate_weight) FROM "survey_t""_weights"'
            " WHERE weight = 1 GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        by_macro = reader.execute(
            'SELECT "a b", value, estimate FROM priv.reconstructed_distribution(\'survey.t"\','
            " group_columns := '\"a b\"', condition := 'weight = 1') ORDER BY ALL"
        ).fetchall()
        assert [row[:2] for row in by_weight] == [row[:2] for row in by_macro]
        assert [row[2] for row in by_weight] == pytest.approx([row[2] for row in by_macro])


def test_an_attribute_called_weight_is_not_summed(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE people AS SELECT id, id % 2 AS g, hash(id) % 4 AS weight FROM range(1000) t(id)"
    )
    con.execute(
        "FROM priv.publish_uniform('people', 'r', sensitive := 'weight', retention := 0.5, record_id := 'id')"
    ).fetchall()
    (attribute,) = catalog.sensitive_attributes(con, "r")
    for statement in views.statements(con, "r", [attribute]):
        con.execute(statement)
    summed = "SELECT weight, sum(estimate_weight) FROM r_weight_weights GROUP BY ALL ORDER BY ALL"
    asked = "SELECT value, estimate FROM priv.reconstructed_distribution('r') ORDER BY ALL"
    for one, other in zip(
        con.execute(summed).fetchall(), con.execute(asked).fetchall(), strict=True
    ):
        assert one == (other[0], pytest.approx(other[1]))


@pytest.mark.once
def test_every_view_says_that_it_estimates(release: Path) -> None:
    with duckdb.connect(str(release), read_only=True) as reader:
        comments = reader.execute(
            "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'"
            " AND view_name <> 'READ_ME'"
        ).fetchall()
    assert len(comments) == 2 * (1 + 2 + 1)
    assert all("ESTIMATES" in comment for _, comment in comments)


@pytest.mark.once
def test_large_releases_carry_no_row_per_value(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MOST_ROWS", 5000 * 3)
    with duckdb.connect(str(release), read_only=True) as reader:
        attributes = catalog.sensitive_attributes(reader)
        texts = "\n".join(views.statements(reader, "survey", attributes))
    assert '"survey_s_weights"' in texts
    assert '"survey_t""_weights"' not in texts
