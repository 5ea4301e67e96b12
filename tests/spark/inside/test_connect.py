"""A program that connects to a session of Spark publishes what DuckDB publishes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import DataFrame, SparkSession
from spark import connected
from spark.tables import PERSONS, contents, sql

pytestmark = pytest.mark.usefixtures("plain")

CALLS: dict[str, dict[str, Any]] = {
    "uniform": {"sensitive": "disease", "retention": 0.4},
    "splu": {"sensitive": "outcome", "gamma": 4},
}
SHARED = {"record_id": "id", "public": ["age", "gender"]}


def test_a_remote_frame_gives_the_rows_that_duckdb_gives(
    spark: SparkSession,
    persons: DataFrame,
    folder: Path,
    prepared_file: Path,
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    tmp_path: Path,
) -> None:
    pytest.importorskip("grpc", reason="Spark Connect takes grpcio")
    calls = {method: arguments | SHARED for method, arguments in CALLS.items()}
    (tmp_path / "calls.json").write_text(json.dumps(calls), "utf-8")
    for name in (*calls, "wide"):
        shutil.copy(prepared_file, tmp_path / f"{name}.duckdb")
    # An object of Scala, as Java names it.
    classes = spark._jvm.org.apache.spark.sql.connect.service
    service = getattr(getattr(classes, "SparkConnectService$"), "MODULE$")
    url = f"sc://127.0.0.1:{service.localPort()}"
    done = subprocess.run(
        [sys.executable, connected.__file__, url, f"{folder}/persons.parquet", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "a remote session does not show" in (tmp_path / "refused").read_text("utf-8")
    for method, arguments in calls.items():
        with prepared() as theirs:
            theirs.execute(PERSONS)
            theirs.execute(
                f"FROM priv.publish_{method}('persons', 'r', {sql(arguments)})"
            ).fetchall()
            remote = f"read_parquet('{tmp_path}/{method}/data/*.parquet')"
            assert contents(theirs, remote) == contents(theirs, "r"), method
