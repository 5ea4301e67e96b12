"""The ids withdrawn from a population, stored as keyed marks."""

from __future__ import annotations

from dataclasses import dataclass

from duckdb_priv.release.catalog import Connection, now
from duckdb_priv.sqltext.templates import section


@dataclass(frozen=True)
class IdColumns:
    """The columns of an id, in lower case, and their types."""

    kind: str
    """``record`` or ``person``."""
    columns: tuple[str, ...]
    types: tuple[str, ...]


def ids_of(connection: Connection, population: str) -> list[IdColumns]:
    """List the id columns of a population's publications."""
    rows = connection.execute(section("ledger", "id_columns"), [population]).fetchall()
    return [IdColumns(kind, tuple(columns), tuple(types)) for kind, columns, types in rows]


def withdrawn_ids(connection: Connection, population: str) -> list[tuple[IdColumns, list[int]]]:
    """List the id columns of a population's withdrawals, with their published types and the marks of the ids."""
    named: set[tuple[str, tuple[str, ...]]] = set()
    marks: dict[str, set[int]] = {}
    for kind, columns, mark in connection.execute(
        "SELECT kind, id_columns, mark FROM priv.withdrawn WHERE population = ?", [population]
    ).fetchall():
        named.add((kind, tuple(columns)))
        marks.setdefault(kind, set()).add(mark)
    return [
        (each, sorted(marks[each.kind]))
        for each in (ids_of(connection, population) if named else ())
        if (each.kind, each.columns) in named
    ]


def is_known(connection: Connection, population: str, kind: str, mark: int) -> bool:
    """Return whether an id was published, or may have been because not all marks are stored."""
    ((known,),) = connection.execute(
        section("ledger", "is_known"), [population, mark, kind]
    ).fetchall()
    return bool(known)


def keep(connection: Connection, population: str, ids: IdColumns, mark: int) -> None:
    """Store the mark of a withdrawn id."""
    connection.execute(
        section("ledger", "keep_withdrawn"),
        [population, ids.kind, list(ids.columns), mark, now()],
    )
