"""A release is put into an object store by Spark's own file systems: here, schemes of stores over a folder."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import DataFrame, SparkSession
from spark.tables import PERSONS, contents, sql

import duckdb_priv.spark
from duckdb_priv.errors import InvalidParameter, PublicationFailed
from duckdb_priv.publisher import placing
from duckdb_priv.spark.hadoop import Store
from duckdb_priv.spark.places import CLAIM, Elsewhere, place_of
from duckdb_priv.spark.settings import configured

pytestmark = pytest.mark.usefixtures("plain")

Connection = duckdb.DuckDBPyConnection

SCHEMES = {
    "s3a": "s3a://lake/releases",
    "abfss": "abfss://lake/releases",
    "gs": "gs://lake/releases",
    "hdfs": "hdfs://lake/releases",
    "dbfs": "dbfs:/Volumes/releases",
}
DECOYS: dict[str, Any] = {"sensitive": "outcome", "gamma": 3}


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """Return the folder behind all of them."""
    folder = tmp_path / "store"
    folder.mkdir()
    over = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
    mounted = {"lake.link./releases": folder, "default.link./Volumes/releases": folder}
    settings = {f"fs.{scheme}.impl": over for scheme in SCHEMES}
    settings |= {f"fs.{scheme}.impl.disable.cache": "true" for scheme in SCHEMES}
    settings |= {f"fs.viewfs.mounttable.{of}": f"file://{path}" for of, path in mounted.items()}
    local = "org.apache.hadoop.fs.LocalFileSystem"
    settings["fs.viewfs.overload.scheme.target.file.impl"] = local
    with configured(spark, settings):
        yield folder


def by_spark(
    publisher: Connection, frame: DataFrame, path: str, method: str = "uniform", **more: Any
) -> dict[str, Any]:
    given = {"sensitive": "disease", "record_id": "id", "public": ["age", "gender"]}
    given |= {"retention": 0.4} if method == "uniform" else DECOYS
    return duckdb_priv.spark.publish(
        publisher, frame, method, source="persons", release="r", path=path, **given, **more
    )


def names(folder: Path) -> list[str]:
    """Name what is in a folder, without the sums that Hadoop keeps beside local files."""
    return sorted(
        str(each.relative_to(folder)) for each in folder.rglob("*") if each.suffix != ".crc"
    )


def test_a_store_holds_what_a_folder_would(
    publisher: Connection,
    persons: DataFrame,
    prepared: Callable[..., Connection],
    store: Path,
    tmp_path: Path,
) -> None:
    """Decoy groups, whose marks come back from Spark; and more records, which it is sent marks and rows for."""
    with prepared() as theirs:
        theirs.execute(f"{PERSONS}; CREATE VIEW fewer AS FROM persons WHERE id < 2500")
        given = {**DECOYS, "record_id": "id", "public": ["age", "gender"]}
        call = f"FROM priv.publish_splu('{{}}', 'r', {sql(given)})"
        theirs.execute(call.format("fewer")).fetchall()
        first = by_spark(publisher, persons.where("id < 2500"), "s3a://lake/releases/r", "splu")
        assert contents(publisher, "r") == contents(theirs, "r")
        theirs.execute(f"{call.format('persons')[:-1]}, append := true)").fetchall()
        by_spark(publisher, persons, "s3a://lake/releases/more", "splu", append=True)
        assert contents(publisher, "r") == contents(theirs, "r")
    assert first["path"] == "s3a://lake/releases/r"
    assert {name.split("/")[0] for name in names(store)} == {"r", "more"}
    found = names(store / "r")
    assert [name for name in found if "catalog/" not in name] == [
        "card.html", "catalog", "data", "data/part-00000.parquet", "setup.sql"
    ]  # fmt: skip
    with contextlib.chdir(store / "more"), duckdb.connect() as analyst:
        analyst.execute(Path("setup.sql").read_text("utf-8"))
        assert contents(analyst, "r") == contents(publisher, "r")
    # The publisher keeps a table, so all that reads a release works without the store.
    assert publisher.sql("SELECT count(*) > 0 FROM priv.audit('r')").fetchall() == [(True,)]


def test_what_others_write_into_a_store_stays(
    spark: SparkSession,
    publisher: Connection,
    persons: DataFrame,
    store: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (store / f".r.1-{placing.MACHINE}{'0' * 24}.partial").mkdir()
    (store / "r").mkdir()
    (store / "r" / "setup.sql").write_text("theirs", "utf-8")
    theirs = names(store)
    with pytest.raises(InvalidParameter, match="s3a://lake/releases/r' exists"):
        by_spark(publisher, persons, "s3a://lake/releases/r")
    # Another driver finishes after this one has looked.
    monkeypatch.setattr(Store, "exists", lambda self, name="": False)
    place = place_of("s3a://lake/releases/r", spark)
    with pytest.raises(InvalidParameter, match="exists"):
        place.fill(store / "r")
    (store / "r" / CLAIM).touch()
    with pytest.raises(InvalidParameter, match="exists"):
        place.fill(store / "r")
    (store / "r" / CLAIM).unlink()
    monkeypatch.undo()
    assert names(store) == theirs


def test_a_store_that_fails_has_no_part_of_a_release(
    publisher: Connection, persons: DataFrame, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Store.send

    def failing(self: Store, here: Path, name: str) -> None:
        if name == "setup.sql":
            raise PublicationFailed("the store is full", hint="")
        send(self, here, name)

    monkeypatch.setattr(Store, "send", failing)
    with pytest.raises(PublicationFailed, match="the store is full") as failed:
        by_spark(publisher, persons, "s3a://lake/releases/r")
    assert names(store) == []
    assert "replace=True" in str(failed.value.hint)
    # What was charged stays charged.
    assert publisher.sql("SELECT adds FROM priv.ledger").fetchall() == [(True,)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_of_a_store_is_one(
    scheme: str, spark: SparkSession, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = SCHEMES[scheme]
    if scheme == "dbfs":
        monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
        assert str(place_of("/Volumes/releases/r", spark)) == f"{path}/r"
    else:
        assert str(place_of(Path(f"{path}/r"), spark)) == f"{path}/r" or scheme == "hdfs"
    place = place_of(f"{path}/r", spark)
    assert isinstance(place, Elsewhere)
    transfer = place.begin()
    transfer.make()
    transfer.write(spark.range(3), "data")
    assert transfer.read(transfer.here / "data").count() == 3
    place.fill(transfer.here)
    place.give_up(transfer)
    assert not transfer.here.parent.exists()
    assert len(names(store / "r" / "data")) > 0
    assert not [name for name in names(store) if "partial" in name or CLAIM in name]


REFUSED = {
    "s3a://lake/releases/r.duckdb": "a single release file cannot be written",
    "s3a://lake/releases/r.csv": "ends in .csv",
    "s3a://lake": "the root of a store",
    "s3a://lake/elsewhere/r": "Spark's file system cannot use",
    "wasbs://lake/r": "this Spark session has no file system for wasbs:",
}


@pytest.mark.parametrize("path", REFUSED)
def test_what_is_not_possible_is_refused_with_its_reason(
    path: str, publisher: Connection, persons: DataFrame, store: Path
) -> None:
    with pytest.raises((InvalidParameter, PublicationFailed)) as refused:
        by_spark(publisher, persons, path)
    assert REFUSED[path] in str(refused.value)
    assert refused.value.hint
    assert names(store) == []


def test_a_remote_session_reaches_no_store() -> None:
    with pytest.raises(InvalidParameter, match="a remote session gives no access"):
        place_of("s3a://lake/releases/r", object())
