"""Counting the records of each person, and limiting how many of them are published.

A guarantee for one record is weaker for a person with several records. ``max_rows`` limits their number: the records of
a person with the smallest keyed hashes of their ids are published. They are the same in every release, so the other
records are never shown. The choice depends on the secret and the ids alone.
"""

from __future__ import annotations

from dataclasses import replace

from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.randomness import KeyedBits
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource


def count_persons(workspace: Workspace, source: Source, max_rows: int | None = None) -> Source:
    """Return the source with its number of people and most records of one, limited to ``max_rows`` for each person.

    A source without a person column is returned unchanged.

    Raises InvalidSource if a record has no person id: the records of each person could not be counted.
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
