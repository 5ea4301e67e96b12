"""Aggregates of DuckDB by their full names: the schema ``estimated`` of a release file has others of the same names."""

from __future__ import annotations

import re
from functools import lru_cache

from duckdb_priv.sqltext.quoting import TOKEN

NAMES = "any_value|arg_max|avg|bool_and|bool_or|count|count_if|histogram|list|max|min|sum"
CALL = re.compile(rf"""{TOKEN.pattern}|(?<![\w."])({NAMES})\(""")
"""A call of one of them, as the group; literals, quoted names and comments are skipped."""


@lru_cache(maxsize=100)
def qualified(text: str) -> str:
    """Write the calls of these aggregates so that they mean DuckDB's own after USE estimated, too.

    >>> print(qualified("sqrt(sum(x)) || 'sum(' || count(*)"))
    sqrt(system.main.sum(x)) || 'sum(' || system.main.count(*)
    """
    return CALL.sub(lambda call: f"system.main.{call[0]}" if call[1] else call[0], text)
