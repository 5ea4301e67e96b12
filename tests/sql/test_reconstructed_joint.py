"""Values of several sensitive attributes at once, by the iterative Bayesian method in plain SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pytest
from answers import rows
from reference.operator_estimates import iterative_bayesian
from reference.splu_paper import paper_iterative
from scipy.stats import binom

from duckdb_priv.engine import secrets

pytestmark = pytest.mark.usefixtures("plain_files")

BOTH = "['disease', 'drug']"


VISITS = """
    CREATE TABLE visits AS SELECT id,
        CASE WHEN id % 17 = 3 THEN NULL ELSE 'v' || (id * id % 29) % 7 END AS disease,
        (id * id % 29 + id % 3) % 5 AS drug, 20 + id % 4 AS age
    FROM range(9000) AS t(id)
"""


@pytest.fixture(scope="module")
def con(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    together: Callable[..., AbstractContextManager[None]],
) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = prepared()
    connection.execute(VISITS)
    # Every record shows the next value instead of its own with a probability that grows from value to value.
    for table, values in (
        ("diseases", "SELECT DISTINCT disease AS v"),
        ("drugs", "SELECT DISTINCT drug AS v"),
    ):
        connection.execute(
            f"CREATE TABLE {table} AS WITH d AS (SELECT v, row_number() OVER (ORDER BY v) - 1 AS n,"
            f" count(*) OVER () AS m FROM ({values} FROM visits)) SELECT a.v AS original, b.v AS published,"
            " CASE (b.n - a.n + a.m) % a.m WHEN 0 THEN 0.7 - 0.04 * a.n WHEN 1 THEN 0.3 + 0.04 * a.n"
            " ELSE 0 END::DOUBLE AS probability FROM d AS a, d AS b"
        )
    common = f"sensitive := {BOTH}, record_id := 'id'"
    calls = (
        "splu('visits', 'decoys', gamma := 2",
        "uniform('visits', 'redrawn', retention := 0.4",
        "matrix('visits', 'exchanged', matrix := {'disease': 'diseases', 'drug': 'drugs'}",
        "fine_grain('visits', 'fine', tolerance := 3",
    )
    with together(connection):
        for call in calls:
            connection.execute(f"FROM priv.publish_{call}, {common})").fetchall()
    yield connection
    connection.close()


def law(con: duckdb.DuckDBPyConnection, release: str, attribute: str, value: str) -> np.ndarray:
    """Return [[Pr[other|other], Pr[other|value]], [Pr[value|other], Pr[value|value]]] of the whole table."""
    seen, estimate, total = rows(
        con,
        f"SELECT count_if(noisy_{attribute} = '{value}'),"
        f" priv.reconstructed_count('{release}.{attribute}', noisy_{attribute}, '{value}'), count(*) FROM {release}",
    )[0]
    own, kept, size = rows(
        con,
        "SELECT own, c.retention, domain_size FROM priv.coefficient AS c JOIN priv.attribute USING (release, attribute)"
        f" WHERE release = '{release}' AND attribute = '{attribute}' AND value = '{value}'",
    )[0]
    if own is None and kept is None:
        ((own,),) = rows(
            con,
            f"SELECT operator[position + 1] FROM priv.coefficient WHERE release = '{release}'"
            f" AND attribute = '{attribute}' AND value = '{value}'",
        )
    elif own is None:
        own = kept + (1 - kept) / size
    other = (seen - own * estimate) / (total - estimate)
    return np.array([[1 - other, 1 - own], [other, own]])


def sums(
    con: duckdb.DuckDBPyConnection, release: str, condition: str, disease: str = "v1", drug: int = 2
) -> np.ndarray:
    """Return the sums of products of weights in all four states, and the variance of the last."""
    one = f"priv.weight('{release}.disease', noisy_disease, '{disease}')"
    two = f"priv.weight('{release}.drug', noisy_drug, {drug})"
    found = rows(
        con,
        "SELECT sum((1 - a) * (1 - b)), sum(a * (1 - b)), sum((1 - a) * b), sum(a * b), sum(a * b * (a * b - 1))"
        f" FROM (SELECT {one} AS a, {two} AS b FROM {release} WHERE {condition})",
    )
    return np.array(found[0])


@pytest.mark.once
@pytest.mark.parametrize("release", ["decoys", "redrawn", "fine", "exchanged"])
def test_it_is_the_sum_of_products_of_weights_or_the_likeliest(
    con: duckdb.DuckDBPyConnection, release: str
) -> None:
    operator = np.kron(law(con, release, "drug", "2"), law(con, release, "disease", "v1"))
    found = rows(
        con,
        f"FROM priv.reconstructed_joint('{release}', {BOTH}, ['v1', '2'],"
        " group_columns := 'age', condition := 'age < 23')",
    )
    assert [age for age, *_ in found] == [20, 21, 22]
    for age, estimate, low, high, stderr, observed, records in found:
        shown = "coalesce(noisy_disease = 'v1', false) AND noisy_drug = 2"
        counted = f"SELECT count_if({shown}), count(*) FROM {release} WHERE age = {age}"
        assert (observed, records) == rows(con, counted)[0]
        *unbiased, variance = sums(con, release, f"age = {age}")
        assert sum(unbiased) == pytest.approx(records)
        assert stderr == pytest.approx(np.sqrt(max(variance, 0)))
        assert 0 <= low <= estimate <= high <= records
        if min(unbiased) >= 0:
            assert estimate == pytest.approx(unbiased[3], rel=1e-9)
        else:
            shown = np.maximum(operator @ unbiased, 0)
            assert estimate == pytest.approx(iterative_bayesian(operator, shown)[3], abs=0.05)


@pytest.mark.once
@pytest.mark.parametrize("release", ["decoys", "fine", "exchanged"])
def test_what_others_have_does_not_bias_it(con: duckdb.DuckDBPyConnection, release: str) -> None:
    """Among records whose other values are not those of the table; within 6.2 standard errors at known noise."""
    for age in (20, 21, 22, 23):
        of_group = f"FROM visits WHERE age = {age} AND disease = 'v1' AND drug = 2"
        ((truth,),) = rows(con, f"SELECT count(*) {of_group}")
        *unbiased, variance = sums(con, release, f"age = {age}")
        assert abs(unbiased[3] - truth) < 6.2 * np.sqrt(variance)
        ((low, high),) = rows(
            con,
            f"SELECT low, high FROM priv.reconstructed_joint('{release}', {BOTH}, ['v1', '2'],"
            f" condition := 'age = {age}', confidence := 0.999999)",
        )
        assert low <= truth <= high


@pytest.mark.once
def test_intervals_hold_the_truth(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> None:
    """Of 300 groups of 100 records at known noise, with false alarms for other noise below 1e-9."""
    with prepared() as con:
        con.execute(
            "CREATE TABLE source AS SELECT i AS id, i % 300 AS part, (i // 300 % 4) % 3 AS a,"
            " (i // 1200 % 5 + i // 300 % 2) % 4 AS b FROM range(30000) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_uniform('source', 'pairs', sensitive := ['a', 'b'], retention := 0.5, record_id := 'id')"
        ).fetchall()
        true = dict(rows(con, "SELECT part, count_if(a = 0 AND b = 1) FROM source GROUP BY part"))
        found = rows(
            con,
            "SELECT part, estimate, low, high FROM"
            " priv.reconstructed_joint('pairs', ['a', 'b'], ['0', '1'], group_columns := 'part')",
        )
    held = sum(low <= true[part] <= high for part, _, low, high in found)
    assert held >= binom.ppf(1e-9, 300, 0.95)


@pytest.mark.once
@pytest.mark.parametrize("others", [5, 9])
def test_the_method_of_the_paper_to_the_letter(
    prepared: Callable[..., duckdb.DuckDBPyConnection], con: duckdb.DuckDBPyConnection, others: int
) -> None:
    """N = 1000, gamma = 5, f' = 100, 200 records asked for, 24 of which show the value; then many more shares."""
    with prepared(None) as publisher:
        publisher.execute(
            f"CREATE TABLE source AS SELECT 'v' || i % {others + 1} AS s, i % 2 AS part FROM range(1000) AS t(i)"
        )
        publisher.execute(
            "FROM priv.publish_splu('source', 'paper', sensitive := 's', gamma := 5, public := ['part'])"
        ).fetchall()
        for inside, shown, size in ((24, 100, 200), (30, 90, 150)):
            publisher.execute(
                "CREATE OR REPLACE TABLE paper AS SELECT (i % 1000 < $size)::INTEGER AS part,"
                " CASE WHEN i < $inside OR i >= $size AND i < $size + $shown - $inside THEN 'v0' ELSE 'v1' END"
                " AS noisy_s"
                " FROM range(1000) AS t(i)",
                {"inside": inside, "shown": shown, "size": size},
            )
            ((estimate, stderr, observed),) = rows(
                publisher,
                "SELECT estimate, stderr, noisy_count FROM priv.reconstructed_joint('paper', ['s'], ['v0'],"
                " condition := 'part = 1', method := 'paper')",
            )
            (expected,), _ = paper_iterative(inside, size, shown, 1000, 5)
            assert estimate == pytest.approx(expected, rel=1e-9)
            assert (stderr, observed) == (None, inside)
            if inside == 24:
                assert estimate == pytest.approx(32.388, abs=5e-4)
                ((rested,),) = rows(
                    publisher,
                    "SELECT estimate FROM priv.reconstructed_joint('paper', ['s'], ['v0'], condition := 'part = 1',"
                    " method := 'paper', tolerance := 1e-12)",
                )
                assert rested == pytest.approx(54.415688, abs=5e-7)


@pytest.mark.once
@pytest.mark.parametrize(("secret_byte", "disease", "drug"), [(15, 1, 4), (20, 1, 4), (40, 2, 2)])
def test_steps_that_begin_where_they_rest_stay_there(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    secret_byte: int,
    disease: int,
    drug: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With this noise the second step of a group differs from the first by nothing, not even a rounding."""
    monkeypatch.setattr(secrets, "refuse_weak", lambda secret: None)
    with prepared(bytes([secret_byte]) * 32) as con:
        con.execute(VISITS)
        con.execute(
            f"FROM priv.publish_splu('visits', 'decoys', gamma := 2, sensitive := {BOTH}, record_id := 'id')"
        ).fetchall()
        inside = 0
        for age, estimate, *_ in rows(
            con,
            f"FROM priv.reconstructed_joint('decoys', {BOTH}, ['v{disease}', '{drug}'], group_columns := 'age')",
        ):
            *unbiased, _ = sums(con, "decoys", f"age = {age}", f"v{disease}", drug)
            if min(unbiased) > 0:
                inside += 1
                assert estimate == pytest.approx(unbiased[3], rel=1e-9)
        assert inside


@pytest.mark.once
def test_one_attribute_is_the_estimate_cut(con: duckdb.DuckDBPyConnection) -> None:
    for value in ("v0", "v1", "v5"):
        joint, single = rows(
            con,
            f"SELECT estimate, (SELECT priv.reconstructed_count('redrawn.disease', noisy_disease, '{value}')"
            " FROM redrawn WHERE age = 21) FROM priv.reconstructed_joint('redrawn', ['disease'],"
            f" ['{value}'], condition := 'age = 21')",
        )[0]
        assert joint == pytest.approx(max(single, 0), rel=1e-6)


def test_missing_values_and_orders_of_attributes(con: duckdb.DuckDBPyConnection) -> None:
    one = rows(con, f"FROM priv.reconstructed_joint('decoys', {BOTH}, [NULL, '3'])")
    other = rows(con, "FROM priv.reconstructed_joint('Decoys', ['DRUG', 'disease'], ['3', NULL])")
    assert one[0] == pytest.approx(other[0], rel=1e-6)
    shown = "SELECT count_if(noisy_disease IS NULL AND noisy_drug = 3) FROM decoys"
    assert one[0][4] == rows(con, shown)[0][0]


@pytest.mark.once
def test_the_paper_stops_early(con: duckdb.DuckDBPyConnection) -> None:
    question = f"SELECT estimate FROM priv.reconstructed_joint('decoys', {BOTH}, ['v1', '2'], method := '{{}}')"
    truth = rows(con, "SELECT count(*) FROM visits WHERE disease = 'v1' AND drug = 2")[0][0]
    ours, theirs = (rows(con, question.format(method))[0][0] for method in ("bayesian", "paper"))
    assert abs(ours - truth) < abs(theirs - truth)


def test_a_group_column_may_have_any_name(con: duckdb.DuckDBPyConnection) -> None:
    """Also one that a step of the query uses."""
    query = (
        f"FROM priv.reconstructed_joint('redrawn', {BOTH}, ['v1', '4'], group_columns := '{{}}')"
    )
    expected = rows(con, query.format("age"))
    every = ["heaviest", "likelihood", "m", "settled", "shown", "squares", "start", "step"]
    con.execute("BEGIN")
    try:
        for former, name in pairwise(["age", *every]):
            con.execute(f"ALTER TABLE redrawn RENAME {former} TO {name}")
            assert rows(con, query.format(name)) == expected
    finally:
        con.execute("ROLLBACK")


def test_an_empty_subset_has_none(con: duckdb.DuckDBPyConnection) -> None:
    asked = f"FROM priv.reconstructed_joint('decoys', {BOTH}, ['v1', '2'], condition := 'age > 99'"
    assert rows(con, f"{asked})") == [(0, 0, 0, 0, 0, 0)]
    assert rows(con, f"{asked}, group_columns := 'age')") == []


@pytest.mark.parametrize(
    ("arguments", "stated"),
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
def test_bad_calls_are_errors(con: duckdb.DuckDBPyConnection, arguments: str, stated: str) -> None:
    with pytest.raises(duckdb.Error) as raised:
        rows(con, f"FROM priv.reconstructed_joint({arguments})")
    assert stated in str(raised.value)


@pytest.mark.parametrize("release", ["decoys", "redrawn", "fine"])
def test_a_release_file_answers_by_itself(
    con: duckdb.DuckDBPyConnection,
    without_cards: Callable[[], AbstractContextManager[None]],
    tmp_path: Path,
    release: str,
) -> None:
    path = tmp_path / "given.duckdb"
    with without_cards():
        con.execute(f"FROM priv.export_release('{release}', '{path}')").fetchall()
    reader = duckdb.connect()
    reader.execute(f"ATTACH '{path}' AS given (READ_ONLY)")
    asked = f"priv.reconstructed_joint('{release}', {BOTH}, ['v1', '2'], group_columns := 'age'"
    there = rows(reader, f"FROM given.{asked}, database := 'given')")
    for one, other in zip(there, rows(con, f"FROM {asked})"), strict=True):
        assert one == pytest.approx(other, rel=1e-9)
    reader.close()
