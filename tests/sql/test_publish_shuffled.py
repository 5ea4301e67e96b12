"""Shuffled groups: what is published, and that every function answers it as it answers the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest
from comparing import nearly

import duckdb_priv

VALUES = ["asthma", "cold", "cough", "flu", None]
ILL = """
    CREATE TABLE ill AS SELECT i AS id, CASE WHEN i % 50 = 49 THEN 'c' WHEN i % 5 = 4 THEN 'b' ELSE 'a' END AS town,
        CASE WHEN i % 3 > 0 THEN i % 2 * 2 - 1 END AS sign, i % 4 AS amount, i % 7 < 3 AS smoker,
        (['cough', 'cold', 'flu', 'asthma', NULL])[1 + least((hash('disease' || i) % 8)::INTEGER, 4)] AS disease
    FROM range(3000) AS t(i) UNION ALL SELECT 5000, 'd', NULL, 2, true, 'flu'
"""
PUBLISH = (
    "FROM priv.publish_shuffled('ill', '{}', sensitive := {}, epsilon := 1.0, delta := 1e-6, record_id := 'id',"
    " public := ['town', 'sign'])"
)


@pytest.fixture(scope="module")
def con(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    with prepared() as connection:
        connection.execute(ILL)
        connection.execute(PUBLISH.format("crowd", "'disease'")).fetchall()
        connection.execute(PUBLISH.format("pair", "['disease', 'smoker']")).fetchall()
        yield connection


def row(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple:
    (found,) = connection.execute(sql).fetchall()
    return found


def test_the_scale_of_a_group_follows_from_its_size(con):
    groups = con.execute(
        "SELECT town, sign, count(*), min(scale), max(scale) FROM crowd GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert len(groups) == 9
    assert all(least == most for *_, least, most in groups)
    by_size = {size: scale for *_, size, scale, _ in groups}
    assert by_size[1] == pytest.approx(1 / np.expm1(1.0), rel=1e-5)
    for size, scale in by_size.items():
        retention = 1 / (1 + len(VALUES) * scale)
        (epsilon,) = row(con, f"SELECT priv.shuffled_epsilon({retention}, 5, {size}, 1e-6)")
        assert epsilon <= 1 + 1e-6
        assert size < 30 or epsilon > 0.9
        (largest,) = row(con, f"SELECT priv.shuffled_retention(1.0, 1e-6, 5, {size})")
        assert retention == pytest.approx(largest, rel=0.06)


def test_what_is_not_a_number_of_the_law_is_published_as_it_was(con):
    assert row(con, "SELECT count(*), count(DISTINCT scale) > 3 FROM crowd") == (3001, True)
    assert (
        con.execute(
            "FROM (SELECT town, sign FROM ill) EXCEPT ALL SELECT town, sign FROM crowd"
        ).fetchall()
        == []
    )
    assert row(con, "SELECT mechanism, parameters FROM priv.release WHERE release = 'crowd'") == (
        "shuffled",
        '{"delta": 1e-06, "epsilon": 1.0}',
    )


ONE = "WHERE town = 'a' AND sign IS NULL"
"""A group, in which all rows have one scale, as all rows of a uniform release have."""
FUNCTIONS = [
    "reconstructed_count({}, 'flu'{})",
    "reconstructed_stderr({}, NULL{})",
    "reconstructed_interval({}, 'flu'{}, confidence := 0.99)",
    "reconstructed_mle({}, 'cold'{})",
    "reconstructed_list_interval({}, ['flu', NULL]{})",
    "reconstructed_share({}, ['flu', 'cold']{})",
    "reconstructed_difference({}, 'flu', ['cold', 'cough']{})",
    "reconstructed_ratio({}, NULL, 'cold'{})",
    "reconstructed_group_difference({}, 'flu', disease_group, NOT disease_group{})",
    "reconstructed_group_ratio({}, 'flu', disease_group, NOT disease_group{})",
    "reconstructed_share_difference({}, ['flu', NULL], disease_group, NOT disease_group{})",
    "reconstructed_share_ratio({}, 'flu', disease_group, NOT disease_group{})",
    "reconstructed_sum({}, 'flu', amount{})",
    "reconstructed_mean({}, ['flu', 'cold'], amount{})",
]


@pytest.fixture(scope="module")
def twins(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A uniform release with the very rows and the very law of one group."""
    ((scale,),) = con.execute(f"SELECT DISTINCT scale FROM crowd {ONE}").fetchall()
    con.execute(
        f"FROM priv.publish_uniform('ill', 'even', sensitive := 'disease', retention := {1 / (1 + 5 * scale)!r},"
        " public := ['town', 'sign'])"
    ).fetchall()
    con.execute(f"CREATE OR REPLACE TABLE even AS SELECT * EXCLUDE (scale) FROM crowd {ONE}")
    rows = "SELECT *, row_number() OVER () % 4 AS amount, row_number() OVER () % 3 = 0 AS disease_group"
    for name, source in (("crowd_rows", f"crowd {ONE}"), ("even_rows", "even")):
        con.execute(f"CREATE TABLE {name} AS {rows} FROM {source}")
    return con


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_group_is_answered_as_a_uniform_release_of_its_law(twins, function):
    crowd, even = (
        row(twins, f"SELECT priv.{function.format(given, weight)} FROM {name}_rows")[0]
        for name, given, weight in (
            ("crowd", "'crowd', noisy_disease", ", weight := scale"),
            ("even", "'even', noisy_disease", ""),
        )
    )
    if isinstance(crowd, dict):
        assert crowd["low"] < crowd["high"]
        crowd, even = list(crowd.values()), list(even.values())
    assert crowd == pytest.approx(even, rel=1e-6)


@pytest.mark.parametrize("method", ["inverse", "bayesian"])
def test_so_are_all_values_and_states(twins, method):
    crowd, even = (
        twins.execute(
            f"FROM priv.reconstructed_distribution('{name}', method := '{method}',"
            f" condition := 'town = ''a'' AND sign IS NULL'{weight}) ORDER BY value"
        ).fetchall()
        for name, weight in (("crowd", ", weight := 'scale'"), ("even", ""))
    )
    for one, other in zip(crowd, even, strict=True):
        assert one[0] == other[0]
        assert one[5] == other[5]
        numbers = 5 if method == "inverse" else 2
        assert one[1:numbers] == pytest.approx(other[1:numbers], rel=1e-6)
    if method == "inverse":
        crowd, even = (
            row(
                twins,
                f"FROM priv.reconstructed_joint('{name}', ['disease'], ['flu'],"
                " condition := 'town = ''a'' AND sign IS NULL')",
            )
            for name in ("crowd", "even")
        )
        assert crowd == pytest.approx(even, rel=1e-6)


def weights(con: duckdb.DuckDBPyConnection, values: list[str | None]) -> np.ndarray:
    """What each row counts for a set of values, by the definition: W = 1{y = x} (1 + m u) - u."""
    rows = con.execute("SELECT noisy_disease::VARCHAR, scale FROM crowd").fetchall()
    return np.array([sum((x == y) * (1 + 5 * u) - u for x in values) for y, u in rows])


@pytest.mark.parametrize("values", [["flu"], ["flu", None], ["cold", "asthma", "flu"], VALUES])
def test_rows_of_several_scales_are_weighed_by_the_definition(con, values):
    h = weights(con, values)
    listed = "[" + ", ".join("NULL" if v is None else f"'{v}'" for v in values) + "]"
    found = row(
        con,
        f"SELECT priv.reconstructed_list_interval('crowd', noisy_disease, {listed}, weight := scale) FROM crowd",
    )[0]
    assert found["estimate"] == pytest.approx(h.sum())
    assert found["stderr"] ** 2 == pytest.approx((h**2 - h).sum(), abs=1e-6)
    if len(values) == 1:
        single = row(
            con,
            "SELECT priv.reconstructed_interval('crowd', noisy_disease, 'flu', weight := scale) FROM crowd",
        )[0]
        assert list(single.values()) == pytest.approx(list(found.values()))
        (summed,) = row(
            con,
            "SELECT sum(priv.weight('crowd', noisy_disease, 'flu', weight := scale)) FROM crowd",
        )
        assert summed == pytest.approx(h.sum())


def test_covariances_of_sets_are_those_of_the_definition(con):
    h, g = weights(con, ["flu", "cold"]), weights(con, ["cold", None])
    q = weights(con, ["cold"])
    variance = (h**2 - h + g**2 - g - 2 * (h * g - q)).sum()
    found = row(
        con,
        "SELECT priv.reconstructed_difference('crowd', noisy_disease, ['flu', 'cold'], ['cold', NULL],"
        " weight := scale) FROM crowd",
    )[0]
    assert found["estimate"] == pytest.approx((h - g).sum())
    assert found["stderr"] ** 2 == pytest.approx(variance)


def test_ordinary_sql_says_the_same(con):
    plain = "SELECT town, count(*) AS n FROM crowd WHERE disease IN ('flu', 'cold') GROUP BY town ORDER BY town"
    found = duckdb_priv.reconstruct(con, plain, intervals=True).fetchall()
    expected = con.execute(
        "SELECT town, unnest(priv.reconstructed_list_interval('crowd', noisy_disease, ['flu', 'cold'],"
        " weight := scale)) FROM crowd GROUP BY town ORDER BY town"
    ).fetchall()
    for one, other in zip(found, expected, strict=True):
        assert one[0] == other[0]
        assert one[1:] == pytest.approx(other[1:], rel=1e-9)
    assert duckdb_priv.reconstruct(con, "SELECT count(*) FROM crowd").fetchall() == [(3001,)]


def test_a_subquery_that_looks_outside_answers_as_its_group_does(con):
    asked = "priv.reconstructed_interval('crowd', noisy_disease, 'flu', weight := scale)"
    assert (
        con.execute(
            f"SELECT town, (SELECT {asked} FROM crowd WHERE crowd.town = towns.town)"
            " FROM (SELECT DISTINCT town FROM ill) AS towns ORDER BY town"
        ).fetchall()
        == con.execute(f"SELECT town, {asked} FROM crowd GROUP BY town ORDER BY town").fetchall()
    )


def test_several_attributes_share_one_scale(con):
    found = row(
        con, "FROM priv.reconstructed_joint('pair', ['disease', 'smoker'], ['flu', 'true'])"
    )
    rows = con.execute(
        "SELECT noisy_disease::VARCHAR, noisy_smoker::BOOLEAN, scale FROM pair"
    ).fetchall()
    product = np.array(
        [((y == "flu") * (1 + 5 * u) - u) * (s * (1 + 2 * u) - u) for y, s, u in rows]
    )
    assert found[0] == pytest.approx(product.sum())
    assert found[3] ** 2 == pytest.approx((product**2 - product).sum())
    (true,) = row(con, "SELECT count(*) FROM ill WHERE disease = 'flu' AND smoker")
    assert abs(found[0] - true) < 6.2 * found[3]
    assert duckdb_priv.reconstruct(
        con, "SELECT count(*) FROM pair WHERE disease = 'flu' AND smoker"
    ).fetchall() == [(pytest.approx(found[0]),)]


def test_it_is_audited(con):
    audit = con.execute(
        "SELECT attribute, guarantee, value, holds, parameters FROM priv.audit('pair')"
    ).fetchall()
    for name in (
        "shuffle_privacy",
        "scale_by_size",
        "order_of_rows",
        "noise_as_stated",
        "local_differential_privacy",
    ):
        assert [holds for _, each, _, holds, _ in audit if each == name] == [True, True], name
    delta = max(value for _, each, value, _, _ in audit if each == "shuffle_privacy")
    assert 0.9e-6 < delta <= 1e-6


def test_all_attributes_together_are_promised_what_is_charged_once(con):
    """The product of both is (1, 1e-6)-private, and so is each; the release of one before it adds another (1, 1e-6)."""
    charged = con.execute(
        "SELECT attribute, epsilon_attribute, epsilon_record, delta_record FROM priv.ledger(details := true)"
        " WHERE release IN ('crowd', 'pair')"
    ).fetchall()
    assert charged == [
        ("disease", 1.0, 1.0, 1e-6),
        ("disease", 2.0, 2.0, 2e-6),
        ("smoker", 1.0, 2.0, 2e-6),
    ]
    promised = con.execute(
        "SELECT value, statement FROM priv.guarantee WHERE release = 'pair' AND guarantee = 'shuffle_privacy'"
    ).fetchall()
    assert [value for value, _ in promised] == [1.0, 1.0]
    assert all("all other sensitive attributes together" in statement for _, statement in promised)
    assert all("1 of 3001 records are unique in theirs" in statement for _, statement in promised)


def test_the_next_version_is_redrawn_and_charged_whole(prepared):
    with prepared() as con:
        con.execute(ILL)
        con.execute("FROM priv.budget(epsilon := 2.0, delta := 1e-5)").fetchall()
        con.execute(PUBLISH.format("crowd", "'disease'")).fetchall()
        shown = (
            "SELECT noisy_disease, count(*) FROM crowd WHERE town = 'b' GROUP BY ALL ORDER BY ALL"
        )
        first = con.execute(shown).fetchall()
        con.execute("INSERT INTO ill SELECT 9000, 'a', 1, 2, true, 'flu'")
        con.execute("FROM priv.refresh('crowd')").fetchall()
        # A town that nobody came to shows other values as well: none is a look at what was seen before.
        assert con.execute(shown).fetchall() != first
        assert row(con, "SELECT bool_and(holds) FROM priv.audit('crowd')") == (True,)
        con.execute("INSERT INTO ill SELECT 9001, 'a', 1, 2, true, 'flu'")
        with pytest.raises(duckdb.Error, match="epsilon = 3 and delta = 3e-06 would be spent"):
            con.execute("FROM priv.refresh('crowd')").fetchall()


def test_it_is_exported_and_answers_without_us(con, tmp_path: Path):
    path = tmp_path / "crowd.duckdb"
    con.execute(f"FROM priv.export_release('crowd', '{path}')").fetchall()
    asked = "FROM priv.reconstructed_distribution('crowd', weight := 'scale') ORDER BY value"
    with duckdb.connect(str(path), read_only=True) as analyst:
        assert analyst.execute(asked).fetchall() == nearly(con.execute(asked).fetchall())
        assert analyst.execute("SELECT sum(estimate) FROM crowd_disease_estimates").fetchall() == [
            (pytest.approx(3001, abs=3),)
        ]
        ((by_view,),) = analyst.execute(
            "SELECT sum(weight) FROM crowd_disease_weights WHERE disease = 'flu'"
        ).fetchall()
        assert by_view == pytest.approx(weights(con, ["flu"]).sum())
        for (statement,) in analyst.execute("SELECT statement FROM priv.example").fetchall():
            analyst.execute(statement).fetchall()
        ((comment,),) = analyst.execute(
            "SELECT comment FROM duckdb_columns() WHERE table_name = 'crowd' AND column_name = 'scale'"
            " AND schema_name = 'main'"
        ).fetchall()
    assert "weight := scale" in comment


def test_it_is_advised_beside_the_others_where_both_numbers_are_asked_for(con):
    asked = "FROM priv.advise('ill', sensitive := 'disease', record_id := 'id', exclude := ['amount', 'smoker']"
    rows = con.execute(
        f"SELECT mechanism, mean_relative_error, statement {asked}, epsilon := 1.0, delta := 1e-6) WHERE meets"
    ).fetchall()
    assert rows[0][0] == "shuffled"
    uniform = min(error for mechanism, error, _ in rows if mechanism == "uniform")
    assert rows[0][1] < uniform
    assert json.loads(
        row(con, f"SELECT parameters {asked}, epsilon := 1.0, delta := 1e-6) LIMIT 1")[0]
    ) == {
        "epsilon": 1.0,
        "delta": 1e-6,
    }
    con.execute(rows[0][2]).fetchall()
    con.execute("FROM priv.drop_release('ill_public')").fetchall()
    for demand in ("epsilon := 1.0", "epsilon := 1e-9, delta := 1e-6"):
        mechanisms = con.execute(f"SELECT DISTINCT mechanism {asked}, {demand})").fetchall()
        assert ("shuffled",) not in mechanisms, demand


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("epsilon := 1.0, delta := 0", "delta must lie strictly between 0 and 1, got 0.0\nHint: 1e-6 is usual"),
        ("epsilon := 0, delta := 1e-6", "epsilon must be at least 1e-06 and at most 30, got 0.0"),
        ("epsilon := 1e9, delta := 1e-6", "epsilon must be at least 1e-06 and at most 30"),
        ("epsilon := 1.0, delta := 1", "delta must lie strictly between 0 and 1, got 1.0"),
        ("epsilon := 1.0", "delta is missing"),
        ("epsilon := 1.0, delta := 1e-6, public := ['id', 'town']",
         "no record hides another: 'id' alone has 3001 values in 3001 records\nHint: exclude 'id', or make it coarser"),
        ("epsilon := 1.0, delta := 1e-6, public := 'town', domain := ['flu']", "that the given domain lacks"),
    ],
)  # fmt: skip
def test_bad_input(con, arguments, message):
    with pytest.raises(duckdb.Error) as caught:
        con.execute(
            f"FROM priv.publish_shuffled('ill', 'wrong', sensitive := 'disease', {arguments})"
        )
    assert message in str(caught.value)


def test_names_and_domains_that_cannot_be(con):
    con.execute(
        "CREATE TABLE named AS SELECT id, town AS Scale, disease, 1 AS same, NULL::VARCHAR AS missing FROM ill"
    )
    for sensitive, public, message in (
        (
            "disease",
            "Scale",
            "column 'Scale' has the name of the column for the noise scale of a row",
        ),
        ("same", "disease", "the domain of 'same' has 1 value, and needs at least 2"),
        ("missing", "disease", "the domain of 'missing' has 1 value, and needs at least 2"),
    ):
        with pytest.raises(duckdb.Error, match=message):
            con.execute(
                f"FROM priv.publish_shuffled('named', 'wrong', sensitive := '{sensitive}', epsilon := 1.0,"
                f" delta := 1e-6, public := '{public}')"
            )


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT priv.reconstructed_count('crowd', noisy_disease, 'flu') FROM crowd",
        "SELECT priv.reconstructed_share('crowd', noisy_disease, 'flu') FROM crowd",
        "SELECT priv.weight('crowd', noisy_disease, 'flu') FROM crowd",
        "FROM priv.reconstructed_distribution('crowd')",
    ],
)
def test_without_its_weight_a_question_says_what_is_missing(con, asked):
    with pytest.raises(
        duckdb.Error, match="perturbed as far as their scale says: write weight := scale"
    ):
        con.execute(asked).fetchall()


def test_a_domain_with_values_that_do_not_occur_and_missing_public_columns(con):
    con.execute(
        "FROM priv.publish_shuffled('ill', 'wide', sensitive := 'disease', epsilon := 2.0, delta := 1e-5,"
        " exclude := ['id', 'town', 'sign', 'amount', 'smoker'],"
        " domain := ['asthma', 'cold', 'cough', 'flu', 'mumps', NULL])"
    ).fetchall()
    assert row(con, "SELECT count(DISTINCT scale), count(*) FROM wide") == (1, 3001)
    found = dict(
        con.execute(
            "SELECT value, estimate FROM priv.reconstructed_distribution('wide', weight := 'scale')"
        ).fetchall()
    )
    assert abs(found["mumps"]) < 60
    assert sum(found.values()) == pytest.approx(3001)


def test_noise_depends_on_instants_and_on_no_time_zone(prepared):
    """What all records hold keys their noise, down to whether one is infinite or missing."""
    published, random_bits = [], []
    for zone, last in (
        ("Asia/Kolkata", "'infinity'"),
        ("America/New_York", "'infinity'"),
        ("UTC", "NULL"),
    ):
        with prepared() as con:
            con.execute(f"SET GLOBAL TimeZone = '{zone}'; {ILL}")
            con.execute(
                "ALTER TABLE ill ADD COLUMN seen TIMESTAMPTZ; UPDATE ill SET seen = CASE WHEN id = 5000 THEN"
                f" {last} ELSE TIMESTAMPTZ '2026-10-25 00:30:00+00' + INTERVAL (id % 3) HOUR END;"
                'ALTER TABLE ill ADD COLUMN visits STRUCT("at" TIMESTAMPTZ[]); UPDATE ill SET visits = {"at": [seen]}'
            )
            publish = PUBLISH.format("crowd", "'disease'").replace("'sign'", "'seen', 'visits'")
            con.execute(publish).fetchall()
            rows = "SELECT epoch_us(seen), epoch_us(visits['at'][1]), * EXCLUDE (seen, visits) FROM crowd ORDER BY ALL"
            published.append(con.execute(rows).fetchall())
            random_bits.append(con.execute("SELECT coins FROM priv.ledger").fetchall())
    assert published[0] == published[1]
    assert random_bits[0] == random_bits[1] != random_bits[2]


def test_a_column_may_be_called_as_duckdb_calls_the_number_of_a_row(prepared):
    with prepared() as con:
        con.execute(
            "CREATE TABLE ill AS SELECT i AS id, ['x', 'y'][1 + i * 7 % 5 % 2] AS rowid,"
            " ['flu', 'cold'][1 + i % 2] AS disease FROM range(300) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_shuffled('ill', 'r', sensitive := 'disease', epsilon := 1.0, delta := 1e-5,"
            " record_id := 'id', public := ['rowid'])"
        ).fetchall()
        audit = "SELECT holds FROM priv.audit('r') WHERE guarantee = 'order_of_rows'"
        assert row(con, audit) == (True,)
