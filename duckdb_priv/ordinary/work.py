"""How much work a query may be: cells times the values that their rows may truly have."""

from __future__ import annotations

from math import prod

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.frame import Frame
from duckdb_priv.ordinary.names import LINE

CAP = 1_000_000_000
"""Classes, each a cell with one combination of true values; a core does some ten million of them in a second."""


def refuse_too_much(frame: Frame) -> None:
    """Refuse a query whose cells have more classes than the cap. Cells are counted only where rows do not decide it.

    Raises QueryRefused, with what the work is made of.
    """
    values = [each.size or 1 for each in frame.cells.attributes.values()]
    cells = frame.release.rows
    if cells * prod(values) > CAP and cells > 1:
        query = frame.cells.sql().replace(LINE, "\n")
        # A query that speaks of tables around it cannot be counted on its own: then a cell is a row.
        cells = min(frame.connection.count(query, cells), cells)
    work = cells * prod(values)
    if work > CAP:
        each = " times ".join(f"{size:,} values" for size in values)
        raise QueryRefused(
            f"{cells:,} combinations of public and reported values times {each} are {work:,} classes, more than"
            f" {CAP:,}, which would take minutes or hours",
            hint="group by fewer or coarser public columns, such as age // 10, and ask for one attribute at a time",
        )
