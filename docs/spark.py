"""From a data frame of Spark to a counted release: run it in an empty folder.

    pip install 'duckdb_priv[spark]'
    python spark.py

It needs Java 17 or newer. What it makes: hospital.duckdb, the publisher's database, and the folder visits_public.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path

import duckdb
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import duckdb_priv
import duckdb_priv.spark

home = os.environ.get("JAVA_HOME")
if not shutil.which("java", path=home and f"{home}/bin"):
    sys.exit("Spark needs Java 17 or newer: install it, and set JAVA_HOME")
# The Python of the tasks is that of the driver, with the same versions of duckdb and duckdb_priv.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = SparkSession.builder.master("local[2]").appName("visits").getOrCreate()

values = f.array(*map(f.lit, ["asthma", "cold", "diabetes", "flu"]))
visits = spark.range(20_000).select(
    "id",
    (20 + f.col("id") * 37 % 60).alias("age"),
    f.when(f.col("id") % 2 == 0, "f").otherwise("m").alias("gender"),
    f.element_at(values, (1 + f.col("id") * f.col("id") % 23 % 4).cast("int")).alias("disease"),
)

with duckdb_priv.connect("hospital.duckdb") as publisher:
    receipt = duckdb_priv.spark.publish(
        publisher,
        visits,
        "uniform",
        source="visits",
        release="visits_public",
        path="visits_public",
        sensitive="disease",
        record_id="id",
        retention=0.3,
    )
    print(receipt["rows_published"], "rows:", receipt["guarantee"])

# What follows is the analyst's side: the folder, and any DuckDB from 1.4 on.
with contextlib.chdir("visits_public"), duckdb.connect() as analyst:
    analyst.execute(Path("setup.sql").read_text("utf-8"))
    analyst.sql(
        "SELECT gender, priv.reconstructed_count('visits_public', noisy_disease, 'flu') AS flu"
        " FROM visits_public GROUP BY gender ORDER BY gender"
    ).show()
