"""What an analyst has set changes no answer, or is refused."""

from __future__ import annotations

import duckdb
import pytest

from duckdb_priv import reconstruct

SETTINGS = {"default_order": "desc", "integer_division": True, "default_collation": "nocase"}
ASKED = (
    "SELECT value, round(estimate, 6), round(low, 6), round(high, 6)"
    " FROM priv.reconstructed_distribution('visits') ORDER BY value ASC",
    "SELECT ward, round(priv.reconstructed_count('visits', noisy_disease, 'flu'), 6)"
    " FROM visits GROUP BY ward ORDER BY ward ASC",
    "SELECT round(priv.reconstructed_interval('visits', noisy_disease, 'flu').high, 6) FROM visits",
)


@pytest.mark.parametrize("form", ["blocks", "operator", "listed"])
def test_no_setting_changes_an_estimate(release, form):
    connection = release(form)
    asked = ASKED[: 1 if form == "listed" else None]
    expected = [connection.execute(each).fetchall() for each in asked]
    for setting, value in SETTINGS.items():
        connection.execute(f"SET {setting} = '{value}'")
        try:
            found = [connection.execute(each).fetchall() for each in asked]
        finally:
            connection.execute(f"RESET {setting}")
        assert found == expected, setting


@pytest.mark.parametrize(
    ("setting", "asked", "stated"),
    [
        ("nocase", "SELECT count(*) FROM visits WHERE disease = 'FLU'", "RESET default_collation"),
        ("", "SELECT count(*) FROM query('FROM visits')", "query"),
        ("", "SELECT count(*) FROM query_table('visits')", "query_table"),
    ],
)
def test_the_schema_estimated_refuses_what_it_cannot_see(release, setting, asked, stated):
    connection = release("operator")
    connection.execute(f"USE r.estimated; SET default_collation = '{setting}'")
    try:
        with pytest.raises(duckdb.Error, match=stated):
            connection.execute(asked).fetchall()
        if not setting:
            connection.execute(
                "SELECT count(*) AS query FROM visits WHERE ward <> 'query ('"
            ).fetchall()
    finally:
        connection.execute("RESET default_collation; USE r")


@pytest.mark.parametrize(
    "hiding", ["TEMP TABLE Visits AS FROM", "TEMP VIEW visits AS FROM r.main.visits LIMIT 9; FROM"]
)
def test_a_temporary_table_is_not_counted_for_the_release(release, hiding):
    connection = release("operator").cursor()
    connection.execute(f"USE r; CREATE {hiding} r.main.visits LIMIT 9")
    asked = "SELECT count(*) AS n FROM {}.visits WHERE disease = 'flu'"
    ((n,),) = reconstruct(connection, asked.format("r.main")).fetchall()
    assert n > 100
    with pytest.raises(duckdb.BinderException, match="disease"):
        reconstruct(connection, asked.format("main")).fetchall()
    connection.execute("USE r.estimated")
    for schema in ("estimated", "r.estimated"):
        assert connection.execute(asked.format(schema)).fetchall() == [(pytest.approx(n),)]


def test_a_table_that_the_search_path_names_before_the_release_is_not_counted_for_it(release):
    connection = release("operator").cursor()
    connection.execute("CREATE OR REPLACE TABLE memory.main.visits AS FROM r.main.visits LIMIT 9")
    asked = "SELECT count(*) AS n FROM {}.visits WHERE disease = 'flu'"
    try:
        connection.execute("SET search_path = 'r.priv,memory.main'")
        with pytest.raises(duckdb.BinderException, match="disease"):
            reconstruct(connection, asked.format("main")).fetchall()
        assert reconstruct(connection, asked.format("r.main")).fetchall() > [(100,)]
    finally:
        connection.execute("USE memory; DROP TABLE memory.main.visits")


def test_a_database_in_front_of_a_table_means_the_schema_in_use(release):
    connection = release("two_weights").cursor()
    connection.execute("USE r.estimated")
    question = "SELECT count(*) FROM {} WHERE disease = 'flu'"
    right = connection.execute(question.format("visits")).fetchall()
    for table in ("r.visits", "r.estimated.visits", "r.main.visits"):
        found = reconstruct(connection, question.format(table)).fetchall()
        assert found == [(pytest.approx(right[0][0]),)], table
    connection.close()
