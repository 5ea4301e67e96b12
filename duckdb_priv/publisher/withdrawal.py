"""Withdraws records and people from later publications; the ledger keeps earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.kernel import RECORDS, Kernel, Table
from duckdb_priv.engine.marking import MARKS, mark, mark_of_text, mark_stream, person_text
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.ledger import withdrawn
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.ledger.population import find_population
from duckdb_priv.ledger.withdrawn import IdColumns
from duckdb_priv.publisher.declared import Declared, all_declared
from duckdb_priv.release.arguments import ANYTHING, Arguments, argument, choice, read
from duckdb_priv.release.catalog import spent
from duckdb_priv.release.promise import sure_of
from duckdb_priv.release.request import population_argument
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.reading import select
from duckdb_priv.sqltext.templates import place, section


@dataclass(frozen=True, kw_only=True)
class WithdrawArguments(Arguments):
    """The id to withdraw, and the population."""

    id: Any = argument(ANYTHING, "the id of a record, or of a person", "7")
    population: str = population_argument()
    kind: str | None = argument(
        choice("record", "person"), "whose id it is", "'record'", default=None
    )


def withdraw(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Withdraw a record or a person from later publications, and return the releases that contain it."""
    (arguments,) = read(given, WithdrawArguments, of="withdraw")
    population = find_population(workspace.cursor, arguments.population)
    named = withdrawn.ids_of(workspace.cursor, population)
    kind = arguments.kind or (
        "person" if any(each.kind == "person" for each in named) else "record"
    )
    values = arguments.id if isinstance(arguments.id, list) else [arguments.id]
    of_kind = [each for each in named if each.kind == kind]
    if not of_kind:
        raise InvalidParameter(
            f"nothing was published of population {population!r} that names a"
            f" {'record_id' if kind == 'record' else 'person'}, so it is unknown whose records they are",
            hint="delete them from the table, and publish it once more",
        )
    possible = [each for each in of_kind if len(each.columns) == len(values)]
    if not possible:
        raise InvalidParameter(
            f"the id of a {kind} is in {' and '.join(map(repr, of_kind[0].columns))}, and {len(values)} values are"
            " given",
            hint="give as many values, as a list where there are several",
        )
    marks = {each: _mark(workspace, each, values) for each in possible}
    found = {
        ids: number
        for ids, number in marks.items()
        if number is not None and withdrawn.is_known(workspace.cursor, population, kind, number)
    }
    if not found:
        raise InvalidParameter(
            f"no {kind} of population {population!r} that was published has this id",
            hint=f"kind := '{'record' if kind == 'person' else 'person'}' says whose id it is instead; delete who was"
            " never published from the table",
        )
    for ids, number in found.items():
        withdrawn.keep(workspace.cursor, population, ids, number)
    return [
        _row(workspace, each, kind)
        for each in all_declared(workspace.cursor)
        if last_of(workspace.cursor, each.release).population == population
    ]


def _mark(workspace: Workspace, ids: IdColumns, values: Sequence[Any]) -> int | None:
    """Return the mark of an id; None if the values cannot be such an id."""
    columns = ", ".join(
        f"TRY_CAST(? AS {kind}) AS {identifier(name)}"
        for name, kind in zip(ids.columns, ids.types, strict=True)
    )
    missing = " OR ".join(f"{identifier(name)} IS NULL" for name in ids.columns)
    stream = str(workspace.open_stream(mark_stream(workspace)))
    ((number, unreadable),) = workspace.rows(
        section(
            "publishing",
            "mark_of_id",
            mark=_mark_sql(ids, stream),
            missing=missing,
            columns=columns,
        ),
        [str(value) for value in values],
    )
    return None if unreadable else int(number)


def _mark_sql(ids: IdColumns, stream: str) -> str:
    """Write the SQL for the mark of a record ``s``, by record id or person; a missing id gets an arbitrary mark."""
    types = dict(zip(ids.columns, ids.types, strict=True))
    if ids.kind == "person":
        return mark_of_text(person_text(ids.columns, types), stream)
    return mark(Source("", "", types, (), (), ids.columns, (), 0), stream, missing="0")


def leave_out_withdrawn(workspace: Workspace, source: Source) -> Source:
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
        mark_of = _mark_sql(IdColumns(ids.kind, names, types), place(MARKS))
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


def _row(workspace: Workspace, declared: Declared, kind: str) -> dict[str, Any]:
    epsilon = spent(workspace.cursor, declared.release)
    says = (
        "how much they say about you has no limit in numbers"
        if epsilon is None
        else "someone who was half sure of a true value of yours may be"
        f" {sure_of(epsilon)} sure after seeing what one record of yours shows there"
    )
    return {
        "release": declared.release,
        "version": declared.version,
        "epsilon": epsilon,
        "statement": f"The {kind} is out of the next version: {declared.next_version}."
        ' To read to the person: "From now on nothing of yours is in what we publish of this population.'
        f" Version {declared.version} and those before were handed out and cannot be taken back. They show noisy"
        f' values, not your true ones: {says}."',
    }
