"""A program that connects to a session of Spark publishes what a program with a session of its own does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from spark import connected

import duckdb_priv.spark

CALLS: dict[str, dict[str, Any]] = {
    "uniform": {"sensitive": "disease", "retention": 0.4},
    "splu": {"sensitive": "outcome", "gamma": 4},
}
SHARED = {"record_id": "id", "public": ["age", "gender"]}


def rows(release: Path) -> dict[str, Any]:
    """Return the rows of the files of a release, in their order.

    Their bytes differ: through Connect, Spark's note of the schema names the collation of texts.
    """
    return {file.name: pq.read_table(file) for file in (release / "data").iterdir()}


def test_a_remote_frame_gives_the_same_rows_in_the_same_order(
    spark: SparkSession,
    persons: DataFrame,
    folder: Path,
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    tmp_path: Path,
) -> None:
    pytest.importorskip("grpc", reason="Spark Connect takes grpcio")
    calls = {method: arguments | SHARED for method, arguments in CALLS.items()}
    (tmp_path / "calls.json").write_text(json.dumps(calls), "utf-8")
    # An object of Scala, as Java names it.
    classes = spark._jvm.org.apache.spark.sql.connect.service
    service = getattr(getattr(classes, "SparkConnectService$"), "MODULE$")
    url = f"sc://127.0.0.1:{service.localPort()}"
    done = subprocess.run(
        [sys.executable, connected.__file__, url, f"{folder}/persons.parquet", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for method, arguments in calls.items():
        with prepared() as publisher:
            duckdb_priv.spark.publish(
                publisher, persons, method, source="persons", release="r", path=tmp_path / f"{method} inside",
                **arguments
            )  # fmt: skip
        remote, inside = rows(tmp_path / method), rows(tmp_path / f"{method} inside")
        assert len(remote) == 1
        assert remote == inside, method
