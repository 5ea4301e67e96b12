"""Starts PySpark's Python workers for the tests: forks of a process that has imported what tasks need.

Spark starts a new worker after each task that fails, and after a minute without one.
"""

from __future__ import annotations

import os

# A fork has no threads but its own.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}

import pandas  # noqa: F401
import pyarrow  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import duckdb_priv.spark.source  # noqa: F401

if __name__ == "__main__":
    manager()
