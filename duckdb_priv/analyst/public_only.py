"""Tells whether an SQL text may reach what records report, by the names of columns or past them.

``group_columns`` and ``condition`` take public columns only. A text is read as DuckDB reads it, up to where it names
such a column; whatever else could bring one in, or hide its name from a reader, is not taken either: the release as a
whole, a star, a choice of columns, a column by its number, comments, and literals that are not in plain quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

PLAIN = """(?:[^'"]|'[^']*'|"[^"]*")*?"""
"""What stands before: each literal and each name in quotes as a whole."""
WORD = r"(?:[^a-z0-9_]|$)"
"""What follows a name that is not longer."""
HIDING = (
    """'[^']*$|"[^"]*$""",  # quotes that are not closed
    r"\$|--|/\*",  # other quotes, and comments
    r"""\b(?:e|u&)['"]""",  # literals with escapes
    r"(?:^|,)[(\s]*\*|\.\s*\*",
    r"""(?:\bcolumns|"columns")\s*\(""",
    "#",
)


def reaching(table: str, columns: Sequence[str], namesake: bool = False) -> str:
    """Return a pattern of the texts, in small letters, that may reach one of the columns of a table.

    Where another column has the table's name, the name alone is that column, and not the row.

    >>> pattern = reaching("stays", ["reported_disease"])
    >>> [bool(re.search(pattern, text)) for text in ("age, ward", "x = 'reported_disease'", "ward * 2 = stays.age")]
    [False, False, False]
    >>> [bool(re.search(pattern, text)) for text in ('"reported_disease"', "ward, *", "e'\\\\'' = a", "md5(stays)")]
    [True, True, True, True]
    """
    names = "|".join(re.escape(name.lower()) for name in columns)
    quoted = "|".join(re.escape(name.lower().replace('"', '""')) for name in columns)
    whole, whole_quoted = (
        re.escape(name) for name in (table.lower(), table.lower().replace('"', '""'))
    )
    # A column of the table may be called by both names.
    alone = r"(?:\s*$|\s*[^.\sa-z0-9_]|\s+[a-z0-9_])"
    of_a_schema = r"\.\s*" if namesake else ""
    reached = (
        *HIDING,
        rf"\b(?:{names}){WORD}",
        f'"(?:{quoted})"',
        rf"{of_a_schema}\b{whole}{alone}",
        rf'{of_a_schema}"{whole_quoted}"{alone}',
    )
    return rf"^{PLAIN}(?:{'|'.join(reached)})"
