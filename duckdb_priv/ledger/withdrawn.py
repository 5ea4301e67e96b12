"""The ids withdrawn from a population, stored as keyed marks."""

from __future__ import annotations

from dataclasses import dataclass

from duckdb_priv.release.catalog import Connection, now


@dataclass(frozen=True)
class IdColumns:
    """The columns of an id, in lower case, and their types."""

    kind: str
    """``record`` or ``person``."""
    columns: tuple[str, ...]
    types: tuple[str, ...]


def ids_of(connection: Connection, population: str) -> list[IdColumns]:
    """List the id columns of a population's publications."""
    rows = connection.execute(
        "SELECT DISTINCT 'record', list_transform(record_id, lambda x: lower(x)), id_types FROM priv.ledger"
        " WHERE population = $1 AND len(record_id) > 0"
        " UNION SELECT DISTINCT 'person', list_transform(person, lambda x: lower(x)),"
        " list_transform(person, lambda x: 'VARCHAR') FROM priv.ledger WHERE population = $1 AND len(person) > 0"
        " ORDER BY ALL",
        [population],
    ).fetchall()
    return [IdColumns(kind, tuple(columns), tuple(types)) for kind, columns, types in rows]


def withdrawn_ids(connection: Connection, population: str) -> list[tuple[IdColumns, list[int]]]:
    """List the id columns of a population's withdrawals, with their published types and the marks of the ids."""
    rows = connection.execute(
        "SELECT kind, list(DISTINCT id_columns), list(DISTINCT mark ORDER BY mark) FROM priv.withdrawn"
        " WHERE population = ? GROUP BY kind",
        [population],
    ).fetchall()
    by = {kind: (columns, marks) for kind, columns, marks in rows}
    return [
        (each, by[each.kind][1])
        for each in ids_of(connection, population)
        if each.kind in by and [*each.columns] in by[each.kind][0]
    ]


def is_known(connection: Connection, population: str, kind: str, mark: int) -> bool:
    """Return whether an id was published, or may have been because not all marks are stored."""
    ((known,),) = connection.execute(
        "WITH entry AS (FROM priv.ledger WHERE population = $1),"
        " draws AS (SELECT ('0x' || coins[:16])::UBIGINT FROM entry)"
        " SELECT EXISTS (FROM priv.mark WHERE CASE WHEN $3 = 'person' THEN person ELSE mark END = $2"
        " AND draw IN (FROM draws))"
        " OR $3 = 'record' AND EXISTS (FROM priv.grouped_mark WHERE mark = $2 AND draw IN (FROM draws))"
        " OR EXISTS (FROM priv.seen WHERE mark = $2 AND publication IN (SELECT publication FROM entry))"
        " OR EXISTS (FROM entry WHERE level > 0)"
        # Methods that group records together store no marks of people.
        " OR ($3 = 'person' AND EXISTS (FROM entry WHERE len(person) > 0 AND ('0x' || coins[:16])::UBIGINT NOT IN"
        " (SELECT draw FROM priv.mark WHERE person IS NOT NULL)))",
        [population, mark, kind],
    ).fetchall()
    return bool(known)


def keep(connection: Connection, population: str, ids: IdColumns, mark: int) -> None:
    """Store the mark of a withdrawn id."""
    connection.execute(
        "INSERT INTO priv.withdrawn SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (FROM priv.withdrawn"
        " WHERE population = $1 AND kind = $2 AND id_columns = $3 AND mark = $4)",
        [population, ids.kind, list(ids.columns), mark, now()],
    )
