"""Publishes a frame of a remote session: ``python connected.py URL FRAME FOLDER``, by calls.json of the folder.

The folder has a prepared database for each call.

A process that has a session of its own cannot have one of Spark Connect as well.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

# PySpark warns of what it uses itself.
warnings.simplefilter("ignore")

import duckdb  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as f  # noqa: E402

import duckdb_priv  # noqa: E402
import duckdb_priv.spark  # noqa: E402
from duckdb_priv.errors import InvalidSource  # noqa: E402


def main(url: str, frame: str, folder: str) -> None:
    calls = json.loads(Path(folder, "calls.json").read_text("utf-8"))
    session = SparkSession.builder.remote(url).getOrCreate()
    for method, arguments in calls.items():
        with duckdb.connect(f"{folder}/{method}.duckdb") as publisher:
            duckdb_priv.install(publisher, secret=bytes(range(32)))
            duckdb_priv.spark.publish(
                publisher, session.read.parquet(frame), method, source="persons", release="r",
                path=Path(folder, method), **arguments
            )  # fmt: skip
    wide = session.read.parquet(frame).select("*", *(f.lit(n).alias(f"c{n}") for n in range(60)))
    with duckdb.connect(f"{folder}/wide.duckdb") as publisher:
        duckdb_priv.install(publisher, secret=bytes(range(32)))
        try:
            duckdb_priv.spark.publish(
                publisher, wide.withColumn("id", f.monotonically_increasing_id()), "uniform",
                source="persons", release="r", path=Path(folder, "wide"), **calls["uniform"],
            )  # fmt: skip
        except InvalidSource as refused:
            Path(folder, "refused").write_text(str(refused), "utf-8")
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
