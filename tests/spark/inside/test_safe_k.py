"""A generalized sample of a frame: that of DuckDB, where both draw by the same key, which is kept nowhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import DataFrame
from spark.tables import contents, same_functions

import duckdb_priv.spark
from duckdb_priv.engine import randomness
from duckdb_priv.engine.aggregates import Aggregates
from duckdb_priv.spark import tasks, writing

Connection = duckdb.DuckDBPyConnection

HIERARCHIES = """
    CREATE TABLE hierarchies AS
    SELECT 'age' AS attribute, age::VARCHAR AS value, level, (age // [1, 10, 100][level + 1])::VARCHAR AS generalized
    FROM range(20, 60) AS t(age), range(3) AS l(level)
    UNION ALL SELECT 'gender', gender, level, if(level = 0, gender, '*')
    FROM (VALUES ('f'), ('m'), (NULL)) AS t(gender), range(2) AS l(level)
"""
ARGUMENTS: dict[str, Any] = {
    "record_id": "id", "public": ["age", "gender"], "hierarchies": "hierarchies", "k": 20, "beta": 0.3,
    "epsilon": 1.0,
}  # fmt: skip
LEVELS = {"age": 1, "gender": 0}
PUBLISHED = {
    "r": "*",
    "priv.release": "* EXCLUDE created_at",
    "priv.attribute": "*",
    "priv.coefficient": "*",
    "priv.guarantee": "*",
    "priv.ledger": "* EXCLUDE (published_at, source_version)",
}


def test_a_frame_gives_the_sample_that_duckdb_gives_and_another_one_each_time(
    publisher: Connection,
    prepared: Callable[..., Connection],
    persons: DataFrame,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = persons.repartition(3)
    given = {"source": "persons", "release": "r", **ARGUMENTS}
    publisher.execute(HIERARCHIES)
    theirs = prepared()
    theirs.execute(f"CREATE TABLE persons AS FROM '{folder}/persons.parquet'; {HIERARCHIES}")
    known = bytes(range(32))
    with monkeypatch.context() as patched:
        patched.setattr(randomness, "new_secret", lambda: known)
        duckdb_priv.spark.publish(
            publisher, frame, "safe_k", path=tmp_path / "r", levels=LEVELS, **given
        )
        patched.setattr(Aggregates, "rereads", True)
        stated = ", ".join(
            f"{name} := {value!r}" for name, value in (ARGUMENTS | {"levels": LEVELS}).items()
        )
        theirs.sql(f"FROM priv.publish_safe_k('persons', 'r', {stated})").fetchall()
    for table, columns in PUBLISHED.items():
        assert contents(publisher, table, columns) == contents(theirs, table, columns), table
    same_functions(theirs, tmp_path / "r", tmp_path / "theirs")
    sent: list[Any] = []

    def in_tasks(records: DataFrame, work: Any, schema: Any) -> DataFrame:
        sent.append(work)
        return tasks.in_tasks(records, work, schema)

    monkeypatch.setattr(writing, "in_tasks", in_tasks)
    # Levels that are chosen are chosen once, though a publication is decided twice.
    duckdb_priv.spark.publish(
        publisher, frame, "safe_k", path=tmp_path / "s", epsilon1=0.2, **given, replace=True
    )
    assert contents(publisher, "r") != contents(theirs, "r")
    # Its key is that of this publication alone, and is nowhere afterwards.
    (key,) = {bits.key for work in sent for bits in work.kernel.random_bits.values()}
    assert all(
        key not in path.read_bytes() and key.hex().encode() not in path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    )
    assert publisher.sql(
        "SELECT count(*), count(DISTINCT coins), bool_and(fresh) FROM priv.ledger"
    ).fetchall() == [(2, 2, True)]
