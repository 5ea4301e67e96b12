"""Publishing by Anatomy: what is refused, what is published, how it is counted, and what its audit says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest
from answers import named_row, rows

pytestmark = pytest.mark.usefixtures("unasked")

VISITS = """
    CREATE TABLE visits AS
    SELECT id, id AS bed, if(id % 2 = 0, 'f', 'm') AS gender, (id // 100) % 3 AS ward,
        ['flu', 'a, b', 'NULL', NULL, 'it''s', 'cold', 'cough'][1 + (id * id) % 29 % 7] AS disease, id % 5 AS drug
    FROM range(1201) AS t(id)
"""


@pytest.fixture
def con(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = prepared()
    connection.execute(VISITS)
    yield connection
    connection.close()


def publish(con: duckdb.DuckDBPyConnection, release: str = "r", **more: Any) -> dict[str, Any]:
    arguments = {"sensitive": "disease", "l": 3, "record_id": "id"} | more
    # A bed tells records apart, and is published only if it is named.
    arguments = {"public": ["bed", "gender", "ward"]} | arguments
    given = ", ".join(
        f"{name} := {value!r}" for name, value in arguments.items() if value is not None
    )
    return named_row(con, f"FROM priv.publish_anatomy('visits', '{release}', {given})")


def publish_visits(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(VISITS)
    publish(con)


@pytest.fixture
def released(made: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in which the visits are published, once for all tests."""
    with made(publish_visits) as connection:
        yield connection


@pytest.mark.parametrize(
    ("more", "stated"),
    [
        (
            {"l": 5},
            "a value of 'disease' is in 249 of 1,201 rows, more than 1 in l = 5\nHint: l = 4",
        ),
        ({"l": 8}, "l = 8 needs at least 8 distinct values, 'disease' has 7"),
        ({"l": 1}, "l must be an integer of at least 2, got 1"),
        ({"l": "three"}, "l must be an integer of at least 2, got 'three'"),
        (
            {"l": None},
            "l is missing\nHint: l is the number of different values in a group, at least: write l := 3",
        ),
        ({"sensitive": None}, "no sensitive column is named"),
        ({"republish": "yes"}, "republish must be true or false"),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing(
    con: duckdb.DuckDBPyConnection, more: dict[str, Any], stated: str
) -> None:
    with pytest.raises(duckdb.Error) as raised:
        publish(con, **more)
    assert stated in str(raised.value)
    for left in ("priv.release", "priv.ledger", "priv.grouped_mark"):
        assert rows(con, f"FROM {left}") == []


def test_every_record_is_published_with_its_group_and_the_true_values_of_the_group(
    con: duckdb.DuckDBPyConnection,
) -> None:
    receipt = publish(con)
    assert (receipt["rows_source"], receipt["rows_published"], receipt["rows_suppressed"]) == (
        1201,
        1201,
        0,
    )
    assert any("a baseline to compare with" in warning for warning in receipt["warnings"])
    wrong = rows(
        con,
        "SELECT count(*) FROM (SELECT disease_group, any_value(r.noisy_disease)::VARCHAR[] AS shown,"
        " list(v.disease ORDER BY v.disease NULLS LAST) AS held FROM r JOIN visits AS v USING (bed) GROUP BY 1)"
        " WHERE shown IS DISTINCT FROM held OR len(held) < 3",
    )
    assert wrong == [(0,)]
    assert rows(con, "SELECT count(DISTINCT disease_group) FROM r") == [(400,)]
    assert (
        rows(con, "SELECT bed, gender, ward FROM r EXCEPT ALL SELECT bed, gender, ward FROM visits")
        == []
    )
    assert rows(con, "FROM r") == rows(con, "FROM r ORDER BY ALL")


def test_the_second_table_is_a_view_that_comes_and_goes_with_the_release(
    released: duckdb.DuckDBPyConnection,
) -> None:
    sensitive = "SELECT disease, sum(count) FROM r_disease GROUP BY 1 ORDER BY 1"
    assert rows(released, sensitive.replace("disease,", "disease::VARCHAR,")) == rows(
        released, "SELECT disease, count(*) FROM visits GROUP BY 1 ORDER BY 1"
    )
    publish(released, replace=True, l=4, republish=True)
    assert rows(
        released,
        "SELECT min(n) FROM (SELECT sum(count) AS n FROM r_disease GROUP BY disease_group)",
    ) == [(4,)]
    rows(released, "FROM priv.drop_release('r')")
    assert rows(released, "SELECT view_name FROM duckdb_views() WHERE NOT internal") == []
    released.execute("CREATE TABLE s_disease AS SELECT 1 AS mine")
    with pytest.raises(duckdb.Error, match="s_disease"):
        publish(released, "s", republish=True)
    assert rows(released, "FROM s_disease") == [(1,)]
    assert rows(released, "FROM priv.release") == []


def test_a_public_column_in_the_place_of_the_groups_is_refused(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("ALTER TABLE visits RENAME ward TO Disease_Group")
    with pytest.raises(
        duckdb.Error, match="'disease_group' has the same name as the column for the groups"
    ):
        publish(con, public=["disease_group"])


VALUES = ["'flu'", "'a, b'", "'NULL'", "NULL", "'it''s'"]


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("beside", [False, True])
def test_counts_are_the_sums_over_the_groups(
    released: duckdb.DuckDBPyConnection, beside: bool
) -> None:
    """The same in a publisher's database that has releases of other forms besides."""
    if beside:
        rows(
            released,
            "FROM priv.publish_uniform('visits', 'u', sensitive := ['disease', 'drug'], retention := 0.5,"
            " record_id := 'id', exclude := 'bed')",
        )
        rows(
            released,
            "FROM priv.publish_splu('visits', 's', sensitive := ['disease', 'drug'], gamma := 3, record_id := 'id',"
            " exclude := 'bed', republish := true)",
        )
        for release, column, value in (
            ("u", "disease", "NULL"),
            ("u", "drug", "3"),
            ("s", "disease", "'flu'"),
        ):
            estimate, likely = rows(
                released,
                f"SELECT priv.reconstructed_count('{release}.{column}', noisy_{column}, {value}),"
                f" priv.reconstructed_mle('{release}.{column}', noisy_{column}, {value}) FROM {release}",
            )[0]
            assert likely == pytest.approx(estimate, rel=1e-2)
    for value in VALUES:
        holds = (
            f"len([1 FOR each IN noisy_disease IF each::VARCHAR IS NOT DISTINCT FROM {value}]) = 1"
        )
        expected = rows(
            released,
            "SELECT coalesce(sum(1 / n) FILTER (held), 0), coalesce(sum((1 - 1 / n) / n) FILTER (held), 0),"
            " count_if(held)"
            f" FROM (SELECT len(noisy_disease) AS n, {holds} AS held FROM r WHERE ward = 1)",
        )[0]
        count, stderr, interval, likely, weighed = rows(
            released,
            f"SELECT priv.reconstructed_count('r', noisy_disease, {value}),"
            f" priv.reconstructed_stderr('r', noisy_disease, {value}),"
            f" priv.reconstructed_interval('r', noisy_disease, {value}, confidence := 0.9),"
            f" priv.reconstructed_mle('r', noisy_disease, {value}),"
            f" sum(priv.weight('r', noisy_disease, {value})) FROM r WHERE ward = 1",
        )[0]
        assert (count, stderr**2) == pytest.approx(expected[:2])
        assert [likely, weighed, interval["estimate"]] == pytest.approx([count] * 3)
        reach = 0.5 + 1.6448536269514722 * stderr
        assert interval["low"] == pytest.approx(max(count - reach, 0))
        assert interval["high"] == pytest.approx(min(count + reach, expected[2]))


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("value", VALUES)
def test_the_whole_table_is_counted_exactly(
    released: duckdb.DuckDBPyConnection, value: str
) -> None:
    true = rows(released, f"SELECT count_if(disease IS NOT DISTINCT FROM {value}) FROM visits")[0][
        0
    ]
    assert rows(released, f"SELECT priv.reconstructed_count('r', noisy_disease, {value}) FROM r")[
        0
    ][0] == pytest.approx(true)


@pytest.mark.usefixtures("asked")
def test_several_attributes_have_groups_of_their_own(con: duckdb.DuckDBPyConnection) -> None:
    publish(con, sensitive=["disease", "drug"], exclude=[])
    both = rows(
        con,
        "SELECT sum(priv.weight('r.disease', noisy_disease, 'flu') * priv.weight('r.drug', noisy_drug, 3)),"
        " count(DISTINCT (disease_group, drug_group)) FROM r",
    )[0]
    true = rows(
        con, "SELECT count_if(disease = 'flu') * count_if(drug = 3) / count(*) FROM visits"
    )[0][0]
    assert both[0] == pytest.approx(true, rel=0.3)
    assert both[1] > 1100
    assert rows(
        con,
        "SELECT attribute, role, type FROM priv.attribute WHERE role IN ('sensitive', 'group') ORDER BY 1",
    ) == [
        ("disease", "sensitive", "ENUM[]"),
        ("disease_group", "group", "UINTEGER"),
        ("drug", "sensitive", "BIGINT[]"),
        ("drug_group", "group", "UINTEGER"),
    ]


def test_the_same_table_gives_the_same_release_and_a_changed_one_is_refused(
    con: duckdb.DuckDBPyConnection,
) -> None:
    publish(con, "one")
    con.execute("CREATE TABLE shuffled AS FROM visits ORDER BY hash(id)")
    con.execute("DROP TABLE visits")
    con.execute("ALTER TABLE shuffled RENAME TO visits")
    con.execute("SET threads = 1")
    publish(con, "two")
    assert rows(con, "FROM one") == rows(con, "FROM two")
    con.execute("DELETE FROM visits WHERE id = 7")
    with pytest.raises(
        duckdb.Error,
        match=r"already published in groups by publish_anatomy(.|\n)*republish := true",
    ):
        publish(con, "three")
    publish(con, "three", republish=True)
    # A group of another kind is a second group as well.
    decoys = (
        "FROM priv.publish_splu('visits', 'decoys', sensitive := 'disease', gamma := 3, record_id := 'id',"
        " exclude := 'bed', republish := {})"
    )
    with pytest.raises(duckdb.Error, match="already published in groups by publish_anatomy"):
        rows(con, decoys.format(False))
    rows(con, decoys.format(True))


def test_the_audit_says_what_leaks(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "UPDATE visits SET gender = CASE WHEN disease IN ('flu', 'cold', 'a, b') THEN 'f' ELSE 'm' END WHERE id % 5 > 0"
    )
    publish(con)
    found = {
        name: (value, holds)
        for name, value, holds in rows(con, "SELECT guarantee, value, holds FROM priv.audit('r')")
    }
    assert found["l_diversity"] == (pytest.approx(1 / 3), True)
    assert found["eligible"][1] is True
    assert (found["certain_candidates"][0], found["insiders"][0], found["exact_counts"][0]) == (
        3,
        2,
        0,
    )
    assert found["posterior_by_correlation"][0] > 0.4
    con.execute("UPDATE visits SET disease = 'flu' WHERE disease = 'cough'")
    held = dict(rows(con, "SELECT guarantee, holds FROM priv.audit('r')"))
    assert held["eligible"] is False
