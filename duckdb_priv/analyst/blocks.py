"""Blocks of values as SQL: what a macro or a query must know to say whether the block of a row holds a value.

The blocks of a value are those of the first value moved on, so all that is written is which blocks hold the first
value, as digits, and by how much the numbers grow from a value to the next: one look-up in a constant a row.
"""

from __future__ import annotations

from duckdb_priv.release.model import Blocks
from duckdb_priv.sqltext.quoting import literal

PLACES = ("blocks", "held", "stride", "mask", "incidence")
"""How many blocks there are, how many of them hold a value, by how much the numbers of its blocks grow from a value to
the next, the least 2**k - 1 that no number is above, and whether each block holds the first value, three times over."""


def block_places(of: Blocks) -> dict[str, str]:
    """Write what is known of blocks as literals, by the names of PLACES."""
    found = (
        str(of.count),
        str(len(of.first)),
        str(of.stride),
        str(of.mask),
        incidence(literal(of.bits)),
    )
    return dict(zip(PLACES, found, strict=True))


def incidence(digits: str) -> str:
    """Write the digits of the blocks of the first value so that they can be read from any block on."""
    return f"repeat({digits}, 3)::BIT"


def first_blocks(of: Blocks) -> str:
    """Write the list of the blocks of the first value, in one literal that is quick to plan."""
    return f"string_split('{','.join(map(str, of.first))}', ',')::INTEGER[]"
