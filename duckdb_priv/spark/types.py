"""Maps the types of Spark and DuckDB whose values both engines write identically."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import duckdb
from pyspark.sql import types as spark

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.errors import InvalidParameter, InvalidSource, echoed
from duckdb_priv.sqltext.quoting import identifier, in_types
from duckdb_priv.sqltext.reading import select

PLAIN: Mapping[type[spark.DataType], str] = {
    spark.BooleanType: "BOOLEAN",
    spark.ByteType: "TINYINT",
    spark.ShortType: "SMALLINT",
    spark.IntegerType: "INTEGER",
    spark.LongType: "BIGINT",
    spark.FloatType: "FLOAT",
    spark.DoubleType: "DOUBLE",
    spark.StringType: "VARCHAR",
    spark.BinaryType: "BLOB",
    spark.DateType: "DATE",
    spark.TimestampType: "TIMESTAMP WITH TIME ZONE",
    spark.TimestampNTZType: "TIMESTAMP",
}
OF_DUCKDB: Mapping[str, spark.DataType] = {
    **{name: kind() for kind, name in PLAIN.items()},
    "UTINYINT": spark.ShortType(),
    "USMALLINT": spark.IntegerType(),
    "UINTEGER": spark.LongType(),
    "UBIGINT": spark.DecimalType(20, 0),
    "TIMESTAMP_S": spark.TimestampNTZType(),
    "TIMESTAMP_MS": spark.TimestampNTZType(),
}
"""The Spark type that holds every value of a DuckDB type. DECIMAL, lists and structs are handled separately."""
DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
UNLIKE = "whose values Spark and DuckDB write differently"


def duckdb_type(column: str, kind: spark.DataType) -> str:
    """Return the DuckDB type of a frame's column.

    Raises InvalidSource for a type whose values the two engines write differently.

    >>> duckdb_type("stays", spark.ArrayType(spark.LongType()))
    'BIGINT[]'
    """
    if isinstance(kind, spark.StringType) and kind.simpleString() != "string":
        raise _unlike(column, kind.simpleString(), "cast it to a plain string")
    # CharType and VarcharType are subclasses of StringType, so classes are compared exactly.
    found = next((name for each, name in PLAIN.items() if type(kind) is each), None)
    if found is not None:
        return found
    if isinstance(kind, spark.DecimalType):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if isinstance(kind, spark.ArrayType):
        return f"{duckdb_type(column, kind.elementType)}[]"
    if isinstance(kind, spark.StructType):
        fields = (
            f"{identifier(field.name)} {duckdb_type(column, field.dataType)}"
            for field in kind.fields
        )
        # DuckDB quotes the names of fields if necessary.
        return str(duckdb.type(f"STRUCT({', '.join(fields)})"))
    raise _unlike(column, kind.simpleString(), "exclude it, or cast it to text or to a number")


def _unlike(column: str, kind: str, hint: str) -> InvalidSource:
    return InvalidSource(f"column {column!r} has Spark's type {kind}, {UNLIKE}", hint=hint)


def given_type(column: str, text: object, kind: spark.DataType) -> str:
    """Parse the DuckDB type that the publisher gives for a column whose values Spark has widened.

    Raises InvalidParameter for an unknown type, and for a type whose values the frame's column cannot hold.
    """
    try:
        found = str(duckdb.type(str(text)))
    except duckdb.Error:
        found = ""
    if not found:
        raise InvalidParameter(
            f"types gives {column!r} the type {echoed(text)}, which DuckDB does not know",
            hint="write types={'age': 'UTINYINT'}",
        )
    wanted = OF_DUCKDB.get(found)
    if DECIMAL.fullmatch(found):
        wanted = spark_type(found)
    if wanted is None:
        raise InvalidParameter(
            f"types gives {column!r} the type {found}, {UNLIKE}",
            hint="give an integer type, DECIMAL, TIMESTAMP_S or TIMESTAMP_MS",
        )
    numbers = (spark.IntegralType, spark.DecimalType)
    if type(wanted) is not type(kind) and not (
        isinstance(wanted, numbers) and isinstance(kind, numbers)
    ):
        raise InvalidParameter(
            f"types gives {column!r} the type {found}, but its type in the frame is {kind.simpleString()}",
            hint=f"cast the column to {wanted.simpleString()} in the frame",
        )
    return found


def spark_type(kind: str) -> spark.DataType:
    """Return the Spark type that holds the values of a DuckDB type.

    >>> spark_type("UTINYINT"), spark_type("DECIMAL(9,2)"), spark_type("ENUM('a', 'b')")
    (ShortType(), DecimalType(9,2), StringType())
    """
    if kind.startswith("ENUM"):
        return spark.StringType()
    if found := DECIMAL.fullmatch(kind):
        return spark.DecimalType(int(found[1]), int(found[2]))
    return OF_DUCKDB[kind]


def in_spark_types(kernel: Kernel, described: Mapping[str, str]) -> Kernel:
    """Cast a kernel's output, which has these DuckDB types, to types that Spark has."""
    casts = {
        name: duckdb_type(name, spark_type(kind))
        if kind in OF_DUCKDB or kind.startswith("ENUM")
        else kind
        for name, kind in described.items()
    }
    return replace(kernel, select=select([in_types(casts)], f"({kernel.select})"))


def carried_type(kind: str, known: spark.DataType) -> spark.DataType:
    """Return the Spark type in which tasks return values of a DuckDB type; ``known`` for lists and structs.

    >>> carried_type("UTINYINT", spark.IntegerType())
    ShortType()
    """
    return spark_type(kind) if kind in OF_DUCKDB or DECIMAL.fullmatch(kind) else known


def has_floats(kind: spark.DataType) -> bool:
    """Return whether equal values of a type may have different representations, such as 0.0 and -0.0."""
    if isinstance(kind, spark.ArrayType):
        return has_floats(kind.elementType)
    if isinstance(kind, spark.StructType):
        return any(has_floats(field.dataType) for field in kind.fields)
    return isinstance(kind, spark.FractionalType) and not isinstance(kind, spark.DecimalType)
