"""``priv.check_source``: every kind of finding in a table where it is planted, and none where nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest
from answers import named_rows
from conftest import DATA

from duckdb_priv.publisher.check import check, determined

pytestmark = pytest.mark.usefixtures("unasked")

PLANTED = """
CREATE TYPE town AS ENUM ('Aachen', 'Bonn', 'Cleve', 'Dover');
CREATE TABLE planted AS
WITH person AS (
    SELECT i AS encounter_id, 100_000 + i * 7919 % 2_800 AS patient_nbr, hash('code' || i) % 500 AS code
    FROM range(4_000) AS t(i)
)
SELECT encounter_id, patient_nbr,
    'K' || lpad((code // 10)::VARCHAR, 2, '0') || '.' || code % 10 AS dx01,
    'K' || lpad((code // 10)::VARCHAR, 2, '0') AS dx01_block,
    'K' || code // 100 AS dx01_chapter,
    code // 10 % 7 AS first_half, code // 10 // 7 AS second_half,
    (['Aachen', 'Bonn', 'Cleve'])[1 + (hash('town' || encounter_id) % 3)::INTEGER]::town AS town,
    'p' || patient_nbr || '@example.org' AS contact,
    '+49 241 ' || 10_000 + patient_nbr AS called,
    'seen by ' || (['day', 'night'])[1 + encounter_id % 2] || ' staff in room ' || encounter_id % 900 || ' on ' || code
        AS remark,
    TIMESTAMP '2026-01-01' + to_minutes((hash('time' || encounter_id) % 20_000)::BIGINT) AS admitted,
    18 + (hash('age' || encounter_id) % 70)::INTEGER AS age,
    (['female', 'male'])[1 + (hash('gender' || encounter_id) % 2)::INTEGER] AS gender,
    CASE WHEN encounter_id % 2 = 0 THEN 'Ward' ELSE 'ward' END || (hash('ward' || encounter_id) % 5)::VARCHAR AS ward
FROM person
"""
"""Encounters of people with everything wrong: the sensitive column is dx01_block."""


def found(connection: duckdb.DuckDBPyConnection, call: str) -> dict[str, list[dict[str, Any]]]:
    """Return the findings of a call by their kind."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in named_rows(connection, f"FROM priv.check_source({call}, details := true)"):
        kinds.setdefault(row["finding"], []).append(row)
    return kinds


@pytest.fixture(scope="module")
def planted(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> dict[str, list[dict[str, Any]]]:
    with prepared() as connection:
        connection.execute(PLANTED)
        return found(
            connection,
            "'planted', sensitive := 'dx01_block', record_id := 'encounter_id', retention := 0.2",
        )


@pytest.mark.parametrize(
    ("kind", "severity", "columns"),
    [
        ("determined", "blocker", ["dx01", "dx01_block"]),
        ("determined_by_pair", "blocker", ["first_half", "second_half", "dx01_block"]),
        ("coarser_form", "blocker", ["dx01_chapter", "dx01_block"]),
        ("nearly_unique", "blocker", ["admitted"]),
        ("repeated_identifier", "blocker", ["patient_nbr"]),
        ("email", "blocker", ["contact"]),
        ("telephone", "blocker", ["called"]),
        ("free_text", "blocker", ["remark"]),
        ("exact_time", "warning", ["admitted"]),
        ("several_records_per_person", "warning", ["patient_nbr"]),
        ("unused_enum_values", "note", ["town"]),
        ("domain_from_source", "note", ["dx01_block"]),
        ("smallest_count", "warning", ["dx01_block"]),
    ],
)
def test_what_is_planted_is_found(planted, kind, severity, columns):
    assert (severity, columns) in [(row["severity"], row["columns"]) for row in planted[kind]]


def test_findings_explain_themselves(planted):
    rows = [row for kind in planted.values() for row in kind]
    for row in rows:
        assert row["what"]
        assert row["do"]
        assert row["basis"]
        assert all(name in row["what"] for name in row["columns"]) or row["finding"] in (
            "alone",
            "groups_of_one_value",
        )


def test_the_worst_comes_first(con):
    con.execute(PLANTED)
    rows = con.execute(
        "SELECT severity FROM priv.check_source('planted', sensitive := 'dx01_block')"
    ).fetchall()
    order = [["blocker", "warning", "note"].index(severity) for (severity,) in rows]
    assert order == sorted(order)


def test_figures_are_counts_of_the_table(planted):
    (finer,) = [row for row in planted["determined"] if row["columns"][0] == "dx01"]
    assert finer["figure"] > 0.99
    (persons,) = planted["several_records_per_person"]
    assert persons["figure"] == pytest.approx(4_000 / 2_800)
    assert planted["unused_enum_values"][0]["figure"] == 1
    (alone,) = planted["alone"]
    assert alone["figure"] == 1.0


def test_columns_that_make_records_unique_are_named(con):
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, i // 100 AS zip, i % 100 AS birthday, i % 2 AS gender,"
        " (['a', 'b'])[1 + (hash(i) % 2)::INTEGER] AS disease FROM range(5_000) AS r(i)"
    )
    rows = found(con, "'t', sensitive := 'disease', record_id := 'id'")
    assert rows["alone"][0]["figure"] == 1.0
    assert [sorted(row["columns"]) for row in rows["smallest_set"]] == [["birthday", "zip"]]


def test_nothing_is_found_in_a_table_where_nothing_is_wrong(visits):
    rows = found(visits, "'visits', sensitive := 'disease', record_id := 'id', retention := 0.5")
    assert {row["severity"] for kind in rows.values() for row in kind} == {"note"}


@pytest.mark.parametrize("rows", [1, 2, 8, 30, 90])
def test_a_few_records_prove_nothing(con, rows):
    """That every age of a demonstration has one disease is an accident."""
    con.execute(
        "CREATE TABLE small AS SELECT i AS id, 20 + (hash('a' || i) % 60)::INTEGER AS age,"
        f" (['flu', 'cold', 'cough'])[1 + (hash('d' || i) % 3)::INTEGER] AS disease FROM range({rows}) AS t(i)"
    )
    findings = found(con, "'small', sensitive := 'disease', record_id := 'id'")
    assert not [row for kind in findings.values() for row in kind if row["severity"] == "blocker"]


def test_ids_that_are_missing_or_shared_are_findings(con):
    con.execute(
        "CREATE TABLE t AS SELECT * FROM (VALUES (1, 'a'), (1, 'b'), (NULL, 'a')) AS v(id, disease)"
    )
    rows = found(con, "'t', sensitive := 'disease', record_id := 'id'")
    assert rows["missing_ids"][0]["figure"] == 1
    assert rows["repeated_ids"][0]["figure"] == 1
    assert rows["missing_ids"][0]["severity"] == rows["repeated_ids"][0]["severity"] == "blocker"


@pytest.mark.parametrize("copies", [1, 60_001])
def test_ids_that_differ_in_case_blanks_or_zeros_are_a_finding(con, copies):
    """Four spellings of one record in seven; of very many ids those of some classes are looked at."""
    con.execute(
        "CREATE TABLE t AS SELECT form || n AS id, 'd' || n % 3 AS disease FROM range(?) AS r(n),"
        " (VALUES ('P7-'), ('p7-'), (' P7-'), ('P007-'), ('P70-'), ('O7-'), ('P-7')) AS f(form)",
        [copies],
    )
    (row,) = found(con, "'t', sensitive := 'disease', record_id := 'id'")["similar_ids"]
    assert (row["severity"], row["columns"]) == ("warning", ["id"])
    if copies == 1:
        assert row["figure"] == 3
        assert "3 values of 'id' differ from another one" in row["what"]
    else:
        assert row["figure"] == pytest.approx(3 * copies, rel=0.05)
        assert "about" in row["what"]
    con.execute("CREATE OR REPLACE TABLE t AS SELECT row_number() OVER () AS id, disease FROM t")
    assert "similar_ids" not in found(con, "'t', sensitive := 'disease', record_id := 'id'")


def test_spellings_that_a_collation_makes_equal_are_a_finding(con):
    con.execute("CREATE TABLE t (id INTEGER, ward VARCHAR COLLATE NOCASE, disease VARCHAR)")
    con.execute(
        "INSERT INTO t SELECT i, (['A', 'a', 'b'])[1 + i % 3], 'd' || i % 4 FROM range(60) AS r(i)"
    )
    (row,) = found(con, "'t', sensitive := 'disease', record_id := 'id'")["collation"]
    assert (row["columns"], row["figure"]) == (["ward"], 1)


def test_names_of_columns_are_names_whatever_they_hold(con):
    con.execute(
        """CREATE TABLE "we""ird; --" AS SELECT i AS "i""d; --", i % 3 AS "a@public@'b", 'd' || i % 4 AS "s ; ""x"
        FROM range(200) AS r(i)"""
    )
    rows = con.execute(
        """FROM priv.check_source('"we""ird; --"', sensitive := 's ; "x', record_id := 'i"d; --')"""
    ).fetchall()
    assert rows


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'nothing', sensitive := 'disease'", "no table or view is called 'nothing'"),
        ("'visits', sensitive := 'diseas'", "did you mean 'disease'"),
        ("'visits', sensitive := 'disease', certainty := 0.5", "certainty must lie above"),
        ("'visits', sensitive := 'disease', certainty := 'x'", "certainty must be a number"),
        (
            "'visits', sensitive := 'disease', retention := 0.5, epsilon := 1",
            "either a retention, or",
        ),
        ("'visits', sensitive := 'disease', rho1 := 0.5", "either a retention, or"),
        ("'visits', sensitive := 'disease', retention := 'x'", "retention must be a number"),
        ("'visits', sensitive := 'disease', epsilon := -1", "epsilon must lie above 0"),
        ("NULL, sensitive := 'disease'", "source is missing"),
        ("'visits', sensitive := 7", "sensitive must be a column name or a list"),
    ],
)
def test_a_wrong_call_says_what_to_write(visits, call, message):
    with pytest.raises(duckdb.Error, match=message) as caught:
        visits.execute(f"FROM priv.check_source({call}, details := true)")
    assert "Hint:" in str(caught.value)


def test_checking_changes_nothing(visits, inventory):
    before = inventory(visits)
    visits.execute(
        "FROM priv.check_source('visits', sensitive := 'disease', record_id := 'id')"
    ).fetchall()
    assert inventory(visits) == before


@pytest.mark.skipif(not DATA.exists(), reason="the microdata are not part of the project")
def test_real_tables(prepared):
    with prepared() as connection:
        for name in ("adult", "vaers_reactions"):
            connection.execute(f"CREATE TABLE {name} AS FROM '{DATA / name}.parquet'")
        reactions = found(
            connection, "'vaers_reactions', sensitive := 'reaction', record_id := 'vaers_id'"
        )
        assert reactions["coarser_form"][0]["columns"] == ["reaction_top60_only", "reaction"]
        assert reactions["determined"][0]["figure"] == pytest.approx(0.762, abs=0.01)
        marital = found(connection, "'adult', sensitive := 'marital_status', exclude := ['fnlwgt']")
        assert marital["determined"][0]["columns"] == ["relationship", "marital_status"]
        assert marital["determined"][0]["severity"] == "blocker"
        salary = found(connection, "'adult', sensitive := 'occupation', record_id := NULL")
        assert not [row for rows in salary.values() for row in rows if row["severity"] == "blocker"]


SIBLINGS = """
CREATE TABLE hospital AS
SELECT i AS id, hash(i) % 7 AS ward, 'C' || 100 + hash('d' || i) % 40 AS diag_1,
    'C' || 100 + hash('e' || i) % 40 AS diag_2,
    'C' || 100 + hash('f' || i) % 45 AS comorbidity, if(hash('s' || i) % 2 = 0, 'yes', 'no') AS smoker,
    hash('n' || i) % 50 AS age, hash('d' || i) % 40 = 3 AND i % 2 = 0 AS dialysis
FROM range(20_000) AS t(i)
"""
"""A second and a third diagnosis beside the first, and a flag that only people with one diagnosis have."""


def test_another_copy_of_a_sensitive_column_is_a_blocker_until_it_is_named(con, published):
    con.execute(SIBLINGS)
    arguments = "'hospital', sensitive := 'diag_1', record_id := 'id'"
    assert {(row["severity"], row["columns"][0]) for row in found(con, arguments)["sibling"]} == {
        ("blocker", "diag_2"),
        ("blocker", "comorbidity"),
    }
    given = {"sensitive": "diag_1", "record_id": "id", "retention": 0.3}
    with pytest.raises(
        duckdb.Error, match=r"Hint: exclude '(diag_2|comorbidity)', make it coarser"
    ):
        published(con, "hospital", "r", **given, exclude=["dialysis"])
    receipt = published(
        con, "hospital", "r", public=["ward", "diag_2", "comorbidity", "age"], **given
    )
    assert all("'diag_1': it shows what" in each for each in receipt["warnings"][:2])
    both = published(
        con,
        "hospital",
        "both",
        **given | {"sensitive": ["diag_1", "diag_2", "comorbidity"]},
        exclude=["dialysis"],
        republish=True,
    )
    assert not [each for each in both["warnings"] if "diag_2' is called" in each]


def test_a_flag_that_tells_a_value_of_few_people_is_a_warning(con):
    """Some 250 of 20,000 have it, and all of them one of 40 diagnoses."""
    con.execute(SIBLINGS)
    rows = found(
        con, "'hospital', sensitive := 'diag_1', record_id := 'id', public := ['ward', 'dialysis']"
    )
    (flag,) = rows["determined"]
    ((few,),) = con.execute("SELECT count(*) FROM hospital WHERE dialysis").fetchall()
    assert (flag["severity"], flag["columns"]) == ("warning", ["dialysis", "diag_1"])
    assert flag["figure"] * 20_000 == pytest.approx(few)
    harmless = found(
        con, "'hospital', sensitive := 'smoker', record_id := 'id', public := ['ward', 'dialysis']"
    )
    assert "determined" not in harmless


def test_columns_with_small_vocabularies_or_numbers_are_no_copies(con):
    con.execute(
        "CREATE TABLE survey AS SELECT i AS id, 'yes' AS married, if(hash(i) % 2 = 0, 'yes', 'no') AS smoker,"
        " hash('a' || i) % 60 AS age, hash('h' || i) % 60 AS hours FROM range(5_000) AS t(i)"
    )
    for sensitive in ("smoker", "hours"):
        assert "sibling" not in found(
            con, f"'survey', sensitive := '{sensitive}', record_id := 'id'"
        )


def test_three_columns_are_looked_at_where_two_are_nearly_enough(con):
    """Digits of a code, of which two leave three in four of the records open, and three none."""
    con.execute(
        "CREATE TABLE digits AS SELECT i AS id, code % 6 AS low, code // 6 % 6 AS middle, code // 36 AS high,"
        " 'd' || if(code % 36 < 9, code % 36, 100 + code) AS disease"
        " FROM (SELECT i, (hash(i) % 216)::INTEGER AS code FROM range(30_000) AS t(i))"
    )
    rows = found(con, "'digits', sensitive := 'disease', record_id := 'id'")
    (three,) = rows["determined_by_three"]
    assert (three["severity"], sorted(three["columns"][:3])) == (
        "blocker",
        ["high", "low", "middle"],
    )


def test_four_columns_are_shown_and_details_on_request(visits):
    call = "FROM priv.check_source('visits', sensitive := 'disease', record_id := 'id'{})"
    names = [
        [each[0] for each in visits.execute(call.format(more)).description]
        for more in ("", ", details := true")
    ]
    assert names[0] == ["severity", "columns", "what", "do"]
    assert names[1] == [*names[0], "finding", "figure", "basis"]


def test_the_smallest_count_says_for_which_epsilon(visits):
    (row,) = found(visits, "'visits', sensitive := 'disease', record_id := 'id'")["smallest_count"]
    assert row["what"].startswith("at epsilon = 1 ")
    (row,) = found(visits, "'visits', sensitive := 'disease', record_id := 'id', epsilon := 2.5")[
        "smallest_count"
    ]
    assert row["what"].startswith("at epsilon = 2.5 ")


def test_public_is_the_last_thing_to_do_and_says_what_it_costs(planted):
    for row in (each for kind in planted.values() for each in kind):
        if "public :=" in row["do"]:
            before, after = row["do"].split("public :=", 1)
            assert "exclude" in before
            assert ":" in after


def test_pairs_of_too_many_columns_are_not_all_looked_at_and_that_is_reported(con, monkeypatch):
    """Of 2,000 columns there are two million pairs, and each would be looked at in five records."""
    columns = ", ".join(f"hash(i + {1000 * k}) % 5 AS c{k}" for k in range(12))
    con.execute(
        f"CREATE TABLE wide AS SELECT i AS id, hash(i) % 3 AS s, {columns} FROM range(600) AS t(i)"
    )
    call = "'wide', sensitive := 's', record_id := 'id'"
    assert "too_many_columns" not in found(con, call)
    monkeypatch.setattr(determined, "PAIRS", 3)
    ((finding,),) = [found(con, call)["too_many_columns"]]
    assert (finding["severity"], finding["figure"]) == ("note", 12.0)
    assert finding["what"].startswith("of 12 public columns, pairs of 3 were looked at")
    monkeypatch.setattr(check, "MOST_COLUMNS", 13)
    with pytest.raises(duckdb.Error, match="the source has 14 columns, and at most 13 are looked"):
        found(con, call)
