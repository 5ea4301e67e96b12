"""Publishes a frame of a remote session: ``python connected.py URL FRAME FOLDER``, by the calls of a file beside it.

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

import duckdb_priv  # noqa: E402
import duckdb_priv.spark  # noqa: E402


def main(url: str, frame: str, folder: str) -> None:
    calls = json.loads(Path(folder, "calls.json").read_text("utf-8"))
    session = SparkSession.builder.remote(url).getOrCreate()
    for method, arguments in calls.items():
        with duckdb.connect() as publisher:
            duckdb_priv.install(publisher, secret=bytes(range(32)))
            duckdb_priv.spark.publish(
                publisher, session.read.parquet(frame), method, source="persons", release="r",
                path=Path(folder, method), **arguments
            )  # fmt: skip
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
