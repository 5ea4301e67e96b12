"""Records and persons that are withdrawn enter no further version; what was handed out stays in the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from duckdb_priv.engine.fingerprints import id_sql, identified_origins, listed
from duckdb_priv.engine.source import Source, find_table, origins_of
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource, PrivError, echoed
from duckdb_priv.publisher.declared import Declared, all_declared
from duckdb_priv.release.arguments import ANYTHING, NAME, Arguments, argument, choice, read
from duckdb_priv.release.catalog import now, spent
from duckdb_priv.release.promise import sure_of
from duckdb_priv.sqltext.quoting import identifier, literal

COLUMNS = {"record": "record_id", "person": "person"}
"""By kind of what is withdrawn: the argument of a publication that names its columns."""


@dataclass(frozen=True, kw_only=True)
class WithdrawArguments(Arguments):
    """Who, and from where."""

    source: str = argument(NAME, "a table or view that is published", "'visits'")
    of: Any = argument(ANYTHING, "the id of a record, or of a person", "7")
    kind: str | None = argument(
        choice("record", "person"), "whose id it is", "'record'", default=None
    )


def mark_sql(ids: str) -> str:
    """Write the fingerprint of an id, as records are known again by it."""
    key = "(SELECT key FROM priv.identity)"
    return f"('0x' || sha256({key} || encode({ids}))[:16])::UBIGINT"


def leave_out_withdrawn(workspace: Workspace, source: Source) -> Source:
    """Leave out what was withdrawn from the tables that a source reads.

    Raises InvalidSource where it cannot be told which records those are.
    """
    if workspace.rows("SELECT count(*) FROM priv.withdrawn") == [(0,)]:
        return source
    origins = identified_origins(workspace, source.origins)
    spelling = {name.lower(): name for name in source.types}
    conditions = []
    for kind, by in _ways(workspace, origins).items():
        own = getattr(source, COLUMNS[kind])
        if not own:
            raise InvalidSource(
                f"{kind}s were withdrawn from {source.name!r}, and without {COLUMNS[kind]} it cannot be told which",
                hint=f"publish with {COLUMNS[kind]} := …, or delete their records from the table",
            )
        told = []
        for columns in by:
            names = [spelling[each.lower()] for each in columns or own if each.lower() in spelling]
            if len(names) < len(columns or own):
                continue
            of_these = f"kind = {literal(kind)} AND list_has_any(origins, {listed(origins)}) AND {_is_by(columns)}"
            told.append(of_these)
            # A record may have an id for this release, and none by which others were withdrawn.
            conditions.append(
                f"coalesce({mark_sql(id_sql(source, names))} NOT IN"
                f" (SELECT mark FROM priv.withdrawn WHERE {of_these}), true)"
            )
        _require_told(workspace, source, origins, kind, told)
    if not conditions:
        return source
    table = f"(SELECT s.* FROM {source.table} AS s WHERE {' AND '.join(conditions)})"
    ((rows,),) = workspace.rows(f"SELECT count(*) FROM {table}")
    if not rows:
        raise InvalidSource(
            f"all records of {source.name!r} were withdrawn", hint="nothing can be published of it"
        )
    return replace(source, table=table, rows=rows)


def _ways(workspace: Workspace, origins: Sequence[str]) -> dict[str, list[list[str] | None]]:
    """List the columns by whose ids something was withdrawn from these tables, by kind."""
    found: dict[str, list[list[str] | None]] = {}
    for kind, columns in workspace.rows(
        "SELECT DISTINCT kind, id_columns FROM priv.withdrawn WHERE list_has_any(origins, ?)",
        [list(origins)],
    ):
        found.setdefault(kind, []).append(columns)
    return found


def _is_by(columns: Sequence[str] | None) -> str:
    """Write that something was withdrawn by the ids in these columns."""
    return "id_columns IS NULL" if columns is None else f"id_columns = {listed(columns)}"


def _require_told(
    workspace: Workspace, source: Source, origins: Sequence[str], kind: str, told: Sequence[str]
) -> None:
    """Refuse a source that does not have the columns by whose ids something was withdrawn.

    ``told`` are the conditions of what can be told by the columns that it has.
    """
    known = " OR ".join(f"({each})" for each in told) or "false"
    unknown = workspace.rows(
        "SELECT DISTINCT id_columns FROM priv.withdrawn WHERE kind = ? AND list_has_any(origins, ?)"
        f" AND mark NOT IN (SELECT mark FROM priv.withdrawn WHERE {known})",
        [kind, list(origins)],
    )
    if unknown:
        columns = " and ".join(map(repr, unknown[0][0]))
        raise InvalidSource(
            f"{kind}s were withdrawn by their ids in {columns}, which {source.name!r} does not show, so it cannot"
            " be told which they are",
            hint=f"let the view show {columns}, and publish with replace := true and exclude := […] of it, which costs"
            " nothing where every record is drawn for itself",
        )


def refuse_withdrawn(workspace: Workspace, source: Source) -> None:
    """Refuse a source from which something was withdrawn, where another engine holds its records.

    Who was withdrawn is known by a key that is not handed to other engines.
    """
    origins = identified_origins(workspace, source.origins)
    if workspace.rows(
        "SELECT 1 FROM priv.withdrawn WHERE list_has_any(origins, ?) LIMIT 1", [origins]
    ):
        raise InvalidSource(
            f"records were withdrawn from {source.name!r}, and DuckDB alone can tell which",
            hint="delete them from the table, and publish what is left as another source",
        )


def withdraw(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Withdraw a record or a person from all further versions, and say what stands where."""
    (arguments,) = read(given, WithdrawArguments, of="withdraw")
    path = find_table(workspace, arguments.source)
    origins = identified_origins(workspace, sorted(origins_of(workspace, path)))
    releases = _releases(workspace, origins)
    if not releases:
        raise InvalidParameter(
            f"no release of {echoed(arguments.source)} stands here, or it is not known how it was declared",
            hint="delete the records from the table; FROM priv.publications() lists the releases",
        )
    named = [each for each in releases if each.arguments.get("person")]
    kind = arguments.kind or ("person" if named else "record")
    ways = list(dict.fromkeys(filter(None, (_columns(each, COLUMNS[kind]) for each in releases))))
    if not ways:
        raise InvalidParameter(
            f"no release of {echoed(arguments.source)} names a {COLUMNS[kind]}, so it cannot be told whose records they"
            " are",
            hint="delete them from the table, and publish it anew",
        )
    given_id = arguments.of if isinstance(arguments.of, list) else [arguments.of]
    columns, mark = _found(workspace, path, ways, given_id, kind)
    _keep(workspace, origins, kind, columns, mark)
    return [
        _told(workspace, each, kind, columns, known=_knows(workspace, each, kind, columns))
        for each in releases
    ]


def _found(
    workspace: Workspace,
    path: tuple[str, str, str],
    ways: Sequence[tuple[str, ...]],
    given: Sequence[str],
    kind: str,
) -> tuple[tuple[str, ...], int]:
    """Return the columns in which an id is found, of those in which releases have theirs, and its fingerprint.

    Raises InvalidParameter where it is found in none, or in several.
    """
    types = _types(workspace, path)
    spelling = {name.lower(): name for name in types}
    possible = [
        tuple(spelling[name.lower()] for name in names)
        for names in ways
        if len(names) == len(given) and {name.lower() for name in names} <= spelling.keys()
    ]
    if not possible:
        raise InvalidParameter(
            f"the id of a {kind} is in {' and '.join(map(repr, ways[0]))}, and {len(given)} values are given",
            hint="give as many values, as a list where there are several",
        )
    marks = {names: _mark(workspace, types, names, given) for names in dict.fromkeys(possible)}
    table = ".".join(map(identifier, path))
    found = [
        (names, mark)
        for names, mark in marks.items()
        if mark is not None
        and workspace.rows(
            f"SELECT 1 FROM {table} AS s WHERE {mark_sql(_id_of(types, names))} = ? LIMIT 1", [mark]
        )
    ] or [
        # It left the table before.
        (names, mark)
        for names, mark in marks.items()
        if mark is not None
        and workspace.rows(
            "SELECT 1 FROM priv.fingerprint WHERE mark = ? AND kind = ? LIMIT 1",
            [mark, "id" if kind == "record" else "person"],
        )
    ]
    if not found:
        raise InvalidParameter(
            f"no {kind} of {path[2]!r} has this id, and none had that was published",
            hint=f"kind := '{'record' if kind == 'person' else 'person'}' says whose id it is instead",
        )
    if len(found) > 1:
        several = " and in ".join(" and ".join(map(repr, names)) for names, _ in found)
        raise InvalidParameter(
            f"this id of a {kind} is found in {several}, so it cannot be told which is meant",
            hint="withdraw it from a view of the table that has one of these columns only",
        )
    return found[0]


def _keep(
    workspace: Workspace, origins: Sequence[str], kind: str, columns: Sequence[str], mark: int
) -> None:
    names = list(columns)
    if not workspace.rows(
        "SELECT 1 FROM priv.withdrawn WHERE kind = ? AND mark = ? AND list_has_any(origins, ?) AND id_columns = ?",
        [kind, mark, list(origins), names],
    ):
        workspace.cursor.execute(
            "INSERT INTO priv.withdrawn VALUES (?, ?, ?, ?, ?)",
            [list(origins), kind, names, mark, now()],
        )


def _knows(workspace: Workspace, release: Declared, kind: str, columns: Sequence[str]) -> bool:
    """Say whether the source of a release shows the columns by which something is withdrawn.

    A coarser release is made of a finer one, and one that names no id is refused as it was.
    """
    if not _columns(release, COLUMNS[kind]):
        return True
    try:
        path = find_table(replace(workspace, schemas=release.schemas), release.source)
    except PrivError:
        return True
    shown = {name.lower() for name in _types(workspace, path)}
    return {name.lower() for name in columns} <= shown


def _releases(workspace: Workspace, origins: Sequence[str]) -> list[Declared]:
    """List the releases that stand and are made of records of these tables."""
    of = {
        release
        for (release,) in workspace.rows(
            "SELECT DISTINCT entry.release FROM priv.ledger AS entry"
            " JOIN priv.source AS known ON known.number = entry.source_number WHERE list_has_any(known.origins, ?)",
            [list(origins)],
        )
    }
    return [each for each in all_declared(workspace.cursor) if each.release in of]


def _columns(declared: Declared, name: str) -> tuple[str, ...]:
    found = declared.arguments.get(name) or ()
    return (found,) if isinstance(found, str) else tuple(found)


def _types(workspace: Workspace, path: tuple[str, str, str]) -> dict[str, str]:
    """Read the columns of a table, with their types."""
    table = ".".join(map(identifier, path))
    return {row[0]: row[1] for row in workspace.rows(f"DESCRIBE SELECT * FROM {table}")}


def _mark(
    workspace: Workspace, types: Mapping[str, str], names: Sequence[str], given: Sequence[str]
) -> int | None:
    """Return the fingerprint of an id in these columns; None where it cannot be one."""
    values = ", ".join(f"TRY_CAST(? AS {types[name]}) AS {identifier(name)}" for name in names)
    ((mark,),) = workspace.rows(
        f"SELECT {mark_sql(_id_of(types, names))} FROM (SELECT {values}) AS s",
        list(map(str, given)),
    )
    return None if mark is None else int(mark)


def _id_of(types: Mapping[str, str], names: Sequence[str]) -> str:
    return id_sql(Source("", "", dict(types), (), (), tuple(names), (), 0), names)


def _told(
    workspace: Workspace, declared: Declared, kind: str, columns: Sequence[str], *, known: bool
) -> dict[str, Any]:
    epsilon = spent(workspace.cursor, declared.release)
    told = (
        "how much they say about you has no limit in numbers"
        if epsilon is None
        else "someone who was half sure of a true value of yours may be"
        f" {sure_of(epsilon)} sure after seeing what one record of yours shows there"
    )
    out = f"The {kind} is out of the next version: FROM priv.refresh({literal(declared.release)})."
    if not known:
        out = (
            f"There is no next version, since the source does not show {' and '.join(map(repr, columns))}, and it"
            f" cannot be told which {kind} it is: let it show that, and publish with replace := true."
        )
    return {
        "release": declared.release,
        "version": declared.version,
        "epsilon": epsilon,
        "statement": f'{out} To read to the person: "From now on nothing of yours is in what we publish of this table.'
        f" Version {declared.version} and those before were handed out and cannot be taken back. They show noisy"
        f' values, not your true ones: {told}."',
    }
