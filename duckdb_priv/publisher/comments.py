"""Writes the comments on a published table and its columns, for readers who browse the database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb

from duckdb_priv.engine.source import Source, parse_name
from duckdb_priv.engine.workspace import SCHEMA, Workspace
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.release import catalog
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import section

SEE = "Count with priv.reconstructed_count; see FROM priv.release and FROM priv.guarantee."
MOST_CODES = 12
"""The most codes that the comment on a column explains."""
DONE = {
    "sensitive": "sensitive values are perturbed",
    "generalized": "a sample, generalized, without small groups",
    "listed": "sensitive values are those of a group",
    "blocks": "records report blocks of sensitive values",
}
"""What was done to the table: by column role, or by ``listed`` or ``blocks`` for columns of these kinds."""
REPORTED = {
    "sensitive": "What a record reports of {}, not what is true: a plain count of these values is biased; use"
    " priv.reconstructed_count.",
    "generalized": "Generalized, of a sample: a plain count is too low; use priv.reconstructed_count, weight := scale.",
    "scale": "How many source records the row stands for.",
    "varied": "How far the row is perturbed, by the size of its group: give it to every question as weight := scale.",
    "group": "The group of the record: its records share a list of sensitive values.",
    "listed": "The values of {} in the record's group, its own among them: count with priv.reconstructed_count.",
    "blocks": "The number of a block of values of {}, which holds the true one or not: count with"
    " priv.reconstructed_count.",
}
"""What a reader must know about an attribute: by column role, by ``listed`` or ``blocks`` for columns of these kinds,
or by ``varied`` if a scale column states how strongly each row is perturbed."""


def statements(
    connection: duckdb.DuckDBPyConnection,
    release: str,
    attributes: Iterable[SensitiveAttribute],
    kind: str = "TABLE",
) -> list[str]:
    """Return the COMMENT statements for a published table of the current database. Its catalog rows must exist.

    ``kind`` is VIEW if the rows are in other files.
    """
    table = f"{SCHEMA}.{identifier(release)}"
    mechanism = catalog.release_row(connection, release)["mechanism"]
    known = list(attributes)
    shown = {
        attribute.name: "listed" if form_of(attribute).listed else "blocks"
        for attribute in known
        if form_of(attribute).listed or attribute.blocks
    }
    varied = {"scale": "varied"} if any(form_of(each).varied for each in known) else {}
    columns = [
        (of, shown.get(of.attribute, varied.get(of.role, of.role)))
        for of in catalog.published_columns(connection, release)
    ]
    done = {DONE[role] for _, role in columns if role in DONE}
    return [
        f"COMMENT ON {kind} {table} IS "
        + literal(f"Published by duckdb_priv ({mechanism}): {' and '.join(sorted(done))}. {SEE}"),
        *(
            f"COMMENT ON COLUMN {table}.{identifier(of.name)} IS {literal(stated)}"
            for of, role in columns
            if (stated := _stated(of, role))
        ),
    ]


def of_source(workspace: Workspace, source: Source) -> dict[str, str]:
    """Return the column comments of a source, by column; empty if DuckDB does not hold its records."""
    if source.answers is not None:
        return {}
    return dict(
        workspace.rows(section("publishing", "comments_of_source"), parse_name(source.name))
    )


def _stated(of: catalog.PublishedColumn, role: str) -> str:
    """Return a column's comment: the source's comment, the meaning of codes, and what a reader must know."""
    reported = REPORTED[role].format(of.attribute) if role in REPORTED else ""
    return "\n".join(filter(None, [of.description, _codes(of.labels), reported]))


def _codes(labels: Sequence[tuple[str | None, str]]) -> str:
    """Write the meaning of codes if they are few, otherwise where to read it."""
    if len(labels) > MOST_CODES:
        return "priv.attribute, and priv.label of a release file, say what its codes mean."
    listed = ", ".join(f"{'NULL' if value is None else value} = {label}" for value, label in labels)
    return f"Codes: {listed}." if labels else ""
