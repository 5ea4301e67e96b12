"""The databases that most tests work in are copies; they are what an installation makes."""

from __future__ import annotations

import duckdb_priv


def test_a_copy_has_what_an_installation_makes(prepared):
    asked = (
        "SELECT function_name, parameters, len(regexp_extract_all(macro_definition, 'AS MATERIALIZED')), comment"
        " FROM duckdb_functions() WHERE schema_name = 'priv' ORDER BY ALL",
        "SELECT table_name, sql, comment FROM duckdb_tables() WHERE schema_name = 'priv' ORDER BY ALL",
        "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE schema_name = 'priv' ORDER BY ALL",
        "SELECT name FROM priv.migration ORDER BY name",
        "SELECT key IS NULL FROM priv.secret",
    )
    with prepared(secret=None) as copy, duckdb_priv.connect() as installed:
        for question in asked:
            assert copy.execute(question).fetchall() == installed.execute(question).fetchall()
