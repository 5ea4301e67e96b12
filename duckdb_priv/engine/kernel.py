"""A record kernel: the steps that turn records into published rows, as data that any DuckDB can run.

A plan is made from counts of the source. Its kernel holds the SQL for each record, the small tables that this SQL
reads, and the derived keys of its noise. It never holds the secret itself. A kernel can be pickled and run in another
process without the publisher's database. ``run`` takes a bare connection and any stream of Arrow record batches, and
yields the rows that publishing yields. Publishing uses the same code (``opened``), with the source as the records.

The SQL has placeholders (``place``) for the records and for each source of random bits; they are filled when the kernel
is opened. Keys are never in SQL. SQL refers to a source by a number that is valid only while the kernel is open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pyarrow as pa

from duckdb_priv.engine import randomness, udfs
from duckdb_priv.engine.byte_order import COUNTED, counted_rows
from duckdb_priv.engine.drawing import PIECE, Drawing, Room
from duckdb_priv.engine.instance import standardized
from duckdb_priv.engine.threads import threads_of
from duckdb_priv.errors import InvalidSource
from duckdb_priv.mechanism.decoy_groups import RangedGroups
from duckdb_priv.sqltext.quoting import identifier, in_types
from duckdb_priv.sqltext.reading import lay_out
from duckdb_priv.sqltext.templates import fill

RECORDS = "records"
"""The placeholder of the records, a table expression, in a kernel's SQL."""
DRAWN = "drawn"
"""The placeholder of records with their random bits, in the SQL of a kernel that has a drawing."""
STREAM = "_priv_stream"
AT_ONCE = "_priv_drawn"


Counting = Callable[[str], Mapping[str, str] | None]
"""Returns the column types of a query if equal rows are counted while they are made; None if not."""


@dataclass(frozen=True)
class Table:
    """A small table of data, and the SELECT list that casts its values to DuckDB types."""

    data: bytes = field(repr=False)
    """The columns as an Arrow IPC stream."""
    columns: str = "*"
    """The SELECT list over these columns."""

    @classmethod
    def of(cls, columns: Mapping[str, Any], select: str = "*") -> Table:
        """Pack columns.

        >>> Table.of({"position": [0, 1]}).read().num_rows
        2
        """
        table, sink = pa.table(dict(columns)), pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return cls(sink.getvalue().to_pybytes(), select)

    def read(self) -> pa.Table:
        """Unpack the columns, before they are cast."""
        return pa.ipc.open_stream(self.data).read_all()


@dataclass(frozen=True)
class Step:
    """A temporary table that is made from the records before any row is published."""

    table: str
    select: str = field(repr=False)
    """The query of its rows."""


@dataclass(frozen=True)
class Kernel:
    """The work done on each record, as data.

    >>> from duckdb_priv.engine.randomness import KeyedBits
    >>> from duckdb_priv.sqltext.templates import place
    >>> bits = KeyedBits.derive(bytes(32), "demonstration")
    >>> kernel = Kernel(
    ...     {"id": "BIGINT"},
    ...     f"SELECT id, _priv_bits({place('random')}::UBIGINT, id, NULL::VARCHAR, 0::UINTEGER) % 2 AS coin"
    ...     f" FROM {place(RECORDS)}",
    ...     random_bits={"random": bits},
    ... )
    >>> stream = pa.table({"id": [7, 8, 9]}).to_reader()
    >>> with duckdb.connect() as bare:
    ...     pa.Table.from_batches(kernel.run(bare, stream))["coin"].to_pylist()
    [0, 0, 1]
    """

    reads: Mapping[str, str]
    """The columns that the kernel reads of a record, and their types."""
    select: str = field(repr=False)
    """The query of the published rows, in no particular order."""
    random_bits: Mapping[str, randomness.KeyedBits | randomness.FreshBits] = field(
        default_factory=dict
    )
    """Sources of random bits, by placeholder."""
    drawing: Drawing | None = None
    """The records and keys for which bits are drawn, if the SQL has the placeholder DRAWN."""
    groups: Mapping[str, RangedGroups] = field(default_factory=dict)
    """Decoy groups, by placeholder."""
    tables: Mapping[str, Table] = field(default_factory=dict)
    """Small tables that the SQL reads, by name."""
    steps: Sequence[Step] = ()
    """Temporary tables that are made first; none if each record is perturbed by itself."""
    alone: bool = True
    """Whether a row depends on its record and on no other, so that records may come in pieces."""
    gathers: bool = False
    """Whether the kernel returns counts of a batch instead of one row per record."""
    together: tuple[str, ...] | None = None
    """Partition key: a row depends only on records with equal values here; None: on any record. If each record is
    perturbed by itself, records with equal values should go to one process, one after the other."""
    before: tuple[Kernel, ...] = ()
    """Earlier stages, in order: each reads the rows of the previous one, and this kernel reads the rows of the last. So
    records can be grouped several times, by different columns."""

    @property
    def stages(self) -> tuple[Kernel, ...]:
        """Return the stages in order, this kernel last."""
        return (*self.before, replace(self, before=()))

    def renamed(self, columns: Mapping[str, str]) -> Kernel:
        """Return the kernel with its published columns renamed."""
        if not columns:
            return self
        names = ", ".join(f"{identifier(a)} AS {identifier(b)}" for a, b in columns.items())
        return replace(self, select=f"SELECT * RENAME ({names}) FROM ({self.select})")

    @contextmanager
    def opened(
        self,
        cursor: duckdb.DuckDBPyConnection,
        records: str,
        staged: Collection[str] = (),
        room: Room | None = None,
        again: str | None = None,
        counting: Counting | None = None,
    ) -> Iterator[str]:
        """Make tables and bit sources on a cursor, and return the query of the published rows over a table.

        ``staged`` names the steps whose tables exist already (``stage``). If ``room`` says that the records fit in
        memory, their bits are drawn at once and the query reads them there. If not, a kernel that gathers reads a
        stream of the records, and so do rows that ``counting`` counts: they become ``counted_rows``. Otherwise, a query
        that runs several times would draw the bits ``again``, so it reads the rows from a temporary table of this name.
        The sources are valid until the context ends.
        """
        with ExitStack() as stack:
            for stage in self.before:
                records = f"({stack.enter_context(stage.opened(cursor, records))})"
            fillings = stack.enter_context(self._filled(cursor, records))
            self._make(cursor, fillings, staged)
            select = self.select
            if room and self.drawing:
                query = fill(self.drawing.records, fillings)
                table = self.drawing.at_once(cursor, query, self.random_bits, room)
                if table is not None:
                    fillings = {**fillings, DRAWN: f"FROM {AT_ONCE}"}
                elif self.gathers:
                    table = self._gathered(cursor, fillings, query, select)
                    select = f"FROM {AT_ONCE}"
                elif counting and (types := counting(fill(select, fillings))):
                    table = self._gathered(cursor, fillings, query, counted_rows(select))
                    select = f"SELECT {in_types(types)}, {COUNTED} FROM {AT_ONCE}"
                if table is not None:
                    cursor.register(AT_ONCE, table)
                    stack.callback(cursor.unregister, AT_ONCE)
                    again = None
            rows = fill(select, fillings)
            if again:
                cursor.execute(f"CREATE OR REPLACE TEMP TABLE {again} AS {rows}")
                stack.callback(cursor.execute, f"DROP TABLE {again}")
                rows = f"FROM {again}"
            yield rows

    def _gathered(
        self,
        cursor: duckdb.DuckDBPyConnection,
        fillings: Mapping[str, str],
        records: str,
        select: str,
    ) -> pa.Table:
        """Return what a query gathers from records, in another DuckDB that reads them as a stream with their bits."""
        assert self.drawing
        # DuckDB knows no size of a stream, and would make the hash tables of joins from its records.
        config: dict[str, Any] = {
            "threads": threads_of(cursor),
            "disabled_optimizers": "join_order, build_side_probe_side",
        }
        with duckdb.connect(config=config) as bare:
            for name, table in self.tables.items():
                create_table(bare, name, table)
            failed: list[BaseException] = []
            bare.register(AT_ONCE, self.drawing.stream(cursor, records, self.random_bits, failed))
            query = fill(select, {**fillings, DRAWN: f"FROM {AT_ONCE}"})
            try:
                return bare.sql(query).to_arrow_table()
            except duckdb.Error as error:
                raise (failed or [error])[0] from None

    def stage(
        self, cursor: duckdb.DuckDBPyConnection, records: str, staged: Collection[str] = ()
    ) -> None:
        """Make the tables of all steps in advance, except those in ``staged``.

        Queries can then count in these tables, and publishing does not make them again.
        """
        with self._filled(cursor, records) as fillings:
            self._make(cursor, fillings, staged)

    @contextmanager
    def _filled(
        self, cursor: duckdb.DuckDBPyConnection, records: str
    ) -> Iterator[Mapping[str, str]]:
        with ExitStack() as stack:
            fillings = {RECORDS: records}
            if self.drawing:
                fillings[DRAWN] = self.drawing.sql
            for name, bits in self.random_bits.items():
                fillings[name] = str(number := randomness.open_stream(bits))
                stack.callback(randomness.close_stream, number)
            for name, groups in self.groups.items():
                fillings[name] = str(number := udfs.open_groups(groups))
                stack.callback(udfs.close_groups, number)
            for name, table in self.tables.items():
                create_table(cursor, name, table)
            yield fillings

    def _make(
        self,
        cursor: duckdb.DuckDBPyConnection,
        fillings: Mapping[str, str],
        staged: Collection[str] = (),
    ) -> None:
        for step in self.steps:
            if step.table not in staged:
                select = fill(step.select, fillings)
                cursor.execute(f"CREATE OR REPLACE TEMP TABLE {step.table} AS {select}")

    def run(
        self, connection: duckdb.DuckDBPyConnection, stream: pa.RecordBatchReader
    ) -> Iterator[pa.RecordBatch]:
        """Yield the published rows of a stream of records, in no particular order, on any connection.

        The stream must have the columns that the kernel reads, and may have more. If each record is perturbed by
        itself, the stream is read in batches; otherwise it becomes a temporary table first. Raises InvalidSource for a
        missing column, and for a record whose value is not in the plan.
        """
        udfs.register(connection)
        reads = self.stages[0].reads
        names = [name.lower() for name in stream.schema.names]
        if missing := [name for name in reads if name.lower() not in names]:
            raise InvalidSource(
                f"the records have no column {missing[0]!r}",
                hint=f"the kernel reads {', '.join(map(repr, reads))}",
            )
        records = f"(SELECT {in_types(reads) or '*'} FROM {STREAM})"
        with standardized(connection.cursor()) as cursor:
            if self.alone and not self.before:
                yield from self._run_in_pieces(cursor, records, stream)
                return
            cursor.register(STREAM, stream)
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE _priv_records AS FROM {records}")
            with self.opened(cursor, "temp.main._priv_records") as select:
                yield from cursor.sql(select).to_arrow_reader(PIECE)

    def _run_in_pieces(
        self, cursor: duckdb.DuckDBPyConnection, records: str, stream: pa.RecordBatchReader
    ) -> Iterator[pa.RecordBatch]:
        with self.opened(cursor, records) as select:
            for piece in merged(stream):
                cursor.register(STREAM, piece)
                missing = piece.num_rows
                for batch in cursor.sql(select).to_arrow_reader(PIECE):
                    missing -= batch.num_rows
                    yield batch
                if missing and not self.gathers:
                    raise InvalidSource(
                        f"{missing} records have a value that the plan does not know",
                        hint="plan again, from counts of these very records",
                    )


def merged(stream: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Merge batches into larger ones of about PIECE records, so that many small batches cost no more than a few."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in stream:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= PIECE:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting).combine_chunks()


def create_table(cursor: duckdb.DuckDBPyConnection, name: str, table: Table) -> None:
    """Create a temporary table from a small table of data."""
    lay_out(cursor, name, table.read(), table.columns)
