"""A keyed release depends on its records, their ids, the secret and the parameters: on nothing else."""

from __future__ import annotations

import hashlib

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.engine import drawing
from duckdb_priv.engine.drawing import Drawing

pytestmark = pytest.mark.usefixtures("unasked")

ROWS = 20_000

RECORDS = f"""
    SELECT i AS id, i % 7 AS ward, (['a', 'b', 'c', 'd', NULL])[1 + (i * i + i // 3) % 5] AS disease
    FROM range({ROWS}) AS t(i)
"""

WAYS = {
    "as a table": ("TABLE", "FROM records"),
    "backwards": ("TABLE", "FROM records ORDER BY id DESC"),
    "shuffled": ("TABLE", "FROM records ORDER BY hash(id)"),
    "grouped by value": ("TABLE", "FROM records ORDER BY disease NULLS FIRST, ward"),
    "in two halves": (
        "VIEW",
        "(FROM records WHERE id % 3 = 0) UNION ALL (FROM records WHERE id % 3 > 0)",
    ),
    "in uneven pieces": (
        "VIEW",
        " UNION ALL ".join(
            f"(FROM records WHERE id >= {low} AND id < {high})"
            for low, high in ((0, 1), (1, 3), (3, 2050), (2050, 2051), (2051, 6147), (6147, ROWS))
        ),
    ),
    "columns in another order": ("VIEW", "SELECT disease, id, ward FROM records"),
    "ids as smaller integers": ("VIEW", "SELECT id::INTEGER AS id, ward, disease FROM records"),
    "values as an enumeration": (
        "VIEW",
        "SELECT id, ward, disease::ENUM('d', 'c', 'b', 'a') AS disease FROM records",
    ),
    "through a filter": ("VIEW", "SELECT * FROM records WHERE id >= 0 ORDER BY ward"),
}
"""How the records may be stored: kind of the object and its query."""


@pytest.fixture(scope="module")
def con(prepared):
    with prepared() as connection:
        connection.execute(f"CREATE TABLE records AS {RECORDS}")
        yield connection


@pytest.fixture
def released(con, published):
    """Publish under a name of its own; return the rows as they are stored, in their order."""

    def call(source: str = "source", columns: str = "ward, noisy_disease", **changed: object):
        arguments = {"sensitive": "disease", "retention": 0.4, "record_id": "id", **changed}
        if "number" in columns:
            # What tells records apart identifies them, and is published only if it is named.
            arguments["public"] = [name for name in ("ward", "number") if name not in changed]
        published(con, source, "released", replace=True, **arguments)
        return con.execute(f"SELECT {columns} FROM released").fetchall()

    return call


@pytest.fixture(scope="module")
def reference(con):
    con.execute(
        "FROM priv.publish_uniform('records', 'reference', sensitive := 'disease', retention := 0.4,"
        " record_id := 'id')"
    )
    return con.execute("SELECT ward, noisy_disease FROM reference").fetchall()


@pytest.mark.parametrize("way", WAYS)
def test_how_the_source_is_stored_changes_nothing(con, released, reference, way):
    kind, query = WAYS[way]
    con.execute(f'CREATE {kind} "{way}" AS {query}')
    found = released(f'"{way}"')
    if way == "columns in another order":
        # The rows are sorted by the published columns as they are.
        assert sorted(found, key=repr) == sorted(reference, key=repr)
    else:
        assert found == reference


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_number_of_threads_changes_nothing(con, released, reference, threads):
    con.execute(f"SET threads = {threads}")
    try:
        assert released("records") == reference
    finally:
        con.execute("RESET threads")


@pytest.mark.parametrize("row_group", [2048, 3000, 100_000])
def test_pieces_of_a_parquet_file_change_nothing(con, released, reference, tmp_path, row_group):
    path = tmp_path / "records.parquet"
    con.execute(f"COPY records TO '{path}' (ROW_GROUP_SIZE {row_group})")
    con.execute(f"CREATE OR REPLACE VIEW from_parquet AS FROM '{path}'")
    assert released("from_parquet") == reference
    con.execute("DROP VIEW from_parquet")


def test_the_preserved_order_of_insertion_changes_nothing(con, released, reference):
    con.execute("SET preserve_insertion_order = false")
    try:
        assert released("records") == reference
    finally:
        con.execute("RESET preserve_insertion_order")


def test_little_memory_changes_nothing(con, released, reference):
    con.execute("SET memory_limit = '100MB'")
    try:
        assert released("records") == reference
    finally:
        con.execute("RESET memory_limit")


def test_records_that_are_counted_as_a_stream_change_nothing(con, released, reference, monkeypatch):
    stream, streams = Drawing.stream, []
    monkeypatch.setattr(drawing, "FEW", 0)
    monkeypatch.setattr(Drawing, "at_once", lambda *_: None)
    monkeypatch.setattr(Drawing, "stream", lambda *of: streams.append(of) or stream(*of))
    assert released("records") == reference
    assert len(streams) == 1


@pytest.mark.parametrize("stopped", [True, False])
def test_a_stream_that_ends_early_is_reported_without_a_value(con, released, monkeypatch, stopped):
    with_bits = Drawing._with_bits

    def ending(self, random_bits, piece):
        if len(piece):
            raise duckdb.Error("INTERRUPT Error: Interrupted!" if stopped else "measles")
        return with_bits(self, random_bits, piece)

    monkeypatch.setattr(drawing, "FEW", 0)
    monkeypatch.setattr(Drawing, "at_once", lambda *_: None)
    monkeypatch.setattr("duckdb_priv.engine.marking.KEPT", 0)
    monkeypatch.setattr(Drawing, "_with_bits", ending)
    with pytest.raises(duckdb.Error) as raised:
        released("records")
    assert ("the statement was interrupted" in str(raised.value)) is stopped
    assert "measles" not in str(raised.value)
    assert "UDF" not in str(raised.value)


@pytest.mark.once
def test_another_database_with_the_same_secret_publishes_the_same(
    reference, secret, tmp_path, published
):
    with duckdb_priv.connect(tmp_path / "other.duckdb", secret=secret) as other:
        other.execute("CREATE SCHEMA elsewhere")
        other.execute(f"CREATE TABLE elsewhere.people AS {RECORDS}")
        published(
            other, "elsewhere.people", "r", sensitive="disease", retention=0.4, record_id="id"
        )
        assert other.execute("SELECT ward, noisy_disease FROM r").fetchall() == reference


@pytest.mark.once
def test_another_secret_publishes_something_else(prepared, reference, published):
    with prepared(bytes(range(100, 132))) as other:
        other.execute(f"CREATE TABLE records AS {RECORDS}")
        published(other, "records", "r", sensitive="disease", retention=0.4, record_id="id")
        assert other.execute("SELECT ward, noisy_disease FROM r").fetchall() != reference


def by_id(con, released, **changed):
    """What every record shows, in the order of their ids, which are published here to be distinguished."""
    con.execute("CREATE OR REPLACE VIEW numbered AS SELECT *, id AS number FROM records")
    rows = released("numbered", "number, noisy_disease", **changed)
    return [value for _, value in sorted(rows)]


def agreement(one, other):
    return sum(a == b for a, b in zip(one, other, strict=True)) / len(one)


def test_records_keep_what_they_show_when_others_come_and_go(con, released):
    everybody = by_id(con, released)
    con.execute(
        "CREATE OR REPLACE VIEW fewer AS SELECT *, id AS number FROM records WHERE id % 3 = 1"
    )
    fewer = released("fewer", "number, noisy_disease", domain=["a", "b", "c", "d", None])
    assert [value for _, value in sorted(fewer)] == everybody[1::3]


def assert_share(share: float, expected: float, count: int) -> None:
    """With the secret of the tests nothing here is left to chance; another would fail once in 10**9."""
    assert abs(share - expected) < 6.2 * (expected * (1 - expected) / count) ** 0.5


OWN, OTHER = 0.4 + 0.6 / 5, 0.6 / 5
"""What a record shows with which probability: its own value, or a given other one."""


@pytest.mark.once
@pytest.mark.parametrize(
    ("changed", "other_size"),
    [({"retention": 0.4000001}, 5), ({"domain": ["a", "b", "c", "d", "e", None]}, 6)],
    ids=str,
)
def test_other_parameters_draw_other_noise(con, released, changed, other_size):
    """Else two releases could be differenced: what changes between them would be what was redrawn."""
    agreed = agreement(by_id(con, released), by_id(con, released, **changed))
    own, other = 0.4 + 0.6 / other_size, 0.6 / other_size
    assert_share(agreed, OWN * own + 4 * OTHER * other, ROWS)


def test_another_true_value_draws_other_noise(con, released):
    """If the noise did not depend on the value, a redrawn record would go on showing the same."""
    before = by_id(con, released)
    con.execute(
        "CREATE OR REPLACE TABLE moved AS SELECT id, ward, id AS number,"
        " CASE disease WHEN 'a' THEN 'b' WHEN 'b' THEN 'a' ELSE disease END AS disease FROM records"
    )
    after = [value for _, value in sorted(released("moved", "number, noisy_disease"))]
    truth = [row[0] for row in con.execute("SELECT disease FROM records ORDER BY id").fetchall()]
    pairs = [(a, b) for a, b, t in zip(before, after, truth, strict=True) if t in ("a", "b")]
    unmoved = [(a, b) for a, b, t in zip(before, after, truth, strict=True) if t not in ("a", "b")]
    assert all(a == b for a, b in unmoved)
    agreed = sum(a == b for a, b in pairs) / len(pairs)
    assert_share(agreed, 2 * OWN * OTHER + 3 * OTHER**2, len(pairs))


def test_attributes_with_equal_values_draw_their_own_noise(con, released):
    con.execute(
        "CREATE OR REPLACE VIEW twice AS SELECT id, ward, disease, disease AS again FROM records"
    )
    rows = released("twice", "noisy_disease, noisy_again", sensitive=["disease", "again"])
    agreed = sum(a == b for a, b in rows) / ROWS
    assert_share(agreed, OWN**2 + 4 * OTHER**2, ROWS)


def test_an_attribute_alone_shows_what_it_shows_among_others(con, released):
    con.execute(
        "CREATE OR REPLACE VIEW pairs AS SELECT *, id AS number, id % 4 AS other FROM records"
    )
    rows = released("pairs", "number, noisy_disease", sensitive=["other", "disease"])
    assert [value for _, value in sorted(rows)] == by_id(con, released)


@pytest.mark.parametrize(
    "publication",
    [
        "publish_uniform(@, retention := 0.4)",
        "publish_fine_grain(@, tolerance := 1.5)",
        "publish_matrix(@, matrix := 'exchange')",
    ],
)
def test_the_spelling_of_a_column_changes_nothing(con, publication):
    con.execute(
        "CREATE OR REPLACE VIEW spelled AS SELECT id, ward, disease AS Disease FROM records"
    )
    con.execute(
        "CREATE OR REPLACE TABLE exchange AS SELECT one.disease AS original, other.disease AS published,"
        " if(one.disease IS NOT DISTINCT FROM other.disease, 0.6, 0.1) AS probability"
        " FROM (SELECT DISTINCT disease FROM records) AS one, (SELECT DISTINCT disease FROM records) AS other"
    )
    shown = []
    for source in ("records", "spelled"):
        given = (
            f"'{source}', 'named', sensitive := 'disease', record_id := 'id', population := 'named'"
        )
        con.execute(f"FROM priv.{publication.replace('@', given)}")
        shown.append(con.execute("SELECT ward, noisy_disease::VARCHAR FROM named").fetchall())
        con.execute("FROM priv.drop_release('named')")
    assert shown[0] == shown[1]


def test_the_rows_are_stored_in_an_order_of_published_values(con, released, reference):
    assert released("records") == reference
    assert (
        reference
        == con.execute("SELECT ward, noisy_disease FROM reference ORDER BY ALL").fetchall()
    )


GOLDEN = "4f53d345ad148651cc7ee5805e49f2915b7bf6cfb7228f87fefa255745ea70a0"


def test_known_records_show_what_they_showed_in_the_first_version(released):
    """If this fails, all who publish again with a newer version hand out second draws of their records."""
    text = "\n".join(f"{ward} {disease}" for ward, disease in released("records"))
    assert hashlib.sha256(text.encode()).hexdigest() == GOLDEN
