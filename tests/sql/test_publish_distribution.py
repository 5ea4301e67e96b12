"""Publishing values redrawn from their distribution: what is published, how it is counted, what the audit says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from answers import rows

pytestmark = pytest.mark.usefixtures("unasked", "plain_files")

VISITS = """
    CREATE TABLE visits AS SELECT id, if(id % 2 = 0, 'f', 'm') AS gender, id % 5 AS drug,
        CASE WHEN id % 3 = 0 THEN ['flu', NULL][1 + id % 2] ELSE ['flu', 'cold', 'cough', NULL][1 + id // 7 % 4] END
            AS disease
    FROM range(3000) AS t(id)
"""


@pytest.fixture
def con(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = prepared()
    connection.execute(VISITS)
    yield connection
    connection.close()


def publish(con: duckdb.DuckDBPyConnection, release: str = "r", **more: Any) -> tuple[Any, ...]:
    arguments = {"sensitive": "disease", "record_id": "id", "exclude": ["drug"]} | more
    given = ", ".join(
        f"{name} := {value!r}" for name, value in arguments.items() if value is not None
    )
    return con.execute(
        f"FROM priv.publish_distribution('visits', '{release}', {given})"
    ).fetchall()[0]


def publish_visits(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(VISITS)
    publish(con)


def publish_visits_thrice(con: duckdb.DuckDBPyConnection) -> None:
    publish_visits(con)
    for call in (
        "publish_uniform('visits', 'u', sensitive := 'disease', retention := 0.5, record_id := 'id')",
        "publish_anatomy('visits', 'a', sensitive := 'disease', l := 2, record_id := 'id')",
    ):
        rows(con, f"FROM priv.{call}")


@pytest.fixture
def released(made: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in which the visits are published, once for all tests."""
    with made(publish_visits) as connection:
        yield connection


VALUES = {"'flu'": "disease = 'flu'", "NULL": "disease IS NULL", "'cough'": "disease = 'cough'"}


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("beside", [False, True])
def test_a_count_is_the_share_of_the_rows(
    made: Callable[..., duckdb.DuckDBPyConnection], value: str, beside: bool
) -> None:
    released = made(publish_visits_thrice if beside else publish_visits)
    ((share,),) = rows(released, f"SELECT count_if({VALUES[value]}) / count(*) FROM visits")
    for condition, size in (("gender = 'f'", 1500), ("true", 3000), ("false", 0)):
        count, stderr, interval, likely, weighed = rows(
            released,
            f"SELECT priv.reconstructed_count('r', noisy_disease, {value}),"
            f" priv.reconstructed_stderr('r', noisy_disease, {value}),"
            f" priv.reconstructed_interval('r', noisy_disease, {value}),"
            f" priv.reconstructed_mle('r', noisy_disease, {value}),"
            f" coalesce(sum(priv.weight('r', noisy_disease, {value})), 0) FROM r WHERE {condition}",
        )[0]
        assert [count, likely, weighed, interval["estimate"]] == pytest.approx([size * share] * 4)
        assert stderr**2 == pytest.approx(share * (1 - share) * size * (3000 - size) / 2999)
        assert interval["low"] == pytest.approx(
            max(0, size * share - 0.5 - 1.959963984540054 * stderr)
        )
        quoted = condition.replace("'", "''")
        for method in ("inverse", "bayesian"):
            found = rows(
                released,
                f"SELECT estimate FROM priv.reconstructed_distribution('r', condition := '{quoted}',"
                f" method := '{method}') WHERE value IS NOT DISTINCT FROM {value}",
            )
            assert found == [(pytest.approx(size * share),)]


def test_what_is_shown_has_nothing_to_do_with_what_is_true(con: duckdb.DuckDBPyConnection) -> None:
    """Two records exchange their values: the histogram is the same, and so is every byte that is published."""
    publish(con, "one")
    con.execute(
        "UPDATE visits SET disease = (SELECT disease FROM visits AS other WHERE other.id = 31 - visits.id)"
        " WHERE id IN (9, 22)"
    )
    publish(con, "two")
    assert rows(con, "FROM one") == rows(con, "FROM two")
    assert rows(con, "SELECT count(DISTINCT coins) FROM priv.ledger") == [(1,)]
    con.execute("UPDATE visits SET disease = 'asthma' WHERE id = 9")
    publish(con, "three")
    assert rows(con, "SELECT count(DISTINCT coins) FROM priv.ledger") == [(2,)]


def test_the_audit_says_what_is_revealed_and_what_is_lost(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE visits SET disease = 'cold' WHERE gender = 'f' AND id % 4 = 0")
    publish(con)
    found = {
        name: (value, holds)
        for name, value, holds in rows(con, "SELECT guarantee, value, holds FROM priv.audit('r')")
    }
    assert found["independence"] == (0, True)
    assert found["noise_as_stated"][1] is True
    assert found["exact_counts"][0] < 1e-9
    ((lost,),) = rows(
        con,
        "WITH n AS (SELECT gender, disease, count(*) AS n FROM visits GROUP BY ALL),"
        " a AS (SELECT disease, sum(n) AS n FROM n GROUP BY 1)"
        " SELECT sum(abs(n.n - a.n / 2)) / 2 / 3000 FROM n JOIN a ON n.disease IS NOT DISTINCT FROM a.disease",
    )
    assert found["lost_association"] == (pytest.approx(lost), None)
    assert lost > 0.05
    assert rows(con, "SELECT epsilon, adds FROM priv.ledger()") == [(None, math.inf)]


@pytest.mark.usefixtures("asked")
def test_bad_input_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error, match="no sensitive column is named"):
        publish(con, sensitive=None)
    publish(con)
    with pytest.raises(duckdb.Error, match="show no value of their own"):
        rows(con, "FROM priv.reconstructed_joint('r', ['disease'], ['flu'])")
    with pytest.raises(duckdb.Error, match="has no value 'measles'"):
        rows(con, "SELECT priv.reconstructed_count('r', noisy_disease, 'measles') FROM r")


@pytest.mark.usefixtures("asked")
def test_several_attributes_are_redrawn_apart_and_multiply(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    receipt = publish(con, sensitive=["disease", "drug"], exclude=[])
    assert any("a baseline to compare with" in warning for warning in receipt[7])
    question = (
        "SELECT sum(priv.weight('r.disease', noisy_disease, 'flu') *"
        " priv.weight('r.drug', noisy_drug, 3)) FROM r"
    )
    ((flu,),) = rows(con, "SELECT count_if(disease = 'flu') FROM visits")
    assert rows(con, question)[0][0] == pytest.approx(flu / 5)
    rows(con, f"FROM priv.export_release('r', '{tmp_path / 'r.duckdb'}')")
    with duckdb.connect() as reader:
        reader.execute(f"ATTACH '{tmp_path / 'r.duckdb'}' AS given (READ_ONLY)")
        asked = question.replace("priv.", "given.priv.").replace("FROM r", "FROM given.r")
        assert rows(reader, asked)[0][0] == pytest.approx(flu / 5)
