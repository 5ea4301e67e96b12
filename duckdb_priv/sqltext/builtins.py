"""Functions of DuckDB by their full names: a macro of the reader's that is called alike does not take their place.

A name without a schema is looked up where it is called, and a reader's macro comes before the function of DuckDB.
Operators, list comprehensions and structs are functions, too, which no text can name in full for every version:
``SOUND`` says whether they are DuckDB's own.
"""

from __future__ import annotations

import re

from duckdb_priv.sqltext.quoting import TOKEN

CALLED = """
    abs any_value arg_max avg bool_and bool_or chr concat_ws contains count count_if duckdb_tables
    duckdb_views enum_code error exp floor get_bit greatest histogram isfinite least left len list
    list_aggregate list_concat list_contains list_distinct list_dot_product list_extract
    list_position list_reduce list_resize list_select list_slice list_zip ln lower map_entries
    map_extract map_keys map_values max min nullif query range regexp_matches regexp_replace repeat
    replace right round row_number sqrt string_split sum typeof
"""
BUILT_INS = frozenset(CALLED.split())
"""What the texts of the analyst's macros call; coalesce() and unnest() are syntax."""
WHOLE = {"list_sum": "sum", "list_min": "min", "list_max": "max"}
"""Macros of DuckDB, which would look up what they call where they are called: by the aggregate that they are."""
PIECE = re.compile(rf"""{TOKEN.pattern}|(?<![\w."])(?P<name>[a-z_][a-z0-9_]*)\(|\(|\)""")
SOUND = "([(({a: 7 - 2 * x + -x * 4 + 8 / 4}).a ** 3)::VARCHAR || 'b' FOR x IN [2, 1] IF x < 2][1] = '27.0b')"
"""Whether operators, lists and structs are those of DuckDB: false, or an error, where a macro takes their place."""
SOUND_BITS = "((5 >> 1) & 3) + (7 % 4) * 10 + (9 // 4) * 100 + (1 << 3) * 1000 = 8232"
"""The same of the operators of whole numbers."""


def qualified(text: str) -> str:
    """Name the functions of DuckDB in full that an SQL text calls, but not what stands in its literals.

    >>> print(qualified("sqrt(x) + priv.weight(y) || 'sqrt(' || coalesce(list_sum(z), 1)"))
    system.main.sqrt(x) + priv.weight(y) || 'sqrt(' || coalesce(system.main.list_aggregate(z, 'sum'), 1)
    """
    ends: list[str] = []
    """What the open parentheses end with."""

    def named(piece: re.Match[str]) -> str:
        found, name = piece[0], piece["name"]
        if name in WHOLE:
            ends.append(f", '{WHOLE[name]}')")
            return "system.main.list_aggregate("
        if found.endswith("(") and (name or found == "("):
            ends.append(")")
            return f"system.main.{found}" if name in BUILT_INS else found
        return ends.pop() if found == ")" and ends else found

    return PIECE.sub(named, text)
