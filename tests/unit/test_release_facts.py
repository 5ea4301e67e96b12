"""Texts that reach the noisy column are refused, however they name it, and others are accepted."""

from __future__ import annotations

import duckdb
import pytest

from duckdb_priv.estimator.release_facts import reaching
from duckdb_priv.sqltext.quoting import RESERVED

REACHING = (
    "noisy_disease",
    'age, "Noisy_Disease"',
    "stays.noisy_disease = 'flu'",
    "age > 3 OR'a'<noisy_disease",
    "'it''s' = noisy_disease",
    "E'\\'' = noisy_disease OR advice = ''",
    "$$'$$ = noisy_disease OR advice = ''",
    "$a$'$a$ = noisy_disease OR advice = ''",
    "age /* ' */ = noisy_ward /* ' */",
    "age -- '\n = noisy_ward -- '\n",
    "age -- '\r = noisy_ward -- '\n",
    "age /* /* ' */ */ = noisy_ward /* ' */",
    "age /* it's */ = 1",
    "age -- *\n = noisy_ward",
    "-- all\n *",
    "age,\u3000*",
    "COLUMNS\u00a0(c -> true)",
    "COLUMNS\ufeff(c -> true)",
    "/* all */ (/**/ *)",
    "stays /**/ . /**/ *",
    "COLUMNS -- all\n ('rep.*')",
    "COLUMNS -- all\r ('rep.*')",
    "\"it's\" = noisy_disease OR advice = ''",
    "*",
    " ( * )",
    "age, (*)",
    "stays.*",
    "* EXCLUDE (age)",
    "COLUMNS('rep.*')",
    "columns /**/ (c -> true)",
    "age, #5",
    "stays",
    "(stays).noisy_disease = 'flu'",
    "struct_extract(stays, 'noisy_disease') = 'flu'",
    "stays['noisy_disease'] = 'flu'",
    "md5(stays::VARCHAR)",
    '"stays"::VARCHAR',
    "main.stays::VARCHAR",
    "(SELECT x FROM (SELECT stays.noisy_disease) AS q(x)) = 'flu'",
    "(SELECT x[5] FROM (VALUES (stays)) AS q(x)) = 'flu'",
    "list_transform([1], lambda x: noisy_disease)",
)
PUBLIC = (
    "age",
    "age * 2 + 1, advice",
    'stays.age, "stays" . "age"',
    "advice = 'noisy_disease, stays, *, #1, $$, -- and /* COLUMNS(*)'",
    "advice IN ('vitamin e', 'it''s', '\"', 'e''')",
    "age IN (SELECT 18 + count(*) FROM range(2))",
    "unreported_disease > 1 AND stays_before = 2",
    '"it\'s" = 1 AND "a""b" = 2',
    "age < 30 -- few",
    "age /* in years */ < 30",
)


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE stays AS SELECT 1 AS age, 'x' AS advice, 1 AS unreported_disease, 2 AS stays_before,"
            ' \'flu\' AS noisy_disease, 3 AS noisy_ward, 1 AS "it\'s", 2 AS "a""b"'
        )
        yield connection


def reaches(connection, text):
    pattern = reaching("stays", ["noisy_disease", "noisy_ward"])
    return connection.execute("SELECT regexp_matches(lower(?), ?)", [text, pattern]).fetchone()[0]


@pytest.mark.parametrize("text", REACHING)
def test_what_reaches_the_column_is_refused(connection, text):
    assert reaches(connection, text)


@pytest.mark.parametrize("text", PUBLIC)
def test_what_names_public_columns_only_is_taken(connection, text):
    """And it is a text that DuckDB understands."""
    assert not reaches(connection, text)
    connection.execute(f"SELECT {text}\n, count(*) FROM stays GROUP BY ALL")


@pytest.mark.parametrize("name", ["stays", "a b"])
def test_a_column_may_be_called_as_its_table_is(name):
    """DuckDB takes the name for the column's then; behind that of a schema it is the row."""
    with duckdb.connect() as connection:
        connection.execute(
            f'CREATE TABLE "{name}" AS SELECT 7 AS "{name}", \'flu\' AS noisy_disease'
        )
        pattern = reaching(name, ["noisy_disease"], namesake=True)

        def reaches(text):
            return connection.execute(
                "SELECT regexp_matches(lower(?), ?)", [text, pattern]
            ).fetchone()[0]

        for column in (f'"{name}"', f'"{name}" >= 0', f'("{name}")', f'md5("{name}"::VARCHAR)'):
            assert not reaches(column)
        assert connection.execute(f'SELECT "{name}" FROM "{name}"').fetchone() == (7,)
        row = f'main."{name}"'
        assert reaches(row)
        assert reaches(f"(SELECT {row})")
        assert reaches(f'"{name}".*')
        assert connection.execute(f'SELECT {row} FROM "{name}"').fetchone() == (
            {name: 7, "noisy_disease": "flu"},
        )


def test_the_reserved_words_are_those_of_duckdb():
    words = duckdb.execute(
        "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
    ).fetchall()
    assert {word for (word,) in words} == {*RESERVED.split()}


@pytest.mark.parametrize("word", ["in", "select", "from"])
def test_a_reserved_word_is_a_name_only_in_quotes_or_after_a_dot(word):
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE \"{word}\" AS SELECT 7 AS age, 'flu' AS noisy_disease")
        pattern = reaching(word, ["noisy_disease"])

        def reaches(text):
            return connection.execute(
                "SELECT regexp_matches(lower(?), ?)", [text, pattern]
            ).fetchone()[0]

        condition = "age IN (SELECT 7)"
        assert not reaches(condition)
        assert connection.execute(f'SELECT {condition} FROM "{word}"').fetchone() == (True,)
        for row in (f'"{word}"', f"main.{word}", f"main . {word}"):
            assert reaches(row)
            assert connection.execute(f'SELECT {row} FROM "{word}"').fetchone() == (
                {"age": 7, "noisy_disease": "flu"},
            )
        with pytest.raises(duckdb.ParserException):
            connection.execute(f'SELECT md5({word}::VARCHAR) FROM "{word}"')


def test_quotes_that_are_not_closed_are_reported_for_each_text(connection):
    """One may close in another text of the same query."""
    assert reaches(connection, "age, '")
    assert reaches(connection, 'age = 1 OR "')
