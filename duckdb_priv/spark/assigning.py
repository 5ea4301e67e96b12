"""Computes the aggregates of records in decoy groups with Spark.

Each job computes the records' keyed bits again. The driver fetches counts. The marks by which the ledger recognizes
records are as many as the records: Spark writes them to files beside the release, and DuckDB reads these files into the
publisher's database.
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
from duckdb_priv.spark.tasks import Perturb, in_tasks
from duckdb_priv.sqltext.quoting import identifiers
from duckdb_priv.sqltext.signed import HALF, signed, unsigned
from duckdb_priv.sqltext.templates import place

CELLS = "attribute int, cell bigint, records bigint, parity bigint, total decimal(38,0)"
"""The columns of a count: the records of a cell, and the parity and the sum of their order bits."""
MARK = "_priv_mark"


@dataclass(frozen=True)
class SparkAssigned(AssignedAggregates):
    """The aggregates of a frame's records in decoy groups."""

    source: Source
    frame: SparkFrame
    assigning: Kernel = field(repr=False)
    """Computes the rows that AssignedAggregates describes, with the marks."""
    bits: tuple[int, ...]

    def _asked(self, *question: object) -> tuple[object, ...]:
        """Return the key of a job about the records to publish with the current random bits."""
        return (*question, *self.assigning.random_bits.values(), self.frame.known)

    def _from_tasks(self, select: str, schema: str) -> DataFrame:
        """Run ``select`` in the tasks, on each piece of the records; it reads the rows from ``assigned``."""
        query = f"WITH assigned AS MATERIALIZED ({self.assigning.select}) {select}"
        work = Perturb(replace(self.assigning, select=query, gathers=True), self.frame.setting)
        return in_tasks(self.frame.records(self.assigning.reads), work, schema)

    def _cells(self) -> pa.Table:
        """Count the records by attribute and cell."""

        def counted() -> DataFrame:
            # Spark has no unsigned numbers, so a BIGINT holds the 64 bits of the parity.
            select = " UNION ALL ".join(
                f"SELECT {n} AS attribute, ({cell_sql(n, bits)})::BIGINT AS cell, count(*) AS records,"
                f" bit_xor({order_sql(n)})::BIT::BIGINT AS parity,"
                f" sum({order_sql(n)}::HUGEINT)::DECIMAL(38, 0) AS total FROM assigned GROUP BY ALL"
                for n, bits in enumerate(self.bits)
            )
            return (
                self._from_tasks(select, CELLS)
                .groupBy("attribute", "cell")
                .agg(
                    *(f.sum(name).alias(name) for name in ("records", "total")),
                    f.bit_xor("parity").alias("parity"),
                )
            )

        return self.frame.ask(self._asked("cells", *self.bits), counted)

    def _cells_of(self, n: int) -> pa.Table:
        cells = self._cells()
        return cells.filter(pc.equal(cells["attribute"], n))

    def digest(self, n: int) -> str:
        """Return a digest over the cells of attribute ``n``."""
        cells = self._cells_of(n)
        parity = int(np.bitwise_xor.reduce(cells["parity"].to_numpy(), initial=0))
        records, total = (sum(map(int, cells[name].to_pylist())) for name in ("records", "total"))
        return f"{records}/{parity % (1 << 64)}/{total}"

    def counts(self, n: int, values: int, bits: int) -> NDArray[np.int64]:
        """Return the counts by cell, as an array (values, 2**bits)."""
        cells = self._cells_of(n)
        counts = np.zeros((values, 1 << bits), np.int64)
        counts.reshape(-1)[cells["cell"].to_numpy()] = cells["records"].to_numpy()
        return counts

    def last(
        self, last: Mapping[int, tuple[int, int]], attributes: int, bits: int
    ) -> list[tuple[tuple[int, int, int], ...]]:
        """Return the last records of each value in ``last``; the number of them is the entry's first element."""
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
        """Write the marks to files with Spark; return the SQL that reads them."""
        select = f"SELECT {signed('_mark')} AS mark FROM assigned WHERE {kept}"
        folder = self.frame.write(
            self._asked("marks", kept), lambda: self._from_tasks(select, "mark bigint")
        )
        return f"(SELECT {unsigned('mark')} AS mark FROM {in_duckdb(folder)})"

    def leave_out(self, known: str) -> int:
        """Exclude the records whose marks are in ``known``; return how many records are left."""
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
