"""Questions that would get a plausible number for an answer, and get an error instead."""

from __future__ import annotations

import duckdb
import pytest

import duckdb_priv

PUBLISH = """
    CREATE TABLE visits AS
    SELECT i AS id, 18 + i % 7 AS age, (['flu', 'cold'])[1 + i % 2] AS advice, (i % 4)::INTEGER AS ward,
        (['it''s', 'cold', 'flu', NULL])[1 + (hash(i) % 4)::INTEGER] AS disease
    FROM range(400) AS t(i);
    FROM priv.publish_uniform('visits', 'stays', sensitive := ['disease', 'ward'], retention := 0.5, record_id := 'id',
        public := ['age', 'advice']);
"""
COLUMN = "stands in the column reported_{}: give that column, as it is"
PUBLIC = "take public columns only"
LISTS = "give 1 to 8 different attributes, and as many values"


@pytest.fixture(scope="module", params=["the publisher's database", "the release file"])
def reader(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("refused") / "stays.duckdb"
    with duckdb_priv.connect() as publisher:
        publisher.execute(PUBLISH)
        if request.param == "the publisher's database":
            yield publisher
            return
        publisher.execute(f"FROM priv.export_release('stays', '{path}')").fetchall()
    with duckdb.connect(str(path), read_only=True) as connection:
        yield connection


@pytest.mark.parametrize(
    ("attribute", "column"),
    [
        ("disease", "age::VARCHAR"),
        ("disease", "'reported_disease'"),
        ("disease", "NULL"),
        ("disease", "advice::ENUM('cold', 'flu')"),
        ("ward", "age"),
        ("ward", "age::BIGINT"),
        ("ward", "NULL"),
    ],
)
def test_a_column_that_is_not_the_reported_one_is_refused(reader, attribute, column):
    value = {"disease": "'flu'", "ward": "1"}[attribute]
    for call in (
        "priv.reconstructed_count({})",
        "priv.reconstructed_stderr({})",
        "priv.reconstructed_interval({})",
        "priv.reconstructed_mle({})",
        "sum(priv.weight({}))",
    ):
        asked = call.format(f"'stays.{attribute}', {column}, {value}")
        with pytest.raises(duckdb.InvalidInputException, match=COLUMN.format(attribute)):
            reader.execute(f"SELECT {asked} FROM stays")


def test_the_reported_column_is_taken_as_it_is_and_in_another_type(reader):
    asked = "priv.reconstructed_count('stays.{}', {}, {})"
    answers = [
        asked.format("disease", "reported_disease", "'it''s'"),
        asked.format("disease", "reported_disease::VARCHAR", "'it''s'"),
        asked.format("ward", "reported_ward", 1),
        asked.format("ward", "reported_ward::BIGINT", 1),
    ]
    for rows in ("stays", "stays WHERE age = 19", "stays WHERE age > 99"):
        ((text, cast, number, wider),) = reader.execute(
            f"SELECT {', '.join(answers)} FROM {rows}"
        ).fetchall()
        assert (text, number) == (cast, wider)


def test_the_check_of_a_column_adds_no_aggregate_to_a_plan(reader):
    call = "SELECT priv.reconstructed_count('stays.disease', reported_disease, 'flu') FROM stays"
    plan = reader.execute(f"EXPLAIN {call}").fetchall()[0][1]
    assert "any_value" not in plan
    assert "contains" not in plan


@pytest.mark.parametrize(
    "arguments",
    [
        "group_columns := 'age, Reported_Ward'",
        "group_columns := '\"reported_disease\"'",
        "condition := 'age > 20 AND stays.reported_disease = ''flu'''",
    ],
)
def test_rows_are_not_chosen_or_grouped_by_what_they_report(reader, arguments):
    for query in (
        "priv.reconstructed_distribution('stays.disease', {})",
        "priv.reconstructed_joint('stays', ['disease'], ['flu'], {})",
    ):
        with pytest.raises(duckdb.InvalidInputException, match=PUBLIC):
            reader.execute(f"FROM {query.format(arguments)}")


def test_a_text_that_says_the_same_is_no_column(reader):
    rows = reader.execute(
        "FROM priv.reconstructed_distribution('stays.disease', condition := 'advice <> ''reported_disease''')"
    ).fetchall()
    assert len(rows) == 4


@pytest.mark.parametrize(
    "lists",
    ["'abc', ['1']", "['disease'], 'flu'", "'disease', 'flu'", "1, 2", "NULL, NULL", "[], []"],
)
def test_a_text_for_a_list_is_told(reader, lists):
    with pytest.raises(duckdb.InvalidInputException, match=LISTS):
        reader.execute(f"FROM priv.reconstructed_joint('stays', {lists})")


@pytest.mark.parametrize("confidence", ["'nan'::DOUBLE", "'inf'::DOUBLE", "NULL", "0", "1", "-1"])
def test_a_confidence_that_is_none_is_told(reader, confidence):
    asked = f"'stays.disease', reported_disease, 'flu', confidence := {confidence}"
    for query in (
        f"SELECT priv.reconstructed_interval({asked}) FROM stays",
        f"FROM priv.reconstructed_distribution('stays.disease', confidence := {confidence})",
    ):
        with pytest.raises(duckdb.InvalidInputException, match="strictly between 0 and 1"):
            reader.execute(query)
