"""Ways to publish the same people again, and someone who combines all releases.

``test_ways_to_publish_again.py`` asks what becomes of each, and attacks what is called harmless or cheaper;
``benchmarks/again.py`` does the latter for each of them by itself.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from answers import named_row
from scipy import stats

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
CHANGED = "(SELECT id FROM visits WHERE disease = 'cold' ORDER BY id LIMIT 1 OFFSET {number})"
"""A record whose value changes."""


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
    """What is done to the database before; ``{number}`` and ``{path}`` are filled in."""
    given: dict[str, Any] = field(default_factory=dict)
    """What is given otherwise than the first time."""
    first: dict[str, Any] = field(default_factory=dict)
    """What is given otherwise the first time, and the second."""
    at_first: dict[str, Any] = field(default_factory=dict)
    """What is given otherwise the first time alone."""
    redrawn: int = 0
    """How many records show something else, though nothing is charged: they look like other people."""
    cheaper: bool = False
    """Whether it adds, but not each time, or not for the attribute."""

    def made(self, folder: Path, number: int) -> str:
        """Return the statements before the publication of a number; files are in a folder."""
        folder.mkdir(exist_ok=True)
        return self.make.format(path=folder, number=number, changed=CHANGED.format(number=number))


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
        "CREATE TYPE diseases AS ENUM (SELECT DISTINCT disease FROM visits ORDER BY disease);"
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
        "CREATE VIEW copy AS FROM visits WHERE ward <> ['north', 'south', 'east', 'west'][1 + {number} % 4]",
        COPY,
    ),
    Way(
        "a fixed sample",
        HARMLESS,
        REFUSED,
        SOME,
        "CREATE TABLE copy AS FROM visits WHERE draw(1{number}, id) % 2 = 0",
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
        cheaper=True,
    ),
    Way(
        "one person fewer",
        HARMLESS,
        REFUSED,
        "the others show what they showed; that one left is seen",
        "CREATE TABLE copy AS FROM visits WHERE id <> {number}",
        COPY,
    ),
    Way(
        "one person withdrawn",
        HARMLESS,
        REFUSED,
        "the others show what they showed; that one left is seen",
        "FROM priv.withdraw({number})",
    ),
    Way(
        "withdrawn and returned in a copy",
        HARMLESS,
        REFUSED,
        "withdrawn ids are out of everything of the population",
        "FROM priv.withdraw({number}); CREATE TABLE copy AS FROM visits",
        COPY,
    ),
    Way(
        "withdrawn and returned without the column",
        REFUSED,
        REFUSED,
        "nothing shows which record was withdrawn",
        "FROM priv.withdraw({number}); CREATE TABLE copy AS SELECT * EXCLUDE (id) FROM visits",
        COPY | {"record_id": "ssn"},
    ),
    Way(
        "one person more",
        HARMLESS,
        REFUSED,
        "the others show what they showed; groups take new records by append := true",
        "INSERT INTO visits SELECT 9000 + {number}, 'A09999', 9999, 'P09999', 9999, 30, 'north', 'flu', 'never'",
    ),
    Way(
        "a tenth of new records",
        HARMLESS,
        REFUSED,
        "few ids are new, as where people come; groups take them by append := true",
        "INSERT INTO visits SELECT id + 1000 * {number}, 'B' || ssn, casenr + 1000, 'Q' || patient,"
        " seat + 1000 * {number}, * EXCLUDE (id, ssn, casenr, patient, seat) FROM visits WHERE id < 60",
    ),
    Way(
        "a tenth of the ids changed",
        HARMLESS,
        REFUSED,
        "it looks like people who come and go; once as many came as there are, all are charged",
        "UPDATE visits SET id = id + 1000 * {number} WHERE id % 10 = {number} % 10",
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
        "UPDATE visits SET disease = 'flu' WHERE id = {changed}",
        cheaper=True,
    ),
    Way(
        "a value changed and changed back",
        HARMLESS,
        HARMLESS,
        "the second value was charged; the first one was shown before",
        "UPDATE visits SET disease = 'flu' WHERE id = {changed};"
        "FROM priv.publish_uniform('visits', 'between{number}', sensitive := 'disease', record_id := 'id',"
        " epsilon := 1.0, public := ['seat', 'age', 'ward']);"
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
        cheaper=True,
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
CHEAP = [each for each in WAYS if each.noise == HARMLESS or each.cheaper]
"""Ways that cost less than all of it."""
KEPT = "CREATE TABLE kept AS FROM visits; CREATE VIEW part AS FROM visits WHERE id < 270"


def written(value: Any) -> str:
    return "NULL" if value is None else repr(value)


def publish(con, method, release, **given):
    arguments = BASE | given
    source = arguments.pop("source")
    named = ", ".join(f"{name} := {written(value)}" for name, value in arguments.items())
    return named_row(con, f"FROM priv.publish_{method}('{source}', '{release}', {named})")


@dataclass(frozen=True)
class Attack:
    """What someone with all releases finds of single records."""

    records: int
    right: int
    """How many were guessed right: each by the value that it showed most often."""
    total: float
    """The epsilon that the ledger states for one record."""
    values: int

    @property
    def allowed(self) -> float:
        """The largest probability to be right about a value that was equally likely to be any."""
        return math.exp(self.total) / (math.exp(self.total) + self.values - 1)

    @property
    def chance(self) -> float:
        """The probability to be right at least as often, if what is allowed is kept."""
        return float(stats.binom.sf(self.right - 1, self.records, self.allowed))


def attack(con, folder: Path, ways: Sequence[Way], values: int, among: str = "true") -> Attack:
    """Publish once, then in one way after another, and guess the records of a condition from all releases."""
    con.execute(VISITS)
    if values == 2:
        con.execute("UPDATE visits SET disease = if(draw(3, id) % 2 = 0, 'cold', 'flu')")
    con.execute(KEPT)
    shown = defaultdict(list)
    last = "first"
    publish(con, "uniform", last, **NOISE, **ways[0].first | ways[0].at_first)
    _look(con, last, shown)
    for number, way in enumerate(ways, start=1):
        _start_over(con)
        for statement in way.made(folder / str(number), number).replace("first", last).split(";"):
            con.execute(statement)
        last = last if way.given.get("replace") else f"release{number}"
        publish(con, "uniform", last, **NOISE | way.first | way.given)
        if "seat" in (way.given.get("public", BASE["public"]) or ()):
            _look(con, last, shown)
    truth = dict(con.execute(f"SELECT seat, disease FROM kept WHERE {among}").fetchall())
    right = sum(Counter(shown[seat]).most_common(1)[0][0] == value for seat, value in truth.items())
    ((total,),) = con.execute(
        "SELECT sum(epsilon) FILTER (adds) FROM priv.ledger WHERE lower(attribute) = 'disease'"
    ).fetchall()
    return Attack(len(truth), right, total, values)


def _look(con, release: str, shown: defaultdict[int, list[str]]) -> None:
    for seat, value in con.execute(f"SELECT seat, noisy_disease FROM {release}").fetchall():
        shown[seat].append(value)


def _start_over(con) -> None:
    """Give the publisher the table that there was at first."""
    kinds = con.execute(
        "SELECT if(table_type = 'VIEW', 'VIEW', 'TABLE'), table_name FROM information_schema.tables"
        " WHERE table_catalog = current_database() AND table_schema = 'main' AND table_name IN ('visits', 'copy')"
    ).fetchall()
    for kind, name in kinds:
        con.execute(f"DROP {kind} {name}")
    con.execute("DROP SCHEMA IF EXISTS other CASCADE; DETACH DATABASE IF EXISTS alias")
    con.execute("DROP TYPE IF EXISTS diseases; CREATE TABLE visits AS FROM kept")
