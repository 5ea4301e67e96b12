"""Tells whether an SQL text may reach what records report, by the names of columns or past them.

``group_columns`` and ``condition`` take public columns only. A text is read as DuckDB reads it, up to where it names
such a column; whatever else could bring one in, or hide its name from a reader, is not taken either: the release as a
whole, a star, a choice of columns, a column by its number, and literals that are not in plain quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

COMMENT = r"--[^\n\r]*|--[^\n]*|/\*[\s\S]*?\*/"
PLAIN = rf"""(?:[^'"]|'[^']*'|"[^"]*"|{COMMENT})*?"""
"""What comes before: each literal and each name in quotes as a whole, and each comment. A text may be read in several
ways so, with and without comments, wherever one may end: that any of them reaches a column is enough."""
GAP = rf"(?:[\s\pZ\pC]|{COMMENT})*"
"""What may be between two words: comments, and all that Unicode calls a space or does not show."""
WORD = r"(?:[^a-z0-9_]|$)"
"""What follows a name that is not longer."""
HIDING = (
    """'[^']*$|"[^"]*$""",  # quotes that are not closed
    r"\$",  # other quotes
    r"""\b(?:e|u&)['"]""",  # literals with escapes
    rf"(?:^|,)(?:{GAP}\()*{GAP}\*|\.{GAP}\*",
    rf"""(?:\bcolumns|"columns"){GAP}\(""",
    "#",
)


def reaching(table: str, columns: Sequence[str], namesake: bool = False) -> str:
    """Return a pattern of the texts, in small letters, that may reach one of the columns of a table.

    Where another column has the table's name, the name alone is that column, and not the row.

    >>> import duckdb
    >>> pattern = reaching("stays", ["noisy_disease"])
    >>> texts = ["age, ward", "x = 'noisy_disease'", '"noisy_disease"', "ward, *", "md5(stays)"]
    >>> [duckdb.execute("SELECT regexp_matches(?, ?)", [text, pattern]).fetchone()[0] for text in texts]
    [False, False, True, True, True]
    """
    names = "|".join(re.escape(name.lower()) for name in columns)
    quoted = "|".join(re.escape(name.lower().replace('"', '""')) for name in columns)
    whole, whole_quoted = (
        re.escape(name) for name in (table.lower(), table.lower().replace('"', '""'))
    )
    # A column of the table may be called by both names.
    alone = r"(?:\s*$|\s*[^.\sa-z0-9_]|\s+[a-z0-9_])"
    of_a_schema = rf"\.{GAP}" if namesake else ""
    reached = (
        *HIDING,
        rf"\b(?:{names}){WORD}",
        f'"(?:{quoted})"',
        rf"{of_a_schema}\b{whole}{alone}",
        rf'{of_a_schema}"{whole_quoted}"{alone}',
    )
    return rf"^{PLAIN}(?:{'|'.join(reached)})"
