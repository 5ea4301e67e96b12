"""A sensitive column of any type whose values can be listed, the missing value among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import duckdb
import pytest

TYPES = {
    "BOOLEAN": "i % 2 = 0",
    "TINYINT": "(i % 5 - 2)::TINYINT",
    "SMALLINT": "(i % 5 * 1000)::SMALLINT",
    "INTEGER": "(i % 5)::INTEGER",
    "BIGINT": "(i % 5 - 9223372036854775808)::BIGINT",
    "HUGEINT": "(i % 5)::HUGEINT * 100000000000000000000",
    "UTINYINT": "(i % 5)::UTINYINT",
    "UBIGINT": "(18446744073709551615 - i % 5)::UBIGINT",
    "FLOAT": "((i % 5) / 10)::FLOAT",
    "DOUBLE": "(['-inf', '-1e300', '0', '0.1', 'inf'])[1 + i % 5]::DOUBLE",
    "DECIMAL(5,2)": "((i % 5) / 4)::DECIMAL(5, 2)",
    "DECIMAL(38,10)": "(i % 5)::DECIMAL(38, 10) + 12345678901234567890.1234567891",
    "DATE": "DATE '2020-02-28' + (i % 5)::INTEGER",
    "TIME": "TIME '23:59:57' + to_seconds(i % 3)",
    "TIMESTAMP": "TIMESTAMP '2020-01-01' + to_hours(i % 5)",
    "TIMESTAMP_NS": "(TIMESTAMP '2020-01-01' + to_hours(i % 5))::TIMESTAMP_NS",
    "TIMESTAMP_S": "(TIMESTAMP '2020-01-01' + to_hours(i % 5))::TIMESTAMP_S",
    "UUID": "('00000000-0000-0000-0000-00000000000' || i % 5)::UUID",
    "VARCHAR": "(['', ' ', 'NULL', 'it''s \"quoted\"', '@estimate@ {condition} ünïcödé 🤧'])[1 + i % 5]",
    "ENUM": "(['low', 'high', 'middle'])[1 + i % 3]::ENUM('low', 'middle', 'high', 'never')",
}
"""By type of the column: values of record i, in no particular order."""

TEXTUAL = {"VARCHAR", "ENUM"}
REFUSED = {
    "BLOB": "('a' || i % 5)::BLOB",
    "INTERVAL": "to_days((i % 5)::INTEGER)",
    "BIGINT[]": "[i % 5]",
    "STRUCT(a BIGINT)": "{a: i % 5}",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_hours(i % 5)",
}


@pytest.fixture(scope="module")
def released(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    together: Callable[..., AbstractContextManager[None]],
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A source and a release of it for every type, with two missing values of ten."""
    with prepared(None) as connection:
        with together(connection):
            for kind, value in TYPES.items():
                connection.execute(
                    f'CREATE TABLE "source {kind}" AS SELECT i AS id, i % 2 AS half,'
                    f" CASE WHEN i % 10 > 1 THEN {value} END AS s FROM range(600) AS t(i)"
                )
                connection.execute(
                    "FROM priv.publish_uniform(?, ?, sensitive := 's', retention := 0.4, record_id := 'id')",
                    [f"source {kind}", f"release {kind}"],
                )
        yield connection


@pytest.fixture(scope="module")
def given(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Where one release replaces the other."""
    with prepared(None) as connection:
        yield connection


@pytest.mark.parametrize("kind", TYPES)
def test_the_published_column_is_an_enum_and_the_catalog_has_the_type_of_the_source(released, kind):
    described = released.execute(f'DESCRIBE "release {kind}"').fetchall()
    published = {name: column for name, column, *_ in described}
    assert list(published) == ["half", "noisy_s"]
    assert published["noisy_s"].startswith("ENUM(")
    outside = released.execute(
        f'SELECT count(*) FROM "release {kind}" AS r WHERE NOT EXISTS'
        f' (FROM "source {kind}" AS o WHERE o.s::VARCHAR IS NOT DISTINCT FROM r.noisy_s::VARCHAR)'
    ).fetchall()
    assert outside == [(0,)]
    size, values = released.execute(
        f'SELECT count(DISTINCT noisy_s) + 1, count(*) FROM "release {kind}"'
    ).fetchall()[0]
    assert values == 600
    assert released.execute(
        "SELECT type, domain_size FROM priv.attribute WHERE release = ? AND role = 'sensitive'",
        [f"release {kind}"],
    ).fetchall() == [("ENUM" if kind in TEXTUAL else kind, size)]


@pytest.mark.parametrize("kind", TYPES)
def test_the_domain_is_in_the_order_of_the_type_and_the_missing_value_comes_last(released, kind):
    values = released.execute(
        f'SELECT DISTINCT s::VARCHAR, s FROM "source {kind}" WHERE s IS NOT NULL'
    )
    by_type = released.execute(
        f'SELECT s::VARCHAR FROM (SELECT DISTINCT s FROM "source {kind}") ORDER BY s NULLS LAST'
    ).fetchall()
    assert values
    stored = released.execute(
        "SELECT value FROM priv.coefficient WHERE release = ? ORDER BY position",
        [f"release {kind}"],
    ).fetchall()
    if kind != "ENUM":
        assert stored == by_type
    assert set(stored) == set(by_type)
    assert stored[-1] == (None,)


@pytest.mark.parametrize("kind", TYPES)
def test_every_value_is_counted_by_its_text_and_by_itself(released, kind):
    """As the catalog spells it, as a value of the column, and in the distribution: all the same."""
    release = f"release {kind}"
    texts = released.execute(
        "SELECT value FROM priv.coefficient WHERE release = ? ORDER BY position", [release]
    ).fetchall()
    by_text = [
        released.execute(
            f'SELECT priv.reconstructed_count(?, noisy_s, ?) FROM "{release}"', [release, text]
        ).fetchall()[0][0]
        for (text,) in texts
    ]
    distribution = released.execute(
        "SELECT value::VARCHAR, estimate, typeof(value) FROM priv.reconstructed_distribution(?)",
        [release],
    ).fetchall()
    assert {(text,) for text, _, _ in distribution} == set(texts)
    assert dict(zip([text for (text,) in texts], by_text, strict=True)) == {
        text: estimate for text, estimate, _ in distribution
    }
    assert {column for _, _, column in distribution} == {"VARCHAR" if kind in TEXTUAL else kind}
    by_value = released.execute(
        f'SELECT v::VARCHAR, priv.reconstructed_count(?, noisy_s, v) FROM "{release}",'
        f' (SELECT DISTINCT noisy_s AS v FROM "{release}") GROUP BY v',
        [release],
    ).fetchall()
    assert dict(by_value) == {text: estimate for text, estimate, _ in distribution}
    assert sum(by_text) == pytest.approx(600)


@pytest.mark.parametrize("kind", TYPES)
def test_the_missing_value_is_perturbed_like_any_other(released, kind):
    """Of 120 records without value about 0.4 keep nothing and the others show something, and the reverse."""
    kept, lost, gained = released.execute(
        f'SELECT count(*) FILTER (noisy_s IS NULL), any_value(m.missing), count(*) FROM "release {kind}",'
        f' (SELECT count(*) AS missing FROM "release {kind}" WHERE noisy_s IS NULL) AS m'
    ).fetchall()[0]
    assert kept == lost
    assert gained == 600
    size = released.execute(
        "SELECT domain_size FROM priv.attribute WHERE release = ? AND role = 'sensitive'",
        [f"release {kind}"],
    ).fetchall()[0][0]
    expected = 120 * 0.4 + 600 * 0.6 / size
    assert abs(kept - expected) < 6.2 * (600 * 0.25) ** 0.5
    assert 0 < kept < 600


@pytest.mark.parametrize("kind", REFUSED)
def test_a_type_whose_values_have_no_one_text_is_refused(con, kind):
    con.execute(
        f"CREATE TABLE source AS SELECT i AS id, {REFUSED[kind]} AS s FROM range(20) AS t(i)"
    )
    with pytest.raises(duckdb.InvalidInputException) as caught:
        con.execute("FROM priv.publish_uniform('source', 'r', sensitive := 's', retention := 0.4)")
    assert f"has type {kind}, whose values cannot be listed" in str(caught.value)
    con.execute(
        "FROM priv.publish_uniform('source', 'r', sensitive := 'id', retention := 0.4, exclude := 's')"
    )


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE"])
def test_what_is_not_a_number_is_refused(con, published, kind):
    """Older DuckDB takes nan for minus infinity when it counts."""
    con.execute(
        f"CREATE TABLE source AS SELECT (CASE WHEN i % 3 = 0 THEN 'nan' ELSE '1.5' END)::{kind} AS s"
        " FROM range(9) AS t(i)"
    )
    with pytest.raises(duckdb.InvalidInputException, match="'s' can be nan"):
        published(con, "source", "r", sensitive="s", retention=0.4)


@pytest.mark.parametrize(
    ("kind", "value", "domain"),
    [
        ("VARCHAR", "'flu'", "['flu', 'cold', 'it''s', NULL]"),
        ("INTEGER", "1", "[3, 1, 2, NULL]"),
        ("INTEGER", "1", "range(5)"),
        ("INTEGER", "1", "['1', '2']"),
        ("BOOLEAN", "true", "[true, false]"),
        ("DATE", "DATE '2026-01-01'", "[DATE '2026-01-01', DATE '2025-01-01']"),
        (
            "TIMESTAMP",
            "TIMESTAMP '2026-01-01 10:00:00'",
            "['2026-01-01 10:00:00', '2026-01-01 11:00:00']",
        ),
        ("DECIMAL(5,2)", "1.5", "[1.50, 2.25]"),
        (
            "DECIMAL(38,10)",
            "12345678901234567890.1234567891",
            "['12345678901234567890.1234567891', '1']",
        ),
        ("DOUBLE", "0.1", "[0.1::DOUBLE, 0.2::DOUBLE]"),
        ("FLOAT", "0.1", "[0.1::FLOAT, 0.2::FLOAT]"),
        (
            "UUID",
            "'00000000-0000-0000-0000-000000000001'",
            "['00000000-0000-0000-0000-000000000001'::UUID, NULL]",
        ),
        ("ENUM('a', 'b')", "'a'", "['a', 'b', 'c']"),
    ],
)
def test_a_domain_may_be_given_in_any_order_and_says_so(given, kind, value, domain):
    con = given
    con.execute(
        f"CREATE OR REPLACE TABLE source AS SELECT i AS id, {value}::{kind} AS s FROM range(1000) AS t(i)"
    )
    con.execute(
        f"FROM priv.publish_uniform('source', 'r', sensitive := 's', retention := 0.4, domain := {domain},"
        " exclude := 'id', replace := true)"
    )
    size = con.execute(f"SELECT len({domain})").fetchall()[0][0]
    assert con.execute(
        "SELECT domain_size, domain_provenance FROM priv.attribute JOIN priv.release USING (release)"
        " WHERE role = 'sensitive'"
    ).fetchall() == [(size, '{"s": "given"}')]
    total, first = con.execute(
        "SELECT sum(estimate), arg_max(value::VARCHAR, estimate) FROM priv.reconstructed_distribution('r')"
    ).fetchall()[0]
    assert total == pytest.approx(1000)
    assert first == con.execute(f"SELECT ({value}::{kind})::VARCHAR").fetchall()[0][0]


NESTED = {
    "VARCHAR[]": "['a' || i % 3, NULL]",
    "VARCHAR[1]": "['a' || i % 3]",
    "ENUM('low', 'high')[]": "[(['low', 'high'])[1 + i % 2]]",
    "TIMESTAMP[]": "[TIMESTAMP '2026-01-01 10:30:00' + to_hours(i % 3)]",
    "TIMESTAMPTZ[]": "[TIMESTAMPTZ '2026-01-01 10:30:00+00:00' + to_hours(i % 3)]",
    "STRUCT(a DATE, b TIMESTAMPTZ[])": "{a: DATE '2026-01-01', b: [TIMESTAMPTZ 'infinity', NULL]}",
    "MAP(TIMESTAMPTZ, INTEGER)": "MAP {TIMESTAMPTZ '2026-01-01 10:30:00+00:00': i % 3}",
    "UNION(a INTEGER, b TIMESTAMPTZ)": "union_value(b := TIMESTAMPTZ '2026-01-01 10:30:00+00:00' + to_hours(i % 3))"
    "::UNION(a INTEGER, b TIMESTAMPTZ)",
}


@pytest.mark.parametrize(
    "call", ["uniform({})", "reconstruction_private({}, epsilon := 0.3, delta := 0.3)"]
)
def test_lists_and_the_like_stay_beside_what_is_perturbed(given, call):
    columns = ", ".join(f'CAST({value} AS {kind}) AS "{kind}"' for kind, value in NESTED.items())
    missing = ", ".join(f'"{kind}" = NULL' for kind in NESTED)
    given.execute(
        f"CREATE OR REPLACE TABLE nested AS SELECT i AS id, (['a', 'b'])[1 + i % 2] AS s, {columns}"
        f" FROM range(420) AS t(i); UPDATE nested SET {missing} WHERE id % 7 = 0"
    )
    arguments = (
        "'nested', 'r nested', sensitive := 's', public := $1, record_id := 'id', retention := 0.4,"
        " replace := true"
    )
    given.execute(f"FROM priv.publish_{call.format(arguments)}", [list(NESTED)]).fetchall()
    public = ", ".join(f'"{kind}"' for kind in NESTED)
    ((left,),) = given.execute(
        f'SELECT count(*) FROM ((SELECT {public} FROM nested EXCEPT SELECT {public} FROM "r nested")'
        f' UNION ALL (SELECT {public} FROM "r nested" EXCEPT SELECT {public} FROM nested))'
    ).fetchall()
    assert left == 0
