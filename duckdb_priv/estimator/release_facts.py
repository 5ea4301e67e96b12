"""Facts of a release for its macros: its names, and a pattern of texts that may read columns of reported values.

``group_columns`` and ``condition`` accept public columns only. The pattern reads a text as DuckDB does, up to the name
of such a column. It also refuses everything else that could read one, or hide its name: the release as a whole row, a
star, COLUMNS, a column by its number, and literals without plain quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from duckdb_priv.sqltext.quoting import RESERVED, identifier

COMMENT = r"--[^\n\r]*|--[^\n]*|/\*[\s\S]*?\*/"
PLAIN = rf"""(?:[^'"]|'[^']*'|"[^"]*"|{COMMENT})*?"""
"""Matches the text before a column: each literal, each quoted name and each comment as a whole. A text may match in
several ways, depending on where a comment ends. It is refused if any of them reaches a column."""
GAP = rf"(?:[\s\pZ\pC]|{COMMENT})*"
"""Matches the gap between two words: comments, and all Unicode spaces and invisible characters."""
WORD = r"(?:[^a-z0-9_]|$)"
"""Matches the end of a name."""
HIDING = (
    """'[^']*$|"[^"]*$""",  # unclosed quotes
    r"\$",  # other quotes
    r"""\b(?:e|u&)['"]""",  # literals with escapes
    rf"(?:^|,)(?:{GAP}\()*{GAP}\*|\.{GAP}\*",
    rf"""(?:\bcolumns|"columns"){GAP}\(""",
    "#",
)


RELEASE_FIELDS = ("table", "attributes", "several", "reported")
"""Facts of a release: its table; its attributes; the hint if there are several; and a pattern of texts that may read
columns of reported values."""


def release_fields(
    release: str, attributes: Sequence[str], reported: Sequence[str], namesake: bool
) -> dict[str, str | None]:
    """Return the facts of a release, by the names in RELEASE_FIELDS."""
    several = " or ".join(repr(f"{release}.{name}") for name in attributes)
    return {
        "table": identifier(release),
        "attributes": ", ".join(attributes),
        "several": f'release "{release}" has several sensitive attributes: write {several}'
        "\nHint: name one of them instead of the release"
        if len(attributes) > 1
        else None,
        "reported": reaching(release, reported, namesake) if reported else None,
    }


def reaching(table: str, columns: Sequence[str], namesake: bool = False) -> str:
    """Return a pattern that matches texts, in lower case, that may read one of the columns of a table.

    If another column has the table's name, as ``namesake`` says, the name alone is that column and not the row. A
    reserved word without quotes is a name only after a dot.

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
    # A column of the table may be qualified with the table's name.
    alone = r"(?:\s*$|\s*[^.\sa-z0-9_]|\s+[a-z0-9_])"
    after_a_dot = rf"\.{GAP}"
    of_a_schema = after_a_dot if namesake else ""
    reached = (
        *HIDING,
        rf"\b(?:{names}){WORD}",
        f'"(?:{quoted})"',
        rf"{after_a_dot if table.lower() in RESERVED.split() else of_a_schema}\b{whole}{alone}",
        rf'{of_a_schema}"{whole_quoted}"{alone}',
    )
    return rf"^{PLAIN}(?:{'|'.join(reached)})"
