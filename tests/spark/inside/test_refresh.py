"""The next version of a frame is the one that DuckDB publishes, and says which version of its tables was read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from spark.tables import PERSONS, contents, sql

import duckdb_priv.spark
from duckdb_priv.errors import GuaranteeViolated, PublicationFailed, UnknownName
from duckdb_priv.spark import plans

pytestmark = pytest.mark.usefixtures("plain")

Connection = duckdb.DuckDBPyConnection

ARGUMENTS: dict[str, Any] = {
    "sensitive": "disease", "record_id": "id", "person": "person", "max_rows": 2, "retention": 0.4,
    "public": ["age", "gender"], "title": "Diseases",
}  # fmt: skip
WRITTEN = {
    "r": "*",
    "priv.release": "* EXCLUDE (created_at, previous_at, earlier)",
    "priv.attribute": "*",
    "priv.coefficient": "*",
    "priv.guarantee": "*",
    "priv.warning": "*",
    "priv.ledger": "* EXCLUDE (published_at, digest, source_version)",
    "priv.publication": "release, mechanism, schemas, version",
}
"""What both engines must write the same."""
PERSON = "CASE WHEN id < 2000 THEN id // 3 ELSE id END"


@pytest.fixture
def theirs(prepared: Callable[..., Connection]) -> Connection:
    connection = prepared()
    connection.execute(PERSONS)
    connection.execute(
        f"CREATE OR REPLACE TABLE persons AS SELECT * REPLACE (age::UTINYINT AS age), {PERSON} AS person"
        " FROM persons"
    )
    return connection


def frame_of(spark: SparkSession, theirs: Connection, path: Path) -> DataFrame:
    """Read the table as it is now."""
    theirs.execute(f"COPY (FROM persons) TO '{path}'")
    return spark.read.parquet(str(path)).withColumn("age", f.col("age").cast("int"))


def same(publisher: Connection, theirs: Connection) -> None:
    for table, columns in WRITTEN.items():
        assert contents(publisher, table, columns) == contents(theirs, table, columns), table


def refreshed(connection: Connection) -> dict[str, Any]:
    (row,) = connection.sql("FROM priv.refresh('r')").to_arrow_table().to_pylist()
    return row


def reported(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in row if name not in ("path", "exported", "seconds")}


def test_versions_are_those_of_duckdb(
    spark: SparkSession, publisher: Connection, theirs: Connection, tmp_path: Path
) -> None:
    """Two records of each person, none that was withdrawn, and a number that Spark has widened."""
    frame = frame_of(spark, theirs, tmp_path / "0.parquet")
    (mine,) = (
        duckdb_priv.spark.publish(
            publisher, frame, "uniform", source="persons", release="r", path=tmp_path / "0",
            types={"age": "UTINYINT"}, **ARGUMENTS,
        ),
    )  # fmt: skip
    call = f"FROM priv.publish_uniform('persons', 'r', {sql(ARGUMENTS)})"
    (row,) = theirs.sql(call).to_arrow_table().to_pylist()
    assert reported(mine) == reported(row)
    assert 0 < row["rows_published"] < row["rows_source"] == 3000
    same(publisher, theirs)

    withdrawn = (
        "FROM priv.withdraw(2000, kind := 'record'); FROM priv.withdraw(500, kind := 'person')"
    )
    theirs.execute(
        "DELETE FROM persons WHERE id < 200; UPDATE persons SET disease = 'flu' WHERE id % 10 = 3;"
        " INSERT INTO persons BY NAME SELECT * REPLACE (id + 5000 AS id, 7 AS person) FROM persons WHERE id > 2800;"
        + withdrawn
    )
    publisher.execute(withdrawn)
    frame = frame_of(spark, theirs, tmp_path / "1.parquet")
    mine = duckdb_priv.spark.refresh(publisher, frame, "r", path=tmp_path / "1")
    assert reported(mine) == reported(refreshed(theirs))
    assert mine["path"] == str(tmp_path / "1")
    assert (mine["version"], mine["gone_records"] > 100, mine["new_records"]) == (2, True, 2)
    same(publisher, theirs)
    listed = publisher.sql("SELECT state, advice FROM priv.publications()").fetchall()
    assert listed[0][0] == "refused"
    assert "duckdb_priv.spark.refresh(publisher, frame, 'r'" in listed[0][1]
    with pytest.raises(duckdb.Error, match="the records of release 'r' are in Spark"):
        refreshed(publisher)
    with pytest.raises(PublicationFailed, match="the records of release 'r' are in DuckDB"):
        duckdb_priv.spark.refresh(theirs, frame, "r", path=tmp_path / "no")


def test_decoy_groups_grow_and_what_left_is_refused(
    publisher: Connection, persons: DataFrame, tmp_path: Path
) -> None:
    arguments = {"sensitive": "outcome", "record_id": "id", "gamma": 3, "public": ["age"]}
    duckdb_priv.spark.publish(
        publisher, persons.where("id < 2500"), "splu", source="persons", release="r",
        path=tmp_path / "0", **arguments,
    )  # fmt: skip
    few = duckdb_priv.spark.refresh(
        publisher, persons.where("id < 2510"), "r", path=tmp_path / "few"
    )
    assert "new records wait until there are" in few["statement"]
    assert not (tmp_path / "few").exists()
    row = duckdb_priv.spark.refresh(publisher, persons, "r", path=tmp_path / "1")
    assert (row["version"], row["new_records"], row["gone_records"]) == (2, 500, 0)
    assert publisher.sql("SELECT count(*) FROM r").fetchall() == [(row["rows_published"],)]
    with pytest.raises(GuaranteeViolated, match="100 records of 'r' are gone"):
        duckdb_priv.spark.refresh(publisher, persons.where("id >= 100"), "r", path=tmp_path / "2")


def test_a_table_of_the_catalog_is_read_by_its_name(
    spark: SparkSession, publisher: Connection, persons: DataFrame, tmp_path: Path
) -> None:
    arguments = {"sensitive": "disease", "record_id": "id", "retention": 0.4, "public": ["age"]}

    def version() -> str:
        found = publisher.sql("SELECT source, source_version FROM priv.ledger ORDER BY number")
        source, read = found.fetchall()[-1]
        assert source == "spark_catalog.default.people"
        return str(read)

    persons.where("id < 2000").write.saveAsTable("people")
    try:
        duckdb_priv.spark.publish(
            publisher, spark, "uniform", source="spark_catalog.default.people", release="r",
            path=tmp_path / "0", **arguments,
        )  # fmt: skip
        first = version()
        persons.where("id >= 2000").write.insertInto("people")
        row = duckdb_priv.spark.refresh(publisher, spark, "r", path=tmp_path / "1")
        assert (row["new_records"], row["rows_published"]) == (1000, 3000)
        assert first.startswith("files ")
        assert version().startswith("files ")
        assert version() != first
        row = duckdb_priv.spark.refresh(publisher, spark, "r", path=tmp_path / "no")
        assert row["statement"].startswith("Nothing has changed since version 2")
        assert (row["path"], (tmp_path / "no").exists()) == (None, False)
        # What is not needed any more may be removed.
        for folder in ("0", "1"):
            (tmp_path / folder / "data").rename(tmp_path / f"removed {folder}")
        persons.where("id < 5").withColumn("id", f.col("id") + 3000).write.insertInto("people")
        row = duckdb_priv.spark.refresh(publisher, spark, "r", path=tmp_path / "2")
        assert (row["version"], row["rows_published"]) == (3, 3005)
    finally:
        spark.sql("DROP TABLE people")
    with pytest.raises(UnknownName, match="no table or view 'spark_catalog"):
        duckdb_priv.spark.refresh(publisher, spark, "r", path=tmp_path / "3")


def returning(**found: Any) -> SimpleNamespace:
    """Make an object whose methods return these."""
    return SimpleNamespace(**{name: partial(lambda value: value, of) for name, of in found.items()})


LEAVES = {
    "delta 12": returning(relation=returning(location=returning(tableVersion=12))),
    "iceberg 77": returning(
        table=returning(
            snapshotId=None, table=returning(currentSnapshot=returning(snapshotId=77)), version=None
        )
    ),
    "iceberg 5": returning(table=returning(snapshotId=5, version="5")),
    "version v3": returning(table=returning(version="v3")),
    None: returning(table=returning(version=None)),
}
"""By what is said of it: what a plan reads, as far as it tells."""


@pytest.mark.parametrize("version", LEAVES)
def test_tables_of_a_lakehouse_have_versions(version: str | None) -> None:
    assert plans._version_of(LEAVES[version]) == version
