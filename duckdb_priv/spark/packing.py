"""Packs neighbouring columns of published rows into whole numbers, which Spark moves and sorts faster than columns.

The numbers have the order of their columns: NULL is last, and values of an ENUM are in the order of the type. A task
packs the rows that it returns, and Spark unpacks them after sorting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import duckdb
from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql import types as spark

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.spark.frame import column
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.reading import select

BITS = 63
"""The bits of a packed number, which is never negative."""
TEXTS = 500
"""The largest ENUM that is packed, since Spark's plan contains its values."""
WHOLE = {
    "BOOLEAN": (0, 2),
    "TINYINT": (-(1 << 7), 1 << 8),
    "UTINYINT": (0, 1 << 8),
    "SMALLINT": (-(1 << 15), 1 << 16),
    "USMALLINT": (0, 1 << 16),
    "INTEGER": (-(1 << 31), 1 << 32),
    "UINTEGER": (0, 1 << 32),
}
"""The lowest value of a type, and its number of values."""


@dataclass(frozen=True)
class NumberedColumn:
    """A column whose values are numbered from 0; NULL has the last number."""

    name: str
    low: int
    """The value of number 0, if the values are whole numbers."""
    values: int
    texts: tuple[str, ...] = ()
    """The texts by number, if the type is an ENUM."""

    @classmethod
    def of(cls, name: str, kind: str) -> NumberedColumn | None:
        """Number the values of a DuckDB type; None if they are too many.

        >>> NumberedColumn.of("ward", "ENUM('a', 'b')")
        NumberedColumn(name='ward', low=0, values=2, texts=('a', 'b'))
        """
        if kind in WHOLE:
            return cls(name, *WHOLE[kind])
        if not kind.startswith("ENUM"):
            return None
        ((_, texts),) = cast("list[tuple[str, list[str]]]", duckdb.type(kind).children)
        return cls(name, 0, len(texts), tuple(texts)) if len(texts) <= TEXTS else None

    @property
    def bits(self) -> int:
        """Return the number of bits of the largest number.

        >>> NumberedColumn.of("age", "UTINYINT").bits
        9
        """
        return self.values.bit_length()

    @property
    def sql(self) -> str:
        """Write the number of a row's value in SQL."""
        value = identifier(self.name)
        number = f"enum_code({value})" if self.texts else value
        return f"coalesce({number}::BIGINT - {self.low}, {self.values})"

    def value(self, number: Column, kind: spark.DataType) -> Column:
        """Return the value of a number in Spark."""
        if self.texts:
            # The number of NULL is beyond the end of the array, so the result is NULL.
            return f.get(f.array(*map(f.lit, self.texts)), number.cast("int"))
        return f.when(number < self.values, (number + self.low).cast(kind))


@dataclass(frozen=True)
class Packing:
    """The columns of published rows while Spark moves them.

    >>> kinds = {"age": "UTINYINT", "sex": "BOOLEAN", "name": "VARCHAR", "ward": "ENUM('a')"}
    >>> Packing.of(kinds).types
    {'_priv_packed0': 'BIGINT', 'name': 'VARCHAR', '_priv_packed2': 'BIGINT'}
    """

    types: Mapping[str, str]
    """The DuckDB types of the moved columns, in their order."""
    codes: Mapping[str, Sequence[NumberedColumn]]
    """The codes in each packed column, the first in the highest bits."""

    @classmethod
    def of(cls, types: Mapping[str, str]) -> Packing:
        """Decide which columns of these types are packed together: neighbours whose numbers have at most BITS bits."""
        moved: dict[str, str] = {}
        codes: dict[str, list[NumberedColumn]] = {}
        last = ""
        for name, kind in types.items():
            code = NumberedColumn.of(name, kind)
            if code is None:
                moved[name], last = kind, ""
                continue
            if not last or sum(each.bits for each in (*codes[last], code)) > BITS:
                last = f"_priv_packed{len(moved)}"
                moved[last], codes[last] = "BIGINT", []
            codes[last].append(code)
        return cls(moved, codes)

    def packed(self, kernel: Kernel) -> Kernel:
        """Return the kernel with its published columns packed."""
        columns = [self._sql(name) for name in self.types]
        return replace(kernel, select=select(columns, f"({kernel.select})"))

    def _sql(self, name: str) -> str:
        if name not in self.codes:
            return identifier(name)
        numbers = (f"({code.sql} << {shift})" for code, shift in _placed(self.codes[name]))
        return f"{' | '.join(numbers)} AS {name}"

    def unpacked(self, schema: spark.StructType) -> Iterator[Column]:
        """Yield the published columns, which have this schema, from the packed ones."""
        for name in self.types:
            if name not in self.codes:
                yield column(name)
            for code, shift in _placed(self.codes.get(name, ())):
                number = f.shiftright(name, shift).bitwiseAND((1 << code.bits) - 1)
                yield code.value(number, schema[code.name].dataType).alias(code.name)


def _placed(codes: Sequence[NumberedColumn]) -> Iterator[tuple[NumberedColumn, int]]:
    """Yield each code with the number of bits behind it."""
    shift = sum(code.bits for code in codes)
    for code in codes:
        shift -= code.bits
        yield code, shift
