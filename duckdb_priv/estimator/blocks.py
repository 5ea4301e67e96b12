"""Blocks of values as SQL: what a macro or a query must know to say whether the block of a row holds a value.

The blocks of a value are those of the first value moved on, so all that is written is which blocks hold the first
value, as digits, and by how much the numbers grow from a value to the next: one look-up in a constant a row.
"""

from __future__ import annotations

from duckdb_priv.release.model import Blocks
from duckdb_priv.sqltext.quoting import literal

PLACES = ("blocks", "held", "stride", "mask", "incidence")
"""Names of five facts: the number of blocks; how many of them hold a value; by how much the numbers of its blocks grow
from a value to the next; the smallest mask of binary ones that leaves those numbers unchanged; and digits that say
whether each block holds the first value."""


def block_facts(of: Blocks) -> tuple[str, ...]:
    """Return what is known of blocks, in the order of PLACES: numbers, and the digits at last.

    >>> block_facts(Blocks(7, 1, (0, 4, 6)))
    ('7', '3', '1', '7', '1000101')
    """
    mask = (1 << (of.count - 1).bit_length()) - 1
    return (*map(str, (of.count, len(of.first), of.stride, mask)), of.bits)


def block_places(of: Blocks) -> dict[str, str]:
    """Write what is known of blocks as literals, by the names of PLACES."""
    *numbers, bits = block_facts(of)
    return dict(zip(PLACES, (*numbers, literal(bits)), strict=True))


def first_blocks(of: Blocks) -> str:
    """Write the list of the blocks of the first value, in one literal that is quick to plan."""
    return f"string_split('{','.join(map(str, of.first))}', ',')::INTEGER[]"
