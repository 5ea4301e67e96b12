"""Blocks of values as SQL: what a macro or a query must know to say whether the block of a row holds a value.

The blocks of a value are those of the first value moved on, so all that is written is which blocks hold the first
value, as digits, and by how much the numbers grow from a value to the next: one look-up in a constant a row.
"""

from __future__ import annotations

from duckdb_priv.release.model import Blocks
from duckdb_priv.sqltext.quoting import literal

PLACES = ("blocks", "held", "stride", "incidence")
"""How many blocks there are, how many of them hold a value, by how much the numbers of its blocks grow from a value to
the next, and digits that say whether each block holds the first value."""


def block_places(of: Blocks) -> dict[str, str]:
    """Write what is known of blocks as literals, by the names of PLACES."""
    found = (str(of.count), str(len(of.first)), str(of.stride), literal(of.bits))
    return dict(zip(PLACES, found, strict=True))


def first_blocks(of: Blocks) -> str:
    """Write the list of the blocks of the first value, in one literal that is quick to plan."""
    return f"string_split('{','.join(map(str, of.first))}', ',')::INTEGER[]"
