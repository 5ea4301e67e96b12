"""Values of several sensitive attributes at once, by the iterative Bayesian method in plain SQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import duckdb_priv
from duckdb_priv.engine import secrets
from duckdb_priv.mechanism.reference.operator_estimates import iterative_bayesian

BOTH = "['disease', 'drug']"


VISITS = """
    CREATE TABLE visits AS SELECT id,
        CASE WHEN id % 17 = 3 THEN NULL ELSE 'v' || (id * id % 29) % 7 END AS disease,
        (id * id % 29 + id % 3) % 5 AS drug, 20 + id % 4 AS age
    FROM range(9000) AS t(id)
"""


@pytest.fixture(scope="module")
def con(secret: bytes) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb_priv.connect(secret=secret)
    connection.execute(VISITS)
    common = f"sensitive := {BOTH}, record_id := 'id'"
    for release, rest in (
        ("decoys", "publish_splu('visits', 'decoys', gamma := 2"),
        ("redrawn", "publish_uniform('visits', 'redrawn', retention := 0.4"),
        ("fine", "publish_fine_grain('visits', 'fine', tolerance := 5"),
    ):
        connection.execute(f"FROM priv.{rest}, {common})").fetchall()
        assert release in rest
    yield connection
    connection.close()


def rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return con.execute(sql).fetchall()


def law(con: duckdb.DuckDBPyConnection, release: str, attribute: str, value: str) -> np.ndarray:
    """Return [[Pr[other|other], Pr[other|value]], [Pr[value|other], Pr[value|value]]] of the whole table."""
    seen, estimate, total = rows(
        con,
        f"SELECT count_if(reported_{attribute} = '{value}'),"
        f" priv.reconstructed_count('{release}.{attribute}', reported_{attribute}, '{value}'), count(*) FROM {release}",
    )[0]
    own, kept, size = rows(
        con,
        "SELECT own, c.retention, domain_size FROM priv.coefficient AS c JOIN priv.attribute USING (release, attribute)"
        f" WHERE release = '{release}' AND attribute = '{attribute}' AND value = '{value}'",
    )[0]
    own = kept + (1 - kept) / size if own is None else own
    other = (seen - own * estimate) / (total - estimate)
    return np.array([[1 - other, 1 - own], [other, own]])


@pytest.mark.parametrize("release", ["decoys", "redrawn", "fine"])
def test_it_is_the_fixed_point_over_four_states(
    con: duckdb.DuckDBPyConnection, release: str
) -> None:
    operator = np.kron(law(con, release, "drug", "2"), law(con, release, "disease", "v1"))
    found = rows(
        con,
        f"FROM priv.reconstructed_joint('{release}', {BOTH}, ['v1', '2'],"
        " group_columns := 'age', condition := 'age < 23')",
    )
    assert [age for age, *_ in found] == [20, 21, 22]
    for age, estimate, observed, records in found:
        shown = [0, 0, 0, 0]
        pairs = "SELECT coalesce(reported_disease = 'v1', false), reported_drug = 2, count(*)"
        for disease, drug, count in rows(
            con, f"{pairs} FROM {release} WHERE age = {age} GROUP BY ALL"
        ):
            shown[disease + 2 * drug] = count
        assert (observed, records) == (shown[3], sum(shown))
        assert estimate == pytest.approx(iterative_bayesian(operator, shown)[3], abs=0.05)


@pytest.mark.parametrize(("coins", "disease", "drug"), [(15, 1, 4), (20, 1, 4), (40, 2, 2)])
def test_steps_that_begin_where_they_rest_stay_there(
    coins: int, disease: int, drug: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With these coins the second step of a group differs from the first by nothing, not even a rounding."""
    monkeypatch.setattr(secrets, "refuse_weak", lambda secret: None)
    with duckdb_priv.connect(secret=bytes([coins]) * 32) as con:
        con.execute(VISITS)
        con.execute(
            f"FROM priv.publish_splu('visits', 'decoys', gamma := 2, sensitive := {BOTH}, record_id := 'id')"
        ).fetchall()
        operator = np.kron(
            law(con, "decoys", "drug", f"{drug}"), law(con, "decoys", "disease", f"v{disease}")
        )
        inside = 0
        for age, estimate, observed, records in rows(
            con,
            f"FROM priv.reconstructed_joint('decoys', {BOTH}, ['v{disease}', '{drug}'], group_columns := 'age')",
        ):
            (of_disease, of_drug) = rows(
                con,
                f"SELECT count_if(reported_disease = 'v{disease}'), count_if(reported_drug = {drug})"
                f" FROM decoys WHERE age = {age}",
            )[0]
            one, other = of_disease - observed, of_drug - observed
            unbiased = np.linalg.solve(
                operator, [records - one - other - observed, one, other, observed]
            )
            if unbiased.min() > 0:
                inside += 1
                assert estimate == pytest.approx(unbiased[3], rel=1e-9)
        assert inside


def test_one_attribute_is_the_estimate_cut(con: duckdb.DuckDBPyConnection) -> None:
    for value in ("v0", "v1", "v5"):
        joint, single = rows(
            con,
            f"SELECT estimate, (SELECT priv.reconstructed_count('redrawn.disease', reported_disease, '{value}')"
            " FROM redrawn WHERE age = 21) FROM priv.reconstructed_joint('redrawn', ['disease'],"
            f" ['{value}'], condition := 'age = 21')",
        )[0]
        assert joint == pytest.approx(max(single, 0), rel=1e-6)


def test_missing_values_and_orders_of_attributes(con: duckdb.DuckDBPyConnection) -> None:
    one = rows(con, f"FROM priv.reconstructed_joint('decoys', {BOTH}, [NULL, '3'])")
    other = rows(con, "FROM priv.reconstructed_joint('Decoys', ['DRUG', 'disease'], ['3', NULL])")
    assert one[0] == pytest.approx(other[0], rel=1e-6)
    shown = "SELECT count_if(reported_disease IS NULL AND reported_drug = 3) FROM decoys"
    assert one[0][1] == rows(con, shown)[0][0]


def test_the_paper_stops_early(con: duckdb.DuckDBPyConnection) -> None:
    question = f"SELECT estimate FROM priv.reconstructed_joint('decoys', {BOTH}, ['v1', '2'], method := '{{}}')"
    truth = rows(con, "SELECT count(*) FROM visits WHERE disease = 'v1' AND drug = 2")[0][0]
    ours, theirs = (rows(con, question.format(method))[0][0] for method in ("bayesian", "paper"))
    assert abs(ours - truth) < abs(theirs - truth)


def test_an_empty_subset_has_none(con: duckdb.DuckDBPyConnection) -> None:
    asked = f"FROM priv.reconstructed_joint('decoys', {BOTH}, ['v1', '2'], condition := 'age > 99'"
    assert rows(con, f"{asked})") == [(0, 0, 0)]
    assert rows(con, f"{asked}, group_columns := 'age')") == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (f"'nothing', {BOTH}, ['v1', '2']", 'no release is called "nothing"'),
        (
            "'decoys', ['disease', 'age'], ['v1', '2']",
            'has no sensitive attribute "age"; it has disease, drug',
        ),
        (f"'decoys', {BOTH}, ['v1', '9']", """"drug" has no value '9'"""),
        (f"'decoys', {BOTH}, ['v1', NULL]", '"drug" is never missing'),
        (f"'decoys', {BOTH}, ['v1']", "as many values"),
        ("'decoys', ['drug', 'DRUG'], ['1', '2']", "different attributes"),
        (f"'decoys', {BOTH}, ['v1', '2'], method := 'guess'", "method must be"),
    ],
)
def test_bad_calls_are_errors(con: duckdb.DuckDBPyConnection, arguments: str, said: str) -> None:
    with pytest.raises(duckdb.Error) as raised:
        rows(con, f"FROM priv.reconstructed_joint({arguments})")
    assert said in str(raised.value)


@pytest.mark.parametrize("release", ["decoys", "redrawn", "fine"])
def test_a_release_file_answers_by_itself(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, release: str
) -> None:
    path = tmp_path / "given.duckdb"
    con.execute(f"FROM priv.export_release('{release}', '{path}')").fetchall()
    reader = duckdb.connect()
    reader.execute(f"ATTACH '{path}' AS given (READ_ONLY)")
    asked = f"priv.reconstructed_joint('{release}', {BOTH}, ['v1', '2'], group_columns := 'age'"
    there = rows(reader, f"FROM given.{asked}, database := 'given')")
    for one, other in zip(there, rows(con, f"FROM {asked})"), strict=True):
        assert one == pytest.approx(other, rel=1e-9)
    reader.close()
