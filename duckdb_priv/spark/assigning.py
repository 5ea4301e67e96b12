"""The questions about records in decoy groups, answered by Spark.

Each question draws the bits of records again, since they are a function of the record. Counts come to the driver.
The marks that recognize a record grow with the records: Spark writes them into files beside the release, and DuckDB
reads them into the publisher's database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from duckdb_priv.engine.aggregates import (
    AssignedAggregates,
    among_sql,
    cell_sql,
    order_sql,
    word_sql,
)
from duckdb_priv.engine.kernel import RECORDS, Kernel
from duckdb_priv.engine.source import Source
from duckdb_priv.spark.files import in_duckdb
from duckdb_priv.spark.frame import SparkFrame
from duckdb_priv.spark.tasks import Ask, in_tasks
from duckdb_priv.sqltext.quoting import identifiers
from duckdb_priv.sqltext.signed import HALF, signed, unsigned
from duckdb_priv.sqltext.templates import place

CELLS = "attribute int, cell bigint, records bigint, high bigint, low bigint, total decimal(38,0)"
"""What is counted: records of a cell, and the parity and the sum of their order bits."""
LOW = (1 << 32) - 1
MARK = "_priv_mark"


@dataclass(frozen=True)
class SparkAssigned(AssignedAggregates):
    """What is asked of the records of a frame."""

    source: Source
    frame: SparkFrame
    assigning: Kernel = field(repr=False)
    """Gives the rows that AssignedAggregates speaks of, marks included."""
    bits: tuple[int, ...]

    def _asked(self, *question: object) -> tuple[object, ...]:
        """Name a question, which is about the published records, with these bits."""
        return (*question, *self.assigning.random_bits.values(), self.frame.known)

    def _from_tasks(self, select: str, schema: str) -> DataFrame:
        """Ask the tasks piece by piece; ``select`` reads the rows from ``assigned``."""
        query = f"WITH assigned AS MATERIALIZED ({self.assigning.select}) {select}"
        work = Ask(replace(self.assigning, select=query), self.frame.setting)
        return in_tasks(self.frame.records(self.assigning.reads), work, schema)

    def _cells(self) -> pa.Table:
        """Count the records by attribute and cell."""

        def counted() -> DataFrame:
            # Spark has no unsigned numbers of 64 bits whose parity it could tell, so they come as two halves.
            select = " UNION ALL ".join(
                f"SELECT {n} AS attribute, ({cell_sql(n, bits)})::BIGINT AS cell, count(*) AS records,"
                f" bit_xor({order_sql(n)} >> 32::UBIGINT)::BIGINT AS high,"
                f" bit_xor({order_sql(n)} & {LOW}::UBIGINT)::BIGINT AS low,"
                f" sum({order_sql(n)}::HUGEINT)::DECIMAL(38, 0) AS total FROM assigned GROUP BY ALL"
                for n, bits in enumerate(self.bits)
            )
            return (
                self._from_tasks(select, CELLS)
                .groupBy("attribute", "cell")
                .agg(
                    *(f.sum(name).alias(name) for name in ("records", "total")),
                    *(f.bit_xor(name).alias(name) for name in ("high", "low")),
                )
            )

        return self.frame.ask(self._asked("cells", *self.bits), counted)

    def _cells_of(self, n: int) -> pa.Table:
        cells = self._cells()
        return cells.filter(pc.equal(cells["attribute"], n))

    def digest(self, n: int) -> str:
        """Add the cells up."""
        cells = self._cells_of(n)
        high, low = (
            int(np.bitwise_xor.reduce(cells[name].to_numpy(), initial=0))
            for name in ("high", "low")
        )
        records, total = (sum(map(int, cells[name].to_pylist())) for name in ("records", "total"))
        return f"{records}/{(high << 32) + low}/{total}"

    def counts(self, n: int, values: int, bits: int) -> NDArray[np.int64]:
        """Return the counts by cell, as an array (values, 2**bits)."""
        cells = self._cells_of(n)
        counts = np.zeros((values, 1 << bits), np.int64)
        counts.reshape(-1)[cells["cell"].to_numpy()] = cells["records"].to_numpy()
        return counts

    def last(
        self, last: Mapping[int, tuple[int, int]], attributes: int, bits: int
    ) -> list[tuple[tuple[int, int, int], ...]]:
        """Fetch the last records of some values: as many of each as of the one that leaves most out."""
        if not last:
            return []
        names = [f"{each}{n}" for n in range(attributes) for each in ("code", "order", "word")]
        columns = (
            column
            for n in range(attributes)
            for column in (f"_code{n}", signed(order_sql(n)), signed(word_sql(n)))
        )
        made = ", ".join(
            f"({column})::BIGINT AS {name}" for column, name in zip(columns, names, strict=True)
        )
        select = f"SELECT {made} FROM assigned WHERE {among_sql(last, bits)}"
        most = max(number for number, _ in last.values())
        backwards = Window.partitionBy("code0").orderBy(f.desc("order0"), f.desc("word0"))

        def found() -> DataFrame:
            return (
                self._from_tasks(select, ", ".join(f"{name} bigint" for name in names))
                .withColumn("place", f.row_number().over(backwards))
                .where(f.col("place") <= most)
            )

        rows = self.frame.ask(self._asked("last", select), found).to_pylist()
        return [
            tuple(
                (row[f"code{n}"], row[f"order{n}"] + HALF, row[f"word{n}"] + HALF)
                for n in range(attributes)
            )
            for row in rows
            if row["place"] <= last[row["code0"]][0]
        ]

    def marks(self, kept: str = "true") -> str:
        """Let Spark write the marks into files."""
        select = f"SELECT {signed('_random0.mark')} AS mark FROM assigned WHERE {kept}"
        folder = self.frame.write(
            self._asked("marks", kept), lambda: self._from_tasks(select, "mark bigint")
        )
        return f"(SELECT {unsigned('mark')} AS mark FROM {in_duckdb(folder)})"

    def leave_out(self, known: str) -> int:
        """Let Spark leave records out, whose marks it finds in a file that DuckDB writes."""
        folder, self.frame.known = self.frame.stored_rows(
            self.workspace, f"SELECT DISTINCT {signed('mark')} AS {MARK} FROM ({known})"
        )
        marks = self.frame.transfer.read(folder)
        types = self.source.read_types
        number, text = self.source.id_arguments
        bits = f"_priv_bits({place('marks')}::UBIGINT, {number}, {text}, 0::UINTEGER)"
        marking = Kernel(
            types,
            f"SELECT {identifiers(list(types))}, {signed(bits)} AS {MARK} FROM {place(RECORDS)} AS s",
            {"marks": self.assigning.random_bits["marks"]},
        )
        marked = self.frame.beside(marking, MARK)
        self.frame.entering = marked.join(marks, MARK, "left_anti").drop(MARK)
        return sum(self._cells_of(0)["records"].to_pylist())
