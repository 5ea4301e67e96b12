"""Hierarchies as tables: from files, from ranges, from dates."""

import duckdb
import pytest


@pytest.fixture(scope="module")
def con(prepared):
    with prepared(None) as connection:
        yield connection


def of_value(con, call, value):
    return con.execute(
        f"SELECT level, generalized FROM {call} WHERE value IS NOT DISTINCT FROM ? ORDER BY level",
        [value],
    ).fetchall()


def test_a_file_has_one_line_per_value_and_one_column_per_level(con, tmp_path):
    path = tmp_path / "education.csv"
    path.write_text('Bachelors;"Higher; academic";*\n"#9th";School;*\n001;School;*\n;NA;*\n')
    call = f"priv.load_hierarchy('education', '{path}')"
    assert of_value(con, call, "Bachelors") == [(0, "Bachelors"), (1, "Higher; academic"), (2, "*")]
    assert of_value(con, call, "#9th") == [(0, "#9th"), (1, "School"), (2, "*")]
    assert of_value(con, call, "001") == [(0, "001"), (1, "School"), (2, "*")]
    assert of_value(con, call, None) == [(0, None), (1, "NA"), (2, "*")]
    assert con.execute(f"SELECT DISTINCT attribute, typeof(level) FROM {call}").fetchall() == [
        ("education", "INTEGER")
    ]


def test_another_delimiter(con, tmp_path):
    path = tmp_path / "sex.csv"
    path.write_text("f,*\nm,*\n")
    assert (
        len(con.execute(f"FROM priv.load_hierarchy('sex', '{path}', delimiter := ',')").fetchall())
        == 4
    )


def test_ranges(con):
    assert of_value(con, "priv.range_hierarchy('age', 5, 10, 20)", "37") == [
        (0, "37"), (1, "35-39"), (2, "30-39"), (3, "20-39"), (4, "*"),
    ]  # fmt: skip
    call = "priv.range_hierarchy('balance', 10, low := -20, high := 20)"
    assert of_value(con, call, "-3") == [(0, "-3"), (1, "-10--1"), (2, "*")]
    assert con.execute(f"SELECT count(*) FROM {call}").fetchall() == [(3 * 41,)]


def test_dates_by_part(con):
    days = "DATE '2019-01-01', DATE '2020-12-31'"
    assert of_value(con, f"priv.date_hierarchy('born', {days})", "2020-02-29") == [
        (0, "2020-02-29"), (1, "2020-02"), (2, "2020"), (3, "2020s"), (4, "*"),
    ]  # fmt: skip
    call = f"priv.date_hierarchy('born', {days}, parts := ['quarter'])"
    assert of_value(con, call, "2019-05-01") == [(0, "2019-05-01"), (1, "2019-Q2"), (2, "*")]
    assert con.execute(f"SELECT count(*) FROM {call}").fetchall() == [(3 * 731,)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("priv.range_hierarchy('age', 5, 12)", "each divides the next, got [5, 12]"),
        ("priv.range_hierarchy('age', 10, 5)", "got [10, 5]"),
        ("priv.range_hierarchy('age', 5, 5)", "got [5, 5]"),
        ("priv.range_hierarchy('age', 0)", "got [0]"),
        ("priv.range_hierarchy('age', NULL)", "got []"),
        ("priv.range_hierarchy('age', 5, low := 9, high := 1)", "got 9 and 1"),
        ("priv.range_hierarchy('age', 5, high := NULL)", "got 0 and NULL"),
        (
            "priv.date_hierarchy('d', DATE '2020-01-02', DATE '2020-01-01')",
            "2020-01-02 and 2020-01-01",
        ),
        (
            "priv.date_hierarchy('d', DATE '2020-01-01', DATE '2020-01-09', parts := ['week'])",
            "got [week]",
        ),
        (
            "priv.date_hierarchy('d', DATE '2020-01-01', DATE '2020-01-09', parts := NULL)",
            "got NULL",
        ),
    ],
)
def test_a_rule_that_is_none_is_refused(con, call, message):
    with pytest.raises(duckdb.InvalidInputException) as refused:
        con.execute(f"FROM {call}")
    assert message in str(refused.value)
    assert "Hint: " in str(refused.value)


def proposed(con, call):
    return con.execute(
        f"SELECT attribute, statement FROM priv.propose_hierarchies({call})"
    ).fetchall()


def test_hierarchies_are_proposed_from_names_and_types_and_can_be_pasted(con):
    con.execute(
        """CREATE OR REPLACE TABLE "o'dd" (id BIGINT, age UTINYINT, birth_year INTEGER, income BIGINT, admitted DATE,
           "at" TIMESTAMP, sex ENUM('f', 'm''s'), smoker BOOLEAN, town VARCHAR, weight DOUBLE, "it's" INTEGER)"""
    )
    statements = dict(proposed(con, """'"o''dd"', exclude := ['ID']"""))
    assert list(statements) == [
        "age", "birth_year", "income", "admitted", "at", "sex", "smoker", "town", "weight", "it's",
    ]  # fmt: skip
    unknown = {name for name, statement in statements.items() if statement is None}
    assert unknown == {"at", "town", "weight"}
    whole = " UNION ALL ".join(filter(None, statements.values()))
    con.execute(f"CREATE OR REPLACE TABLE hierarchies AS {whole}")
    levels = con.execute(
        "SELECT attribute, max(level), max_by(generalized, level) FROM hierarchies GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert levels == [
        ("admitted", 4, "*"), ("age", 4, "*"), ("birth_year", 4, "*"), ("income", 4, "*"), ("it's", 4, "*"),
        ("sex", 1, "*"), ("smoker", 1, "*"),
    ]  # fmt: skip
    assert of_value(con, "hierarchies", "m's") == [(0, "m's"), (1, "*")]


def test_no_value_is_read_for_a_proposal(con):
    con.execute(
        "CREATE OR REPLACE VIEW closed AS SELECT error('read') AS town, error('read')::INTEGER AS age"
    )
    assert [name for name, _ in proposed(con, "'closed'")] == ["town", "age"]


def test_files_of_a_folder_are_proposed(con, tmp_path):
    folder = tmp_path / "o'ne"
    folder.mkdir()
    (folder / "adult_hierarchy_town.csv").write_text("a;*\n")
    (folder / "AGE.CSV").write_text("1;*\n2;*\n")
    (folder / "image.csv").write_text("no;*\n")
    con.execute("CREATE OR REPLACE TABLE people (age INTEGER, town VARCHAR)")
    escaped = str(folder).replace("'", "''")
    statements = dict(proposed(con, f"'people', folder := '{escaped}'"))
    assert con.execute(statements["age"]).fetchall()[-1] == ("age", "2", 1, "*")
    assert con.execute(statements["town"]).fetchall() == [
        ("town", "a", 0, "a"),
        ("town", "a", 1, "*"),
    ]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("'people', exclude := ['agee']", "there is no column agee"),
        ("'people', exclude := 'age'", "exclude must be a list of columns, got age"),
        ("'people', exclude := 5", "exclude must be a list of columns, got 5"),
        ("'people', folder := '/no/such'", "the folder /no/such has no CSV file"),
        ("'nobody'", "Table with name nobody does not exist"),
    ],
)
def test_bad_arguments_of_a_proposal_are_refused(con, call, words):
    con.execute("CREATE OR REPLACE TABLE people (age INTEGER, town VARCHAR)")
    with pytest.raises(duckdb.Error, match=words):
        con.execute(f"FROM priv.propose_hierarchies({call})").fetchall()
