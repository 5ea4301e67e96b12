"""Several records of one person: what they are promised together, which of them are published, and what adds up."""

from __future__ import annotations

import json
import math
import re

import duckdb
import pytest
from answers import named_row

pytestmark = pytest.mark.usefixtures("unasked")

STAYS = """
    CREATE TABLE stays AS
    SELECT i AS encounter_id, 'P' || lpad((i % 300 % 170)::VARCHAR, 5, '0') AS patient_nbr, 20 + i % 5 * 10 AS age,
        (['flu', 'cold', 'asthma', 'none'])[1 + (hash(i) % 4)::INTEGER] AS disease
    FROM range(1500) AS t(i);
    CREATE TABLE exchange AS
    FROM (VALUES ('none'), ('flu'), ('asthma'), ('cold')) a(original),
        (VALUES ('none'), ('flu'), ('asthma'), ('cold')) b(published)
    SELECT original, published, CASE WHEN original = published THEN 0.7 ELSE 0.1 END AS probability;
    CREATE TABLE hierarchies AS
    FROM priv.range_hierarchy('age', 10, 20, 40) UNION ALL
    SELECT 'disease', disease, level, CASE level WHEN 0 THEN disease ELSE '*' END
    FROM (SELECT DISTINCT disease FROM stays), range(2) AS l(level);
"""
"""1,500 encounters of 170 patients, who have 5 or 10 each."""
MOST, PATIENTS = 10, 170

METHODS = {
    "uniform": "sensitive := 'disease', retention := 0.5",
    "fine_grain": "sensitive := 'disease', tolerance := 3, min_retention := 0.05",
    "matrix": "sensitive := 'disease', matrix := 'exchange'",
    "reconstruction_private": "sensitive := 'disease', retention := 0.5, epsilon := 0.3, delta := 0.3",
    "splu": "sensitive := 'disease', gamma := 3",
    "anatomy": "sensitive := 'disease', l := 3",
    "distribution": "sensitive := 'disease'",
    "safe_k": "k := 5, beta := 0.3, epsilon := 1.0, hierarchies := 'hierarchies', levels := {'age': 2, 'disease': 0}",
}


@pytest.fixture
def con(con):
    con.execute(STAYS)
    return con


@pytest.fixture(scope="module")
def lasting(prepared):
    """For calls that are refused, and leave nothing."""
    with prepared() as connection:
        connection.execute(STAYS)
        yield connection


def publish(con, release="r", method="uniform", source="stays", **more):
    given = {"record_id": "encounter_id", "person": "patient_nbr"} | more
    named = "".join(f", {name} := ?" for name in given)
    call = f"FROM priv.publish_{method}(?, ?, {METHODS[method]}{named})"
    return named_row(con, call, source, release, *given.values())


def claims(con, release="r"):
    return {
        name: (value, json.loads(parameters))
        for name, value, parameters in con.execute(
            "SELECT guarantee, value, parameters FROM priv.guarantee WHERE release = ?", [release]
        ).fetchall()
    }


@pytest.mark.parametrize("method", METHODS)
def test_every_method_promises_something_of_persons_and_publishes_none(con, method):
    receipt = publish(con, method=method, max_rows=2)
    columns = [row[0] for row in con.execute("DESCRIBE r").fetchall()]
    assert "patient_nbr" not in columns
    assert receipt["rows_source"] == 1500
    assert claims(con)["records_of_a_person"][0] == 2
    _, parameters = claims(con)["privacy_of_a_person"]
    assert parameters["records"] == 2
    (epsilon,) = con.execute("SELECT epsilon FROM priv.ledger").fetchall()[0]
    value, _ = claims(con)["privacy_of_a_person"]
    assert value == (None if epsilon is None else pytest.approx(2 * epsilon))
    holds = con.execute("SELECT guarantee FROM priv.audit('r') WHERE NOT holds").fetchall()
    assert holds == []
    composed = con.execute(
        "SELECT value FROM priv.audit('r') WHERE guarantee = 'privacy_of_a_person' AND holds"
    ).fetchall()
    assert composed == ([] if epsilon is None else [(pytest.approx(2 * epsilon),)])


@pytest.mark.parametrize(
    ("claim", "more"),
    [
        ("'privacy_of_a_person'", "a claim that is too small"),
        ("'local_differential_privacy'", "a record is promised less"),
    ],
)
def test_what_is_promised_to_a_person_is_composed_again(con, claim, more):
    publish(con)
    ((value,),) = con.execute(
        f"SELECT value FROM priv.guarantee WHERE guarantee = {claim}"
    ).fetchall()
    factor = 0.9 if "person" in claim else 1.1
    con.execute(
        "UPDATE priv.guarantee SET value = ? WHERE guarantee = ?", [value * factor, claim[1:-1]]
    )
    ((found, holds),) = con.execute(
        "SELECT value, holds FROM priv.audit('r') WHERE guarantee = 'privacy_of_a_person'"
    ).fetchall()
    (epsilon,) = con.execute("SELECT epsilon FROM priv.ledger").fetchall()[0]
    assert found == pytest.approx(MOST * epsilon * max(factor, 1))
    assert not holds


def test_without_a_limit_the_most_records_are_counted(con):
    receipt = publish(con)
    assert claims(con)["records_of_a_person"][0] == MOST
    assert f"epsilon = {MOST} x" in receipt["guarantee"]
    assert any(f"{MOST} records" in warning for warning in receipt["warnings"])
    assert receipt["rows_published"] == 1500
    ((value, holds),) = con.execute(
        "SELECT value, holds FROM priv.audit('r') WHERE guarantee = 'records_of_a_person'"
    ).fetchall()
    assert (value, holds) == (MOST, True)


def test_the_group_delta_is_that_of_records_one_after_the_other(con):
    publish(con, method="safe_k", max_rows=3)
    epsilon, delta = con.execute("SELECT epsilon, delta FROM priv.ledger").fetchall()[0]
    value, parameters = claims(con)["privacy_of_a_person"]
    assert value == pytest.approx(3 * epsilon)
    assert parameters["delta"] == pytest.approx(
        delta * sum(math.exp(n * epsilon) for n in range(3))
    )
    assert con.execute(
        "SELECT epsilon_person, delta_person FROM priv.ledger(details := true)"
    ).fetchall() == [(pytest.approx(3 * epsilon), pytest.approx(parameters["delta"]))]


def chosen(con, release, **more):
    """Tell which encounters a release shows, by an attribute that is kept as it is."""
    publish(con, release, public=["encounter_number"], source="numbered", **more)
    return {row[0] for row in con.execute(f"SELECT encounter_number FROM {release}").fetchall()}


def test_the_choice_is_keyed_and_nested_and_the_same_for_every_order_and_method(con):
    con.execute("CREATE TABLE numbered AS SELECT *, encounter_id AS encounter_number FROM stays")
    two, three = (chosen(con, f"of_{k}", max_rows=k) for k in (2, 3))
    assert len(two) == 2 * PATIENTS
    assert two < three
    most = con.execute(
        "SELECT max(n) FROM (SELECT count(*) AS n FROM stays WHERE list_contains(?, encounter_id)"
        " GROUP BY patient_nbr)",
        [[*two]],
    ).fetchall()
    assert most == [(2,)]
    con.execute("SET threads = 1")
    con.execute("CREATE OR REPLACE TABLE numbered AS FROM numbered ORDER BY hash(encounter_id)")
    assert chosen(con, "again", max_rows=2) == two
    assert chosen(con, "splu", max_rows=2, method="splu") <= two
    # The values of a record have no say in it.
    con.execute("UPDATE numbered SET disease = 'none' WHERE disease = 'flu'")
    assert chosen(con, "changed", max_rows=2) == two


def test_a_text_that_is_an_id_chooses_too(con):
    con.execute("ALTER TABLE stays ALTER encounter_id TYPE VARCHAR")
    assert publish(con, max_rows=1)["rows_published"] == PATIENTS
    assert (
        publish(con, "s", max_rows=1, record_id=["patient_nbr", "encounter_id"])["rows_published"]
        == PATIENTS
    )


def test_a_limit_above_what_persons_have_changes_nothing(con):
    publish(con, "plain")
    assert publish(con, "limited", max_rows=50)["rows_published"] == 1500
    assert con.execute("FROM plain EXCEPT ALL FROM limited").fetchall() == []
    assert claims(con, "limited")["records_of_a_person"][0] == 50


REFUSED = {
    "published person": ({"public": ["patient_nbr"]}, "both public and person"),
    "unknown person": ({"person": "patient"}, "'stays' has no column 'patient'"),
    "no ids to choose by": ({"record_id": None, "max_rows": 2}, "needs person and record_id"),
    "nobody to choose for": ({"person": None, "max_rows": 2}, "needs person and record_id"),
    "nothing left": ({"max_rows": 0}, "max_rows must be an integer of at least 1"),
    "whole records": ({"method": "safe_k"}, "cannot publish the most records of a person"),
    "appended": (
        {"method": "splu", "append": True, "max_rows": 2},
        "cannot be kept where records are appended",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_promised_is_refused(lasting, why):
    more, stated = REFUSED[why]
    with pytest.raises(duckdb.Error, match=stated):
        publish(lasting, **more)
    assert lasting.execute("SELECT count(*) FROM priv.ledger").fetchall() == [(0,)]


def test_a_record_of_nobody_is_refused(con):
    con.execute("UPDATE stays SET patient_nbr = NULL WHERE encounter_id < 7")
    with pytest.raises(duckdb.Error, match="'patient_nbr' is NULL in 7 of 1500 rows"):
        publish(con)


def test_a_batch_adds_to_what_a_person_may_have(con):
    publish(con, method="splu")
    con.execute(
        "INSERT INTO stays SELECT 5000 + i, 'P00000', 20 + i % 5 * 10, ['flu', 'cold', 'none', 'asthma'][1 + i % 4]"
        " FROM range(60) AS t(i)"
    )
    publish(con, method="splu", append=True)
    assert claims(con)["records_of_a_person"][0] == MOST + MOST + 60
    con.execute("INSERT INTO stays SELECT 9000 + i, 'P1', 20, 'v' || i FROM range(60) AS t(i)")
    with pytest.raises(duckdb.Error, match="published with person"):
        publish(con, method="splu", append=True, person=None, exclude=["patient_nbr"])


def ledger(con, columns):
    """Read what values cost; what the counts of missing records cost has a test of its own."""
    con.execute("DELETE FROM priv.noisy_count")
    return con.execute(f"SELECT {columns} FROM priv.ledger(details := true)").fetchall()


def test_the_ledger_adds_per_person(con):
    epsilon = math.log(5)
    publish(con, "a", max_rows=2)
    publish(con, "again", max_rows=2)
    publish(con, "more", max_rows=3)
    assert ledger(con, "adds, epsilon_person") == [
        (pytest.approx(2 * epsilon), pytest.approx(2 * epsilon)),
        (0, pytest.approx(2 * epsilon)),
        # A third of the records are new, so all that a person has is charged.
        (pytest.approx(3 * epsilon), pytest.approx(5 * epsilon)),
    ]
    assert ledger(con, "persons") == [(PATIENTS,)] * 3
    publish(con, "unnamed", person=None, record_id=None, exclude=["patient_nbr", "encounter_id"])
    assert ledger(con, "epsilon_person")[-1] == (math.inf,)


def test_a_part_of_what_was_shown_adds_nothing_to_a_person(con):
    publish(con, "a")
    con.execute("CREATE VIEW old AS FROM stays WHERE age > 30")
    publish(con, "b", source="old")
    assert ledger(con, "adds, epsilon_person / epsilon") == [
        (pytest.approx(MOST * math.log(5)), MOST),
        (0, MOST),
    ]


def test_without_persons_the_ledger_says_nothing_of_them(con):
    publish(con, person=None, exclude=["patient_nbr"])
    assert ledger(con, "epsilon_person, delta_person, persons") == [(None, None, None)]


def test_naming_the_persons_later_tells_what_is_known_of_them(con):
    publish(con, "a", person=None, exclude=["patient_nbr"])
    publish(con, "b")
    # Until then it was not known how many records a person has.
    assert ledger(con, "epsilon_person") == [(None,), (math.inf,)]


def test_next_year_s_records_of_the_same_persons_add_up(con):
    publish(con, "a", max_rows=2)
    con.execute(
        "CREATE TABLE next_year AS SELECT 'V' || encounter_id AS visit, patient_nbr AS subject, 50 AS age, disease"
        " FROM stays WHERE patient_nbr < 'P00100'"
    )
    publish(con, "b", source="next_year", record_id="visit", person="subject", max_rows=3)
    epsilon = math.log(5)
    assert ledger(con, "epsilon_person") == [
        (pytest.approx(2 * epsilon),),
        (pytest.approx(5 * epsilon),),
    ]


def test_persons_of_one_table_are_the_records_of_another(con):
    publish(con, "a", max_rows=2)
    con.execute(
        "CREATE TABLE patients AS SELECT patient_nbr AS id, any_value(disease) AS disease FROM stays GROUP BY ALL"
    )
    publish(con, "b", source="patients", record_id="id", person="id")
    assert ledger(con, "epsilon_person / epsilon") == [(2.0,), (3.0,)]


def test_check_takes_the_persons_and_finds_them(con):
    query = (
        "SELECT severity, finding, columns, figure"
        " FROM priv.check_source('stays', sensitive := 'disease', record_id := 'encounter_id'{}, details := true)"
    )
    named = con.execute(query.format(", person := 'patient_nbr'")).fetchall()
    assert ("note", "records_of_persons", ["patient_nbr"], float(MOST)) in named
    unnamed = con.execute(query.format("")).fetchall()
    assert (
        "warning",
        "several_records_per_person",
        ["patient_nbr"],
        pytest.approx(1500 / 170),
    ) in unnamed
    public = con.execute(query.format(", public := ['age']")).fetchall()
    assert {"patient_nbr"} not in [
        {*columns} for severity, _, columns, _ in public if severity == "blocker"
    ]
    con.execute("UPDATE stays SET patient_nbr = NULL WHERE encounter_id < 7")
    missing = con.execute(query.format(", person := 'patient_nbr'")).fetchall()
    assert ("blocker", "missing_persons", ["patient_nbr"], 7.0) in missing


def test_how_many_records_are_not_here_is_in_the_release(con):
    """At most two records of each enter; the number of the others is noisy, and the same when published again."""
    receipt = publish(con, max_rows=2)
    left = 1500 - 2 * PATIENTS
    assert any(f"max_rows leaves out {left:,} of 1,500" in each for each in receipt["warnings"])
    value, parameters = claims(con)["records_left_out"]
    # Discrete Laplace noise is beyond this once in a thousand million.
    assert abs(value - left) <= math.log(1e9) / parameters["epsilon"]
    assert parameters["within"] == 100
    publish(con, max_rows=2, replace=True)
    assert claims(con)["records_left_out"][0] == value
    publish(con, "whole")
    assert "records_left_out" not in claims(con, "whole")


def test_the_counts_of_missing_records_are_charged_to_the_population_once(con):
    """Eight records of a person can be missing: each is in the total, and a changed value in two counts of values."""
    receipt = publish(con, max_rows=2, population="patients")
    values, total = math.log(20) / 192, math.log(20) / 100
    price = math.ceil(1e4 * (total + 2 * values)) / 1e4
    assert con.execute(
        "SELECT population, release, epsilon, adds, reason FROM priv.ledger(details := true)"
        " WHERE mechanism = 'laplace_count'"
    ).fetchall() == [
        (
            "patients",
            "r",
            pytest.approx(price),
            pytest.approx(8 * price),
            "noisy counts of the records left out",
        )
    ]
    assert "noisy counts of the records left out" in receipt["ledger"]
    again = publish(con, "again", max_rows=2, population="patients")
    assert "this adds nothing" in again["ledger"]
    # A refresh repeats the arguments, with its date, since a count each night would be charged each night.
    con.execute("DELETE FROM stays WHERE encounter_id < 20")
    con.execute("FROM priv.refresh('r')")
    assert con.execute("SELECT count(*) FROM priv.noisy_count").fetchall() == [(1,)]
    ((stated,),) = con.execute(
        "SELECT statement FROM priv.guarantee WHERE release = 'r' AND guarantee = 'records_left_out'"
    ).fetchall()
    assert re.fullmatch(r"About .* Counted on \d{4}-\d\d-\d\d\.", stated)
    con.execute("FROM priv.budget('patients', epsilon := 5.4)")
    con.execute("INSERT INTO stays VALUES (9000, 'P00001', 50, 'flu')")
    with pytest.raises(duckdb.Error, match="the budget of population 'patients' is epsilon"):
        publish(con, max_rows=2, population="patients", replace=True)


def test_a_sample_says_nothing_of_what_is_missing(con):
    publish(con, method="safe_k", max_rows=2)
    assert "records_left_out" not in claims(con)


def test_what_was_stated_for_readers_stays_when_a_release_is_replaced(con):
    stated = {"title": "Stays", "description": "One row a stay", "contact": "ask@example.org"}
    publish(con, **stated)
    publish(con, replace=True, title="Hospital stays")
    assert con.execute("SELECT title, description, contact FROM priv.release").fetchall() == [
        ("Hospital stays", "One row a stay", "ask@example.org")
    ]
    publish(con, replace=True)
    assert con.execute("SELECT title FROM priv.release").fetchall() == [("Hospital stays",)]


def test_one_record_for_each_person_and_forty_for_one(con):
    con.execute(
        "CREATE OR REPLACE TABLE stays AS SELECT * REPLACE ('P' || encounter_id AS patient_nbr) FROM stays"
    )
    receipt = publish(con)
    assert "1 noisy value in one record, changes the odds" in receipt["guarantee"]
    assert not [each for each in receipt["warnings"] if "some person" in each]
    con.execute("UPDATE stays SET patient_nbr = 'P1' WHERE encounter_id < 40")
    receipt = publish(con, replace=True)
    assert "1 noisy value in each of up to 40 records" in receipt["guarantee"]
    (weak,) = [each for each in receipt["warnings"] if "promises next to nothing" in each]
    assert weak.endswith("or max_rows below 40")


@pytest.mark.parametrize("name", ["title", "contact", "licence", "description"])
@pytest.mark.parametrize(
    "mark", ["\x07", "\r", "\u202e", "\u2066", "\u200f", "\x9b", "\u061c", "\u200b"]
)
def test_words_with_marks_that_are_not_seen_are_refused(lasting, name, mark):
    with pytest.raises(duckdb.Error, match=f"{name} holds a control character") as caught:
        publish(lasting, **{name: f"Stays{mark}in 2026"})
    assert mark not in str(caught.value)


def test_a_title_is_one_line_and_a_description_may_be_several(con):
    with pytest.raises(duckdb.Error, match="title holds a control character, a line break"):
        publish(con, title="Stays\nin 2026")
    publish(con, description="One row a stay.\nNo transfers.")
