"""One session of Spark for all tests, and what they publish."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

# PySpark warns of what it uses itself.
warnings.simplefilter("ignore")
TESTS = Path(__file__).parents[2]
FOUND = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
os.environ |= {
    "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": FOUND,
}  # fmt: skip

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from spark.tables import PERSONS  # noqa: E402

from duckdb_priv.spark import publication  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark warns of what it uses itself."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two threads, in a time zone that is none of DuckDB's; tasks may fail three times."""
    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "Pacific/Auckland",
        "spark.sql.warehouse.dir": str(folder),
        # With less room for compiled code, Java sweeps it all the time.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m",
        "spark.driver.memory": "1g",
        "spark.python.daemon.module": "spark.workers",
        # Compiling a query takes longer than these tables do.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # The same session serves programs that connect to it, at a port that is free.
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
    }
    session = SparkSession.builder.master("local[2,3]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frames")


@pytest.fixture(scope="session")
def persons(spark: SparkSession, folder: Path) -> DataFrame:
    """The table of the same name, as a frame."""
    with duckdb.connect() as connection:
        connection.execute(PERSONS)
        connection.execute(f"COPY persons TO '{folder}/persons.parquet'")
    return spark.read.parquet(f"{folder}/persons.parquet")


@pytest.fixture
def publisher(prepared: Any) -> Iterator[duckdb.DuckDBPyConnection]:
    """A publisher's database that has no table of people."""
    with prepared() as connection:
        yield connection


ANALYST_CARD = publication.analyst_card


@pytest.fixture(scope="module")
def plain(unasked: None) -> Iterator[None]:
    """A module in which nobody counts, and nobody reads the cards of folders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publication, "analyst_card", lambda *_: "<!doctype html>\n<p>No card.</p>\n")
        yield


@pytest.fixture
def whole(asked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test with functions and cards, in a module that is ``plain``."""
    monkeypatch.setattr(publication, "analyst_card", ANALYST_CARD)
