"""Values that SQL takes for equal and that are not the same: each record counts once, under its own value."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("unasked")

ROWS = 600
METHODS = {
    "uniform": ["retention := 0.4"],
    "fine_grain": ["requirements := 'wanted'"],
    "splu": ["gamma := 3", "republish := true"],
    "reconstruction_private": [
        "retention := 0.4",
        "epsilon := 0.3",
        "delta := 0.3",
        "republish := true",
    ],
    "anatomy": ["l := 3", "republish := true"],
    "distribution": [],
}


@pytest.fixture
def spelled(con):
    """Diseases and wards in two spellings, which their collation takes for one."""
    con.execute(
        "CREATE TABLE visits (id INTEGER, ward VARCHAR COLLATE NOCASE, disease VARCHAR COLLATE NOCASE)"
    )
    con.execute(
        "INSERT INTO visits SELECT i, ['north', 'North', 'south'][1 + i % 3],"
        " ['flu', 'FLU', 'cold', 'Cold', 'gout', 'ache'][1 + i // 3 % 6] FROM range(?) AS t(i)",
        [ROWS],
    )
    con.execute(
        "CREATE TABLE wanted AS SELECT DISTINCT encode(disease)::VARCHAR AS value, 0.2 AS rho1, 0.6 AS rho2"
        " FROM visits"
    )
    return con


@pytest.mark.parametrize("method", METHODS)
def test_a_collation_changes_nothing(spelled, method):
    """Keyed noise show the same as of a table of the same records whose texts have no collation."""
    spelled.execute(
        "CREATE TABLE plain AS SELECT * REPLACE (encode(ward)::VARCHAR AS ward) FROM visits"
    )
    spelled.execute(
        "ALTER TABLE plain ALTER disease SET DATA TYPE VARCHAR USING encode(disease)::VARCHAR"
    )
    for source in ("visits", "plain"):
        arguments = ", ".join(["sensitive := 'disease'", "record_id := 'id'", *METHODS[method]])
        spelled.execute(f"FROM priv.publish_{method}('{source}', 'of_{source}', {arguments})")
    shown = "SELECT ward, noisy_disease::VARCHAR FROM {} ORDER BY rowid"
    of_visits = spelled.execute(shown.format("of_visits")).fetchall()
    assert of_visits == spelled.execute(shown.format("of_plain")).fetchall()
    assert len(of_visits) <= ROWS
    assert (
        "COLLATE"
        not in spelled.execute(
            "SELECT string_agg(sql) FROM duckdb_tables() WHERE table_name = 'of_visits'"
        ).fetchall()[0][0]
    )


def test_a_collation_of_the_whole_database_multiplies_no_record(spelled):
    spelled.execute("SET default_collation = 'nocase'")
    spelled.execute(
        "CREATE TABLE plain AS SELECT id, encode(disease)::VARCHAR AS disease FROM visits"
    )
    spelled.execute(
        "FROM priv.publish_splu('plain', 'shown', sensitive := 'disease', gamma := 3, record_id := 'id')"
    )
    assert spelled.execute("SELECT count(*) FROM shown").fetchall() == [(ROWS,)]


def test_generalizing_a_collated_column_multiplies_no_record(spelled):
    spelled.execute(
        "CREATE TABLE levels AS SELECT 'ward' AS attribute, value, level, if(level = 0, value, '*') AS generalized"
        " FROM (SELECT unnest(['north', 'North', 'south']) AS value), (SELECT unnest([0, 1]) AS level)"
    )
    spelled.execute(
        "FROM priv.publish_safe_k('visits', 'shown', k := 2, beta := 0.9, epsilon := 3, hierarchies := 'levels',"
        " levels := {ward: 0}, public := ['ward'])"
    )
    ((rows,),) = spelled.execute("SELECT count(*) FROM shown").fetchall()
    assert rows < ROWS


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_two_zeros_are_one_value_whichever_comes_first(con, kind):
    con.execute(
        f"CREATE TABLE zeros AS SELECT i AS id, ['-0.0', '0.0', '1.5'][1 + i % 3]::{kind} AS x FROM range(300) AS t(i)"
    )
    shown = []
    for number, order in enumerate(("ASC", "DESC")):
        con.execute(f"CREATE TABLE zeros_{number} AS FROM zeros ORDER BY id {order}")
        con.execute(
            f"FROM priv.publish_uniform('zeros_{number}', 'shown_{number}', sensitive := 'x', retention := 0.5,"
            " record_id := 'id')"
        )
        assert con.execute(
            f"SELECT value FROM priv.coefficient WHERE release = 'shown_{number}'"
        ).fetchall() == [("0.0",), ("1.5",)]
        shown.append(con.execute(f"SELECT noisy_x::VARCHAR FROM shown_{number}").fetchall())
    assert shown[0] == shown[1]


def test_a_domain_that_is_given_has_one_zero(con):
    con.execute(
        "CREATE TABLE zeros AS SELECT i AS id, [0.0, 1.5][1 + i % 2]::DOUBLE AS x FROM range(90) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_uniform('zeros', 'shown', sensitive := 'x', retention := 0.5, record_id := 'id',"
        " domain := ['-0.0', '1.5'])"
    )
    assert con.execute("SELECT value FROM priv.coefficient").fetchall() == [("0.0",), ("1.5",)]


def test_crowds_with_both_zeros_are_one_crowd(con):
    """As in files that DuckDB 1 writes, where the signs of zeros are lost: the audit counts what is stored."""
    con.execute(
        "CREATE TABLE zeros AS SELECT i AS id, ['-0.0', '0.0', '1.5', '1.5'][1 + i % 4]::DOUBLE AS x,"
        " ['flu', 'cold', 'ache'][1 + i % 3] AS disease FROM range(1200) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_shuffled('zeros', 'shown', sensitive := 'disease', epsilon := 1.0, delta := 1e-6,"
        " record_id := 'id', public := ['x'])"
    ).fetchall()
    assert con.execute(
        "SELECT x::VARCHAR, count(*) FROM shown GROUP BY ALL ORDER BY ALL"
    ).fetchall() == [
        ("0.0", 600),
        ("1.5", 600),
    ]
    audit = con.execute("SELECT guarantee, holds FROM priv.audit('shown')").fetchall()
    assert ("scale_by_size", True) in audit
    assert ("noise_as_stated", True) in audit
    assert not [name for name, holds in audit if holds is False]
