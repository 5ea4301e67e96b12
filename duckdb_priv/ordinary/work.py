"""Limit the work of a query: the number of cells times the possible true values of their rows."""

from __future__ import annotations

from math import prod

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.frame import Frame
from duckdb_priv.ordinary.names import LINE

CAP = 1_000_000_000
"""Maximum number of classes, each a cell with one combination of true values. A core computes some ten million a
second."""


def refuse_too_much(frame: Frame) -> None:
    """Refuse a query with more classes than the cap. Cells are counted only if the number of rows does not decide it.

    Raises QueryRefused, with the factors of the work.
    """
    values = [each.size or 1 for each in frame.cells.attributes.values()]
    cells = frame.release.rows
    if cells * prod(values) > CAP and cells > 1:
        query = frame.cells.sql().replace(LINE, "\n")
        # A query that uses outer tables cannot run on its own to count its cells: then every row is a cell.
        cells = min(frame.connection.count(query, cells), cells)
    work = cells * prod(values)
    if work > CAP:
        each = " times ".join(f"{size:,} values" for size in values)
        raise QueryRefused(
            f"{cells:,} combinations of public and reported values times {each} are {work:,} classes, more than"
            f" {CAP:,}, which would take minutes or hours",
            hint="group by fewer or coarser public columns, such as age // 10, and ask for one attribute at a time",
        )
