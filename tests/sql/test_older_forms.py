"""Releases and publishers' databases of the time when a published column had the name of its attribute.

``tests/fixtures`` holds both as SQL, as the code of that time wrote them.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.card.card import read_card
from duckdb_priv.release import catalog

FIXTURES = Path(__file__).parents[1] / "fixtures"
FLU = "priv.reconstructed_count('visits_public.disease', disease, 'flu')"


def earlier(name: str) -> str:
    return (FIXTURES / f"{name}_0001.sql").read_text("utf-8")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    path = tmp_path / "visits_public.duckdb"
    with duckdb.connect(str(path)) as writer:
        writer.execute(earlier("release"))
    return path


def test_an_earlier_release_opens_and_answers(release: Path) -> None:
    with duckdb_priv.open_release(release) as con:
        assert con.execute("SELECT column_name FROM (DESCRIBE visits_public)").fetchall() == [
            ("ward",),
            ("disease",),
            ("drug",),
        ]
        # 60 records, half of each value redrawn from three.
        shown, estimate, weights = con.execute(
            f"SELECT count_if(disease = 'flu'), {FLU},"
            " (SELECT sum(weight) FROM visits_public_disease_estimated WHERE disease = 'flu') FROM visits_public"
        ).fetchall()[0]
        assert (estimate, weights) == pytest.approx(((shown - 60 * 0.5 / 3) / 0.5,) * 2)
        listed = con.execute(
            "SELECT estimate FROM priv.reconstructed_distribution('visits_public.disease') WHERE value = 'flu'"
        ).fetchall()
        assert listed == [(pytest.approx(estimate),)]
        attributes = catalog.sensitive_attributes(con, "visits_public")
        assert [(of.name, of.column) for of in attributes] == [
            ("disease", "disease"),
            ("drug", "drug"),
        ]


def test_an_earlier_release_has_a_card(release: Path) -> None:
    with duckdb.connect(str(release), read_only=True) as con:
        card = read_card(con, "visits_public")
        assert [attribute.name for attribute in card.attributes] == ["disease", "drug"]
        for _, statement in card.statements:
            assert con.execute(statement).fetchall()


@pytest.fixture
def publisher() -> duckdb.DuckDBPyConnection:
    """A publisher's database of that time, with duckdb_priv installed on it anew."""
    con = duckdb.connect()
    con.execute(earlier("release") + earlier("publisher"))
    duckdb_priv.install(con, secret=bytes(range(32)))
    return con


def test_an_earlier_database_is_brought_up_to_date(publisher: duckdb.DuckDBPyConnection) -> None:
    names = "SELECT attribute, column_name FROM priv.attribute WHERE release = ? ORDER BY attribute"
    assert publisher.execute(names, ["visits_public"]).fetchall() == [
        (name, name) for name in ("disease", "drug", "ward")
    ]
    with duckdb_priv.connect(secret=bytes(range(32))) as fresh:
        columns = (
            "SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns()"
            " WHERE table_name = 'attribute'"
        )
        assert publisher.execute(columns).fetchall() == fresh.execute(columns).fetchall()
    before = publisher.execute(f"SELECT {FLU} FROM visits_public").fetchall()
    wrong = publisher.execute("SELECT count(*) FROM priv.audit('visits_public') WHERE NOT holds")
    assert wrong.fetchall() == [(0,)]
    publisher.execute(
        "FROM priv.publish_uniform('visits', 'visits_public', sensitive := ['disease', 'drug'],"
        " retention := 0.5, record_id := 'id', replace := true)"
    ).fetchall()
    after = FLU.replace(" disease", " noisy_disease")
    assert publisher.execute(f"SELECT {after} FROM visits_public").fetchall() == before
    assert publisher.execute(names, ["visits_public"]).fetchall() == [
        ("disease", "noisy_disease"),
        ("drug", "noisy_drug"),
        ("ward", "ward"),
    ]
    publisher.close()


def test_an_earlier_release_is_exported_as_it_is(
    publisher: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = tmp_path / "again.duckdb"
    publisher.execute("FROM priv.export_release('visits_public', ?)", [str(path)]).fetchall()
    publisher.close()
    with duckdb_priv.open_release(path) as con:
        assert con.execute(f"SELECT {FLU} FROM visits_public").fetchall()
        assert con.execute(
            "SELECT DISTINCT column_name = attribute FROM priv.attribute"
        ).fetchall() == [(True,)]
        assert con.execute("SELECT count(*) FROM visits_public_disease_weights").fetchall()
