"""Ways to publish the same people again: each adds to what the population had spent, is harmless, or is refused.

The table below is the one of ``docs/publishing.md``. What is harmless is attacked: no record shows anything
else than it showed before.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest
from scipy import stats

pytestmark = pytest.mark.usefixtures("unasked")

PAGE = Path(__file__).parents[2] / "docs" / "publishing.md"
HARMLESS, ADDS, REFUSED = "harmless", "adds", "refused"

VISITS = """
    CREATE MACRO draw(seed, number) AS ('0x' || md5(seed || ' ' || number)[:8])::UBIGINT;
    CREATE TABLE visits AS
    SELECT i AS id, 'A' || lpad(i::VARCHAR, 5, '0') AS ssn, (i * 7 + 3) % 600 AS casenr,
        'P' || lpad((i % 400)::VARCHAR, 5, '0') AS patient, i AS seat, 20 + (draw(1, i) % 50)::INTEGER AS age,
        (['north', 'south', 'east', 'west'])[1 + (draw(2, i) % 4)::INTEGER] AS ward,
        (['asthma', 'cold', 'flu', 'gout', 'none'])[1 + (draw(3, i) % 5)::INTEGER] AS disease,
        (['often', 'seldom', 'never'])[1 + (draw(4, i) % 3)::INTEGER] AS smokes
    FROM range(600) AS t(i)
"""
BASE = {
    "source": "visits",
    "sensitive": "disease",
    "record_id": "id",
    "public": ["seat", "age", "ward"],
}
NOISE, GROUPS = {"epsilon": 1.0}, {"gamma": 2}
COPY = {"source": "copy"}


@dataclass(frozen=True)
class Way:
    """A way to publish again, and what becomes of it."""

    name: str
    noise: str
    """Where each record has noise of its own."""
    groups: str
    """Where records are grouped."""
    why: str
    make: str = ""
    """What is done to the database before."""
    given: dict[str, Any] = field(default_factory=dict)
    """What is given otherwise than the first time."""
    first: dict[str, Any] = field(default_factory=dict)
    """What is given otherwise the first time, and the second."""
    at_first: dict[str, Any] = field(default_factory=dict)
    """What is given otherwise the first time alone."""
    redrawn: int = 0
    """How many records show something else, though nothing is charged: they look like other people."""


def ids(name: str, expression: str, why: str, **more: Any) -> Way:
    """Publish a copy whose ids were made in another way."""
    make = f"CREATE TABLE copy AS SELECT * REPLACE ({expression} AS id) FROM visits"
    return Way(name, ADDS, REFUSED, why, make, COPY, **more)


def texts(name: str, expression: str, why: str) -> Way:
    """The same for ids that are texts."""
    make = f"CREATE TABLE copy AS SELECT * REPLACE ({expression} AS ssn) FROM visits"
    return Way(name, ADDS, REFUSED, why, make, COPY, {"record_id": "ssn"})


SAME = "every record shows what it showed"
NEW = "all ids are new, so every record is drawn once more"
OTHERS = "most ids belong to other values or public columns than before"
TYPE = "7 and '7' are two ids, so another type of the same column is a mistake"
SOME = "some records show what they showed, and would be in other groups"
FRESH = "each look can be averaged with the others"
DRAW = "other parameters of the noise: a second look"
PLAIN = "an attribute that was published as it is does not get noise, which protects nothing of it"
PERSONS = {"person": "patient"}
WAYS = (
    Way("the same table again", HARMLESS, HARMLESS, SAME),
    Way(
        "after the release was dropped", HARMLESS, HARMLESS, SAME, "FROM priv.drop_release('first')"
    ),
    Way("replacing the release", HARMLESS, HARMLESS, SAME, given={"replace": True}),
    Way(
        "in another order, on one thread",
        HARMLESS,
        HARMLESS,
        "noise depends on the record alone",
        "CREATE TABLE copy AS FROM visits ORDER BY hash(id); SET threads = 1",
        COPY,
    ),
    Way("a copy of the table", HARMLESS, HARMLESS, SAME, "CREATE TABLE copy AS FROM visits", COPY),
    Way(
        "the table under another name",
        HARMLESS,
        HARMLESS,
        SAME,
        "ALTER TABLE visits RENAME TO copy",
        COPY,
    ),
    Way(
        "a table in another schema",
        HARMLESS,
        HARMLESS,
        SAME,
        "CREATE SCHEMA other; CREATE TABLE other.visits AS FROM visits",
        {"source": "other.visits"},
    ),
    Way(
        "a file attached under an alias",
        HARMLESS,
        HARMLESS,
        SAME,
        "ATTACH '{path}/other.duckdb' AS alias; CREATE TABLE alias.visits AS FROM visits",
        {"source": "alias.visits"},
    ),
    Way(
        "a Parquet file of it",
        HARMLESS,
        HARMLESS,
        SAME,
        "COPY visits TO '{path}/any.parquet'; CREATE VIEW copy AS FROM '{path}/any.parquet'",
        COPY,
    ),
    Way("a view of it", HARMLESS, HARMLESS, SAME, "CREATE VIEW copy AS FROM visits", COPY),
    Way(
        "its columns in another order",
        HARMLESS,
        HARMLESS,
        SAME,
        "CREATE TABLE copy AS SELECT disease, ward, seat, age, id FROM visits",
        COPY,
    ),
    Way(
        "column names in upper case",
        HARMLESS,
        HARMLESS,
        SAME,
        'CREATE TABLE copy AS SELECT id AS "ID", seat, age, ward, disease AS "DISEASE" FROM visits',
        COPY | {"record_id": "ID", "sensitive": "DISEASE"},
    ),
    Way(
        "the id column renamed",
        HARMLESS,
        HARMLESS,
        SAME,
        "ALTER TABLE visits RENAME id TO number",
        {"record_id": "number"},
    ),
    Way(
        "ids of a wider whole number",
        HARMLESS,
        HARMLESS,
        SAME,
        "CREATE TABLE copy AS SELECT * REPLACE (id::INTEGER AS id) FROM visits",
        COPY,
    ),
    Way(
        "values as an ENUM",
        HARMLESS,
        HARMLESS,
        SAME,
        "CREATE TYPE diseases AS ENUM ('asthma', 'cold', 'flu', 'gout', 'none');"
        "CREATE TABLE copy AS SELECT * REPLACE (disease::diseases AS disease) FROM visits",
        COPY,
    ),
    Way(
        "fewer public columns",
        HARMLESS,
        HARMLESS,
        "every record shows what it showed; someone with both releases has the columns of both",
        given={"public": ["seat", "ward"]},
    ),
    Way(
        "more public columns",
        HARMLESS,
        HARMLESS,
        "every record shows what it showed; someone with both releases has the columns of both",
        "ALTER TABLE visits ADD COLUMN floor INTEGER DEFAULT 3",
        {"public": ["seat", "age", "ward", "floor"]},
    ),
    Way(
        "a copy without public columns",
        HARMLESS,
        HARMLESS,
        SAME,
        "CREATE TABLE copy AS SELECT id, disease FROM visits",
        COPY | {"public": None},
    ),
    Way(
        "people named later",
        HARMLESS,
        HARMLESS,
        "every record shows what it showed; how many a person has was not known before",
        given=PERSONS,
    ),
    Way(
        "a filtered view",
        HARMLESS,
        REFUSED,
        SOME,
        "CREATE VIEW copy AS FROM visits WHERE ward <> 'north'",
        COPY,
    ),
    Way(
        "a fixed sample",
        HARMLESS,
        REFUSED,
        SOME,
        "CREATE TABLE copy AS FROM visits WHERE draw(9, id) % 2 = 0",
        COPY,
    ),
    Way(
        "45% of the records",
        HARMLESS,
        REFUSED,
        SOME,
        "CREATE VIEW copy AS FROM visits WHERE id < 270",
        COPY,
    ),
    Way(
        "at most one record of a person",
        ADDS,
        REFUSED,
        f"{SOME}; the noisy count of the others adds",
        given={"max_rows": 1},
        first=PERSONS,
    ),
    Way(
        "one person fewer",
        HARMLESS,
        REFUSED,
        "the others show what they showed; that one left is seen",
        "CREATE TABLE copy AS FROM visits WHERE id <> 7",
        COPY,
    ),
    Way(
        "one person withdrawn",
        HARMLESS,
        REFUSED,
        "the others show what they showed; that one left is seen",
        "FROM priv.withdraw(7)",
    ),
    Way(
        "withdrawn and returned in a copy",
        HARMLESS,
        REFUSED,
        "withdrawn ids are out of everything of the population",
        "FROM priv.withdraw(7); CREATE TABLE copy AS FROM visits",
        COPY,
    ),
    Way(
        "withdrawn and returned without the column",
        REFUSED,
        REFUSED,
        "nothing shows which record was withdrawn",
        "FROM priv.withdraw(7); CREATE TABLE copy AS SELECT * EXCLUDE (id) FROM visits",
        COPY | {"record_id": "ssn"},
    ),
    Way(
        "one person more",
        HARMLESS,
        REFUSED,
        "the others show what they showed; groups take new records by append := true",
        "INSERT INTO visits SELECT 9999, 'A09999', 9999, 'P09999', 9999, 30, 'north', 'flu', 'never'",
    ),
    Way(
        "a tenth of new records",
        HARMLESS,
        REFUSED,
        "few ids are new, as where people come; groups take them by append := true",
        "INSERT INTO visits SELECT id + 1000, 'B' || ssn, casenr + 1000, 'Q' || patient, seat + 1000,"
        " * EXCLUDE (id, ssn, casenr, patient, seat) FROM visits WHERE id < 60",
    ),
    Way(
        "a tenth of the ids changed",
        HARMLESS,
        REFUSED,
        "it looks like people who come and go; once as many came as there are, all are charged",
        "UPDATE visits SET id = id + 1000 WHERE id < 60",
        redrawn=60,
    ),
    Way(
        "more new records than old ones",
        ADDS,
        REFUSED,
        "most ids are new",
        "INSERT INTO visits SELECT id + 1000, 'B' || ssn, casenr + 1000, 'Q' || patient, seat + 1000,"
        " * EXCLUDE (id, ssn, casenr, patient, seat) FROM visits;"
        "INSERT INTO visits SELECT id + 5000, 'C' || ssn, casenr + 5000, 'R' || patient, seat + 5000,"
        " * EXCLUDE (id, ssn, casenr, patient, seat) FROM visits WHERE id < 600",
    ),
    Way(
        "all records after 45% of them",
        ADDS,
        REFUSED,
        "most ids are new",
        "CREATE OR REPLACE VIEW part AS FROM visits",
        given={"source": "part"},
        at_first={"source": "part"},
    ),
    Way(
        "rows doubled under new ids",
        ADDS,
        REFUSED,
        "half of the ids are new",
        "CREATE TABLE copy AS FROM visits UNION ALL SELECT * REPLACE (id + 1000 AS id) FROM visits",
        COPY,
    ),
    Way(
        "rows doubled under the same ids",
        REFUSED,
        REFUSED,
        "an id means one record",
        "CREATE TABLE copy AS FROM visits UNION ALL FROM visits",
        COPY,
    ),
    Way(
        "ids that are missing",
        REFUSED,
        REFUSED,
        "every record needs an id",
        "CREATE TABLE copy AS SELECT * REPLACE (nullif(id, 7) AS id) FROM visits",
        COPY,
    ),
    Way(
        "one value changed",
        ADDS,
        REFUSED,
        "the record shows that it changed, with certainty: a second look at it",
        "UPDATE visits SET disease = 'flu' WHERE id = (SELECT min(id) FROM visits WHERE disease = 'cold')",
    ),
    Way(
        "a value changed and changed back",
        HARMLESS,
        HARMLESS,
        "the second value was charged; the first one was shown before",
        "UPDATE visits SET disease = 'flu' WHERE id = (SELECT min(id) FROM visits WHERE disease = 'cold');"
        "FROM priv.publish_uniform('visits', 'between', sensitive := 'disease', record_id := 'id', epsilon := 1.0,"
        " public := ['seat', 'age', 'ward']);"
        "DROP TABLE visits; CREATE TABLE visits AS FROM kept",
    ),
    Way("other parameters", ADDS, REFUSED, DRAW, given={"epsilon": 0.9, "gamma": 3}),
    Way(
        "a domain with one value more",
        ADDS,
        REFUSED,
        "another domain: a second look; a domain with room for values to come never changes",
        "INSERT INTO visits SELECT 9999, 'A09999', 9999, 'P09999', 9999, 30, 'north', 'measles', 'never'",
    ),
    Way("the secret rotated", ADDS, REFUSED, "another secret: a second look", "rotate"),
    Way(
        "the sensitive column renamed",
        ADDS,
        REFUSED,
        "everything adds; groups know it by its values",
        "ALTER TABLE visits RENAME disease TO illness",
        {"sensitive": "illness"},
    ),
    Way(
        "values relabelled",
        ADDS,
        REFUSED,
        "another domain of the same attribute",
        "UPDATE visits SET disease = md5(disease)",
    ),
    Way(
        "values relabelled under another name",
        ADDS,
        ADDS,
        "everything adds; nothing shows that it is the same attribute",
        "CREATE TABLE copy AS SELECT * EXCLUDE (disease), md5(disease) AS code FROM visits",
        COPY | {"sensitive": "code"},
    ),
    Way(
        "values merged",
        ADDS,
        REFUSED,
        "another domain of the same attribute",
        "UPDATE visits SET disease = if(disease IN ('flu', 'cold'), 'ill', disease)",
    ),
    Way(
        "a second sensitive column",
        ADDS,
        ADDS,
        "another attribute of the same people",
        given={"sensitive": "smokes"},
    ),
    Way(
        "both sensitive columns",
        ADDS,
        ADDS,
        "the first one shows what it showed, and the second one adds",
        given={"sensitive": ["disease", "smokes"]},
    ),
    Way(
        "the sensitive column made public",
        REFUSED,
        REFUSED,
        "an attribute that has noise is not published as it is",
        given={"sensitive": "smokes", "public": None, "exclude": ["ssn", "casenr", "patient"]},
    ),
    Way(
        "the sensitive column made public under another name",
        REFUSED,
        REFUSED,
        "it is known by its values",
        "ALTER TABLE visits RENAME disease TO illness",
        {"sensitive": "smokes", "public": None, "exclude": ["ssn", "casenr", "patient"]},
    ),
    Way(
        "the sensitive column named in public",
        ADDS,
        ADDS,
        "without limit, which the receipt says",
        given={"sensitive": "smokes", "public": ["disease", "ward"]},
    ),
    Way(
        "a public column made sensitive",
        REFUSED,
        REFUSED,
        PLAIN,
        given={"sensitive": "ward", "public": ["seat"]},
    ),
    Way(
        "a public column made sensitive under another name",
        REFUSED,
        REFUSED,
        "it is known by its values",
        "CREATE TABLE copy AS SELECT id, seat, ward AS place FROM visits",
        COPY | {"sensitive": "place", "public": ["seat"]},
    ),
    Way(
        "a public column made sensitive with republish := true",
        ADDS,
        ADDS,
        "without limit, which the receipt says",
        given={"sensitive": "ward", "public": ["seat"], "republish": True},
    ),
    Way("another id column", ADDS, REFUSED, NEW, given={"record_id": "ssn"}),
    Way(
        "another id column of the same numbers",
        ADDS,
        REFUSED,
        OTHERS,
        given={"record_id": "casenr"},
    ),
    Way("two id columns", ADDS, REFUSED, NEW, given={"record_id": ["id", "patient"]}),
    Way(
        "two id columns in the other order",
        ADDS,
        REFUSED,
        NEW,
        given={"record_id": ["patient", "id"]},
        at_first={"record_id": ["id", "patient"]},
    ),
    Way(
        "ids as text",
        REFUSED,
        REFUSED,
        TYPE,
        "CREATE TABLE copy AS SELECT * REPLACE (id::VARCHAR AS id) FROM visits",
        COPY,
    ),
    Way(
        "ids as decimals",
        REFUSED,
        REFUSED,
        TYPE,
        "CREATE TABLE copy AS SELECT * REPLACE (id::DECIMAL(9, 2) AS id) FROM visits",
        COPY,
    ),
    Way(
        "ids as huge numbers",
        REFUSED,
        REFUSED,
        TYPE,
        "CREATE TABLE copy AS SELECT * REPLACE (id::HUGEINT AS id) FROM visits",
        COPY,
    ),
    Way(
        "salted ids in a view",
        ADDS,
        REFUSED,
        NEW,
        "CREATE VIEW copy AS SELECT *, md5(id || 'salt') AS code FROM visits",
        COPY | {"record_id": "code"},
    ),
    Way(
        "salted ids in a copy",
        ADDS,
        REFUSED,
        NEW,
        "CREATE TABLE copy AS SELECT *, md5(id || 'salt') AS code FROM visits",
        COPY | {"record_id": "code"},
    ),
    Way(
        "UUIDs as ids",
        ADDS,
        REFUSED,
        NEW,
        "CREATE TABLE copy AS SELECT *, md5(id || 'uuid')::UUID AS code FROM visits",
        COPY | {"record_id": "code"},
    ),
    ids("ids moved on", "id + 1000000", NEW),
    ids("ids with another sign", "-id - 1", NEW),
    ids(
        "ids moved on by one third",
        "id + 200",
        "a third of the ids is new, the others belong to others",
    ),
    ids("ids assigned at random", "row_number() OVER (ORDER BY hash(id)) - 1", OTHERS),
    ids("ids in the order of another column", "row_number() OVER (ORDER BY age, ward) - 1", OTHERS),
    ids(
        "ids reassigned within equal values",
        "row_number() OVER (ORDER BY disease, hash(id)) - 1",
        OTHERS,
    ),
    ids("ids counted backwards", "599 - id", OTHERS),
    ids("ids of two records exchanged in pairs", "xor(id, 1)", OTHERS),
    Way(
        "numbered once more without the first record",
        ADDS,
        REFUSED,
        OTHERS,
        "CREATE TABLE copy AS SELECT * REPLACE (id - 1 AS id) FROM visits WHERE id > 0",
        COPY,
    ),
    texts("text ids in lower case", "lower(ssn)", NEW),
    texts("text ids without leading zeros", "'A' || ssn[2:]::INTEGER", "most ids are new"),
    texts("text ids with a blank", "ssn || ' '", NEW),
    texts("text ids with a hyphen", "ssn[1] || '-' || ssn[2:]", NEW),
    texts("text ids with a country", "'NL' || ssn", NEW),
    texts("text ids that were hashed", "sha256(ssn)", NEW),
    Way("without ids", ADDS, REFUSED, FRESH, given={"record_id": None}),
    Way("without ids again", ADDS, REFUSED, FRESH, first={"record_id": None}),
    Way(
        "a copy without ids and public columns",
        ADDS,
        REFUSED,
        FRESH,
        "CREATE TABLE copy AS SELECT disease FROM visits",
        COPY | {"record_id": None, "public": None},
    ),
    Way(
        "public columns of others",
        ADDS,
        REFUSED,
        OTHERS,
        "CREATE TABLE copy AS SELECT v.id, w.seat, w.age, w.ward, v.disease FROM visits AS v"
        " JOIN visits AS w ON w.id = 599 - v.id",
        COPY,
    ),
    Way(
        "two of three public columns changed",
        ADDS,
        REFUSED,
        OTHERS,
        "UPDATE visits SET age = age + 1, ward = ward || '!'",
    ),
    Way(
        "everyone a year older",
        HARMLESS,
        HARMLESS,
        "the other public columns say that ids belong to the same people",
        "UPDATE visits SET age = age + 1",
    ),
    Way(
        "other people under the same numbers",
        ADDS,
        REFUSED,
        "within a population an id means one person; other people are another population",
        "CREATE TABLE copy AS SELECT * REPLACE (99 - age AS age, seat + 700 AS seat,"
        " (['asthma', 'cold', 'flu', 'gout', 'none'])[1 + (draw(7, id) % 5)::INTEGER] AS disease) FROM visits",
        COPY,
    ),
    Way(
        "next year's visits of the same people",
        ADDS,
        REFUSED,
        "new records of the population",
        "CREATE TABLE copy AS SELECT 'V' || id AS visit, patient AS subject, 99 AS age, disease FROM visits",
        COPY | {"record_id": "visit", "person": "subject", "public": ["age"]},
        PERSONS,
    ),
    Way(
        "people that overlap in part",
        ADDS,
        REFUSED,
        "new records of the population",
        "CREATE TABLE copy AS SELECT 'V' || id AS visit, 'P' || lpad((id % 400 + 300)::VARCHAR, 5, '0') AS subject,"
        " 99 AS age, disease FROM visits",
        COPY | {"record_id": "visit", "person": "subject", "public": ["age"]},
        PERSONS,
    ),
    Way(
        "a table with one row for each person",
        ADDS,
        REFUSED,
        NEW,
        "CREATE TABLE copy AS SELECT patient, any_value(disease) AS disease FROM visits GROUP BY ALL",
        COPY | {"record_id": "patient", "public": None},
        PERSONS,
    ),
)
KEPT = "CREATE TABLE kept AS FROM visits; CREATE VIEW part AS FROM visits WHERE id < 270"


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
        con.execute(way.make.format(path=tmp_path)).fetchall()
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


def test_harmless_releases_teach_no_more_than_one(con):
    """The guess by what a record showed most often is right as often as after the first release.

    A record is in seven of ten. Were they independent looks, six guesses of ten would be right and not four, which is
    noticed with a probability of more than 0.99.
    """
    con.execute("CREATE TABLE shown (seat INTEGER, noisy VARCHAR)")
    for number in range(10):
        con.execute(
            f"CREATE OR REPLACE VIEW part AS FROM visits WHERE draw({number}, id) % 3 > 0 OR {number} = 0"
        )
        publish(con, "uniform", f"r{number}", source="part", epsilon=1.0,
                domain=["asthma", "cold", "flu", "gout", "none"])  # fmt: skip
        con.execute(f"INSERT INTO shown SELECT seat, noisy_disease FROM r{number}")
    ((right,),) = con.execute(
        "SELECT count_if(guess = disease) FROM (SELECT seat, mode(noisy) AS guess FROM shown GROUP BY seat)"
        " JOIN visits USING (seat)"
    ).fetchall()
    once = math.e / (math.e + 4)
    assert stats.binomtest(right, 600, once).pvalue > 1e-9
    assert con.execute("SELECT max(total) FROM priv.ledger()").fetchall() == [(pytest.approx(1),)]


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
