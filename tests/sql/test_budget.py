"""What may be spent of a source: stated, counted by the best rule that holds, and kept."""

from __future__ import annotations

import math

import duckdb
import pytest
from answers import named_row

pytestmark = pytest.mark.usefixtures("unasked")

GIVEN = "sensitive := 'disease', record_id := 'id', domain := ['a', 'b', 'c', 'd']"


def spent(con, *given: str) -> dict:
    listed = ", ".join(given)
    return named_row(con, f"FROM priv.budget({listed})")


def publish(con, release: str, epsilon: float, more: str = GIVEN, source: str = "v") -> None:
    con.execute(f"FROM priv.publish_uniform('{source}', '{release}', epsilon := {epsilon}, {more})")


def _made(con) -> None:
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, 'P' || i % 300 AS person, i % 2 AS gender,"
        " chr(97 + (i * i % 23 % 4)::INTEGER) AS disease FROM range(600) AS t(i)"
    )


@pytest.fixture
def con(made):
    with made(_made) as connection:
        yield connection


def test_nothing_is_refused_without_a_budget(con):
    reported = spent(con)
    assert (reported["epsilon"], reported["epsilon_spent"], reported["epsilon_left"]) == (
        None,
        0,
        None,
    )
    publish(con, "r", 2.0, GIVEN + ", exclude := ['person']")
    assert spent(con)["epsilon_spent"] == pytest.approx(2.0)


def test_a_budget_may_be_stated_first_and_is_that_of_its_population_alone(con):
    given = GIVEN + ", exclude := ['person']"
    spent(con, "epsilon := 1.0")
    con.execute("CREATE TABLE copy AS SELECT disease, * EXCLUDE disease FROM v WHERE id % 3 > 0")
    publish(con, "more", 2.0, given + ", population := 'others'")
    with pytest.raises(duckdb.Error, match=r"would be spent .*budget of population 'main' is"):
        publish(con, "much", 2.0, given, source="copy")
    publish(con, "little", 0.5, given, source="copy")
    assert spent(con)["epsilon_left"] == pytest.approx(0.5)
    assert spent(con, "'others'")["epsilon_spent"] == pytest.approx(2.0)
    # What is stated once more replaces what was.
    assert spent(con, "epsilon := 3")["epsilon"] == 3


def test_publishing_beyond_a_budget_is_refused_and_nothing_is_lost(con, inventory):
    given = GIVEN + ", exclude := ['person']"
    assert spent(con, "epsilon := 3.0")["epsilon_left"] == 3
    publish(con, "r", 2.0, given)
    before = inventory(con)
    with pytest.raises(
        duckdb.Error, match=r"epsilon = 4 .* would be spent .*budget of .* is epsilon = 3"
    ):
        publish(con, "more", 2.0, given.replace("['a'", "['e', 'a'"))
    assert inventory(con) == before
    publish(con, "same", 2.0, given)
    assert spent(con)["epsilon_left"] == pytest.approx(1.0)
    publish(con, "more", 1.0, given)
    assert spent(con)["epsilon_left"] == pytest.approx(0.0)


def test_what_has_no_epsilon_is_beyond_every_budget(con):
    spent(con, "epsilon := 100.0")
    with pytest.raises(duckdb.Error, match="epsilon = inf"):
        con.execute(
            "FROM priv.publish_splu('v', 'r', sensitive := 'disease', gamma := 2, record_id := 'id',"
            " exclude := ['person'])"
        )


def test_persons_are_charged_for_all_their_records(con):
    publish(con, "r", 2.0, GIVEN + ", person := 'person'")
    reported = spent(con)
    assert reported["epsilon_spent"] == pytest.approx(4.0)
    assert "by person" in reported["rule"]


def test_a_person_is_charged_again_only_with_more_draws_than_before(con):
    """Two records of each are charged for: new people cost the others nothing, nor does a record that comes back."""
    publish(con, "r", 1.0, GIVEN + ", person := 'person', max_rows := 2")
    for change, charged in (
        ("DELETE FROM v WHERE id = 1", 2),
        ("INSERT INTO v VALUES (700, 'P700', 0, 'a'), (701, 'P700', 0, 'b')", 2),
        ("INSERT INTO v VALUES (1, 'P1', 1, 'b')", 2),
        # One of the two had this value.
        ("UPDATE v SET disease = 'd' WHERE id IN (7, 307)", 3),
        ("UPDATE v SET disease = 'd' WHERE id IN (8, 308)", 4),
    ):
        con.execute(change)
        con.execute("FROM priv.refresh('r')")
        # The number of records beyond the limit is charged once, and is charged again with nothing.
        ((counts,),) = con.execute(
            "SELECT sum(epsilon * person_rows) FROM priv.noisy_count"
        ).fetchall()
        assert spent(con)["epsilon_spent"] == pytest.approx(charged + counts)
    assert con.execute("SELECT count(*) FROM priv.noisy_count").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ("record_id := 'id', public := 'gender'", "by record"),
        ("record_id := 'id', public := 'gender', person := 'person'", "by person"),
    ],
)
def test_what_is_promised_of_all_values_together_is_charged_once(con, more, rule):
    """Two attributes in shuffled groups: (1, 1e-6) for both; a person has two records, which compose."""
    con.execute("CREATE VIEW two AS SELECT *, id % 3 = 0 AS smoker FROM v WHERE id % 300 < 150")
    con.execute(
        "FROM priv.publish_shuffled('two', 'r', sensitive := ['disease', 'smoker'], epsilon := 1.0, delta := 1e-6,"
        f" {more})"
    ).fetchall()
    reported = spent(con)
    records = 2 if "person" in rule else 1
    assert reported["epsilon_spent"] == pytest.approx(records)
    assert reported["delta_spent"] == pytest.approx(1e-6 if records == 1 else 1e-6 * (1 + math.e))
    assert rule in reported["rule"]


def test_disjoint_records_add_unless_they_are_other_people(con):
    """Women and men in releases of their own: that nobody is in both, only the publisher knows."""
    given = GIVEN + ", exclude := ['person']"
    for gender in (0, 1):
        con.execute(f"CREATE VIEW of_{gender} AS FROM v WHERE gender = {gender}")
        publish(con, f"r{gender}", 1.0, given, source=f"of_{gender}")
        people = f", population := 'gender {gender}'"
        publish(con, f"s{gender}", 1.0, given + people, source=f"of_{gender}")
    assert spent(con)["epsilon_spent"] == pytest.approx(2.0)
    for gender in (0, 1):
        assert spent(con, f"'gender {gender}'")["epsilon_spent"] == pytest.approx(1.0)


def test_many_small_ones_compose_better_with_a_delta(con):
    """By all attributes of a record: six times 0.05 in a table whose records are known by what they hold."""
    con.execute("CREATE VIEW w AS SELECT gender, disease FROM v")
    for number in range(6):
        publish(con, f"r{number}", 0.01, "sensitive := 'disease'", source="w")
    reported = spent(con, "epsilon := 1.0", "delta := 0.999")
    ((slack_0,),) = con.execute(
        "SELECT max(epsilon_advanced) FROM priv.ledger(slack := 0.999, details := true)"
    ).fetchall()
    assert reported["epsilon_spent"] == pytest.approx(slack_0)
    assert reported["epsilon_spent"] < 6 * 0.01
    assert "advanced" in reported["rule"]


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ("epsilon := -1", "epsilon must be at least 0"),
        ("delta := 0.1", "a delta alone is no budget"),
        ("epsilon := 1, delta := 1", "delta must be at least 0 and below 1"),
        (
            "'nowhere'",
            "no population is called 'nowhere'\nHint: there are 'main'; another one begins with",
        ),
        (
            "'mian', epsilon := 4",
            r"no population is called 'mian'\nHint: did you mean 'main'\? there are 'main'; a",
        ),
        ("epsilon := 'x'", "epsilon must be a number"),
        ("epsilon := 1", "epsilon = 2, delta = 0 of population 'main' was spent already"),
    ],
)
def test_a_budget_that_is_none_is_refused(con, given, reported):
    publish(con, "r", 2.0, GIVEN + ", exclude := ['person']")
    with pytest.raises(duckdb.Error, match=reported):
        con.execute(f"FROM priv.budget({given})").fetchall()
    assert con.execute("FROM priv.budget").fetchall() == []


def test_a_budget_ends_what_is_charged_whole_each_time(con):
    con.execute("CREATE VIEW few AS SELECT id, gender, disease FROM v")
    con.execute(
        "FROM priv.publish_shuffled('few', 'r', sensitive := 'disease', epsilon := 1.0, delta := 1e-6,"
        " record_id := 'id')"
    )
    con.execute("FROM priv.budget(epsilon := 2.5, delta := 1e-5)")
    for version in (2, 3):
        con.execute(
            f"UPDATE v SET disease = 'd' WHERE id = {version}; DELETE FROM v WHERE id = {version + 10}"
        )
        if version == 3:
            with pytest.raises(duckdb.Error, match="epsilon = 3 "):
                con.execute("FROM priv.refresh('r')")
            continue
        reported = named_row(con, "FROM priv.refresh('r')")
        assert (reported["version"], reported["adds"]) == (version, True)
    assert math.isclose(spent(con)["epsilon_spent"], 2.0)
