"""64 bits as a signed number of the same order, where there are no unsigned ones: in Spark, and in its files."""

from __future__ import annotations

HALF = 1 << 63


def signed(bits: str) -> str:
    """Write bits, a UBIGINT, as a BIGINT.

    >>> signed("b")
    '((b)::HUGEINT - 9223372036854775808)::BIGINT'
    """
    return f"(({bits})::HUGEINT - {HALF})::BIGINT"


def unsigned(number: str) -> str:
    """Write the bits of such a number.

    >>> unsigned("n")
    '((n)::HUGEINT + 9223372036854775808)::UBIGINT'
    """
    return f"(({number})::HUGEINT + {HALF})::UBIGINT"
