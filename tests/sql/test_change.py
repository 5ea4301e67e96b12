"""The difference of counts between two versions: of the noise that both share nothing is left."""

from __future__ import annotations

import math

import duckdb
import pytest


def _two_versions(con, folder) -> None:
    con.execute(
        "CREATE TABLE visits AS SELECT i AS id, i % 7 AS ward,"
        " ['asthma', 'cold', 'flu', NULL][1 + i * i % 23 % 4] AS disease"
        " FROM range(3000) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_uniform('visits', 'r', sensitive := 'disease', retention := 0.4, record_id := 'id',"
        " domain := ['asthma', 'cold', 'flu', 'measles', NULL])"
    )
    for name in ("first", "second"):
        con.execute("FROM priv.export_release('r', ?)", [str(folder / f"{name}.duckdb")])
    con.execute("UPDATE visits SET disease = 'measles' WHERE id < 40")
    con.execute("DELETE FROM visits WHERE id BETWEEN 100 AND 130")
    con.execute("FROM priv.refresh('r')")
    con.execute("UPDATE visits SET ward = 9 WHERE id = 300")
    con.execute("FROM priv.export_release('r', ?)", [str(folder / "third.duckdb")])
    con.execute("FROM priv.refresh('r')")


@pytest.fixture(scope="module")
def analyst(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("versions")
    with made(lambda con: _two_versions(con, folder)):
        pass
    with duckdb.connect() as con:
        for name in ("first", "second", "third"):
            con.execute(f"ATTACH '{folder / name}.duckdb' AS {name} (READ_ONLY)")
        yield con


def changes(con, newer: str, older: str) -> list[tuple]:
    return con.execute(
        f"FROM {newer}.priv.reconstructed_change('r', '{older}', database := '{newer}')"
    ).fetchall()


def test_it_is_the_difference_of_both_estimates_with_the_noise_of_what_moved(analyst):
    moved, own, other = 200, 0.4 + 0.6 / 5, 0.6 / 5
    found = changes(analyst, "second", "first")
    assert [value for value, *_ in found] == ["asthma", "cold", "flu", "measles", None]
    for value, before, after, estimate, stderr, low, high in found:
        for name, counted in (("first", before), ("second", after)):
            ((expected,),) = analyst.execute(
                f"SELECT {name}.priv.reconstructed_count('r', reported_disease, $1) FROM {name}.r",
                [value],
            ).fetchall()
            assert counted == pytest.approx(expected)
        assert estimate == pytest.approx(after - before)
        assert stderr == pytest.approx(math.sqrt(moved * own * (1 - own)) / (own - other))
        assert high - estimate == pytest.approx(estimate - low)
        assert high - estimate == pytest.approx(1.959964 * stderr + 0.5 / (own - other), rel=1e-5)
    assert found[3][5] <= 40 <= found[3][6]


def test_where_nobody_moved_there_is_no_noise_at_all(analyst):
    """A public column changed, and the record shows what it showed."""
    for *_, estimate, stderr, low, high in changes(analyst, "third", "second"):
        assert (estimate, stderr, low, high) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("newer", "older"), [("third", "first"), ("first", "second"), ("second", "second")]
)
def test_it_is_for_the_version_right_before(analyst, newer, older):
    with pytest.raises(duckdb.Error, match='not the version of "r" right before'):
        changes(analyst, newer, older)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("'r', NULL", "older is missing"),
        ("'q', 'first'", "q"),
        ("'r', 'first', confidence := 1", "confidence"),
    ],
)
def test_bad_arguments_are_told(analyst, arguments, told):
    with pytest.raises(duckdb.Error, match=told):
        analyst.execute(f"FROM second.priv.reconstructed_change({arguments}, database := 'second')")


def test_it_is_refused_where_the_shared_noise_is_not_known(con):
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 7 AS ward, 'd' || i * i % 23 % 5 AS disease FROM range(600) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_splu('v', 'r', sensitive := 'disease', gamma := 2, record_id := 'id')"
    )
    with pytest.raises(duckdb.Error, match="known for uniform perturbation"):
        con.execute("FROM priv.reconstructed_change('r', 'older')")
