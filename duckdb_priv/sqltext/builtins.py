"""Functions of DuckDB by their full names: a macro of the reader's that is called alike does not take their place.

A name without a schema is looked up where it is called, and a reader's macro comes before the function of DuckDB.
Operators, list comprehensions and structs are functions, too, which no text can name in full for every version:
``sound`` says whether those of a text are DuckDB's own, and mean what they do by default.
"""

from __future__ import annotations

import re
from functools import lru_cache

from duckdb_priv.sqltext.quoting import TOKEN

CALLED = """
    abs alias any_value arg_max avg bool_and bool_or chr concat concat_ws contains count count_if duckdb_tables
    duckdb_views enum_code error exp floor get_bit greatest histogram isfinite least left len list
    list_aggregate list_concat list_contains list_distinct list_dot_product list_extract
    list_filter list_position list_reduce list_resize list_select list_slice list_zip ln lower map_entries
    map_extract map_keys map_values max min nullif query range regexp_matches regexp_replace repeat
    replace right round row_number sqrt string_split sum typeof
"""
BUILT_INS = frozenset(CALLED.split())
"""What the texts of the analyst's macros call; coalesce() and unnest() are syntax."""
WHOLE = {"list_sum": "sum", "list_min": "min", "list_max": "max"}
"""Macros of DuckDB, which would look up what they call where they are called: by the aggregate that they are."""
CALL = re.compile(rf"""{TOKEN.pattern}|(?<![\w."])([a-z_][a-z0-9_]*)\(""")
"""What is called by name, as the group; literals, quoted names and comments are gone past."""
PIECE = re.compile(rf"""{TOKEN.pattern}|(?<![\w."])(?P<name>{"|".join(WHOLE)})\(|\(|\)""")
CHECKS = {
    "**": "2 ** 3 = 8", "||": "'a' || 'b' = 'ab'", "//": "9 // 4 = 2", ">>": "5 >> 1 = 2", "<<": "1 << 3 = 8",
    "+": "3 + 2 = 5", "-": "3 - 2 = 1", "*": "3 * 2 = 6", "/": "8 / 4 = 2", "%": "7 % 4 = 3", "&": "6 & 3 = 2",
    "{": "({a: 5}).a = 5", " FOR ": "[3 * x FOR x IN [2]][1] = 6", " IF ": "[3 * x FOR x IN [2, 1] IF x < 2][1] = 3",
}  # fmt: skip
"""By what SQL has for functions that cannot be named in full: whether it is DuckDB's own; false, or an error, where a
macro takes its place."""
TEXTS_DIFFER = "system.main.current_setting('default_collation') = ''"
"""Whether texts are equal only if they are the same."""
EXPONENT = re.compile(r"(?<![\w.])[0-9.]+e[+-][0-9]+")
NO_OPERATORS = ("(*)", " FOR _priv_text ")
"""What looks like an operator and is none, as the sign of an exponent does: all rows; and the list that an error is
raised in, which shows in what comes out of it."""


def sound(text: str) -> str:
    """Write whether the operators, lists and structs of an SQL text are DuckDB's own.

    >>> print(sound("count(*) * 2e-3 + len('1 - 1')"))
    (system.main.current_setting('default_collation') = '' AND 3 + 2 = 5 AND 3 * 2 = 6)
    """
    plain = TOKEN.sub(" ", text)
    for none in NO_OPERATORS:
        plain = plain.replace(none, " ")
    plain = f" {' '.join(plain.split())} "
    if "e-" in plain or "e+" in plain:
        plain = EXPONENT.sub(" ", plain)
    found = [TEXTS_DIFFER]
    for sign, check in CHECKS.items():
        if sign in plain:
            found.append(check)
            plain = plain.replace(sign, " ") if len(sign) == 2 else plain
    return f"({' AND '.join(found)})"


ALL_SOUND = sound(" ".join(CHECKS))
"""The same of all of them."""


@lru_cache(maxsize=100)
def qualified(text: str) -> str:
    """Name the functions of DuckDB in full that an SQL text calls, but not what stands in its literals.

    >>> print(qualified("sqrt(x) + priv.weight(y) || 'sqrt(' || coalesce(list_sum(z), 1)"))
    system.main.sqrt(x) + priv.weight(y) || 'sqrt(' || coalesce(system.main.list_aggregate(z, 'sum'), 1)
    """
    if any(f"{name}(" in text for name in WHOLE):
        text = _by_aggregates(text)
    return CALL.sub(
        lambda call: f"system.main.{call[0]}" if call[1] in BUILT_INS else call[0], text
    )


def _by_aggregates(text: str) -> str:
    """Write what the macros of DuckDB stand for.

    >>> print(_by_aggregates("list_sum([(x), f(y)]) + (z)"))
    list_aggregate([(x), f(y)], 'sum') + (z)
    """
    ends: list[str] = []
    """What the open parentheses end with."""

    def named(piece: re.Match[str]) -> str:
        found, name = piece[0], piece["name"]
        if name:
            ends.append(f", '{WHOLE[name]}')")
            return "list_aggregate("
        if found == "(":
            ends.append(")")
        return ends.pop() if found == ")" and ends else found

    return PIECE.sub(named, text)
