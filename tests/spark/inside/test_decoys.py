"""Decoy groups of a frame: the rows, the catalog, the ledger and the marks that DuckDB gives."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from spark.tables import CARERS, contents, files, same_functions

import duckdb_priv.spark
from duckdb_priv.mechanism import decoy_groups
from duckdb_priv.methods.common import assigning as records_assigned
from duckdb_priv.spark import tasks, writing

Connection = duckdb.DuckDBPyConnection

ARGUMENTS: dict[str, Any] = {
    "sensitive": ["illness", "wing"], "record_id": "id", "gamma": 4, "public": ["age", "gender"]
}  # fmt: skip
PUBLISHED = {
    "r": "*",
    "priv.release": "* EXCLUDE (created_at, previous_at)",
    "priv.attribute": "*",
    "priv.coefficient": "*",
    "priv.guarantee": "*",
    "priv.warning": "*",
    "priv.ledger": "* EXCLUDE (published_at, digest, source_version)",
    "priv.grouped_mark": "count(*), count(DISTINCT mark)",
}
"""What both engines must write the same."""


def by_duckdb(connection: Connection, table: str, **arguments: Any) -> dict[str, Any]:
    stated = ", ".join(f"{name} := {value!r}" for name, value in (ARGUMENTS | arguments).items())
    (reported,) = (
        connection.sql(f"FROM priv.publish_splu('{table}', 'r', {stated})")
        .to_arrow_table()
        .to_pylist()
    )
    return {name: value for name, value in reported.items() if name != "seconds"}


def by_spark(
    connection: Connection, frame: DataFrame, path: Path, **arguments: Any
) -> dict[str, Any]:
    reported = duckdb_priv.spark.publish(
        connection, frame, "splu", source="carers", release="r", path=path, types={"age": "UTINYINT"},
        **(ARGUMENTS | arguments),
    )  # fmt: skip
    return {name: value for name, value in reported.items() if name not in ("seconds", "path")}


def same(mine: Connection, theirs: Connection) -> None:
    for table, columns in PUBLISHED.items():
        assert contents(mine, table, columns) == contents(theirs, table, columns), table


def failing(in_tasks: Callable[..., DataFrame], mark: Path) -> Callable[..., DataFrame]:
    """Let a task of every stage fail in its midst, once."""

    def in_failing_tasks(records: DataFrame, work: Any, schema: Any) -> DataFrame:
        failed = Path(f"{mark}{zlib.crc32(work.kernel.select.encode())}")

        def once(batches: Any) -> Any:
            for rows in work(batches):
                yield rows
                if not failed.exists():
                    failed.touch()
                    raise RuntimeError("lost")

        return in_tasks(records, once, schema)

    return in_failing_tasks


@pytest.fixture
def carers(spark: SparkSession, folder: Path) -> DataFrame:
    path = folder / "carers.parquet"
    if not path.exists():
        with duckdb.connect() as connection:
            connection.execute(CARERS)
            connection.execute(f"COPY carers TO '{path}'")
    return spark.read.parquet(str(path))


@pytest.fixture
def theirs(prepared: Callable[..., Connection]) -> Connection:
    connection = prepared()
    connection.execute(CARERS)
    return connection


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut small tables into ranges, blocks and tasks as large ones are."""
    sizes = {"TILE": 64, "BLOCK": 4}

    def in_tasks(records: DataFrame, work: Any, schema: Any) -> DataFrame:
        def run(batches: Any) -> Any:
            vars(decoy_groups).update(sizes)
            return work(batches)

        return tasks.in_tasks(records, run, schema)

    for name, size in sizes.items():
        monkeypatch.setattr(decoy_groups, name, size)
    monkeypatch.setattr(records_assigned, "RANGE", 512)
    monkeypatch.setattr(writing, "ROWS_OF_TASK", 1500)
    monkeypatch.setattr(writing, "in_tasks", in_tasks)


@pytest.mark.usefixtures("cut")
def test_a_frame_is_grouped_as_duckdb_groups_it_and_more_is_appended(
    prepared: Callable[..., Connection],
    theirs: Connection,
    carers: DataFrame,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However it is divided and ordered, whatever is tried again, and whichever engine was there before."""
    first = carers.where("id < 3402")
    theirs.execute("CREATE TABLE all_carers AS FROM carers; DELETE FROM carers WHERE id >= 3402")
    reported = by_duckdb(theirs, "carers")
    divided = first.repartition(5, "wing").orderBy(f.hash("id")).coalesce(3)
    with prepared() as other, prepared() as publisher:
        assert by_spark(publisher, divided, tmp_path / "a [b]") == reported
        same(publisher, theirs)
        same_functions(theirs, tmp_path / "a [b]", tmp_path / "theirs")
        monkeypatch.setattr(writing, "in_tasks", failing(writing.in_tasks, tmp_path / "failed"))
        assert by_spark(other, first, tmp_path / "b") == reported
        assert len(list(tmp_path.glob("failed*"))) > 3
        assert files(tmp_path / "b") == files(tmp_path / "a [b]")
        # Rows come to those of the other engine.
        theirs.execute("INSERT INTO carers FROM all_carers WHERE id >= 3402")
        publisher.execute(f"CREATE TABLE carers AS FROM '{folder}/carers.parquet'")
        reported = by_duckdb(publisher, "carers", append=True)
        assert by_spark(theirs, carers, tmp_path / "c", append=True) == reported
        same(publisher, theirs)
        # Of records that Spark moves nothing is kept but their marks.
        assert contents(publisher, "priv.shown_record") == []
        assert contents(theirs, "priv.shown_record") == []
