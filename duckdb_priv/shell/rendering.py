"""Prints results in the formats of DuckDB's shell, from Arrow batches that are read once.

A statement such as ``FROM priv.publish_…`` has effects, so printing must not run it again. The printer passes the
batches to a DuckDB connection of its own, which formats every type as text and draws boxes. The user's connection is
not used.
"""

from __future__ import annotations

import io
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial

import duckdb
import pyarrow as pa
from rich.cells import cell_len

BATCH_ROWS = 2048
"""Rows of one Arrow batch."""
BOX_FETCHED = 10_000
"""The largest number of rows that are fetched for a box. The box says if the result is longer."""
BOX_SHOWN = 40
"""Rows that a box shows, unless .maxrows says otherwise."""
STATEMENT = "statement"
"""The column whose first value is printed in full below the box, so that you can paste it."""
FINDINGS = ["severity", "columns", "what", "do"]
"""The columns of ``priv.check_source``, whose sentences a box would cut."""
UNLIMITED = 1 << 20
"""Width of a box that is not printed on a terminal."""

QUOTED = re.compile(r"[^ !#-&(-+\--~]")
"""A character that needs quotes in CSV: a comma, a quote, or a character that is not printable ASCII."""
NUMERIC = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\)|\"NULL\")$")
JSON_BARE = re.compile(
    r"(BOOLEAN|U?(TINY|SMALL)INT|U?INTEGER|BIGINT|FLOAT|DOUBLE)$|(STRUCT|MAP|UNION|TUPLE)\(|.*\]$"
)
"""Types that JSON writes without quotes; it writes others as text, so that no digit is lost."""


def prepare(connection: duckdb.DuckDBPyConnection) -> None:
    """Set a connection to export every type to Arrow without loss, also HUGEINT and TIMETZ."""
    # A connection with locked settings, as ``open_for_reading`` makes it, has this setting already.
    ((lossless,),) = connection.execute(
        "SELECT current_setting('arrow_lossless_conversion')"
    ).fetchall()
    if not lossless:
        connection.execute("SET arrow_lossless_conversion = true")


class Printer:
    """Turns a result into text, in one of the output modes."""

    def __init__(self) -> None:
        self.mode = "duckbox"
        self.headers = True
        self.width: int | None = None
        """Columns of the terminal; None if the output is not a terminal."""
        self.max_rows = BOX_SHOWN
        self._engine = duckdb.connect()
        prepare(self._engine)

    def close(self) -> None:
        """Close the printer's own DuckDB."""
        self._engine.close()

    def chunks(self, reader: pa.RecordBatchReader) -> Iterator[str]:
        """Read a result once, and yield its text in pieces.

        >>> con, printer = duckdb.connect(), Printer()
        >>> printer.mode = "list"
        >>> "".join(printer.chunks(con.sql("SELECT 1 AS a, NULL AS b").to_arrow_reader()))
        'a|b\\n1|NULL\\n'
        >>> con.close(), printer.close()
        (None, None)
        """
        return MODES[self.mode](self, reader)

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[duckdb.DuckDBPyRelation]:
        """Yield the batches with numbered columns, since two columns of a result may have the same name."""
        self._set_time_zone(reader.schema)
        for batch in reader:
            if batch.num_rows:
                yield self._engine.from_arrow(numbered(pa.Table.from_batches([batch])))

    def _set_time_zone(self, schema: pa.Schema) -> None:
        zones = re.findall(r"tz=([^\]]+)\]", str(schema))
        self._engine.execute("SET TimeZone = ?", [zones[0] if zones else "UTC"])

    def _rows(self, reader: pa.RecordBatchReader) -> Iterator[tuple[str, ...]]:
        """Yield every row as texts; a missing value is the text NULL."""
        for batch in self._batches(reader):
            rows = batch.project("coalesce(CAST(COLUMNS(*) AS VARCHAR), 'NULL')").fetchall()
            yield from rows if self.width is None else (tuple(map(in_line, row)) for row in rows)

    def _names(self, schema: pa.Schema) -> list[str]:
        return schema.names if self.width is None else list(map(in_line, schema.names))

    def _types(self, schema: pa.Schema) -> list[str]:
        empty = self._engine.from_arrow(numbered(pa.Table.from_batches([], schema=schema)))
        return [str(each) for each in empty.types]

    def _json(self, reader: pa.RecordBatchReader) -> Iterator[str]:
        """Yield every row as a JSON object."""
        names = [json.dumps(name, ensure_ascii=False) for name in reader.schema.names]
        fields = ", ".join(
            json_field(f"c{i}", each) for i, each in enumerate(self._types(reader.schema))
        )
        for batch in self._batches(reader):
            for row in batch.project(fields).fetchall():
                yield (
                    "{"
                    + ",".join(
                        f"{name}:{'null' if value is None else value}"
                        for name, value in zip(names, row, strict=True)
                    )
                    + "}"
                )

    def _duckbox(self, reader: pa.RecordBatchReader) -> Iterator[str]:
        self._set_time_zone(reader.schema)
        batches: list[pa.RecordBatch] = []
        fetched = 0
        wanted = max(BOX_FETCHED, self.max_rows)
        while fetched < wanted and (batch := next(reader, None)) is not None:
            batches.append(batch)
            fetched += batch.num_rows
        table = pa.Table.from_batches(batches, schema=reader.schema).slice(0, wanted)
        if self.width is not None and table.num_rows == 1 and self._is_too_wide(table):
            yield self._upright(table)
            return
        if self.width is not None and table.column_names == FINDINGS and table.num_rows:
            yield from self._findings(table, self.width)
            return
        relation = self._engine.from_arrow(table.rename_columns(unique(table.column_names)))
        drawn = io.StringIO()
        with redirect_stdout(drawn):
            relation.show(max_width=self.width or UNLIMITED, max_rows=self.max_rows)
        yield drawn.getvalue().rstrip("\n") + "\n"
        if self.width is not None:
            yield from self._first_statement(table, drawn.getvalue())

    def _first_statement(self, table: pa.Table, drawn: str) -> Iterator[str]:
        """Write the first row's statement in full if the box cuts it, on one line so that you can paste it."""
        if STATEMENT in table.column_names and table.num_rows:
            (text,) = next(self._rows(table.slice(0, 1).select([STATEMENT]).to_reader()))
            if text not in drawn:
                yield f"{STATEMENT} of the first row:\n{text}\n"

    def _findings(self, table: pa.Table, width: int) -> Iterator[str]:
        """Write each finding as a heading and two paragraphs: what was found and what to do."""
        for severity, columns, what, do in zip(*(each.to_pylist() for each in table), strict=True):
            yield f"{severity}: {', '.join(columns)}\n" if columns else f"{severity}\n"
            for mark, text in (("  ", what), ("  do: ", do)):
                lines = textwrap.wrap(
                    text,
                    width,
                    initial_indent=mark,
                    subsequent_indent=" " * len(mark),
                    break_on_hyphens=False,
                )
                yield "".join(f"{line}\n" for line in lines)

    def _upright(self, table: pa.Table) -> str:
        """Write one row as a list of columns and their values, with long values wrapped."""
        (row,) = self._rows(table.to_reader())
        names = list(map(in_line, table.column_names))
        lists = [_lines(column[0]) for column in table.columns]
        label = max(map(cell_len, names))
        room = max((self.width or UNLIMITED) - label - len("  "), 20)
        lines = []
        for name, value, listed in zip(names, row, lists, strict=True):
            pieces = [
                piece
                for text in (listed or [value])
                for piece in textwrap.wrap(text, room, break_on_hyphens=False)
            ] or [""]
            heads = [" " * (label - cell_len(name)) + name, *[" " * label] * (len(pieces) - 1)]
            lines += [f"{head}  {piece}\n" for head, piece in zip(heads, pieces, strict=True)]
        return "".join(lines)

    def _is_too_wide(self, table: pa.Table) -> bool:
        """Return whether a box of this row would hide columns or cut texts."""
        (row,) = self._rows(table.to_reader())
        needed = sum(
            max(cell_len(name), max(map(cell_len, value.splitlines() or [""]))) + len("│  ")
            for name, value in zip(table.column_names, row, strict=True)
        )
        return needed + 1 > (self.width or UNLIMITED)

    def _separated(
        self,
        reader: pa.RecordBatchReader,
        separator: str,
        end: str = "\n",
        field: Callable[[str], str] = str,
    ) -> Iterator[str]:
        """Yield the header, if wanted, and every row."""
        if self.headers:
            yield separator.join(map(field, self._names(reader.schema))) + end
        for row in self._rows(reader):
            yield separator.join(map(field, row)) + end

    def _json_array(self, reader: pa.RecordBatchReader) -> Iterator[str]:
        rows = self._json(reader)
        yield "[" + next(rows, "")
        for row in rows:
            yield ",\n" + row
        yield "]\n"

    def _jsonlines(self, reader: pa.RecordBatchReader) -> Iterator[str]:
        for row in self._json(reader):
            yield row + "\n"

    def _line(self, reader: pa.RecordBatchReader) -> Iterator[str]:
        names = self._names(reader.schema)
        width = max(5, *map(cell_len, names))
        labels = [" " * (width - cell_len(name)) + name for name in names]
        for number, row in enumerate(self._rows(reader)):
            lines = (f"{label} = {value}\n" for label, value in zip(labels, row, strict=True))
            yield ("\n" if number else "") + "".join(lines)

    def _markdown(self, reader: pa.RecordBatchReader) -> Iterator[str]:
        right = [bool(NUMERIC.match(each)) for each in self._types(reader.schema)]
        names = [markdown_field(name) for name in self._names(reader.schema)]
        rows = [[markdown_field(value) for value in row] for row in self._rows(reader)]
        widths = [max(map(cell_len, column)) for column in zip(names, *rows, strict=True)]
        centred = (centre(name, width) for name, width in zip(names, widths, strict=True))
        yield "| " + " | ".join(centred) + " |\n"
        rules = (
            "-" * (width + 1) + (":" if each else "-")
            for width, each in zip(widths, right, strict=True)
        )
        yield "|" + "|".join(rules) + "|\n"
        for row in rows:
            fields = (
                value + " " * (width - cell_len(value))
                for value, width in zip(row, widths, strict=True)
            )
            yield "| " + " | ".join(fields) + " |\n"

    def _trash(self, reader: pa.RecordBatchReader) -> Iterator[str]:
        for _ in reader:
            yield ""


def csv_field(text: str) -> str:
    """Write one field of CSV.

    >>> print(csv_field("plain text"), csv_field('a "b" c'), csv_field("é"))
    plain text "a ""b"" c" "é"
    """
    return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text


MODES: dict[str, Callable[[Printer, pa.RecordBatchReader], Iterator[str]]] = {
    "duckbox": Printer._duckbox,
    "csv": partial(Printer._separated, separator=",", end="\r\n", field=csv_field),
    "tabs": partial(Printer._separated, separator="\t"),
    "json": Printer._json_array,
    "jsonlines": Printer._jsonlines,
    "markdown": Printer._markdown,
    "line": Printer._line,
    "list": partial(Printer._separated, separator="|"),
    "trash": Printer._trash,
}
"""The output modes by their names in DuckDB's shell."""


def in_line(text: str) -> str:
    """Write a text on one line, with ``\\n`` for its line breaks."""
    return text.replace("\n", "\\n")


def _lines(value: pa.Scalar) -> list[str]:
    """Return the texts of a list as bulleted lines; an empty list for any other value.

    >>> _lines(pa.scalar(["one warning", "another"])), _lines(pa.scalar("text")), _lines(pa.scalar([1, 2]))
    (['- one warning', '- another'], [], [])
    """
    listed = pa.types.is_list(value.type) and pa.types.is_string(value.type.value_type)
    return [f"- {each}" for each in value.as_py() or ()] if listed else []


def json_field(column: str, kind: str) -> str:
    """Return the SQL that writes a column of this type as JSON.

    >>> json_field("c0", "INTEGER"), json_field("c1", "DECIMAL(5,2)"), json_field("c2", "JSON")
    ('to_json(c0)', 'to_json(CAST(c1 AS VARCHAR))', 'CAST(c2 AS VARCHAR)')
    """
    if kind == "JSON":
        return f"CAST({column} AS VARCHAR)"
    return f"to_json({column})" if JSON_BARE.match(kind) else f"to_json(CAST({column} AS VARCHAR))"


def markdown_field(text: str) -> str:
    """Write one field of a Markdown table.

    >>> print(markdown_field("a|b"))
    a\\|b
    """
    return text.replace("|", "\\|")


def centre(text: str, width: int) -> str:
    """Centre a text; an odd blank follows the text, and wide characters count as two columns.

    >>> centre("日本", 7)
    ' 日本  '
    """
    blanks = width - cell_len(text)
    return " " * (blanks // 2) + text + " " * (blanks - blanks // 2)


def numbered(table: pa.Table) -> pa.Table:
    """Rename the columns of a table to c0, c1, ….

    >>> numbered(pa.table([[1], [2]], names=["a", "a"])).column_names
    ['c0', 'c1']
    """
    return table.rename_columns([f"c{i}" for i in range(table.num_columns)])


def unique(names: Sequence[str]) -> list[str]:
    """Number names that occur before, ignoring case.

    >>> unique(["a", "A", "b", "a"])
    ['a', 'A_1', 'b', 'a_2']
    """
    found: dict[str, str] = {}
    for name in names:
        candidate, number = name, 0
        while candidate.lower() in found:
            number += 1
            candidate = f"{name}_{number}"
        found[candidate.lower()] = candidate
    return list(found.values())
