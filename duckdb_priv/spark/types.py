"""What Spark calls the types of DuckDB, and which of its values both engines write the same."""

from __future__ import annotations

import re
from collections.abc import Mapping

import duckdb
from pyspark.sql import types as spark

from duckdb_priv.errors import InvalidParameter, InvalidSource, echoed
from duckdb_priv.sqltext.quoting import identifier

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
"""The type of Spark that holds every value of a type of DuckDB; DECIMAL, lists and structs are apart."""
DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
UNLIKE = "whose values Spark and DuckDB write differently"


def duckdb_type(column: str, kind: spark.DataType) -> str:
    """Return what DuckDB calls the type of a column of a frame.

    Raises InvalidSource for a type whose values the two engines write differently.

    >>> duckdb_type("stays", spark.ArrayType(spark.LongType()))
    'BIGINT[]'
    """
    if isinstance(kind, spark.StringType) and kind.simpleString() != "string":
        raise _unlike(column, kind.simpleString(), "cast it to a plain string")
    # Fixed and varying lengths of texts are types of their own, below that of texts.
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
        # DuckDB quotes names where it must.
        return str(duckdb.type(f"STRUCT({', '.join(fields)})"))
    raise _unlike(column, kind.simpleString(), "exclude it, or cast it to text or to a number")


def _unlike(column: str, kind: str, hint: str) -> InvalidSource:
    return InvalidSource(f"column {column!r} has Spark's type {kind}, {UNLIKE}", hint=hint)


def given_type(column: str, text: object, kind: spark.DataType) -> str:
    """Read the type of DuckDB that the publisher gives for a column, of which Spark widened the values.

    Raises InvalidParameter for what is no type, and for one whose values the frame cannot hold.
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
            hint="a type of whole numbers, DECIMAL, TIMESTAMP_S or TIMESTAMP_MS can be given",
        )
    numbers = (spark.IntegralType, spark.DecimalType)
    if type(wanted) is not type(kind) and not (
        isinstance(wanted, numbers) and isinstance(kind, numbers)
    ):
        raise InvalidParameter(
            f"types gives {column!r} the type {found}, and the frame holds {kind.simpleString()}",
            hint=f"cast the column to {wanted.simpleString()} in the frame",
        )
    return found


def spark_type(kind: str) -> spark.DataType:
    """Return the type of Spark that holds the values of a type of DuckDB.

    >>> spark_type("UTINYINT"), spark_type("DECIMAL(9,2)"), spark_type("ENUM('a', 'b')")
    (ShortType(), DecimalType(9,2), StringType())
    """
    if kind.startswith("ENUM"):
        return spark.StringType()
    if found := DECIMAL.fullmatch(kind):
        return spark.DecimalType(int(found[1]), int(found[2]))
    return OF_DUCKDB[kind]


def carried_type(kind: str, known: spark.DataType) -> spark.DataType:
    """Return the type of Spark in which tasks give values of a type of DuckDB; ``known`` is that of lists and structs.

    >>> carried_type("UTINYINT", spark.IntegerType())
    ShortType()
    """
    return spark_type(kind) if kind in OF_DUCKDB or DECIMAL.fullmatch(kind) else known


def has_floats(kind: spark.DataType) -> bool:
    """Return whether values of a type that compare as equal may be written differently, as 0.0 and -0.0 are."""
    if isinstance(kind, spark.ArrayType):
        return has_floats(kind.elementType)
    if isinstance(kind, spark.StructType):
        return any(has_floats(field.dataType) for field in kind.fields)
    return isinstance(kind, spark.FractionalType) and not isinstance(kind, spark.DecimalType)
