"""Packed columns have the order and the values that they had before."""

from __future__ import annotations

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from duckdb_priv.engine.kernel import RECORDS, Kernel
from duckdb_priv.spark.packing import BITS, TEXTS, WHOLE, Packing
from duckdb_priv.spark.types import spark_type
from duckdb_priv.sqltext.literals import enum
from duckdb_priv.sqltext.templates import place

KINDS = {
    **{kind.lower(): kind for kind in WHOLE},
    "of `two": "ENUM('zoster', 'it''s, \"odd\"')",
    "of one": "ENUM('')",
}
"""Every type that is packed; the values of an ENUM are in an order of their own."""


def ends(kind: str) -> list[str]:
    """Write the lowest value of a type, the highest, one between them, and NULL."""
    if kind.startswith("ENUM"):
        values = duckdb.sql(f"SELECT enum_range(NULL::{kind})").fetchall()[0][0]
        return [*(f"$${value}$$::{kind}" for value in values), f"NULL::{kind}"]
    low, size = WHOLE[kind]
    found = sorted({low, low + size // 2, low + size - 1})
    return [*(f"({number})::{kind}" for number in found), f"NULL::{kind}"]


def test_packed_rows_have_the_order_and_the_values_of_their_columns(spark: SparkSession) -> None:
    """2,000 rows of the ends of every type."""
    packing = Packing.of(KINDS)
    assert list(packing.types.values()) == ["BIGINT"] * 3
    assert all(sum(each.bits for each in codes) <= BITS for codes in packing.codes.values())
    columns = ", ".join(
        f'(list_value({", ".join(ends(kind))}))[1 + (hash(16 * i + {n}) % {len(ends(kind))})::INTEGER] AS "{name}"'
        for n, (name, kind) in enumerate(KINDS.items())
    )
    kernel = Kernel(KINDS, f"SELECT * FROM {place(RECORDS)} AS s")
    with duckdb.connect() as connection:
        rows = connection.sql(f"SELECT {columns} FROM range(2000) AS t(i)")
        reader = rows.to_arrow_table().to_reader()
        ordered = rows.order(", ".join(f'"{name}" NULLS LAST' for name in KINDS)).fetchall()
        packed = pa.Table.from_batches(packing.packed(kernel).run(connection, reader))
    assert len(set(ordered)) > 1000
    moved = spark.createDataFrame(packed).sort(*packing.types)
    schema = spark_types.StructType(
        [spark_types.StructField(name, spark_type(kind)) for name, kind in KINDS.items()]
    )
    unpacked = moved.select(*packing.unpacked(schema))
    assert unpacked.dtypes == [(each.name, each.dataType.simpleString()) for each in schema]
    assert [tuple(row) for row in unpacked.collect()] == ordered


def test_other_columns_stay_between_packed_ones() -> None:
    many = enum(map(str, range(TEXTS + 1)))
    kinds = {
        "a": "BIGINT",
        "b": "TINYINT",
        "c": many,
        "d": "BOOLEAN",
        "e": "UINTEGER",
        "f": "UINTEGER",
    }
    packing = Packing.of(kinds)
    assert packing.types == {
        "a": "BIGINT", "_priv_packed1": "BIGINT", "c": many, "_priv_packed3": "BIGINT", "_priv_packed4": "BIGINT",
    }  # fmt: skip
    assert [[each.name for each in codes] for codes in packing.codes.values()] == [
        ["b"],
        ["d", "e"],
        ["f"],
    ]
