"""Publishing again, reading again, publishing in another order: none of it may teach anything."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest
from plausible import FALSE_ALARM
from scipy import stats

pytestmark = pytest.mark.usefixtures("unasked")

MECHANISMS = ("uniform", "fine_grain", "matrix", "reconstruction_private", "splu", "anatomy")
PERSONS = 4_000
RELEASES = 5
Publish = Callable[..., None]


def rows(con: duckdb.DuckDBPyConnection, table: str) -> list[tuple]:
    return con.execute(f"FROM {table}").fetchall()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_rows_without_ids_are_stored_in_an_order_of_published_values(con, publish, mechanism):
    con.execute("CREATE TABLE telling AS FROM hospital_stays ORDER BY disease, patient_number")
    publish("release", source="telling", mechanism=mechanism, record_id=None)
    assert rows(con, "release") == rows(con, "(FROM release ORDER BY ALL)")


def test_reading_a_release_again_teaches_nothing(con, publish):
    publish("release", record_id=None)
    reads = {tuple(rows(con, "release")) for _ in range(20)}
    assert len(reads) == 1


def share_guessed(con: duckdb.DuckDBPyConnection, publish: Publish, record_id: str | None) -> int:
    """Publish often, link the people by a bed of their own, and guess what each of them showed most."""
    con.execute("ALTER TABLE hospital_stays ADD COLUMN bed INTEGER")
    con.execute("UPDATE hospital_stays SET bed = patient_number[7:]::INTEGER")
    con.execute("CREATE TABLE seen (bed INTEGER, disease VARCHAR)")
    for _ in range(RELEASES):
        publish("release", record_id=record_id, replace=True, public=("bed", "age", "ward"))
        con.execute("INSERT INTO seen SELECT bed, noisy_disease FROM release")
    (right,) = con.execute(
        """
        WITH guessed AS (SELECT bed, mode(coalesce(disease, 'missing')) AS guess FROM seen GROUP BY bed)
        SELECT count_if(guess = coalesce(disease, 'missing')) FROM guessed JOIN hospital_stays USING (bed)
        """
    ).fetchall()[0]
    return right


def test_averaging_keyed_releases_meets_the_same_value_each_time(con, publish):
    right = share_guessed(con, publish, "patient_number")
    once = 0.5 + 0.5 / 5
    assert stats.binomtest(right, PERSONS, once).pvalue > FALSE_ALARM
    (spent, spent_at_once, fresh) = con.execute(
        "SELECT max(total), max(epsilon), bool_or(fresh) FROM priv.ledger(details := true)"
    ).fetchall()[0]
    assert spent == pytest.approx(spent_at_once)
    assert not fresh


def test_averaging_fresh_releases_finds_the_truth_and_the_ledger_says_so(con, publish):
    """The attack is real: five looks show three of four true values, one shows six of ten. What is spent is said."""
    right = share_guessed(con, publish, None)
    # At least 0.768 are expected, whichever of the most frequent values is taken: 7 standard errors more.
    assert right > 0.72 * PERSONS
    (spent, spent_at_once, fresh) = con.execute(
        "SELECT max(total), max(epsilon), bool_and(fresh) FROM priv.ledger(details := true)"
    ).fetchall()[0]
    assert spent == pytest.approx(RELEASES * spent_at_once)
    assert fresh


@pytest.mark.parametrize(
    "change",
    [
        "retention := 0.4",
        "retention := 0.5, domain := ['none', 'flu', 'asthma', 'cancer', 'x', NULL]",
    ],
)
def test_what_is_redrawn_adds_up(once_published, change):
    """Other parameters are other noise: an independent look at the same truth."""
    con, publish = once_published
    publish("second", arguments=change)
    adds = con.execute("SELECT adds > 0 FROM priv.ledger()").fetchall()
    assert adds == [(True,), (True,)]
    total, parts = con.execute("SELECT max(total), sum(epsilon) FROM priv.ledger()").fetchall()[0]
    assert total == pytest.approx(parts)


def test_renaming_does_not_make_the_ledger_forget(con, publish):
    """Everything of a population adds, whatever its tables and views are called."""
    publish("first", record_id=None)
    con.execute("CREATE VIEW stays AS FROM hospital_stays")
    con.execute("CREATE VIEW stays_again AS FROM stays")
    publish("second", source="stays_again", record_id=None)
    con.execute("FROM priv.drop_release('first')").fetchall()
    assert con.execute("SELECT total > 1.5 * epsilon FROM priv.ledger()").fetchall() == [
        (False,),
        (True,),
    ]


@pytest.mark.parametrize("read", ["'{}'", "read_parquet('{}')"])
def test_a_view_of_a_file_is_charged(con, publish, tmp_path, read):
    con.execute(f"COPY hospital_stays TO '{tmp_path}/stays.parquet'")
    con.execute(f"CREATE VIEW filed AS FROM {read.format(tmp_path / 'stays.parquet')}")
    for release in ("first", "second"):
        publish(release, source="filed", record_id=None)
    ledger = con.execute("SELECT adds > 0, round(total / epsilon, 6) FROM priv.ledger()").fetchall()
    assert ledger == [(True, 1.0), (True, 2.0)]
