"""The view READ_ME of a release file: ten lines of text that say how to count, for someone who has only the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

import duckdb

from duckdb_priv.estimator import examples, views
from duckdb_priv.estimator.estimated import counted_table
from duckdb_priv.estimator.estimated_names import SCHEMA
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.release import catalog
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.quoting import literal, plain_identifier

VIEW = "READ_ME"
WIDTH = 72
"""Maximum number of characters in a line, so that a terminal of 80 columns does not truncate it."""


def statements(
    connection: duckdb.DuckDBPyConnection, release: str, attributes: Sequence[SensitiveAttribute]
) -> list[str]:
    """Return the SQL of the view for a release in the current database."""
    if release.lower() == VIEW.lower():
        return []
    rows = ",\n    ".join(f"({literal(line)})" for line in lines(connection, release, attributes))
    return [
        f"CREATE VIEW {VIEW} AS FROM (VALUES\n    {rows}\n) AS t({VIEW})",
        f"COMMENT ON VIEW {VIEW} IS 'How to count what this file holds: FROM {VIEW};'",
    ]


def lines(
    connection: duckdb.DuckDBPyConnection, release: str, attributes: Sequence[SensitiveAttribute]
) -> Iterator[str]:
    """Yield the lines of the view, with SQL statements to copy."""
    ((title, rows),) = connection.execute(
        "SELECT coalesce(title, ''), rows_published FROM priv.release WHERE release = ?", [release]
    ).fetchall()
    yield from wrap(
        f"{title or f'The table {release}'}: {rows:,} rows, published by duckdb_priv.", WIDTH
    )
    yield from _warning(attributes)
    for (statement,) in connection.execute(
        "SELECT statement FROM priv.guarantee WHERE release = ? AND guarantee = 'records_left_out'",
        [release],
    ).fetchall():
        yield from wrap(statement, WIDTH)
    if attributes:
        yield "Estimates of the true counts, between low and high (95%):"
        yield from (
            f"    FROM {plain_identifier(views.estimates(each))};" for each in attributes[:2]
        )
        yield from _grouped(connection, release, attributes)
    if counted_table(connection, release, attributes).summable:
        for _, select, rows in examples.ordinary(attributes[0]):
            yield "Ordinary SQL, as if the table were the true one:"
            yield f"    USE {SCHEMA};"
            yield f"    {select}"
            yield f"    {rows};"
    yield "More questions: FROM priv.example;  What it promises: FROM priv.guarantee;"


def _grouped(
    connection: duckdb.DuckDBPyConnection, release: str, attributes: Sequence[SensitiveAttribute]
) -> Iterator[str]:
    """Yield a line about one view by a public column, if such views exist."""
    public = [
        of.name for of in catalog.published_columns(connection, release) if of.role == "public"
    ]
    column = examples.group_column(connection, attributes[0], attributes)
    if column in public and views.are_few(len(public), attributes):
        yield f"    FROM {plain_identifier(views.by(attributes[0], column))};"


def _warning(attributes: Sequence[SensitiveAttribute]) -> Iterator[str]:
    """Yield the lines that name the columns whose values must not be counted directly."""
    perturbed = [each for each in attributes if form_of(each).perturbed]
    names = ", ".join(plain_identifier(each.column) for each in perturbed)
    if perturbed:
        yield from wrap(f"{names}: partly random. A plain count of these values is WRONG.", WIDTH)
    elif attributes:
        yield "Its rows are a sample. A plain count of them is too low."
