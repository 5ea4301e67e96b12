"""Sorts the encodings in the footer of a Parquet file, so that equal rows give equal files.

Spark's writer keeps the encodings of a column in a Java set, whose order differs between processes. So files of the
same rows and pages differ in three bytes per column if different executors write them. The encodings are sorted in
place, and no other byte changes.

Source: https://parquet.apache.org/docs/file-format/metadata/, and the compact protocol of Apache Thrift.
"""

from __future__ import annotations

import os
from pathlib import Path

from duckdb_priv.errors import PublicationFailed

MAGIC = b"PAR1"
ENCODINGS = (4, 1, 3, 2)
"""The path of fields to a column's encodings: row groups, columns, metadata, encodings."""
WIDTHS = {1: 0, 2: 0, 3: 1, 7: 8, 13: 16}
"""Bytes of fixed-width fields by their Thrift type: true and false, byte, double, UUID."""
NUMBERS = (4, 5, 6)
BINARY, LIST, SET, MAP, STRUCT = 8, 9, 10, 11, 12
LONG = 15
"""The value of the length's four bits if a list is too long for them."""


def sort_encodings(file: Path) -> None:
    """Sort the encodings of every column in a Parquet file's footer."""
    with file.open("r+b") as opened:
        opened.seek(-8, os.SEEK_END)
        size, magic = int.from_bytes(opened.read(4), "little"), opened.read(4)
        if magic != MAGIC:
            raise PublicationFailed(
                "Spark wrote files that have encrypted footers or are not Parquet files",
                hint="nothing was recorded; switch off the encryption of Parquet files for this session",
            )
        opened.seek(-8 - size, os.SEEK_END)
        footer = Footer(bytearray(opened.read(size)))
        footer.visit(STRUCT)
        opened.seek(-8 - size, os.SEEK_END)
        opened.write(footer.data)


class Footer:
    """A footer in Thrift's compact protocol, parsed from its beginning to its end.

    >>> footer = Footer(bytearray.fromhex("491c191c3c293508040600000000"))
    >>> footer.visit(STRUCT)
    >>> footer.data.hex()
    '491c191c3c293504060800000000'
    """

    def __init__(self, data: bytearray) -> None:
        self.data, self.place = data, 0

    def visit(self, kind: int, path: tuple[int, ...] = ()) -> None:
        """Skip the value at the path of field numbers ``path``, and sort the encodings in it."""
        if kind == STRUCT:
            field = 0
            while header := self._byte():
                field = field + (header >> 4) if header >> 4 else self._number() >> 1
                self.visit(header & 15, (*path, field))
        elif kind in (LIST, SET):
            header = self._byte()
            self._visit_all(
                self._number() if header >> 4 == LONG else header >> 4, [header & 15], path
            )
        elif kind == MAP:
            if size := self._number():
                kinds = self._byte()
                self._visit_all(size, [kinds >> 4, kinds & 15], path)
        elif kind in NUMBERS:
            self._number()
        else:
            width = self._number() if kind == BINARY else WIDTHS[kind]
            self.place += width

    def _visit_all(self, size: int, kinds: list[int], path: tuple[int, ...]) -> None:
        begin = self.place
        for _ in range(size):
            for kind in kinds:
                # A boolean is in the header of a field, but takes one byte in a list.
                self.visit(max(kind, 3), path)
        if path == ENCODINGS:
            # Each encoding takes one byte.
            self.data[begin : self.place] = bytes(sorted(self.data[begin : self.place]))

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _number(self) -> int:
        found = shift = 0
        while (byte := self._byte()) & 128:
            found |= (byte & 127) << shift
            shift += 7
        return found | byte << shift
