"""Questions that would get a plausible number for an answer, and get an error instead."""

from __future__ import annotations

import re
from itertools import product

import duckdb
import numpy as np
import pytest
from comparing import nearly
from scipy.stats import binom

from duckdb_priv.estimator.forms import FORMS
from duckdb_priv.sqltext.templates import fill, sections

pytestmark = pytest.mark.usefixtures("plain_files")

PUBLISH = """
    CREATE TABLE visits AS
    SELECT i AS id, 18 + i % 7 AS age, (['flu', 'cold'])[1 + i % 2] AS advice, (i % 4)::INTEGER AS ward,
        (['it''s', 'cold', 'flu', NULL])[1 + (hash(i) % 4)::INTEGER] AS disease
    FROM range(1000) AS t(i);
    FROM priv.publish_uniform('visits', 'stays', sensitive := ['disease', 'ward'], retention := 0.5, record_id := 'id',
        public := ['age', 'advice']);
"""
COLUMN = "which is noisy_{}"
PUBLIC = "take public columns only"
CHOSEN = "were chosen or grouped by what they report of"
LISTS = "give 1 to 8 different attributes, and as many values"


@pytest.fixture(scope="module", params=["the publisher's database", "the release file"])
def reader(prepared, request, tmp_path_factory):
    path = tmp_path_factory.mktemp("refused") / "stays.duckdb"
    with prepared(None) as publisher:
        publisher.execute(PUBLISH)
        if request.param == "the publisher's database":
            yield publisher
            return
        publisher.execute(f"FROM priv.export_release('stays', '{path}')").fetchall()
    with duckdb.connect(str(path), read_only=True) as connection:
        yield connection


@pytest.mark.parametrize("function", ["sum", "mean"])
@pytest.mark.parametrize(
    "amount", ["advice", "DATE '2024-01-01' + age::INTEGER", "to_days(age)", "'5'"]
)
def test_amounts_that_are_no_numbers_are_refused(reader, function, amount):
    call = f"priv.reconstructed_{function}('stays.disease', noisy_disease, 'flu', {amount})"
    with pytest.raises(duckdb.Error, match=r"must be a number\nHint: epoch\(x\)"):
        reader.execute(f"SELECT {call} FROM stays GROUP BY age").fetchall()


@pytest.mark.parametrize(
    ("attribute", "column"),
    [
        ("disease", "age::VARCHAR"),
        ("disease", "'noisy_disease'"),
        ("disease", "NULL"),
        ("disease", "coalesce(noisy_disease, 'flu')"),
        ("disease", "noisy_disease::VARCHAR"),
        ("disease", "noisy_ward"),
        ("ward", "noisy_ward::INTEGER + 1"),
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


def test_the_name_tells_columns_of_the_same_values_apart(con, without_cards, tmp_path):
    """As two diagnoses are, which have the same values; a view may call the right one anything else."""
    con.execute(
        "CREATE TABLE visits AS SELECT i AS id, i % 7 AS age, ['a', 'b'][1 + (hash(i) % 2)::INTEGER] AS first,"
        " ['a', 'b'][1 + (hash(i || 'x') % 2)::INTEGER] AS second FROM range(200) AS t(i);"
        " FROM priv.publish_uniform('visits', 'stays', sensitive := ['first', 'second'], retention := 0.5,"
        " record_id := 'id')"
    )
    with without_cards():
        con.execute(f"FROM priv.export_release('stays', '{tmp_path}/stays.duckdb')").fetchall()
    like = " (SELECT noisy_first AS {0} FROM stays)"
    with duckdb.connect(f"{tmp_path}/stays.duckdb", read_only=True) as file:
        for reader, call in product(
            (con, file), ("reconstructed_count", "reconstructed_share", "weight")
        ):
            asked = f"SELECT priv.{call}('stays.first', {{0}}, 'a') FROM"
            for wrong in ("noisy_second", "stays.noisy_second"):
                with pytest.raises(duckdb.InvalidInputException, match=COLUMN.format("first")):
                    reader.execute(asked.format(wrong) + " stays")
            right = reader.execute(asked.format("noisy_first") + " stays").fetchall()
            assert reader.execute((asked + like).format("illness")).fetchall() == nearly(right)


def test_a_value_is_given_in_the_type_of_the_attribute(reader):
    asked = "SELECT priv.reconstructed_count('stays.ward', noisy_ward, {}) FROM stays"
    assert (
        reader.execute(asked.format(1)).fetchall() == reader.execute(asked.format("'1'")).fetchall()
    )
    with pytest.raises(duckdb.InvalidInputException, match="has no value '7'"):
        reader.execute(asked.format(7))


def test_the_check_of_a_column_adds_no_aggregate_to_a_plan(reader):
    call = "SELECT priv.reconstructed_count('stays.disease', noisy_disease, 'flu') FROM stays"
    plan = reader.execute(f"EXPLAIN {call}").fetchall()[0][1]
    assert "any_value" not in plan
    assert "contains" not in plan


AGGREGATES = (
    "count({}, 'flu')",
    "stderr({}, 'flu')",
    "interval({}, 'flu')",
    "mle({}, 'flu')",
    "list_interval({}, ['flu', 'cold'])",
    "share({}, 'flu')",
    "difference({}, 'flu', 'cold')",
    "ratio({}, 'flu', 'cold')",
    "group_difference({}, 'flu', age > 20, age <= 20)",
    "group_ratio({}, 'flu', age > 20, age <= 20)",
    "share_difference({}, 'flu', age > 20, age <= 20)",
    "share_ratio({}, 'flu', age > 20, age <= 20)",
    "sum({}, 'flu', age)",
    "mean({}, 'flu', age)",
)


@pytest.mark.parametrize("call", AGGREGATES)
def test_rows_that_were_chosen_by_what_they_report_are_refused(reader, call):
    given = call.format("'stays.disease', noisy_disease")
    asked = f"SELECT priv.reconstructed_{given} FROM many"
    for rows in ("WHERE noisy_disease = 'flu'", "GROUP BY noisy_disease"):
        with pytest.raises(duckdb.InvalidInputException, match=CHOSEN):
            reader.execute(f"WITH many AS (FROM stays) {asked} {rows}").fetchall()
    for rows in (
        "WHERE age < 20",
        "GROUP BY age, advice",
        "WHERE false",
        "WHERE noisy_ward = 1",
    ):
        reader.execute(f"WITH many AS (FROM stays) {asked} {rows}").fetchall()


def test_groups_that_were_chosen_by_what_they_report_are_refused(reader):
    with pytest.raises(duckdb.InvalidInputException, match=CHOSEN):
        reader.execute(
            "SELECT priv.reconstructed_group_difference('stays.disease', noisy_disease, 'flu',"
            " noisy_disease = 'flu', true) FROM stays"
        ).fetchall()


def test_rows_that_report_another_value_are_refused(reader):
    """So none reports the one that is asked for, and they are too many for that."""
    with pytest.raises(duckdb.InvalidInputException, match=f"{CHOSEN}.*report 'flu'"):
        reader.execute(
            "SELECT priv.reconstructed_count('stays.disease', noisy_disease, 'flu') FROM stays"
            " WHERE noisy_disease IS DISTINCT FROM 'flu'"
        ).fetchall()


def test_of_a_few_rows_nothing_follows(reader):
    """A hundred may all report a value that each reports with .625 at most, as far as is counted here."""
    asked = "SELECT priv.reconstructed_count('stays.disease', noisy_disease, 'flu') FROM"
    for rows, wrong in ((109, False), (110, True)):
        query = f"{asked} (FROM stays WHERE noisy_disease = 'flu' LIMIT {rows})"
        if wrong:
            with pytest.raises(duckdb.InvalidInputException, match=CHOSEN):
                reader.execute(query).fetchall()
        else:
            reader.execute(query).fetchall()


@pytest.mark.parametrize(
    "arguments",
    [
        "group_columns := '*'",
        "group_columns := 'age, stays.*'",
        "group_columns := 'COLUMNS(''rep.*'')'",
        "group_columns := 'age', condition := '#3 = ''flu'''",
        "condition := 'age > 3 AND columns(''noisy_d.*'') = ''flu'''",
        "group_columns := 'age, Noisy_Ward'",
        "group_columns := '\"noisy_disease\"'",
        "condition := 'age > 20 AND stays.noisy_disease = ''flu'''",
        "condition := 'E''\\'''' = noisy_disease OR advice = '''''",
        "condition := 'struct_extract(stays, ''noisy_disease'') = ''flu'''",
        "group_columns := 'age, ''', condition := ''' = noisy_disease'",
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
        "FROM priv.reconstructed_distribution('stays.disease', group_columns := 'age * 0', condition := 'advice NOT IN"
        " (''noisy_disease'', ''COLUMNS(*), *, #1'')')"
    ).fetchall()
    assert len(rows) == 4


@pytest.mark.parametrize(
    "lists",
    ["'abc', ['1']", "['disease'], 'flu'", "'disease', 'flu'", "1, 2", "NULL, NULL", "[], []"],
)
def test_a_text_for_a_list_is_refused(reader, lists):
    with pytest.raises(duckdb.InvalidInputException, match=LISTS):
        reader.execute(f"FROM priv.reconstructed_joint('stays', {lists})")


@pytest.mark.parametrize("confidence", ["'nan'::DOUBLE", "'inf'::DOUBLE", "NULL", "0", "1", "-1"])
def test_a_confidence_that_is_none_is_refused(reader, confidence):
    asked = f"'stays.disease', noisy_disease, 'flu', confidence := {confidence}"
    for query in (
        f"SELECT priv.reconstructed_interval({asked}) FROM stays",
        f"FROM priv.reconstructed_distribution('stays.disease', confidence := {confidence})",
    ):
        with pytest.raises(duckdb.InvalidInputException, match="strictly between 0 and 1"):
            reader.execute(query)


RELEASES = {
    "fine": "publish_fine_grain('visits', 'fine', tolerance := 3, frequencies := 'frequencies', min_retention := 0.05",
    "exchanged": "publish_matrix('visits', 'exchanged', matrix := 'exchange'",
    "sampled": "publish_reconstruction_private('visits', 'sampled', retention := 0.5, epsilon := 0.3, delta := 0.3,"
    " republish := true",
    "decoys": "publish_splu('visits', 'decoys', gamma := 3, republish := true",
    "hidden": "publish_shuffled('visits', 'hidden', epsilon := 1.0, delta := 1e-6",
    "coded": "publish_block_design('stays', 'coded', epsilon := 1.0",
}
EXCHANGE = """
    CREATE TABLE visits AS
    SELECT i AS id, i % 12 AS age, (['none', 'flu', 'cold', 'cough'])[1 + (hash(i) % 4)::INTEGER] AS disease
    FROM range(2400) AS t(i);
    CREATE TABLE stays AS
    SELECT i AS id, i % 12 AS age,
        CASE hash(i) % 14 WHEN 0 THEN 'flu' WHEN 1 THEN 'cold' ELSE 'd' || hash(i) % 14 END AS disease
    FROM range(5000) AS t(i);
    CREATE TABLE frequencies AS SELECT unnest(['none', 'flu', 'cold', 'cough']) AS value, 0.25 AS frequency;
    CREATE TABLE exchange AS
    SELECT a.value AS original, b.value AS published, CASE WHEN a.value = b.value THEN 0.7 ELSE 0.1 END AS probability
    FROM frequencies AS a, frequencies AS b
"""
SETS = [
    call
    for call in AGGREGATES
    if call.startswith(("list_interval", "ratio", "group", "sum", "mean"))
]


@pytest.mark.once
def test_rows_chosen_by_what_they_report_are_refused_for_every_mechanism(
    con, together, without_cards, tmp_path
):
    con.execute(EXCHANGE)
    with together(con):
        for call in RELEASES.values():
            con.execute(
                f"FROM priv.{call}, sensitive := 'disease', record_id := 'id', public := ['age'])"
            )
    for name in RELEASES:
        path = tmp_path / f"{name}.duckdb"
        with without_cards():
            con.execute("FROM priv.export_release(?, ?)", [name, str(path)]).fetchall()
        weight = ", weight := scale" if name in ("sampled", "hidden") else ""
        shows, shows_another = "noisy_disease = 'flu'", "noisy_disease = 'cough'"
        if name == "coded":
            shows = "noisy_disease IN (SELECT block FROM coded_disease_blocks WHERE list_contains(disease, 'flu'))"
        calls = ["count({}, 'flu')", "interval({}, 'flu')", *SETS]
        with duckdb.connect(str(path), read_only=True) as file:
            for reader, asked in ((file, calls), (con, [] if name == "coded" else calls[:1])):
                for each in asked:
                    given = each.format(f"'{name}', noisy_disease").removesuffix(")")
                    query = f"SELECT priv.reconstructed_{given}{weight}) FROM {name} WHERE"
                    for chosen in ("age > 0", "false"):
                        reader.execute(f"{query} {chosen}").fetchall()
                    for chosen in (shows, shows_another) if name == "decoys" else (shows,):
                        with pytest.raises(duckdb.InvalidInputException, match=CHOSEN):
                            reader.execute(f"{query} {chosen}").fetchall()


# A choice by public columns is refused once in a thousand million times at most.


def allowed(seen: str, rows: str, rarely: str, often: str) -> str:
    """Write whether so many rows may show the value, as the functions do."""
    given = {"s.seen": seen, "s.rows": rows, "s.rarely": rarely, "s.often": often}
    text = sections("analyst/estimators", "common")["as_many"]
    return re.sub(r"s\.[a-z]+", lambda field: given[field[0]], text)


def test_a_choice_by_public_columns_is_refused_once_in_a_thousand_million_times_at_most():
    """By the exact law of independent records, on both sides; a bound that is too wide refuses too little."""
    shares = np.array([1e-4, 0.01, 0.07, 0.2, 0.37, 0.5, 0.8, 0.99])
    with duckdb.connect() as connection:
        for n in np.unique(np.geomspace(1, 20_000, 30).astype(int)):
            fewest, most = connection.execute(
                "SELECT list(fewest ORDER BY p), list(most ORDER BY p) FROM (SELECT p,"
                f" min(seen) FILTER ({allowed('seen', str(n), 'p', '1')}) AS fewest,"
                f" max(seen) FILTER ({allowed('seen', str(n), '0', 'p')}) AS most"
                f" FROM range({n + 1}) AS t(seen), (SELECT unnest(?) AS p) GROUP BY p)",
                [shares.tolist()],
            ).fetchall()[0]
            assert (binom.cdf(np.array(fewest) - 1, n, shares) <= 5e-10).all()
            assert (binom.sf(np.array(most), n, shares) <= 5e-10).all()
            if n > 1000:
                assert (binom.sf(np.array(most), n, shares)[2:7] >= 1e-16).all()


def test_records_that_are_perturbed_differently_have_bounds_of_their_averages():
    of_scales = {"scale": "u", "size": "7"}
    rarely, often = (
        fill(FORMS["by_group"].text(f"rows.{name}"), of_scales) for name in ("rarely", "often")
    )
    with duckdb.connect() as connection:
        for law in ("0.3", "i / 100", "(i % 2) * 5", "1 / i", "CASE i WHEN 1 THEN 90 ELSE 0 END"):
            assert connection.execute(
                f"SELECT {rarely} <= avg(u / (1 + 7 * u)) + 1e-12, avg((1 + u) / (1 + 7 * u)) <= {often} + 1e-12,"
                f" {often} <= 1 + 1e-12, {rarely} >= 0 FROM (SELECT ({law})::DOUBLE AS u FROM range(1, 200) AS t(i))"
            ).fetchall() == [(True,) * 4]


@pytest.mark.parametrize("call", [*AGGREGATES, "weight"])
def test_rows_that_an_outer_join_adds_are_refused(reader, call):
    """They report nothing, and are no records where no record reports that."""
    call = call.replace("'flu', 'cold'", "'1', '2'").replace("'flu'", "1")
    given = "'stays.ward', noisy_ward"
    aggregate = "sum(priv.weight({0}, 1))" if call == "weight" else f"priv.reconstructed_{call}"
    asked = f"SELECT {aggregate.format(given)} FROM"
    ages = "(SELECT unnest(range(18, 40))::BIGINT AS age) AS ages"
    for kept in ("stays JOIN", "stays LEFT JOIN"):
        reader.execute(f"{asked} {kept} {ages} USING (age)").fetchall()
    for added in ("RIGHT", "FULL"):
        with pytest.raises(duckdb.InvalidInputException, match="a join added them"):
            reader.execute(f"{asked} stays {added} JOIN {ages} USING (age)").fetchall()
