"""The records of a source that enter a release, and what tells whether they are still the same."""

from __future__ import annotations

from dataclasses import replace

from duckdb_priv.engine.persons import count_persons
from duckdb_priv.engine.source import Source, open_source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.publisher.withdrawal import leave_out_withdrawn
from duckdb_priv.release.request import Request
from duckdb_priv.sqltext.quoting import identifiers


def open_records(workspace: Workspace, request: Request) -> tuple[Source, Source]:
    """Open the source of a request: all records that were not withdrawn, and those that ``max_rows`` leaves."""
    return entering(workspace, request, open_source(workspace, request.source, request.roles))


def entering(workspace: Workspace, request: Request, opened: Source) -> tuple[Source, Source]:
    """Return which records of an opened source are there, and which of them enter."""
    whole = leave_out_withdrawn(workspace, replace(opened, population=request.population))
    return whole, count_persons(workspace, whole, request.max_rows)


def digest_of(workspace: Workspace, source: Source) -> str:
    """Return a digest that differs for sources that differ in any record, except with probability 2**-64.

    It stays with the publisher, beside the source itself.
    """
    columns = identifiers(dict.fromkeys([*source.read_types, *source.person]))
    ((digest,),) = workspace.rows(
        "SELECT count(*) || '/' || bit_xor(record) || '/' || sum(record::HUGEINT)"
        f" FROM (SELECT hash({columns}) AS record FROM {source.table})"
    )
    return str(digest)
