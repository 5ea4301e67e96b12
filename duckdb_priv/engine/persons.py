"""Whose records they are: how many a person has, and which of them are published where that is limited.

What is promised of a record is promised of a person as often as it has records. ``max_rows`` limits that: of every
person the records with the smallest keyed hash of their ids are published, the same ones in every release, so that the
others are never shown. The choice is a function of the secret and of the ids alone.
"""

from __future__ import annotations

from dataclasses import replace

from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.randomness import KeyedBits
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource
from duckdb_priv.sqltext.quoting import identifier, identifiers
from duckdb_priv.sqltext.reading import count_of
from duckdb_priv.sqltext.templates import body, fill, read

SURPLUS = "temp.main._priv_surplus"
"""The ids of the records that are left out; a temporary table of this connection."""


def count_persons(workspace: Workspace, source: Source, max_rows: int | None = None) -> Source:
    """Count the people of a source and the records of one, and leave out what a person has beyond ``max_rows``.

    A source without a person column is returned unchanged.

    Raises InvalidSource if a record has no person: nobody would know how many records a person has.
    """
    if not source.person:
        return source
    unknown, persons, most = aggregates_of(workspace, source).persons()
    if unknown:
        raise InvalidSource(
            f"person {' and '.join(map(repr, source.person))} is NULL in {unknown} of {source.rows} rows",
            hint="say whose records they are, or leave them out in a view: how many a person has must be known",
        )
    known = replace(source, persons=persons, rows_of_person=max_rows or most)
    return known if max_rows is None or most <= max_rows else _limited(workspace, known, max_rows)


def _limited(workspace: Workspace, source: Source, max_rows: int) -> Source:
    stream = workspace.open_stream(
        KeyedBits.derive(
            workspace.secret(), f"records of a person, {source.id_form}, {source.population}"
        )
    )
    number, text = source.id_arguments
    fillings = {
        "table": SURPLUS.split(".")[-1],
        "ids": identifiers(source.record_id),
        "person": ", ".join(
            f"s.{identifier(name)} AS _priv_person{n}" for n, name in enumerate(source.person)
        ),
        "same_person": ", ".join(f"_priv_person{n}" for n in range(len(source.person))),
        "source": f"{source.table} AS s",
        "stream": str(stream),
        "id_number": number,
        "id_text": text,
        "max_rows": str(max_rows),
    }
    workspace.cursor.execute(fill(body(read("publisher/fragments", "surplus")), fillings))
    surplus = count_of(workspace.cursor, SURPLUS)
    return replace(
        source,
        table=f"(FROM {source.table} ANTI JOIN {SURPLUS} USING ({identifiers(source.record_id)}))",
        rows=source.rows - surplus,
    )
