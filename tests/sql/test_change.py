"""The difference of counts between two versions: of the noise that both share nothing is left."""

from __future__ import annotations

import math
import re

import duckdb
import pytest

from duckdb_priv.sqltext.templates import everything, read

pytestmark = pytest.mark.usefixtures("plain_files")

NAMED = re.compile(r"\b(\w+) AS (?:MATERIALIZED )?\(\n")
"""A part of a query, where it gets its name."""


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
def analyst(prepared, for_files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("versions")
    with for_files(), prepared() as publisher:
        _two_versions(publisher, folder)
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
    for value, before, after, estimate, low, high, stderr in found:
        for name, counted in (("first", before), ("second", after)):
            ((expected,),) = analyst.execute(
                f"SELECT {name}.priv.reconstructed_count('r', noisy_disease, $1) FROM {name}.r",
                [value],
            ).fetchall()
            assert counted == pytest.approx(expected)
        assert estimate == pytest.approx(after - before)
        assert stderr == pytest.approx(math.sqrt(moved * own * (1 - own)) / (own - other))
        assert high - estimate == pytest.approx(estimate - low)
        assert high - estimate == pytest.approx(1.959964 * stderr + 0.5 / (own - other), rel=1e-5)
    assert found[3][4] <= 40 <= found[3][5]


def test_where_nobody_moved_there_is_no_noise_at_all(analyst):
    """A public column changed, and the record shows what it showed."""
    for *_, estimate, low, high, stderr in changes(analyst, "third", "second"):
        assert (estimate, low, high, stderr) == (0, 0, 0, 0)


@pytest.mark.parametrize(("newer", "older"), [("first", "second"), ("second", "second")])
def test_it_is_for_an_earlier_version(analyst, newer, older):
    with pytest.raises(duckdb.Error, match='no earlier version of "r"'):
        changes(analyst, newer, older)


def test_who_moved_in_any_of_the_versions_between_is_counted(analyst):
    """Nobody's value changed in the third version, and one ward did."""
    assert changes(analyst, "third", "first") == changes(analyst, "second", "first")
    ((earlier,),) = analyst.execute("SELECT earlier FROM third.priv.release").fetchall()
    assert [(each["rows_moved"], each["rows_placed"]) for each in earlier] == [(0, 100), (200, 300)]


def test_public_values_that_look_equal_are_other_parts_of_the_table(con):
    """A record id may be written in several ways; a group of the table is written in one."""
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, if(i % 2 = 0, 'north', '007') AS ward, 'd' || i * i % 23 % 5 AS disease"
        " FROM range(2000) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_uniform('v', 'r', sensitive := 'disease', retention := 0.4, record_id := 'id')"
    )
    con.execute("UPDATE v SET ward = if(ward = 'north', 'North', '7') WHERE id < 60")
    con.execute("FROM priv.refresh('r')")
    (((step,),),) = con.execute("SELECT earlier FROM priv.release").fetchall()
    assert (step["rows_moved"], step["rows_placed"]) == (0, 200)


def test_parts_have_the_noise_of_what_moved_in_them(analyst):
    """The difference of the estimates of each part; as many rows moved there as differ, and as may hide."""
    found = analyst.execute(
        "FROM second.priv.reconstructed_change('r', 'first', group_columns := 'ward', database := 'second')"
    ).fetchall()
    ((differing,),) = analyst.execute(
        "SELECT count(*) FROM (FROM (FROM first.r EXCEPT ALL FROM second.r)"
        " UNION ALL FROM (FROM second.r EXCEPT ALL FROM first.r))"
    ).fetchall()
    counts = dict(
        analyst.execute(
            "SELECT ward, count(*) FROM (FROM (FROM first.r EXCEPT ALL FROM second.r)"
            " UNION ALL FROM (FROM second.r EXCEPT ALL FROM first.r)) GROUP BY ALL"
        ).fetchall()
    )
    assert len(found) == 7 * 5
    own, other = 0.4 + 0.6 / 5, 0.6 / 5
    for ward, value, before, after, estimate, low, high, stderr in found:
        for name, counted in (("first", before), ("second", after)):
            ((expected,),) = analyst.execute(
                f"SELECT {name}.priv.reconstructed_count('r', noisy_disease, $1) FROM {name}.r WHERE ward = $2",
                [value, ward],
            ).fetchall()
            assert counted == pytest.approx(expected)
        assert estimate == pytest.approx(after - before)
        rows = counts.get(ward, 0) + 200 - differing
        assert stderr == pytest.approx(math.sqrt(rows * own * (1 - own)) / (own - other))
        assert low <= estimate <= high
    part = analyst.execute(
        "FROM second.priv.reconstructed_change('r', 'first', condition := 'ward = 3', database := 'second')"
    ).fetchall()
    assert part == [row[1:] for row in found if row[0] == 3]


def test_a_ward_that_a_record_came_to_has_the_noise_of_that_record(analyst):
    """The ward that it came to was not there before."""
    found = analyst.execute(
        "SELECT ward, sum(before), sum(after), min(stderr) FROM third.priv.reconstructed_change('r', 'second',"
        " group_columns := 'ward', database := 'third') GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert [ward for ward, *_ in found] == [0, 1, 2, 3, 4, 5, 6, 9]
    assert [round(after - before) for _, before, after, _ in found] == [0, 0, 0, 0, 0, 0, -1, 1]
    # A single row is there; the least that is counted is five, of records without the value.
    assert found[-1][3] == pytest.approx(math.sqrt(5 * 0.12 * 0.88) / 0.4)


@pytest.mark.once
def test_rare_values_have_the_noise_of_rows_that_do_not_show_them(con, for_files, tmp_path):
    """Public columns tell the rows that moved apart; the secret is fixed, and an interval misses in one of twenty."""
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 900 AS ward, i % 5 AS age,"
        " (least(hash(i) % 60, 30 + hash(i) % 10))::VARCHAR AS disease FROM range(9000) AS t(i)"
    )
    count = "SELECT disease, count(*) FROM v GROUP BY ALL"
    before = dict(con.execute(count).fetchall())
    with for_files():
        con.execute(
            "FROM priv.publish_uniform('v', 'r', sensitive := 'disease', retention := 0.5, record_id := 'id')"
        )
        # The file that was exported last follows the release.
        for name in ("old", "new"):
            con.execute("FROM priv.export_release('r', ?)", [str(tmp_path / f"{name}.duckdb")])
        con.execute(
            "DELETE FROM v WHERE hash(id, 7) % 20 = 3; UPDATE v SET disease = '35' WHERE hash(id, 7) % 20 = 4"
        )
        con.execute("FROM priv.refresh('r')")
    after = dict(con.execute(count).fetchall())
    with duckdb.connect() as analyst:
        for name in ("old", "new"):
            analyst.execute(f"ATTACH '{tmp_path}/{name}.duckdb' AS {name} (READ_ONLY)")
        found = changes(analyst, "new", "old")
        (((step,),),) = analyst.execute("SELECT earlier FROM new.priv.release").fetchall()
    size = len(found)
    own = 0.5 + 0.5 / size
    most = 1.959964 * math.sqrt(step["rows_moved"] * own * (1 - own)) / 0.5 + 0.5 / 0.5
    assert size == 40
    missed = 0
    for value, _, _, _, low, high, _ in found:
        true = after.get(value, 0) - before[value]
        missed += not low <= true <= high
        assert high - low <= (1.1 if before[value] < 250 else 2.0001) * most
    assert missed <= 8


@pytest.mark.parametrize(
    ("publish", "largest"),
    [
        ("matrix('v', 'r', sensitive := 'disease', matrix := 'm', record_id := 'id')", 0.6 * 0.4 / 0.4**2),
        ("block_design('v', 'r', sensitive := 'disease', epsilon := 1.0, record_id := 'id')", None),
    ],
)  # fmt: skip
def test_other_mechanisms_that_draw_each_record_for_itself(
    con, for_files, tmp_path, publish, largest
):
    values = ["a", "b"] if largest else [f"v{n:02}" for n in range(23)]
    con.execute(
        f"CREATE TABLE v AS SELECT i AS id, i % 7 AS ward, {values}[1 + i % 23 % {len(values)}] AS disease"
        " FROM range(2000) AS t(i)"
    )
    con.execute(
        "CREATE TABLE m AS SELECT * FROM (VALUES ('a', 'a', 0.6), ('a', 'b', 0.4), ('b', 'a', 0.2), ('b', 'b', 0.8))"
        " AS t(original, published, probability)"
    )
    older, newer = (str(tmp_path / f"{name}.duckdb") for name in ("older", "newer"))
    with for_files():
        con.execute(f"FROM priv.publish_{publish}")
        con.execute("FROM priv.export_release('r', ?)", [older])
        con.execute("FROM priv.export_release('r', ?)", [newer])
        con.execute("DELETE FROM v WHERE id < 30; FROM priv.refresh('r')")
    with duckdb.connect() as analyst:
        analyst.execute(
            f"ATTACH '{older}' AS older (READ_ONLY); ATTACH '{newer}' AS newer (READ_ONLY)"
        )
        found = analyst.execute(
            "FROM newer.priv.reconstructed_change('r', 'older', database := 'newer')"
        ).fetchall()
        counted = {
            name: dict(
                analyst.execute(
                    f"SELECT value, estimate FROM {name}.priv.reconstructed_distribution('r', database := '{name}')"
                ).fetchall()
            )
            for name in ("older", "newer")
        }
        ((own, other),) = analyst.execute(
            "SELECT any_value(own), any_value(other) FROM newer.priv.coefficient"
        ).fetchall()
    assert [value for value, *_ in found] == values
    largest = largest or max(own * (1 - own), other * (1 - other)) / (own - other) ** 2
    for value, before, after, estimate, low, high, stderr in found:
        assert (before, after) == pytest.approx((counted["older"][value], counted["newer"][value]))
        assert low < estimate < high
        assert stderr == pytest.approx(10 * math.sqrt(largest))


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ("'r', NULL", "older is missing"),
        ("'q', 'first'", "q"),
        ("'r', 'first', confidence := 1", "confidence"),
    ],
)
def test_bad_arguments_are_refused(analyst, arguments, reported):
    with pytest.raises(duckdb.Error, match=reported):
        analyst.execute(f"FROM second.priv.reconstructed_change({arguments}, database := 'second')")


def test_it_is_refused_where_the_shared_noise_is_not_known(con):
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 7 AS ward, 'd' || i * i % 23 % 5 AS disease FROM range(600) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_splu('v', 'r', sensitive := 'disease', gamma := 2, record_id := 'id')"
    )
    with pytest.raises(duckdb.Error, match="known where every record is drawn for itself"):
        con.execute("FROM priv.reconstructed_change('r', 'older')")


@pytest.mark.parametrize("name", ["one", "rows_moved", "towards", "z"])
def test_a_group_column_may_have_any_name(analyst, name):
    """Also one that the query uses."""
    query = "FROM third.priv.reconstructed_change('r', 'first', database := 'third', group_columns := '{}')"
    expected = analyst.execute(query.format("ward")).fetchall()
    assert analyst.execute(query.format(f"ward AS {name}")).fetchall() == expected


def test_no_name_is_one_of_the_query_inside():
    """DuckDB 1.2 takes a part of the query inside for the one of the same name outside."""
    outside = set(NAMED.findall(read("analyst/fragments", "change")))
    inside = [read("analyst/fragments", name) for name in ("observed", "distribution")]
    assert len(outside) > 5
    assert not outside & {
        name
        for text in (*inside, *everything("analyst/estimators"))
        for name in NAMED.findall(text)
    }
