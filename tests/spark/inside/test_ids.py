"""Different ids are counted exactly, wherever equal ones are and whatever they hash to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from duckdb_priv.spark import ids

IDS = {
    "numbers beside each other": ["id - 1500"],
    "numbers far from each other": ["id * 1000003 - 4e18::bigint"],
    "texts": ["ward"],
    "two columns": ["score", "id"],
}


@pytest.mark.parametrize("name", IDS)
def test_every_id_that_occurs_twice_is_found(
    name: str, persons: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = [f.col(f"key{n}") for n in range(len(IDS[name]))]
    keys = persons.selectExpr("id", *(f"{each} AS key{n}" for n, each in enumerate(IDS[name])))
    monkeypatch.setattr(ids, "IDS_OF_BLOCK", 100)
    monkeypatch.setattr(ids, "IDS_OF_TASK", 500)
    with_id = keys.union(keys.limit(2).withColumn("key0", f.lit(None)))
    assert ids.count_distinct(with_id, columns, 3000) == 3000
    again = with_id.union(keys.where("id IN (7, 2999)"))
    assert ids.count_distinct(again, columns, 3002) == 3000
    assert ids.count_distinct(with_id.where("id < 0"), columns, 0) == 0


def test_ids_with_equal_hashes_are_distinguished(
    persons: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def colliding(columns: Sequence[Column]) -> Column:
        return f.pmod(f.xxhash64(*columns), f.lit(1000))

    monkeypatch.setattr(ids, "hashed", colliding)
    assert ids.count_distinct(persons, [f.col("ward")], 3000) == 3000
