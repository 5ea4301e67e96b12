"""Ways to publish the same persons again: each is refused, charged, or harmless for a reason that is stated.

The table below is the one of ``docs/publishing.md``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest

pytestmark = pytest.mark.usefixtures("unasked")

PAGE = Path(__file__).parents[2] / "docs" / "publishing.md"
HARMLESS, CHARGED, REFUSED = "harmless", "charged", "refused"

VISITS = """
    CREATE MACRO draw(seed, number) AS ('0x' || md5(seed || ' ' || number)[:8])::UBIGINT;
    CREATE TABLE visits AS
    SELECT i AS id, 'P' || lpad((i % 400)::VARCHAR, 5, '0') AS patient, 20 + (draw(1, i) % 50)::INTEGER AS age,
        (['north', 'south', 'east', 'west'])[1 + (draw(2, i) % 4)::INTEGER] AS ward,
        (['asthma', 'cold', 'flu', 'gout', 'none'])[1 + (draw(3, i) % 5)::INTEGER] AS disease
    FROM range(600) AS t(i)
"""
BASE = {
    "source": "visits",
    "sensitive": "disease",
    "record_id": "id",
    "exclude": ["patient"],
}
NOISE = {"uniform": {"epsilon": 1.0}}
GROUPS = {"splu": {"gamma": 2}}


@dataclass(frozen=True)
class Attack:
    """A way to publish again, and what becomes of it."""

    name: str
    noise: str
    """Where each record has noise of its own: HARMLESS or CHARGED."""
    groups: str
    """Where records are grouped: HARMLESS or REFUSED."""
    why: str
    make: str = ""
    """What is done to the database before."""
    given: dict[str, Any] = field(default_factory=dict)
    """What is given otherwise than the first time."""
    first: dict[str, Any] = field(default_factory=dict)
    """What is given otherwise the first time, and the second."""


SAME = "known by its records: every one shows what it showed"
COPY = {"source": "copy"}
ATTACKS = (
    Attack("the same table again", HARMLESS, HARMLESS, "every record shows what it showed"),
    Attack(
        "after the release was dropped",
        HARMLESS,
        HARMLESS,
        "the ledger forgets nothing, and every record shows what it showed",
        "FROM priv.drop_release('first')",
    ),
    Attack(
        "in another order, on one thread",
        HARMLESS,
        HARMLESS,
        "coins depend on the record alone",
        "CREATE TABLE copy AS FROM visits ORDER BY hash(id); SET threads = 1",
        COPY,
    ),
    Attack(
        "a copy of the table", HARMLESS, HARMLESS, SAME, "CREATE TABLE copy AS FROM visits", COPY
    ),
    Attack(
        "the table under another name",
        HARMLESS,
        HARMLESS,
        SAME,
        "ALTER TABLE visits RENAME TO copy",
        COPY,
    ),
    Attack(
        "a file attached under an alias",
        HARMLESS,
        HARMLESS,
        SAME,
        "ATTACH '{path}/other.duckdb' AS alias; CREATE TABLE alias.visits AS FROM visits",
        {"source": "alias.visits"},
    ),
    Attack(
        "a Parquet file of it",
        HARMLESS,
        HARMLESS,
        SAME,
        "COPY visits TO '{path}/any.parquet'; CREATE VIEW copy AS FROM '{path}/any.parquet'",
        COPY,
    ),
    Attack(
        "the id column renamed",
        HARMLESS,
        HARMLESS,
        SAME,
        "ALTER TABLE visits RENAME id TO number",
        {"record_id": "number"},
    ),
    Attack(
        "other public columns",
        HARMLESS,
        HARMLESS,
        "every record shows what it showed; who has both releases has the columns of both",
        given={"public": ["ward"]},
    ),
    Attack(
        "a filtered view",
        HARMLESS,
        REFUSED,
        "some records show what they showed, and would be in other groups",
        "CREATE VIEW copy AS FROM visits WHERE ward <> 'north'",
        COPY,
    ),
    Attack(
        "a fixed sample",
        HARMLESS,
        REFUSED,
        "some records show what they showed, and would be in other groups",
        "CREATE TABLE copy AS FROM visits WHERE draw(9, id) % 2 = 0",
        COPY,
    ),
    Attack(
        "one person fewer",
        HARMLESS,
        REFUSED,
        "the others show what they showed; that one left is seen, and is said in the ledger",
        "CREATE TABLE copy AS FROM visits WHERE id <> 7",
        COPY,
    ),
    Attack(
        "one person more",
        HARMLESS,
        REFUSED,
        "the others show what they showed; groups take new records by append := true",
        "INSERT INTO visits VALUES (9999, 'P09999', 30, 'north', 'flu')",
    ),
    Attack(
        "one value changed",
        CHARGED,
        REFUSED,
        "the record shows that it changed, with certainty; the receipt warns of it",
        "UPDATE visits SET disease = 'flu' WHERE id = (SELECT min(id) FROM visits WHERE disease = 'cold')",
    ),
    Attack(
        "other parameters",
        CHARGED,
        REFUSED,
        "other coins: a second look",
        given={"epsilon": 0.9, "gamma": 3},
    ),
    Attack(
        "a domain with one value more",
        CHARGED,
        REFUSED,
        "other coins: a second look; a domain with room for values to come never changes",
        "INSERT INTO visits VALUES (9999, 'P09999', 30, 'north', 'measles')",
    ),
    Attack(
        "the sensitive column renamed",
        CHARGED,
        REFUSED,
        "other coins, and known by its values",
        "ALTER TABLE visits RENAME disease TO illness",
        {"sensitive": "illness"},
    ),
    Attack(
        "values relabelled",
        CHARGED,
        REFUSED,
        "other coins of the same attribute",
        "UPDATE visits SET disease = md5(disease)",
    ),
    Attack(
        "values relabelled under another name",
        CHARGED,
        REFUSED,
        "other coins, and known since the values tell each other",
        "CREATE TABLE copy AS SELECT id, patient, age, ward, md5(disease) AS code FROM visits",
        COPY | {"sensitive": "code"},
    ),
    Attack(
        "values merged",
        CHARGED,
        REFUSED,
        "other coins, and known since one tells the other",
        "CREATE TABLE copy AS SELECT id, patient, age, ward, if(disease IN ('flu', 'cold'), 'ill', disease) AS state"
        " FROM visits",
        COPY | {"sensitive": "state"},
    ),
    Attack(
        "ids of another type",
        CHARGED,
        REFUSED,
        "other coins for ids that are known to be the same",
        "CREATE TABLE copy AS SELECT * REPLACE (id::VARCHAR AS id) FROM visits",
        COPY,
    ),
    Attack(
        "ids made anew in a view",
        CHARGED,
        REFUSED,
        "known by its table: other coins for the same records",
        "CREATE VIEW copy AS SELECT * REPLACE (md5(id || 'salt') AS id) FROM visits",
        COPY,
    ),
    Attack(
        "ids made anew in a copy",
        CHARGED,
        REFUSED,
        "known by what the records hold: other coins for the same records",
        "CREATE TABLE copy AS SELECT * REPLACE (md5(id || 'salt') AS id) FROM visits",
        COPY,
    ),
    Attack(
        "a copy without ids",
        CHARGED,
        REFUSED,
        "known by what the records hold: fresh coins",
        "CREATE TABLE copy AS SELECT age, ward, disease FROM visits",
        COPY | {"record_id": None, "exclude": []},
    ),
    Attack(
        "fresh coins",
        CHARGED,
        REFUSED,
        "each look can be averaged with the others",
        given={"record_id": None, "exclude": ["id", "patient"]},
    ),
    Attack(
        "fresh coins again",
        CHARGED,
        REFUSED,
        "each look can be averaged with the others",
        first={"record_id": None, "exclude": ["id", "patient"]},
    ),
    Attack(
        "the secret rotated",
        CHARGED,
        REFUSED,
        "other coins for records that are known under a key that stays",
        "rotate",
    ),
    Attack(
        "next year's visits of the same persons",
        CHARGED,
        REFUSED,
        "known by their persons, under any record ids",
        "CREATE TABLE copy AS SELECT 'V' || id AS visit, patient AS subject, 99 AS age, disease FROM visits",
        COPY | {"record_id": "visit", "person": "subject"},
        {"person": "patient", "exclude": []},
    ),
    Attack(
        "persons that overlap in part",
        CHARGED,
        REFUSED,
        "charged to all, and the ledger says how many were there before",
        "CREATE TABLE copy AS SELECT 'V' || id AS visit, 'P' || lpad((id % 400 + 300)::VARCHAR, 5, '0') AS subject,"
        " 99 AS age, disease FROM visits",
        COPY | {"record_id": "visit", "person": "subject"},
        {"person": "patient", "exclude": []},
    ),
    Attack(
        "a table with one row for each person",
        CHARGED,
        REFUSED,
        "its record ids are the persons of the other",
        "CREATE TABLE copy AS SELECT patient, any_value(disease) AS disease FROM visits GROUP BY ALL",
        COPY | {"record_id": "patient", "exclude": []},
        {"person": "patient", "exclude": []},
    ),
)


def written(value: Any) -> str:
    return "NULL" if value is None else repr(value)


def publish(con, method, release, **given):
    arguments = BASE | given
    source = arguments.pop("source")
    named = ", ".join(f"{name} := {written(value)}" for name, value in arguments.items())
    cursor = con.execute(f"FROM priv.publish_{method}('{source}', '{release}', {named})")
    return dict(
        zip((column[0] for column in cursor.description), cursor.fetchall()[0], strict=True)
    )


@pytest.fixture
def con(prepared):
    with prepared(secret=None) as connection:
        connection.execute(VISITS)
        yield connection


def publish_first(con, method, given):
    con.execute(VISITS)
    publish(con, method, "first", **given)


@pytest.fixture
def once_published(made):
    """A database in which a method has published already: made once for all that attack it."""
    opened = []

    def copy(method, **given):
        opened.append(made(publish_first, method, given, secret=None))
        return opened[-1]

    yield copy
    for connection in opened:
        connection.close()


def again(con, path, attack, method, own):
    """Do what the attack does, and publish again."""
    taken = {
        name: value for name, value in attack.given.items() if name not in ("epsilon", "gamma")
    }
    for parameter in own:
        taken |= {parameter: attack.given.get(parameter, own[parameter])}
    if attack.make == "rotate":
        con.execute("FROM priv.rotate_secret()").fetchall()
    elif attack.make:
        con.execute(attack.make.format(path=path)).fetchall()
    return publish(con, method, "second", **attack.first | taken)


def ledger(con, columns, release="second"):
    return con.execute(
        f"SELECT DISTINCT {columns} FROM priv.ledger() WHERE release = ?", [release]
    ).fetchall()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.name)
def test_noise_of_each_record(once_published, tmp_path, attack):
    con = once_published("uniform", **NOISE["uniform"], **attack.first)
    receipt = again(con, tmp_path, attack, "uniform", NOISE["uniform"])
    ((adds, total, epsilon, population),) = ledger(con, "adds, epsilon_source, epsilon, population")
    assert population == "population 1"
    if attack.noise == HARMLESS:
        assert not adds
        assert total == pytest.approx(1)
    else:
        assert adds
        assert total == pytest.approx(1 + epsilon)
        ((of_attribute,),) = ledger(con, "epsilon_attribute")
        assert of_attribute == pytest.approx(total)
    changed = [each for each in receipt["warnings"] if "knows with certainty" in each]
    assert bool(changed) == (attack.name == "one value changed")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.name)
def test_groups_of_records(once_published, tmp_path, attack):
    con = once_published("splu", **GROUPS["splu"], **attack.first)
    if attack.groups == HARMLESS:
        again(con, tmp_path, attack, "splu", GROUPS["splu"])
        ((adds, reason),) = ledger(con, "adds, reason")
        assert not adds
        assert reason.startswith("the same ")
        return
    with pytest.raises(duckdb.Error, match=r"already published by(.|\n)*republish := true"):
        again(con, tmp_path, attack, "splu", GROUPS["splu"])
    assert con.execute("SELECT DISTINCT release FROM priv.ledger").fetchall() == [("first",)]


def test_the_page_has_this_table():
    rows = re.findall(
        r"^\| ([^|]+) \| (\w+) \| (\w+) \| ([^|]+) \|$", PAGE.read_text("utf-8"), re.M
    )
    table = [(each.name, each.noise, each.groups, each.why) for each in ATTACKS]
    assert [row for row in rows if row[1] in (HARMLESS, CHARGED)] == table
    assert len(ATTACKS) >= 24


GROUPED = {
    "splu": {"gamma": 2},
    "anatomy": {"l": 2},
    "reconstruction_private": {"retention": 0.5, "epsilon": 0.3, "delta": 0.3},
}


@pytest.mark.parametrize("earlier", GROUPED)
@pytest.mark.parametrize("later", GROUPED)
def test_ways_to_group_are_guarded_together(once_published, earlier, later):
    con = once_published(earlier, **GROUPED[earlier])
    con.execute("CREATE TABLE copy AS FROM visits WHERE id > 100")
    again = GROUPED[later] | {"source": "copy"}
    with pytest.raises(duckdb.Error, match=f"already published by publish_{earlier}"):
        publish(con, later, "second", **again)
    receipt = publish(con, later, "second", republish=True, **again)
    ((reason,),) = ledger(con, "reason")
    assert reason.startswith("republish := true, although 499 of 499 records")
    assert any("499 of 499 records" in each for each in receipt["warnings"])
    assert ledger(con, "adds") == [(True,)]


def test_the_same_samples_of_micro_groups_are_published_again(once_published):
    own = GROUPED["reconstruction_private"]
    con = once_published("reconstruction_private", **own)
    con.execute("CREATE TABLE copy AS FROM visits")
    publish(con, "reconstruction_private", "second", source="copy", **own)
    assert con.execute("FROM first EXCEPT ALL FROM second").fetchall() == []
    assert ledger(con, "adds") == [(False,)]
    with pytest.raises(duckdb.Error, match="already published by publish_reconstruction_private"):
        publish(con, "reconstruction_private", "third", public=["ward"], **own)


@pytest.mark.parametrize("views", [10, pytest.param(60, marks=pytest.mark.on_demand)])
def test_many_filtered_views_are_refused_or_charged_one_by_one(con, views):
    own = GROUPED["reconstruction_private"] | {"record_id": None, "exclude": ["id", "patient"]}
    for number in range(views):
        con.execute(f"CREATE VIEW view_{number} AS FROM visits WHERE draw({number}, id) % 2 = 0")
    publish(con, "reconstruction_private", "first", **own)
    for number in range(views):
        more = own | {"source": f"view_{number}"}
        with pytest.raises(duckdb.Error, match="cannot be told apart"):
            publish(con, "reconstruction_private", f"r{number}", **more)
        publish(con, "reconstruction_private", f"r{number}", republish=True, **more)
    ((total, epsilon),) = ledger(con, "epsilon_source, epsilon", f"r{views - 1}")
    assert total == pytest.approx((views + 1) * epsilon)
    ((accumulated, publications),) = con.execute(
        "SELECT value, parameters->>'publications' FROM priv.audit('first') WHERE guarantee = 'accumulated_epsilon'"
    ).fetchall()
    assert (accumulated, int(publications)) == (pytest.approx(total), views + 1)


def test_the_ledger_says_how_many_persons_were_there_before(once_published, tmp_path):
    (attack,) = (each for each in ATTACKS if each.name == "persons that overlap in part")
    con = once_published("uniform", **NOISE["uniform"], **attack.first)
    again(con, tmp_path, attack, "uniform", NOISE["uniform"])
    assert ledger(con, "persons, persons_seen") == [(400, 100)]
    assert ledger(con, "round(epsilon_person, 9)") == [(4.0,)]


def test_other_persons_are_another_population(once_published):
    con = once_published("splu", gamma=2)
    con.execute(
        "CREATE TABLE others AS SELECT id + 1e9::BIGINT AS id, 'Q' || id AS patient, age + 100 AS age, ward,"
        " (['a', 'b', 'c'])[1 + (draw(5, id) % 3)::INTEGER] AS disease FROM visits"
    )
    publish(con, "splu", "second", gamma=2, source="others")
    assert ledger(con, "population") == [("population 2",)]


def test_numbers_that_are_shared_by_accident_are_not_the_same_records(once_published):
    con = once_published("splu", gamma=2)
    con.execute(
        "CREATE TABLE others AS SELECT id, 'Q' || id AS patient, 18 + (draw(6, id) % 70)::INTEGER AS age,"
        " draw(7, id) % 3 AS grade, (['a', 'b', 'c'])[1 + (draw(5, id) % 3)::INTEGER] AS disease FROM visits"
    )
    publish(con, "splu", "second", gamma=2, source="others")
    assert ledger(con, "population") == [("population 2",)]


def test_counts_with_noise_are_charged_to_every_source(once_published):
    con = once_published("uniform", epsilon=1.0)
    con.execute(
        "CREATE TABLE others AS SELECT 'x' || id AS id, patient, 7 AS age, disease FROM visits WHERE id < 90"
    )
    publish(con, "uniform", "second", epsilon=0.5, source="others")
    con.execute("BEGIN")
    con.execute(
        "SELECT ward, priv.laplace_count(count(*), 0.1) FROM visits GROUP BY ward"
    ).fetchall()
    con.execute("ROLLBACK")
    found = con.execute(
        "SELECT population, source, epsilon, epsilon_source, epsilon_advanced < 'inf'::DOUBLE"
        " FROM priv.ledger() WHERE mechanism = 'laplace_count' ORDER BY ALL"
    ).fetchall()
    assert found == [
        ("population 1", "every source", pytest.approx(0.4), pytest.approx(1.4), True),
        ("population 2", "every source", pytest.approx(0.4), pytest.approx(0.9), True),
    ]


def test_counts_alone_are_in_the_ledger(con):
    con.execute("SELECT priv.laplace_count(5, 0.25)").fetchall()
    with pytest.raises(duckdb.Error, match="epsilon"):
        con.execute("SELECT priv.laplace_count(5, -1)").fetchall()
    assert con.execute("SELECT population, epsilon_source FROM priv.ledger()").fetchall() == [
        ("every source", 0.25)
    ]
    publish(con, "uniform", "first", epsilon=1.0, person="patient", exclude=[])
    assert con.execute(
        "SELECT round(max(epsilon_source), 9), max(epsilon_person) FROM priv.ledger()"
    ).fetchall() == [(1.25, math.inf)]
