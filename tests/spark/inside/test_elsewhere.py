"""Spark counts by the script that an export writes for it as the functions of the release do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
from clients.elsewhere import differ, export
from pyspark.sql import SparkSession


def test_spark_counts_as_the_functions_do(
    spark: SparkSession, publisher: duckdb.DuckDBPyConnection, without_cards: Any, tmp_path: Path
) -> None:
    with without_cards():
        scripts, rows = export(publisher, tmp_path)
    place = str(tmp_path / "rows")
    spark.read.csv(str(rows), header=True, nullValue="NULL", escape='"').write.parquet(place)
    spark.sql(f"CREATE TABLE visits USING parquet LOCATION '{place}'")
    try:
        for statement in scripts["spark"].read_text("utf-8").split(";\n"):
            if "CREATE" in statement:
                spark.sql(statement)

        def ask(view: str, names: list[str]) -> list[tuple[object, ...]]:
            return [
                tuple(row)
                for row in spark.table(view).select(*(f"`{name}`" for name in names)).collect()
            ]

        assert max(differ(publisher, ask).values()) < 1e-9
    finally:
        for statement in (
            "VIEW visits_dis_ease_estimates",
            "VIEW visits_dis_ease_by_gen_der",
            "TABLE visits",
        ):
            spark.sql(f"DROP {statement.split()[0]} IF EXISTS {statement.split()[1]}")
