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
    if max_rows is None or most <= max_rows:
        return known
    order = KeyedBits.derive(
        workspace.secret(), f"records of a person, {source.id_form}, {source.population}"
    )
    return aggregates_of(workspace, known).limited(order, max_rows)
