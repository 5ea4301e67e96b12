"""Published retentions give no count of the table away, and nobody who left it."""

from __future__ import annotations

import numpy as np
import pytest

from duckdb_priv.mechanism.fine_grain_program import optimal_operator
from duckdb_priv.mechanism.reference_frequencies import rounded
from duckdb_priv.mechanism.requirements import Requirements

pytestmark = pytest.mark.usefixtures("unasked")

TOLERANCE = 4
PUBLISH = (
    "FROM priv.publish_fine_grain('{0}', 'of_{0}', sensitive := 'disease', record_id := 'id', {1},"
    " replace := true)"
)


@pytest.fixture
def persons(con):
    """Two hundred people with diseases of different frequency, most of them rare."""
    con.execute(
        "CREATE TABLE persons AS SELECT i AS id, CASE WHEN i % 2 = 0 THEN 'cold' WHEN i % 3 = 0 THEN 'flu'"
        " ELSE 'rare ' || i % 7 END AS disease FROM range(210) AS t(i)"
    )
    return con


def retentions_of(con, source: str, arguments: str) -> dict[str, float]:
    con.execute(PUBLISH.format(source, arguments))
    return dict(
        con.execute(
            f"SELECT value, retention FROM priv.coefficient WHERE release = 'of_{source}'"
        ).fetchall()
    )


def retentions_from(counts: dict[str, int], change) -> dict[str, float]:
    """What someone who knows all records would expect to be published for these counts."""
    frequencies = change(np.array(list(counts.values())) / sum(counts.values()))
    requirements = Requirements.from_tolerance(frequencies, TOLERANCE)
    operator = optimal_operator(frequencies, requirements, min_retention=0.05)
    return dict(zip(counts, operator.retentions.tolist(), strict=True))


def counts_without(con, person: int) -> dict[str, int]:
    return dict(
        con.execute(
            "SELECT disease, count(*) FROM persons WHERE id <> ? GROUP BY ALL ORDER BY ALL",
            [person],
        ).fetchall()
    )


def test_who_left_is_not_read_from_the_retentions(persons):
    """An attacker who knows everyone compares what was published with what each departure would lead to."""
    arguments = f"tolerance := {TOLERANCE}, min_retention := 0.05"
    values = list(counts_without(persons, -1))
    for person in range(8):
        ((disease,),) = persons.execute(
            f"SELECT disease FROM persons WHERE id = {person}"
        ).fetchall()
        persons.execute(f"CREATE OR REPLACE TABLE fewer AS FROM persons WHERE id <> {person}")
        guesses = {
            value: retentions_from(
                {
                    each: count - (each == value)
                    for each, count in counts_without(persons, -1).items()
                },
                np.asarray,
            )
            for value in values
        }
        exact = retentions_from(counts_without(persons, person), np.asarray)
        named = [
            value for value, guess in guesses.items() if guess == pytest.approx(exact, rel=1e-9)
        ]
        # Of the values that are too frequent for a requirement there are two.
        assert named == [disease] or named == ["cold", "flu"]
        shown = retentions_of(persons, "fewer", arguments)
        assert not [
            value for value, guess in guesses.items() if guess == pytest.approx(shown, rel=1e-9)
        ]


def test_retentions_are_those_of_what_the_release_says_of_frequencies(persons):
    """Nothing else of the table went into them."""
    found = retentions_of(persons, "persons", f"tolerance := {TOLERANCE}, min_retention := 0.05")
    ((frequencies,),) = persons.execute(
        "SELECT (parameters->'frequencies')::DOUBLE[] FROM priv.guarantee WHERE guarantee = 'reference_frequencies'"
    ).fetchall()
    assert np.array_equal(rounded(frequencies), frequencies)
    again = retentions_from(
        dict(zip(sorted(found), frequencies, strict=True)), lambda shares: shares
    )
    assert found == pytest.approx(again, rel=1e-9)


def test_requirements_leave_the_counts_out(persons):
    persons.execute(
        "CREATE TABLE wanted AS SELECT DISTINCT disease AS value, 0.1 AS rho1, 0.4 AS rho2 FROM persons"
    )
    persons.execute("UPDATE wanted SET rho1 = NULL, rho2 = NULL WHERE value = 'cold'")
    persons.execute(
        "CREATE TABLE turned AS SELECT id, if(disease = 'cold', 'flu', if(disease = 'flu', 'cold', disease))"
        " AS disease FROM persons"
    )
    assert retentions_of(persons, "persons", "requirements := 'wanted'") == retentions_of(
        persons, "turned", "requirements := 'wanted'"
    )
