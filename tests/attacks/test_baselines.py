"""What the baselines reveal, done: the reason why they are nothing but baselines."""

from __future__ import annotations

import duckdb
import pytest

pytestmark = pytest.mark.usefixtures("unasked")

EQUAL = """
    CREATE TABLE equal_rows AS
    SELECT patient_number, age, ward, private_note,
        CASE WHEN hash(patient_number) % 10 < 7 THEN ['none', 'flu', 'asthma', 'cancer'][1 + age // 10 % 4]
            ELSE disease END AS disease
    FROM hospital_stays
"""
"""People whose disease mostly goes with their age."""


def test_anatomy_gives_the_last_value_away_to_who_knows_the_others(
    con: duckdb.DuckDBPyConnection,
) -> None:
    """An adversary knows a person's group, and the values of the others in it."""
    con.execute(
        "CREATE TABLE marked AS SELECT *, patient_number AS public_mark FROM hospital_stays"
    )
    con.execute(
        "FROM priv.publish_anatomy('marked', 'r', sensitive := 'disease', l := 4, record_id := 'patient_number',"
        " public := ['public_mark', 'age'])"
    ).fetchall()
    wrong = con.execute(
        """
        WITH known AS (
            SELECT r.public_mark, r.disease_group, r.noisy_disease AS listed, m.disease
            FROM r JOIN marked AS m ON m.patient_number = r.public_mark
        ), guessed AS (
            SELECT any_value(victim.disease) AS held, [v FOR v IN any_value(victim.listed)
                IF NOT list_contains(list(coalesce(other.disease, '?')), coalesce(v::VARCHAR, '?'))] AS guess
            FROM known AS victim JOIN known AS other
                ON other.disease_group = victim.disease_group AND other.public_mark <> victim.public_mark
            GROUP BY victim.public_mark
        )
        SELECT count(*) FROM guessed WHERE len(guess) <> 1 OR guess[1]::VARCHAR IS DISTINCT FROM held
        """
    ).fetchall()
    assert wrong == [(0,)]


def test_anatomy_is_no_one_in_l_against_who_learns_from_the_release(
    con: duckdb.DuckDBPyConnection,
) -> None:
    """Kifer's attack, one step of it: how values go with age is learned from the release, and used in each group."""
    con.execute(EQUAL)
    con.execute("CREATE TABLE marked AS SELECT *, patient_number AS public_mark FROM equal_rows")
    con.execute(
        "FROM priv.publish_anatomy('marked', 'r', sensitive := 'disease', l := 3, record_id := 'patient_number',"
        " public := ['public_mark', 'age'])"
    ).fetchall()
    ((right,),) = con.execute(
        """
        WITH candidate AS (
            SELECT public_mark, age, unnest(noisy_disease)::VARCHAR AS value FROM r
        ), learned AS (
            SELECT age, value, n / sum(n) OVER (PARTITION BY value) AS likelihood
            FROM (SELECT age, value, count(*) AS n FROM candidate GROUP BY ALL)
        ), guess AS (
            SELECT public_mark, arg_max(coalesce(c.value, '?'), likelihood) AS value
            FROM candidate AS c JOIN learned AS l ON l.age = c.age AND l.value IS NOT DISTINCT FROM c.value
            GROUP BY public_mark
        )
        SELECT avg((guess.value = coalesce(disease, '?'))::INTEGER)
        FROM guess JOIN marked ON patient_number = guess.public_mark
        """
    ).fetchall()
    assert right > 0.55


def test_a_second_anatomy_of_a_changed_table_narrows_values_down(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute(
        "CREATE TABLE marked AS SELECT *, patient_number AS public_mark FROM hospital_stays"
    )
    publish = (
        "FROM priv.publish_anatomy('marked', '{}', sensitive := 'disease', l := 2, record_id := 'patient_number',"
        " public := ['public_mark', 'age'], republish := true)"
    )
    con.execute(publish.format("one")).fetchall()
    con.execute("DELETE FROM marked WHERE hash(patient_number) % 100 = 0")
    con.execute(publish.format("two")).fetchall()
    ((certain,),) = con.execute(
        "SELECT avg((len(list_intersect([coalesce(v::VARCHAR, '?') FOR v IN one.noisy_disease],"
        " [coalesce(v::VARCHAR, '?') FOR v IN two.noisy_disease])) = 1)::INTEGER)"
        " FROM one JOIN two USING (public_mark)"
    ).fetchall()
    assert certain > 0.5
