"""Record ids of any kind key the noise: by what they are, and by nothing else."""

from __future__ import annotations

import duckdb
import pytest

pytestmark = pytest.mark.usefixtures("unasked")

IDS = {
    "integer": "i",
    "negative": "-i",
    "small": "i::SMALLINT",
    "unsigned": "i::UINTEGER",
    "large": "(i + 18446744073709550000)::UBIGINT",
    "huge": "i::HUGEINT * 100000000000000000000",
    "text": "'patient ' || i",
    "short text": "chr((97 + i % 26)::INTEGER) || i // 26",
    "long text": "repeat('a', 20 + (i % 20)::INTEGER) || i",
    "unicode": "'Zoë 🧑‍⚕️ ' || i",
    "uuid": "('00000000-0000-0000-0000-' || lpad(i::VARCHAR, 12, '0'))::UUID",
    "date": "DATE '1900-01-01' + i::INTEGER",
    "time with a zone": "TIMESTAMPTZ '1900-01-01 00:00:00+00' + to_hours(i)",
    "double": "i / 7",
    "decimal": "(i / 8)::DECIMAL(18, 3)",
    "blob": "('\\x00' || i)::BLOB",
    "enum": None,
}


@pytest.fixture(scope="module")
def con(prepared):
    with prepared() as connection:
        yield connection


@pytest.fixture
def published(published):
    def call(*arguments, **named):
        return published(*arguments, replace=True, **named)

    return call


@pytest.fixture
def publish(con, published):
    def call(release: str, ids: str, record_id: object = "id", **more: object) -> list[tuple]:
        """Publish 900 records whose values do not depend on their ids; return them by their number."""
        con.execute(
            f"CREATE OR REPLACE TABLE source AS SELECT i AS number, {ids}, i % 3 AS s FROM range(900) AS t(i)"
        )
        arguments = {"sensitive": "s", "retention": 0.5, "public": "number", **more}
        published(con, "source", release, record_id=record_id, **arguments)
        return con.execute(
            f'SELECT number, noisy_s::INTEGER FROM "{release}" ORDER BY number'
        ).fetchall()

    return call


@pytest.mark.parametrize("kind", [kind for kind, ids in IDS.items() if ids])
def test_any_kind_of_id_gives_the_same_values_again_and_is_not_published(con, publish, kind):
    first, second = (publish(f"{kind} {n}", f"{IDS[kind]} AS id", population=kind) for n in (1, 2))
    assert first == second
    assert len({s for _, s in first}) == 3
    kept = sum(s == number % 3 for number, s in first)
    assert 500 < kept < 700
    columns = con.execute(f'DESCRIBE "{kind} 1"').fetchall()
    assert [column for column, *_ in columns] == ["number", "noisy_s"]


def test_an_enumerated_id(con, publish):
    con.execute("CREATE TYPE patient AS ENUM (SELECT 'p' || i FROM range(900) AS t(i))")
    one, two = (
        publish(f"enum {n}", "('p' || i)::patient AS id", population="enum") for n in (1, 2)
    )
    assert one == two


def test_ids_of_another_width_are_the_same_integers(publish):
    assert publish("one", "i::SMALLINT AS id") == publish("two", "i::BIGINT AS id")


def test_other_ids_give_other_values(publish):
    """In one population; ids of another kind are other ids, and refused there."""
    rows = [publish(f"others {n}", f"i + {n} AS id", population="others") for n in range(3)]
    for n, one in enumerate(rows):
        for other in rows[n + 1 :]:
            agreeing = sum(a == b for a, b in zip(one, other, strict=True))
            assert agreeing < 600
    for kind in ("VARCHAR", "DOUBLE"):
        with pytest.raises(duckdb.InvalidInputException, match="7 and '7' are two ids"):
            publish("kind", f"i::{kind} AS id", population="others")


def test_several_columns_are_one_id(publish):
    ids = "i // 30 AS ward, i % 30 AS bed"
    first = publish("one", ids, ["ward", "bed"])
    assert first == publish("two", ids, ["ward", "bed"])
    assert first != publish("three", ids, ["bed", "ward"])
    assert first != publish("four", "i % 30 AS ward, i // 30 AS bed", ["ward", "bed"])


@pytest.mark.parametrize("separator", ["", ":", "1:", "10:"])
def test_parts_of_an_id_do_not_run_together(con, published, separator):
    """('ab', 'c') and ('a', 'bc') are two records: they agree as often as any two, one time in a thousand."""
    con.execute(
        "CREATE OR REPLACE TABLE source AS SELECT name, name[:cut] AS a, name[cut + 1:] AS b, 0 AS s FROM"
        f" (SELECT '{separator}' || i || '{separator}' || i || '{separator}' AS name FROM range(1000, 1300) AS t(i)),"
        " range(1, 6) AS c(cut)"
    )
    published(
        con,
        "source",
        "r",
        sensitive="s",
        retention=0.001,
        record_id=["a", "b"],
        public="name",
        domain=list(range(1000)),
    )
    shared = con.execute(
        "SELECT count(*) FROM (SELECT name FROM r GROUP BY name HAVING count(DISTINCT noisy_s) < 4)"
    ).fetchall()
    assert shared == [(0,)]


def test_a_zone_does_not_change_the_id(con, published):
    con.execute(
        "CREATE OR REPLACE TABLE source AS SELECT i AS number, i % 3 AS s,"
        " TIMESTAMPTZ '2026-03-29 00:00:00+00' + to_minutes(i) AS id FROM range(900) AS t(i)"
    )
    for release, zone in (("utc", "UTC"), ("kolkata", "Asia/Kolkata")):
        con.execute(f"SET GLOBAL TimeZone = '{zone}'")
        arguments = {"sensitive": "s", "retention": 0.5, "public": "number", "population": "zones"}
        published(con, "source", release, record_id="id", **arguments)
    assert (
        con.execute("FROM utc ORDER BY ALL").fetchall()
        == con.execute("FROM kolkata ORDER BY ALL").fetchall()
    )


def test_a_record_id_is_kept_apart_from_names_of_our_own(con, published):
    """An id may be called as columns of ours are called: value, position, published."""
    con.execute(
        "CREATE OR REPLACE TABLE source AS SELECT i AS id, i % 3 AS s FROM range(300) AS t(i)"
    )
    published(con, "source", "plain", sensitive="s", retention=0.5, record_id="id")
    expected = con.execute("FROM plain").fetchall()
    for name in ("value", "position", "published", "s", "d0", "_number", "select"):
        sensitive = "t" if name == "s" else "s"
        con.execute(
            f'CREATE OR REPLACE VIEW renamed AS SELECT id AS "{name}", s AS {sensitive} FROM source'
        )
        published(con, "renamed", f"of {name}", sensitive=sensitive, retention=0.5, record_id=name)
        rows = con.execute(f'FROM "of {name}"').fetchall()
        assert len(rows) == 300
        if sensitive == "s":
            assert rows == expected


def test_a_primary_key_is_taken_at_its_word(con, published):
    con.execute("CREATE OR REPLACE TABLE source (id BIGINT PRIMARY KEY, s BIGINT)")
    con.execute("INSERT INTO source SELECT i, i % 3 FROM range(100) AS t(i)")
    assert (
        published(con, "source", "one", sensitive="s", retention=0.5, record_id="id")[
            "rows_published"
        ]
        == 100
    )


def test_part_of_a_primary_key_is_not(con, published):
    con.execute("CREATE OR REPLACE TABLE source (a BIGINT, b BIGINT, s BIGINT, PRIMARY KEY (a, b))")
    con.execute("INSERT INTO source SELECT i // 2, i % 2, i % 3 FROM range(100) AS t(i)")
    with pytest.raises(duckdb.InvalidInputException, match="'a' is not unique: 100 rows have 50"):
        published(con, "source", "one", sensitive="s", retention=0.5, record_id="a")
    published(con, "source", "one", sensitive="s", retention=0.5, record_id=["b", "a"])


INTEGERS = {
    "close together": "i",
    "far apart": "i * 1_000_000_007",
    "negative": "-i * 3 - 5",
    "a single one in many": "if(i = 0, 9223372036854775807, i)",
    "the smallest": "-9223372036854775808 + i",
    "the largest": "9223372036854775807 - i",
}


@pytest.mark.parametrize("ids", INTEGERS.values(), ids=INTEGERS)
@pytest.mark.parametrize("again", [0, 1, 50])
def test_integers_are_counted_wherever_they_lie(con, published, ids, again):
    con.execute(
        f"CREATE OR REPLACE TABLE source AS SELECT ({ids})::BIGINT AS id, n % 3 AS s"
        f" FROM (SELECT n, if(n < {again}, n + 50, n) AS i FROM range(100) AS t(n))"
    )
    if not again:
        published(con, "source", "one", sensitive="s", retention=0.5, record_id="id")
        return
    stated = f"'id' is not unique: 100 rows have {100 - again} ids"
    with pytest.raises(duckdb.InvalidInputException, match=stated):
        published(con, "source", "one", sensitive="s", retention=0.5, record_id="id")


SMALLEST = {
    "TINYINT": -128,
    "SMALLINT": -32768,
    "INTEGER": -2_147_483_648,
    "UTINYINT": 0,
    "USMALLINT": 0,
    "UINTEGER": 0,
}


@pytest.mark.parametrize(("size", "smallest"), SMALLEST.items(), ids=SMALLEST)
def test_integers_of_all_sizes_are_counted(con, published, size, smallest):
    con.execute(
        f"CREATE OR REPLACE TABLE source AS SELECT ({smallest} + i)::{size} AS id, i % 3 AS s"
        " FROM range(128) AS t(i)"
    )
    published(con, "source", "one", sensitive="s", retention=0.5, record_id="id")
    con.execute(f"INSERT INTO source SELECT ({smallest})::{size}, 1")
    with pytest.raises(duckdb.InvalidInputException, match="not unique: 129 rows have 128 ids"):
        published(con, "source", "two", sensitive="s", retention=0.5, record_id="id")
    con.execute("UPDATE source SET id = NULL WHERE s = 2")
    with pytest.raises(duckdb.InvalidInputException, match="'id' is NULL in 42 of 129 rows"):
        published(con, "source", "two", sensitive="s", retention=0.5, record_id="id")
