"""Ways to publish the same people again: each adds to what the population had spent, is harmless, or is refused.

The table in ``ways.py`` is the one of ``docs/publishing.md``. What is harmless is attacked: no record shows anything
else than it showed before.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import duckdb
import pytest
from attacks.ways import (
    ADDS,
    BASE,
    CHEAP,
    COPY,
    DRAW,
    GROUPS,
    HARMLESS,
    KEPT,
    NOISE,
    REFUSED,
    VISITS,
    WAYS,
    Attack,
    Way,
    attack,
    publish,
)
from plausible import FALSE_ALARM
from scipy import stats

pytestmark = pytest.mark.usefixtures("unasked")

VALUES = 5
"""How many values the attacked attribute has."""
PAGE = Path(__file__).parents[2] / "docs" / "publishing.md"


def publish_both(con, given):
    con.execute(VISITS)
    con.execute(KEPT)
    publish(con, "uniform", "first", **NOISE, **given)
    publish(con, "splu", "grouped", **GROUPS, **given)


@pytest.fixture
def con(prepared):
    with prepared(secret=None) as connection:
        connection.execute(VISITS)
        connection.execute(KEPT)
        yield connection


@pytest.fixture
def once_published(made):
    """A database in which both methods have published already: made once for all ways that begin so."""
    opened = []

    def copy(**given):
        opened.append(made(publish_both, given, secret=None))
        return opened[-1]

    yield copy
    for connection in opened:
        connection.close()


def outcome(con, method, release, own, way):
    """Publish again, and say what became of it."""
    taken = {name: value for name, value in way.given.items() if name not in ("epsilon", "gamma")}
    mine = {name: way.given.get(name, value) for name, value in own.items()}
    if taken.get("replace"):
        release = {"second": "first", "third": "grouped"}[release]
    try:
        receipt = publish(con, method, release, **way.first | taken | mine)
    except duckdb.Error as error:
        return REFUSED, str(error)
    ((adds,),) = con.execute(
        "SELECT sum(adds) FROM (SELECT *, dense_rank() OVER (ORDER BY published_at DESC) AS version"
        " FROM priv.ledger(details := true) WHERE release = ?) WHERE version = 1",
        [release],
    ).fetchall()
    stated = receipt["ledger"]
    assert ("this adds nothing" in stated) == (adds == 0), stated
    return (ADDS if adds else HARMLESS), stated


@pytest.mark.parametrize("way", WAYS, ids=lambda each: each.name)
def test_every_way_adds_is_harmless_or_is_refused(once_published, tmp_path, way):
    con = once_published(**way.first | way.at_first)
    shown = {row[0]: row[1:] for row in con.execute("FROM first").fetchall()}
    if way.make == "rotate":
        con.execute("FROM priv.rotate_secret()").fetchall()
    elif way.make:
        con.execute(way.made(tmp_path, 7)).fetchall()
    noise = outcome(con, "uniform", "second", NOISE, way)
    assert noise[0] == way.noise, noise
    groups = outcome(con, "splu", "third", GROUPS, way)
    assert groups[0] == way.groups, groups
    if way.noise == HARMLESS and "seat" in (way.given.get("public", BASE["public"]) or ()):
        release = "first" if way.given.get("replace") else "second"
        again = con.execute(f"SELECT seat, noisy_disease::VARCHAR FROM {release}").fetchall()
        other = [seat for seat, noisy in again if seat in shown and shown[seat][-1] != noisy]
        assert len(other) <= way.redrawn


def test_the_page_has_this_table():
    rows = re.findall(
        r"^\| ([^|]+) \| (\w+) \| (\w+) \| ([^|]+) \|$", PAGE.read_text("utf-8"), re.M
    )
    table = [(each.name, each.noise, each.groups, each.why) for each in WAYS]
    assert [row for row in rows if row[1] in (HARMLESS, ADDS, REFUSED)] == table
    assert len(WAYS) >= 76


GROUPED = {
    "splu": {"gamma": 2},
    "anatomy": {"l": 2},
    "reconstruction_private": {"retention": 0.5, "epsilon": 0.3, "delta": 0.3},
}


def ledger(con, columns, release="second"):
    return con.execute(
        f"SELECT DISTINCT {columns} FROM priv.ledger(details := true) WHERE release = ?", [release]
    ).fetchall()


@pytest.mark.parametrize("earlier", GROUPED)
def test_ways_to_group_are_guarded_together(con, earlier):
    """Each refuses to follow each other; one of them is published again by request, and for other people."""
    publish(con, earlier, "first", **GROUPED[earlier])
    con.execute(
        "CREATE TABLE copy AS SELECT * REPLACE (id + 1000 AS id) FROM visits WHERE id > 100"
    )
    for later, own in GROUPED.items():
        with pytest.raises(duckdb.Error, match=f"already published in groups by publish_{earlier}"):
            publish(con, later, "second", **own | COPY)
    names = [*GROUPED]
    later = names[names.index(earlier) - 1]
    again = GROUPED[later] | COPY
    receipt = publish(con, later, "second", republish=True, **again)
    ((reason,),) = ledger(con, "reason")
    assert reason.startswith("republish := true, although 'disease' of this population")
    assert reason in receipt["warnings"]
    ((adds,),) = ledger(con, "adds")
    assert adds > 0
    publish(con, later, "third", population="others", **again)


def test_the_same_samples_of_micro_groups_are_published_again(con):
    own = GROUPED["reconstruction_private"]
    publish(con, "reconstruction_private", "first", **own)
    con.execute("CREATE TABLE copy AS FROM visits")
    publish(con, "reconstruction_private", "second", source="copy", **own)
    assert con.execute("FROM first EXCEPT ALL FROM second").fetchall() == []
    assert ledger(con, "adds") == [(0,)]
    with pytest.raises(duckdb.Error, match="already published in groups"):
        publish(con, "reconstruction_private", "third", **own | {"public": ["ward"]})


def test_equal_ids_in_two_populations_are_drawn_independently(con):
    """What one shows says nothing of the other, and neither is charged for it."""
    for population in ("main", "others"):
        publish(con, "uniform", population, population=population, **NOISE)
    ((same, agree),) = con.execute(
        "SELECT count(*) FILTER (a.noisy_disease = b.noisy_disease), count(*)"
        " FROM main AS a JOIN others AS b USING (seat)"
    ).fetchall()
    retention = (math.e - 1) / (math.e + 4)
    expected = retention**2 + (1 - retention**2) / 5
    assert stats.binomtest(same, agree, expected).pvalue > 1e-9
    assert con.execute("SELECT population, total FROM priv.ledger()").fetchall() == [
        ("main", pytest.approx(1)),
        ("others", pytest.approx(1)),
    ]


def test_what_is_derived_adds_nothing_and_has_its_population(con):
    publish(con, "uniform", "first", population="others", **NOISE)
    con.execute("FROM priv.derive('first', 'second', epsilon := 0.5)").fetchall()
    assert ledger(con, "population, adds, total") == [("others", 0, pytest.approx(1))]


def test_counts_with_noise_are_charged_to_their_population(con):
    con.execute("BEGIN")
    con.execute(
        "SELECT ward, priv.laplace_count(count(*), 0.1, population := 'others') FROM visits GROUP BY ward"
    ).fetchall()
    con.execute("SELECT priv.laplace_count(5, 0.25)").fetchall()
    con.execute("ROLLBACK")
    with pytest.raises(duckdb.Error, match="epsilon"):
        con.execute("SELECT priv.laplace_count(5, -1)").fetchall()
    publish(con, "uniform", "first", epsilon=0.5)
    found = con.execute(
        "SELECT population, max(total) FROM priv.ledger() GROUP BY ALL ORDER BY ALL"
    )
    assert found.fetchall() == [("main", pytest.approx(0.75)), ("others", pytest.approx(0.4))]


def nightly(con, method, nights, change, own):
    """Publish a table, change it every night, and refresh; return what each night added."""
    publish(con, method, "nightly", domain=["asthma", "cold", "flu", "gout", "none"], **own)
    added = []
    for night in range(nights):
        con.execute(change.format(night=night))
        row = con.execute("SELECT adds FROM priv.refresh('nightly')").fetchall()[0]
        added.append(row[0])
    return added


RENUMBERED = (
    "CREATE OR REPLACE TABLE visits AS SELECT * REPLACE (row_number() OVER (ORDER BY hash(seat + {night}))"
    " + 1000 * {night} AS id) FROM visits"
)


def test_a_table_that_is_numbered_once_more_every_night_is_charged_every_night(con):
    assert nightly(con, "uniform", 5, RENUMBERED, NOISE) == [True] * 5
    assert ledger(con, "max(total)", "nightly") == [(pytest.approx(6),)]


def test_a_table_that_is_numbered_once_more_is_not_grouped_again(con):
    publish(con, "splu", "nightly", **GROUPED["splu"])
    con.execute(RENUMBERED.format(night=3))
    with pytest.raises(duckdb.Error, match=r"of the ids are new(.|\n)*if these are other people"):
        con.execute("FROM priv.refresh('nightly')")
    assert con.execute("SELECT version FROM priv.release").fetchall() == [(1,)]


def test_ids_that_change_slowly_are_charged_when_as_many_came_as_there_are_people(con):
    """A fifth of the ids is new every night; after five nights everyone may have been drawn twice."""
    change = "UPDATE visits SET id = id + 1000 WHERE seat % 5 = {night} % 5"
    added = nightly(con, "uniform", 7, change, NOISE)
    assert added == [False] * 5 + [True] + [False]


def test_half_a_year_of_honest_refreshes_costs_what_its_most_corrected_record_costs(con):
    """Each month 3% of newcomers and 3% of corrections: nobody was drawn more often than the ledger says."""
    change = """
        UPDATE visits
        SET disease = (['asthma', 'cold', 'flu', 'gout', 'none'])[1 + (draw({night} + 50, id) % 5)::INTEGER]
        WHERE draw({night}, id) % 100 < 3;
        INSERT INTO visits
        SELECT id + 2000 * ({night} + 1), 'B' || id, id, 'Q' || id || {night}, seat + 2000 * ({night} + 1), age, ward,
            disease, smokes FROM visits WHERE id < 600 AND draw({night} + 100, id) % 100 < 3;
        DELETE FROM visits WHERE draw({night} + 200, id) % 100 < 2;
        INSERT INTO history SELECT DISTINCT id, disease FROM visits
    """
    con.execute("CREATE TABLE history AS SELECT id, disease FROM visits")
    nightly(con, "uniform", 6, change, NOISE)
    ((most,),) = con.execute(
        "SELECT max(n) FROM (SELECT count(DISTINCT disease) AS n FROM history GROUP BY id)"
    ).fetchall()
    assert most > 1
    assert ledger(con, "max(total)", "nightly") == [(pytest.approx(most),)]


def test_thirty_releases_reveal_no_more_than_the_ledger_states(prepared, tmp_path):
    """All ways that are called harmless or cheaper, in one database: benchmarks/again.py does each thirty times.

    But for withdrawals, after which every table has to have the columns by which someone was withdrawn.
    """
    ways = [each for each in CHEAP if "withdraw" not in each.make]
    with prepared(secret=None) as con:
        found = attack(con, tmp_path, ways, VALUES)
    assert len(ways) >= 29
    assert found.total == pytest.approx(2)
    assert found.chance > FALSE_ALARM


def test_an_attack_on_releases_that_are_charged_finds_the_values(prepared, tmp_path):
    """The same attack succeeds where every release has other noise, and the ledger says so."""
    parameters = [Way("", ADDS, REFUSED, DRAW, given={"epsilon": 1 + n / 100}) for n in range(9)]
    with prepared(secret=None) as con:
        found = attack(con, tmp_path, parameters, VALUES)
    once = Attack(found.records, found.right, NOISE["epsilon"], VALUES)
    assert once.chance < FALSE_ALARM < found.chance


@pytest.mark.parametrize(
    ("given", "stated"),
    [
        (
            {"release": "first", "replace": True, "population": "mian"},
            "is of population 'main', and not of 'mian'",
        ),
        ({"population": 7}, "population must be a name"),
        ({"population": ""}, "population must be a name"),
    ],
)
def test_a_population_that_is_none_is_refused(con, given, stated):
    publish(con, "uniform", "first", **NOISE)
    with pytest.raises(duckdb.Error, match=stated):
        publish(con, "uniform", given.get("release", "second"), **NOISE, **{
            name: value for name, value in given.items() if name != "release"
        })  # fmt: skip
    assert con.execute("SELECT count(*) FROM priv.ledger").fetchall() == [(1,)]
