"""Converts UBIGINT to BIGINT and back, keeping the order: Spark and its files have no unsigned integers."""

from __future__ import annotations

HALF = 1 << 63


def signed(bits: str) -> str:
    """Write the conversion of a UBIGINT to the BIGINT of the same rank.

    >>> signed("b")
    '((b)::HUGEINT - 9223372036854775808)::BIGINT'
    """
    return f"(({bits})::HUGEINT - {HALF})::BIGINT"


def unsigned(number: str) -> str:
    """Write the conversion of such a BIGINT back to the UBIGINT.

    >>> unsigned("n")
    '((n)::HUGEINT + 9223372036854775808)::UBIGINT'
    """
    return f"(({number})::HUGEINT + {HALF})::UBIGINT"
