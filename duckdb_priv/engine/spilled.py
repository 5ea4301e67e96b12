"""Records that do not fit in memory, in a temporary file, and rows that are computed while DuckDB reads them.

A file takes less time than a temporary table, and can be written while the cursor reads. It has no name, and is
encrypted with a key that is only in memory. So it reveals nothing, whether or not the database is encrypted.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from duckdb_priv.errors import PublicationFailed

BLOCK = 16
"""Bytes in a block of AES."""


@dataclass(frozen=True)
class Rows:
    """Rows that DuckDB can read under a registered name, any number of times.

    >>> import duckdb
    >>> table = pa.table({"n": [1, 2]})
    >>> with duckdb.connect() as connection:
    ...     _ = connection.register("rows", Rows(table.schema, lambda: iter([table])))
    ...     connection.execute("SELECT sum(n) FROM rows").fetchall()
    [(3,)]
    """

    schema: pa.Schema
    tables: Callable[[], Iterator[pa.Table]]
    """Makes the rows, piece by piece. The cursor that reads them is busy meanwhile."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the rows as an Arrow stream."""
        batches = (batch for table in self.tables() for batch in table.to_batches())
        reader = pa.RecordBatchReader.from_batches(self.schema, batches)
        return reader.__arrow_c_stream__(requested_schema)


class SpilledRecords:
    """Records in a file, in ``2**bits`` ranges of a random order.

    Raises PublicationFailed if the disk is full, or the folder may not be written to.

    >>> spilled = SpilledRecords(Path("."), bits=1)
    >>> spilled.add(pa.table({"n": [7, 8, 9]}), np.array([1 << 63, 5, 1 << 63], np.uint64))
    >>> [part["n"].to_pylist() for part in spilled.parts()]
    [[8], [7, 9]]
    >>> spilled.close()
    """

    def __init__(self, folder: Path, bits: int) -> None:
        # DuckDB makes its temporary folder when it needs it first.
        existing = next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
        self.bits = bits
        self.schema = pa.schema([])
        self._folder = existing
        with self._writing():
            self._file = tempfile.TemporaryFile(dir=existing)  # noqa: SIM115
        self._guard = threading.Lock()
        self._key = os.urandom(32)
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(1 << bits)]
        """By range: where its batches begin, and their lengths."""
        self._end = 0

    def add(self, records: pa.Table, order: NDArray[np.uint64]) -> None:
        """Add records with the 64 random bits that order them."""
        self.schema = records.schema
        records, ends = records.combine_chunks(), np.array([len(records)])
        if self.bits:
            number = (order >> np.uint64(64 - self.bits)).astype(np.uint16)
            # numpy sorts 16 bits in linear time.
            records = records.take(np.argsort(number, kind="stable"))
            ends = np.cumsum(np.bincount(number, minlength=len(self._places)))
        for places, start, end in zip(self._places, [0, *ends[:-1]], ends, strict=True):
            for batch in records.slice(start, end - start).to_batches():
                data = memoryview(batch.serialize()).cast("B")
                places.append((self._end, len(data)))
                with self._writing():
                    self._file.seek(self._end)
                    self._file.write(self._encrypted(data, self._end))
                self._end += -(-len(data) // BLOCK) * BLOCK

    def parts(self) -> Iterator[pa.Table]:
        """Yield the records of each range, in the order of the ranges."""
        for places in filter(None, self._places):
            batches = [self._read(*place) for place in places]
            yield pa.Table.from_batches(batches, self.schema).combine_chunks()

    def rows(self) -> Rows:
        """Return all records."""
        return Rows(self.schema, self.parts)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def _read(self, start: int, length: int) -> pa.RecordBatch:
        with self._guard:
            self._file.seek(start)
            data = self._file.read(length)
        return pa.ipc.read_record_batch(pa.py_buffer(self._encrypted(data, start)), self.schema)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise PublicationFailed(
                f"the records do not fit in memory, and {str(self._folder)!r} takes no more: {error.strerror}",
                hint="SET temp_directory to a folder with more space, or raise memory_limit",
            ) from error

    def _encrypted(self, data: Any, start: int) -> memoryview:
        """Encrypt or decrypt bytes. No two places of the file share a counter."""
        counter = (start // BLOCK).to_bytes(BLOCK, "big")
        encryptor = Cipher(algorithms.AES(self._key), modes.CTR(counter)).encryptor()
        # The library needs a buffer with one more block, which it never fills.
        changed = np.empty(len(data) + BLOCK - 1, np.uint8)
        encryptor.update_into(data, changed.data)
        return changed[: len(data)].data
