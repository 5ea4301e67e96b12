"""Order and equality that go down to the bytes, where SQL's own stop earlier.

A release is stored in an order made from its own columns, so that its rows say nothing of the order of the source. Rows
that compare equal and are not the same would keep it: 'a' and 'A' under a collation that ignores case, 1 month and
30 days, 0.0 and -0.0, two kinds of NaN. The same rows would be one group to SQL, and two crowds to a reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from duckdb_priv.sqltext.quoting import identifier

EXACT = re.compile(
    r"^(BOOLEAN|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(.*\)|DATE|TIME(_NS)?|TIME(STAMP)? WITH TIME ZONE"
    r"|TIMESTAMP(_S|_MS|_NS)?|UUID|BLOB|BIT|ENUM\(.*\))$",
    re.DOTALL,
)
"""Types whose values are equal only if their bytes are."""


def byte_keys(expression: str, kind: str) -> list[str]:
    """Write what is equal for two values of a type only if they are the same, byte by byte.

    The first key orders as the type does. The others tell apart what it takes for equal.

    >>> byte_keys('"age"', "INTEGER"), byte_keys('"name"', "VARCHAR")
    (['"age"'], ['"name" COLLATE "binary"'])
    >>> byte_keys('"x"', "DOUBLE")
    ['"x"', 'signbit("x")', 'CASE WHEN isnan("x") THEN "x"::BIT END']
    """
    if kind == "VARCHAR":
        return [f'{expression} COLLATE "binary"']
    if EXACT.match(kind):
        return [expression]
    if kind in ("FLOAT", "DOUBLE"):
        return [
            expression,
            f"signbit({expression})",
            f"CASE WHEN isnan({expression}) THEN {expression}::BIT END",
        ]
    return [expression, f'{expression}::VARCHAR COLLATE "binary"']


def total_order(types: Mapping[str, str]) -> str:
    """Write an order of rows by all columns, which leaves only identical rows in the order that they had.

    >>> total_order({"age": "INTEGER", "stay": "INTERVAL"})
    '"age", "stay", "stay"::VARCHAR COLLATE "binary"'
    """
    keys = [byte_keys(identifier(name), kind) for name, kind in types.items()]
    return ", ".join([first for first, *_ in keys] + [rest for _, *more in keys for rest in more])
