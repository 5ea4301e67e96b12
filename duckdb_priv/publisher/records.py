"""Opens the records of a source to publish, and computes a digest that shows whether they changed."""

from __future__ import annotations

from dataclasses import replace

from duckdb_priv.engine.persons import count_persons
from duckdb_priv.engine.source import Source, open_source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.publisher.withdrawal import leave_out_withdrawn
from duckdb_priv.release.request import Request
from duckdb_priv.sqltext.quoting import identifiers
from duckdb_priv.sqltext.templates import section


def open_records(workspace: Workspace, request: Request) -> tuple[Source, Source]:
    """Return the source of a request without withdrawn records: all records, and those within ``max_rows``."""
    return entering(workspace, request, open_source(workspace, request.source, request.roles))


def entering(workspace: Workspace, request: Request, opened: Source) -> tuple[Source, Source]:
    """Return an opened source without withdrawn records: all records, and those within ``max_rows``."""
    whole = leave_out_withdrawn(workspace, replace(opened, population=request.population))
    return whole, count_persons(workspace, whole, request.max_rows)


def digest_of(workspace: Workspace, source: Source) -> str:
    """Return a digest: sources that differ in a record have different digests, except with probability 2**-64.

    The publisher keeps it in the database with the source.
    """
    columns = identifiers(dict.fromkeys([*source.read_types, *source.person]))
    ((digest,),) = workspace.rows(
        section("publishing", "digest_of_records", columns=columns, source=source.table)
    )
    return str(digest)
