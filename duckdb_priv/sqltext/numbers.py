"""Writes a value as a number, and an error that says what to write for a date, a time or a text."""

from __future__ import annotations

NO_NUMBERS = "^(DATE|TIME|INTERVAL|VARCHAR|ENUM)"
"""Matches types that are not added up. DuckDB's own aggregates average dates and times."""
KNOWN_OF_NUMBERS = "sums and means are known of numbers alone; write avg(epoch(x)) for a date or a time, in seconds"
"""The message of the error."""


def as_number(value: str, message: str) -> str:
    """Write an SQL expression as a DOUBLE. ``message`` is the error of other types, as a literal.

    DuckDB knows the type when it binds the expression, so numbers are not checked row by row. The error is within a
    list, because DuckDB takes error() for a side effect.

    >>> import duckdb
    >>> duckdb.connect().execute("SELECT " + as_number("7", "'write epoch(x)'")).fetchall()
    [(7.0,)]
    """
    return (
        f"CASE WHEN regexp_matches(typeof({value}), '{NO_NUMBERS}')"
        f" THEN [CAST(error(_priv_text) AS DOUBLE) FOR _priv_text IN [{message}]][1]"
        f" ELSE TRY_CAST({value} AS DOUBLE) END"
    )
