"""Facts about blocks of values, as SQL: with them a macro or a query decides whether a row's block holds a value.

The blocks of every value are the blocks of the first value, shifted. So the SQL holds two things: digits that say which
blocks hold the first value, and the shift from one value to the next. Each row needs one look-up in a constant.
"""

from __future__ import annotations

from duckdb_priv.release.model import Blocks
from duckdb_priv.sqltext.quoting import literal

PLACES = ("blocks", "held", "stride", "mask", "incidence")
"""Names of five facts: the number of blocks; how many of them hold a value; the shift of block numbers from one value
to the next; the smallest mask of binary ones that leaves those numbers unchanged; digits that say whether each block
holds the first value."""


def block_facts(of: Blocks) -> tuple[str, ...]:
    """Return the facts of blocks in the order of PLACES: four numbers, then the digits.

    >>> block_facts(Blocks(7, 1, (0, 4, 6)))
    ('7', '3', '1', '7', '1000101')
    """
    mask = (1 << (of.count - 1).bit_length()) - 1
    return (*map(str, (of.count, len(of.first), of.stride, mask)), of.bits)


def block_places(of: Blocks) -> dict[str, str]:
    """Return the facts of blocks as literals, by their names in PLACES."""
    *numbers, bits = block_facts(of)
    return dict(zip(PLACES, (*numbers, literal(bits)), strict=True))


def first_blocks(of: Blocks) -> str:
    """Write the list of the first value's blocks as one literal, which DuckDB plans quickly."""
    return f"string_split('{','.join(map(str, of.first))}', ',')::INTEGER[]"
