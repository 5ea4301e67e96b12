"""Smoothed counts in SQL: the numbers of their twin in numpy, nearer to the truth, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import numpy as np
import pytest
from plausible import FALSE_ALARM
from reference.smoothing import smoothed_counts
from scipy.stats import binom

pytestmark = pytest.mark.usefixtures("plain_files")

TABLES = """
    CREATE TABLE visits AS
    SELECT i AS id, (i % 60)::INTEGER AS ward, (['f', 'm'])[1 + (hash('g' || i) % 2)::INTEGER] AS gender,
        CASE WHEN hash('d' || i) % (3 + i % 60) = 0 THEN 'flu' WHEN hash('d' || i) % 11 = 1 THEN NULL
            ELSE 'd' || (hash('e' || i) % 12) END AS disease
    FROM range(12000) AS t(i);

"""
CALLS = {
    "uniform": "retention := 0.2",
    "block_design": "epsilon := 0.5",
    "shuffled": "epsilon := 1.0, delta := 1e-6",
}
WEIGHED = {"shuffled"}


@pytest.fixture(scope="module")
def con(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    together: Callable[..., AbstractContextManager[None]],
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A publisher's database, in which the functions choose among all forms."""
    with prepared() as connection:
        connection.execute(TABLES)
        with together(connection):
            for name, rest in CALLS.items():
                connection.execute(
                    f"FROM priv.publish_{name}('visits', '{name}', sensitive := 'disease', {rest}, record_id := 'id',"
                    " public := ['ward', 'gender'])"
                ).fetchall()
        yield connection


@pytest.fixture(scope="module")
def files(
    con: duckdb.DuckDBPyConnection,
    without_cards: Callable[..., AbstractContextManager[None]],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("smoothed")
    files = {name: folder / f"{name}.duckdb" for name in ("uniform", "shuffled")}
    with without_cards():
        for name, path in files.items():
            con.execute("FROM priv.export_release(?, ?)", [name, str(path)]).fetchall()
    return files


def call(name: str, value: str = "'flu'", more: str = "") -> str:
    weight = ", weight := 'scale'" if name in WEIGHED else ""
    return f"FROM priv.smoothed_count('{name}', {value}, group_columns := 'ward, gender'{weight}{more})"


@pytest.mark.once
@pytest.mark.parametrize("name", CALLS)
def test_beside_the_unbiased_estimate_is_one_that_is_nearer(con, name: str) -> None:
    found = con.execute(
        f"SELECT ward, gender, value, estimate, stderr, low, high, smoothed {call(name)}"
    ).fetchall()
    weight = ", weight := scale" if name in WEIGHED else ""
    asked = con.execute(
        f"SELECT ward, gender, priv.reconstructed_interval('{name}', noisy_disease, 'flu'{weight}) AS i"
        f" FROM {name} GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert [row[:2] for row in found] == [row[:2] for row in asked]
    assert {row[2] for row in found} == {"flu"}
    for row, (*_, interval) in zip(found, asked, strict=True):
        assert row[3:7] == pytest.approx(tuple(interval.values()))
    true = dict(
        con.execute(
            "SELECT (ward, gender)::VARCHAR, count_if(disease = 'flu') FROM visits GROUP BY ALL"
        ).fetchall()
    )
    truth = np.array([true[f"({ward}, {gender})"] for ward, gender, *_ in found])
    estimate, low, high, smoothed = (
        np.array([row[place] for row in found]) for place in (3, 5, 6, 7)
    )
    assert (smoothed >= 0).all()
    assert np.mean((smoothed - truth) ** 2) < np.mean((estimate - truth) ** 2)
    covered = int(((low <= truth) & (truth <= high)).sum())
    assert binom.cdf(covered, len(truth), 0.94) > FALSE_ALARM


@pytest.mark.parametrize("condition", [None, "gender = 'f'", "ward < 20 -- few"])
def test_it_is_what_the_derivation_says(con, files, condition: str | None) -> None:
    """All rows say how frequent the value is, the chosen ones how much cells differ."""
    more = "" if condition is None else ", condition := '" + condition.replace("'", "''") + "'"
    with duckdb.connect(str(files["uniform"]), read_only=True) as analyst:
        chosen = condition or "true"
        rows = analyst.execute(
            "SELECT ward, gender, count(*), priv.reconstructed_interval('uniform', noisy_disease, 'flu')"
            f" FROM uniform WHERE {chosen}\n GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        ((whole, total),) = analyst.execute(
            "SELECT priv.reconstructed_count('uniform', noisy_disease, 'flu'), count(*) FROM uniform"
        ).fetchall()
        ((own, other),) = analyst.execute(
            "SELECT DISTINCT own, other FROM priv.coefficient"
        ).fetchall()
        slope = (own * (1 - own) - other * (1 - other)) / (own - other) ** 2
        expected = smoothed_counts(
            [row[3]["estimate"] for row in rows],
            [row[3]["stderr"] ** 2 for row in rows],
            [slope] * len(rows),
            [row[2] for row in rows],
            whole / total,
        )
        for connection in (analyst, con):
            found = connection.execute(
                f"SELECT ward, gender, smoothed {call('uniform', more=more)}"
            ).fetchall()
            assert [row[:2] for row in found] == [row[:2] for row in rows]
            assert [row[2] for row in found] == pytest.approx(expected.tolist())


def test_a_missing_value_a_confidence_and_a_file_that_is_attached(con, files) -> None:
    missing = con.execute(f"SELECT value, smoothed {call('uniform', 'NULL')}").fetchall()
    assert len(missing) == 120
    assert {value for value, _ in missing} == {None}
    wide, narrow = (
        con.execute(
            f"SELECT high - low, smoothed {call('uniform', more=f', confidence := {of}')}"
        ).fetchall()
        for of in (0.99, 0.5)
    )
    assert all(one[0] > two[0] and one[1] == two[1] for one, two in zip(wide, narrow, strict=True))
    with duckdb.connect() as other:
        other.execute(f"ATTACH '{files['shuffled']}' AS r (READ_ONLY)")
        question = call("shuffled", more=", database := 'r'").replace("priv.", "r.priv.")
        found = other.execute(question).fetchall()
    assert found == con.execute(call("shuffled")).fetchall()


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("'uniform', 'flu'", "group_columns is missing: smoothed counts are those of cells"),
        ("'uniform', 'x', group_columns := 'ward'", "has no value 'x'"),
        ("'nowhere', 'flu', group_columns := 'ward'", 'no release is called "nowhere"'),
        (
            "'uniform', 'flu', group_columns := 'noisy_disease'",
            "group_columns and condition take public columns only",
        ),
        (
            "'uniform', 'flu', group_columns := 'ward', condition := 'noisy_disease IS NULL'",
            "group_columns and condition take public columns only",
        ),
        ("'shuffled', 'flu', group_columns := 'ward'", "write weight := scale"),
        ("'uniform', 'flu', group_columns := 'ward', confidence := 1", "confidence must lie"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(con, question: str, message: str) -> None:
    with pytest.raises(duckdb.Error) as caught:
        con.execute(f"FROM priv.smoothed_count({question})").fetchall()
    assert message in str(caught.value)
    assert str(caught.value).count("Hint:") == 1
