"""Qualifies DuckDB's aggregates, because the schema ``estimated`` of a release has aggregates of the same names."""

from __future__ import annotations

import re
from functools import lru_cache

from duckdb_priv.sqltext.quoting import TOKEN

NAMES = "any_value|arg_max|avg|bool_and|bool_or|count|count_if|histogram|list|max|min|sum"
CALL = re.compile(rf"""{TOKEN.pattern}|(?<![\w."])({NAMES})\(""")
"""A call of one of these aggregates, whose name is the group. Literals, quoted names and comments match without it."""


@lru_cache(maxsize=100)
def qualified(text: str) -> str:
    """Qualify the calls of these aggregates, so that they call DuckDB's own functions even after USE estimated.

    >>> print(qualified("sqrt(sum(x)) || 'sum(' || count(*)"))
    sqrt(system.main.sum(x)) || 'sum(' || system.main.count(*)
    """
    return CALL.sub(lambda call: f"system.main.{call[0]}" if call[1] else call[0], text)
