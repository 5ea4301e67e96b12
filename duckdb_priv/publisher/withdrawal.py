"""Withdraws records and people from later publications; the ledger keeps earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duckdb_priv.engine.marking import mark_stream
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.ledger import withdrawn
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.ledger.population import find_population
from duckdb_priv.ledger.withdrawn import IdColumns
from duckdb_priv.publisher.declared import Declared, all_declared
from duckdb_priv.publisher.records import mark_sql
from duckdb_priv.release.arguments import ANYTHING, Arguments, argument, choice, read
from duckdb_priv.release.catalog import spent
from duckdb_priv.release.promise import sure_of
from duckdb_priv.release.request import population_argument
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.templates import section


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
            mark=mark_sql(ids, stream),
            missing=missing,
            columns=columns,
        ),
        [str(value) for value in values],
    )
    return None if unreadable else int(number)


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
