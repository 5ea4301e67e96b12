"""Opens the records of a source to publish, without withdrawn ones, and computes a digest that shows changes."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.kernel import RECORDS, Kernel, Table
from duckdb_priv.engine.marking import MARKS, mark, mark_of_text, mark_stream, person_text
from duckdb_priv.engine.persons import count_persons
from duckdb_priv.engine.source import Source, open_source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource
from duckdb_priv.ledger import withdrawn
from duckdb_priv.ledger.withdrawn import IdColumns
from duckdb_priv.release.request import Request
from duckdb_priv.sqltext.quoting import identifier, identifiers
from duckdb_priv.sqltext.reading import select
from duckdb_priv.sqltext.templates import place, section


def open_records(workspace: Workspace, request: Request) -> tuple[Source, Source]:
    """Return the source of a request without withdrawn records: all records, and those within ``max_rows``."""
    opened = open_source(workspace, request.source, request.roles)
    return entering(workspace, opened, request.population, request.max_rows)


def entering(
    workspace: Workspace, opened: Source, population: str, max_rows: int | None
) -> tuple[Source, Source]:
    """Return an opened source without withdrawn records: all records, and those within ``max_rows``."""
    whole = _leave_out_withdrawn(workspace, replace(opened, population=population))
    return whole, count_persons(workspace, whole, max_rows)


def digest_of(workspace: Workspace, source: Source) -> str:
    """Return a digest: sources that differ in a record have different digests, except with probability 2**-64.

    The publisher keeps it in the database with the source.
    """
    columns = identifiers(dict.fromkeys([*source.read_types, *source.person]))
    return digest_of_rows(workspace, columns, source.table)


def digest_of_rows(workspace: Workspace, columns: str, table: str) -> str:
    """Return a digest of some columns of a table, which does not depend on the order of its rows."""
    query = section("publishing", "digest_of_records", columns=columns, source=table)
    ((digest,),) = workspace.rows(query)
    return str(digest)


def mark_sql(ids: IdColumns, stream: str) -> str:
    """Write the SQL for the mark of a record ``s``, by record id or person; a missing id gets an arbitrary mark."""
    types = dict(zip(ids.columns, ids.types, strict=True))
    if ids.kind == "person":
        return mark_of_text(person_text(ids.columns, types), stream)
    return mark(Source("", "", types, (), (), ids.columns, (), 0), stream, missing="0")


def _leave_out_withdrawn(workspace: Workspace, source: Source) -> Source:
    """Return a source without the records withdrawn from its population.

    Raises InvalidSource if the withdrawn records cannot be identified.
    """
    found = withdrawn.withdrawn_ids(workspace.cursor, source.population)
    if not found:
        return source
    columns, leaves, tables = ["t.*"], [], {}
    for n, (ids, held) in enumerate(found):
        own = _own_columns(source, ids)
        names = tuple(f"_priv_withdrawn{n}_{place}" for place in range(len(own)))
        types = tuple(source.types[each] for each in own) if ids.kind == "person" else ids.types
        columns += [
            f"TRY_CAST(t.{identifier(name)} AS {kind}) AS {alias}"
            for name, kind, alias in zip(own, types, names, strict=True)
        ]
        table = f"temp.main._priv_withdrawn{n}"
        tables[table] = Table.of({"mark": pa.array(held, pa.uint64())})
        mark_of = mark_sql(IdColumns(ids.kind, names, types), place(MARKS))
        missing = " OR ".join(f"s.{alias} IS NULL" for alias in names)
        fillings = {"missing": missing, "mark": mark_of, "table": table}
        leaves.append(section("publishing", "withdrawn_record", **fillings))
    records = select(columns, f"{place(RECORDS)} AS t")
    kernel = Kernel(source.types, records, {MARKS: mark_stream(workspace)}, tables=tables)
    left = aggregates_of(workspace, source).without(kernel, " OR ".join(leaves))
    if not left.rows:
        raise InvalidSource(
            f"all records of {source.name!r} were withdrawn", hint="nothing can be published of it"
        )
    return left


def _own_columns(source: Source, ids: IdColumns) -> tuple[str, ...]:
    """Return the source columns with the ids of earlier withdrawals; raises InvalidSource if there are none."""
    if ids.kind == "person":
        if source.person:
            return source.person
        raise InvalidSource(
            f"people were withdrawn from population {source.population!r}, and without person it is unknown which"
            f" records of {source.name!r} are theirs",
            hint="publish with person := …, or delete their records from the table; if these are other people, name"
            " another population",
        )
    spelling = {name.lower(): name for name in source.types}
    if {*ids.columns} <= spelling.keys():
        return tuple(spelling[name] for name in ids.columns)
    columns = " and ".join(map(repr, ids.columns))
    raise InvalidSource(
        f"records were withdrawn from population {source.population!r} by their ids in {columns}, which"
        f" {source.name!r} does not show, so it is unknown which they are",
        hint=f"let the table show {columns}, and exclude it; if these are other people, name another population",
    )
