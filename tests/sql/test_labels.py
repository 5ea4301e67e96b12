"""What codes mean: said by the publisher in a table, carried by the release, and shown by everything that reads it."""

from __future__ import annotations

import duckdb
import pytest
from answers import rows

CODED = """
    CREATE TABLE coded AS
    SELECT i AS id, 1 + (hash('sex' || i) % 2)::INTEGER AS sex,
        ['J45', 'J10', NULL][1 + (hash('icd' || i) % 3)::INTEGER] AS icd
    FROM range(900) AS t(i);
    CREATE TABLE code_book AS FROM (VALUES
        ('SEX', '1', 'male'), ('sex', '2', 'female <b>&'), ('sex', '9', 'unknown'),
        ('icd', 'J45', 'asthma'), ('icd', NULL, 'not examined'), ('icd', 'Z99', 'does not occur'),
        ('id', '7', 'never published')
    ) AS t(attribute, value, label)
"""
PUBLISHED = {"sensitive": "icd", "retention": 0.5, "record_id": "id", "labels": "code_book"}
LABELS = [
    ("icd", "J45", "asthma"),
    ("icd", None, "not examined"),
    ("sex", "1", "male"),
    ("sex", "2", "female <b>&"),
]


@pytest.fixture
def coded(con):
    con.execute(CODED)
    return con


def test_labels_travel_with_a_release(coded, published, tmp_path):
    """What it can show, and nothing else of the code book; in a file, in a folder, and in what is derived from it."""
    receipt = published(coded, "coded", "r", **PUBLISHED)
    assert receipt["warnings"] == [
        "1 of 3 labels of 'sex' are of values that the release does not have: they were left out",
        "1 of 3 labels of 'icd' are of values that the release does not have: they were left out",
    ]
    coded.execute("FROM priv.derive('r', 'coarser', retention := 0.2)").fetchall()
    for release in ("r", "coarser"):
        path = tmp_path / f"{release}.duckdb"
        coded.execute("FROM priv.export_release(?, ?)", [release, str(path)]).fetchall()
        with duckdb.connect(path, read_only=True) as reader:
            found = rows(reader, "SELECT attribute, value, label FROM priv.label")
            assert sorted(found, key=str) == sorted(LABELS, key=str)
            plain = (
                "SELECT * EXCLUDE (stderr) REPLACE (round(estimate) AS estimate, floor(low) AS low, ceil(high) AS high)"
                f" FROM priv.reconstructed_distribution('{release}', group_columns := 'sex') ORDER BY ALL"
            )
            shown = (
                f"SELECT * EXCLUDE (sex_label, icd_label) FROM {release}_icd_by_sex ORDER BY ALL"
            )
            assert rows(reader, shown) == rows(reader, plain)
            assert ("male", "asthma") in rows(
                reader, f"SELECT sex_label, icd_label FROM {release}_icd_by_sex"
            )
            asked = [text for (text,) in rows(reader, "SELECT question FROM priv.example")]
            assert "What do its codes mean?" in asked
            assert "How many records have icd = J10?" in asked
            ((html,),) = rows(reader, "SELECT html FROM priv.card")
            assert "female &lt;b&gt;&amp;" in html
            assert "<b>&" not in html
            assert "does not occur" not in html
            ((comment,),) = rows(
                reader,
                f"SELECT comment FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = '{release}'"
                " AND column_name = 'sex'",
            )
            assert comment == "Codes: 1 = male, 2 = female <b>&."


def test_labels_are_read_again_when_a_release_is_refreshed(coded, published, tmp_path):
    """A domain that grows, and a code book that says more: the file that is exported again says it, too."""
    path = tmp_path / "r.duckdb"
    published(coded, "coded", "r", **PUBLISHED)
    coded.execute("FROM priv.export_release('r', ?)", [str(path)]).fetchall()
    coded.execute(
        "INSERT INTO coded VALUES (1000, 1, 'J10'); UPDATE code_book SET label = 'woman' WHERE value = '2'"
    )
    coded.execute("FROM priv.refresh('r')").fetchall()
    with duckdb.connect(path, read_only=True) as reader:
        assert ("woman",) in rows(reader, "SELECT label FROM priv.label")


def test_labels_are_carried_by_a_folder(coded, published, tmp_path, monkeypatch):
    published(coded, "coded", "r", **PUBLISHED)
    folder = tmp_path / "r"
    coded.execute("FROM priv.export_release('r', ?, format := 'parquet')", [str(folder)]).fetchall()
    monkeypatch.chdir(folder)
    with duckdb.connect() as reader:
        reader.execute((folder / "setup.sql").read_text("utf-8"))
        found = rows(reader, "SELECT attribute, value, label FROM priv.label")
        assert sorted(found, key=str) == sorted(LABELS, key=str)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("INSERT INTO code_book VALUES ('sexx', '1', 'male')", "has no column 'sexx'"),
        ("INSERT INTO code_book VALUES (NULL, '1', 'male')", "has a row without attribute"),
        ("INSERT INTO code_book VALUES ('sex', '1', 'man')", "the value '1' of 'sex' twice"),
        ("UPDATE code_book SET label = NULL WHERE value = '1'", "has no label for the value '1'"),
        ("UPDATE code_book SET label = ' ' WHERE value = '1'", "has no label for the value '1'"),
        ("UPDATE code_book SET label = 'm' || chr(10) WHERE value = '1'", "cannot be seen"),
        ("UPDATE code_book SET label = 'm' || chr(27) WHERE value = '1'", "cannot be seen"),
        ("UPDATE code_book SET label = 'm' || chr(8238) WHERE value = '1'", "cannot be seen"),
        ("UPDATE code_book SET value = '0' || value", "explains no value that 'sex' has"),
        ("ALTER TABLE code_book DROP label", "has no column 'label'"),
        ("DROP TABLE code_book", "'code_book'"),
        (
            "DROP TABLE code_book; CREATE VIEW code_book AS"
            " SELECT 'icd' AS attribute, icd AS value, count(*)::VARCHAR AS label FROM coded GROUP BY ALL",
            "reads 'memory.main.coded'",
        ),
    ],
)
def test_what_is_no_code_book_is_refused(coded, published, change, message):
    coded.execute(change)
    with pytest.raises(duckdb.Error, match=message):
        published(coded, "coded", "r", **PUBLISHED)
    assert rows(coded, "FROM priv.release") == []
