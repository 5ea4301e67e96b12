"""A published column is named for what it is: what records report of an attribute, not what is true."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pytest

import duckdb_priv

pytestmark = pytest.mark.usefixtures("plain_files")

MECHANISMS = {
    "uniform": "retention := 0.5",
    "fine_grain": "tolerance := 1.5, min_retention := 0.05",
    "matrix": "matrix := 'exchange'",
    "reconstruction_private": "retention := 0.5, epsilon := 0.3, delta := 0.3",
    "splu": "gamma := 2",
    "anatomy": "l := 2",
    "distribution": "",
}
STAYS = """
    CREATE TABLE stays AS SELECT i AS id, i % 2 AS first, ['flu', 'cold', 'gout'][1 + i % 3] AS Disease,
        i // 7 % 5 % 3 AS last
    FROM range(300) AS t(i);
    CREATE TABLE exchange AS
    SELECT a.v AS original, b.v AS published, if(a.v = b.v, 0.6, 0.2) AS probability
    FROM (VALUES ('flu'), ('cold'), ('gout')) AS a(v), (VALUES ('flu'), ('cold'), ('gout')) AS b(v)
"""


def publish(
    con: duckdb.DuckDBPyConnection, mechanism: str, source: str = "stays", more: str = ""
) -> None:
    arguments = ", ".join(filter(None, [MECHANISMS[mechanism], more]))
    con.execute(
        f"FROM priv.publish_{mechanism}('{source}', 'r', sensitive := 'disease', record_id := 'id'"
        f"{', ' if arguments else ''}{arguments})"
    ).fetchall()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_publishes_what_is_reported(
    con: duckdb.DuckDBPyConnection,
    mechanism: str,
    without_cards: Callable[[], AbstractContextManager[None]],
    tmp_path: Path,
) -> None:
    con.execute(STAYS)
    publish(con, mechanism)
    names = [name for name, *_ in con.execute("DESCRIBE r").fetchall()]
    beside = {"anatomy": ["Disease_group"]}.get(mechanism, [])
    behind = {"reconstruction_private": ["scale"]}.get(mechanism, [])
    assert names == ["first", *beside, "noisy_Disease", "last", *behind]
    roles = con.execute("SELECT attribute, column_name, role FROM priv.attribute").fetchall()
    assert [name for _, name, _ in roles] == names
    assert [(name, column) for name, column, role in roles if role == "sensitive"] == [
        ("Disease", "noisy_Disease")
    ]
    assert con.execute("SELECT count(*) FROM priv.audit('r') WHERE NOT holds").fetchall() == [(0,)]
    path = tmp_path / "r.duckdb"
    with without_cards():
        con.execute("FROM priv.export_release('r', ?)", [str(path)]).fetchall()
    weight = ", weight := scale" if behind else ""
    for asked in (con, duckdb_priv.open_release(path)):
        by_name = (
            f"SELECT priv.reconstructed_count('r.disease', noisy_disease, 'flu'{weight}) FROM r"
        )
        by_column = f"SELECT priv.reconstructed_count('r', noisy_Disease, 'flu'{weight}) FROM r"
        assert asked.execute(by_name).fetchall() == asked.execute(by_column).fetchall()
        # DuckDB's own error says how the column is called.
        with pytest.raises(duckdb.BinderException, match='"noisy_Disease"'):
            asked.execute("SELECT count(*) FROM r WHERE disease = 'flu'")
        (reported,) = asked.execute(
            "SELECT comment FROM duckdb_columns() WHERE table_name = 'r' AND column_name = 'noisy_Disease'"
        ).fetchall()
        assert re.search(r"(?s)Disease.*priv\.reconstructed_count", reported[0])
        if asked is not con:
            views = asked.execute(
                "SELECT view_name FROM duckdb_views() WHERE NOT internal"
            ).fetchall()
            assert {"r_Disease_estimates", "r_Disease_weights"} <= {name for (name,) in views}
            asked.close()


def test_generalized_columns_keep_their_names(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(STAYS)
    con.execute(
        "CREATE TABLE levels AS SELECT 'last' AS attribute, v::VARCHAR AS value, l AS level,"
        " if(l = 0, v::VARCHAR, 'any') AS generalized FROM range(3) AS a(v), range(2) AS b(l)"
    )
    con.execute(
        "FROM priv.publish_safe_k('stays', 'r', k := 5, beta := 0.5, epsilon := 2.0, hierarchies := 'levels',"
        " levels := {'last': 0}, exclude := ['id', 'first', 'disease'])"
    ).fetchall()
    assert con.execute("SELECT attribute, column_name FROM priv.attribute").fetchall() == [
        ("last", "last"),
        ("scale", "scale"),
    ]


@pytest.mark.parametrize("mechanism", ["uniform", "anatomy"])
def test_a_name_that_is_taken_is_refused(con: duckdb.DuckDBPyConnection, mechanism: str) -> None:
    con.execute(STAYS)
    con.execute("CREATE VIEW taken AS SELECT *, 1 AS NOISY_disease FROM stays")
    with pytest.raises(
        duckdb.Error,
        match=r"(?s)reports? of 'Disease' is published as column 'noisy_Disease', but there is a column"
        r" 'NOISY_disease' already.*Hint: exclude that column",
    ):
        publish(con, mechanism, "taken")
    assert con.execute("FROM priv.release").fetchall() == []
    assert con.execute("FROM priv.ledger").fetchall() == []
    publish(con, mechanism, "taken", "exclude := 'NOISY_disease'")
    assert con.execute("FROM r SELECT count(noisy_disease)").fetchall() == [(300,)]


def test_a_group_that_would_have_the_name_of_a_reported_column_is_refused(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute(
        'CREATE TABLE pairs AS SELECT i AS id, i % 3 AS noisy, i % 4 AS "group" FROM range(24) AS t(i)'
    )
    with pytest.raises(duckdb.Error, match="there is a column 'noisy_group' already"):
        con.execute(
            "FROM priv.publish_anatomy('pairs', 'r', sensitive := ['noisy', 'group'], l := 2, record_id := 'id')"
        ).fetchall()
    assert con.execute("FROM priv.release").fetchall() == []
