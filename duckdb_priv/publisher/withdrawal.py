"""Records and persons that are withdrawn enter no further version; what was handed out stays in the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from duckdb_priv.engine.fingerprints import id_sql, identified_origins, listed
from duckdb_priv.engine.source import Source, find_table, origins_of
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource, echoed
from duckdb_priv.publisher.declared import Declared, all_declared
from duckdb_priv.release.arguments import ANYTHING, NAME, Arguments, argument, choice, read
from duckdb_priv.release.catalog import now, spent
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
    conditions = []
    for (kind,) in workspace.rows(
        "SELECT DISTINCT kind FROM priv.withdrawn WHERE list_has_any(origins, ?)", [origins]
    ):
        columns = getattr(source, COLUMNS[kind])
        if not columns:
            raise InvalidSource(
                f"{kind}s were withdrawn from {source.name!r}, and without {COLUMNS[kind]} it cannot be told which",
                hint=f"publish with {COLUMNS[kind]} := …, or delete their records from the table",
            )
        conditions.append(
            f"{mark_sql(id_sql(source, columns))} NOT IN (SELECT mark FROM priv.withdrawn"
            f" WHERE kind = {literal(kind)} AND list_has_any(origins, {listed(origins)}))"
        )
    if not conditions:
        return source
    table = f"(SELECT s.* FROM {source.table} AS s WHERE {' AND '.join(conditions)})"
    ((rows,),) = workspace.rows(f"SELECT count(*) FROM {table}")
    if not rows:
        raise InvalidSource(
            f"all records of {source.name!r} were withdrawn", hint="nothing can be published of it"
        )
    return replace(source, table=table, rows=rows)


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
    columns = next((found for each in releases if (found := _columns(each, COLUMNS[kind]))), None)
    if columns is None:
        raise InvalidParameter(
            f"no release of {echoed(arguments.source)} names a {COLUMNS[kind]}, so it cannot be told whose records they"
            " are",
            hint="delete them from the table, and publish it anew",
        )
    given_id = arguments.of if isinstance(arguments.of, list) else [arguments.of]
    mark = _mark(workspace, path, columns, given_id, kind)
    if not workspace.rows(
        "SELECT 1 FROM priv.withdrawn WHERE kind = ? AND mark = ? AND list_has_any(origins, ?)",
        [kind, mark, origins],
    ):
        workspace.cursor.execute(
            "INSERT INTO priv.withdrawn VALUES (?, ?, ?, ?)", [origins, kind, mark, now()]
        )
    return [_told(workspace, each, kind) for each in releases]


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


def _columns(declared: Declared, name: str) -> list[str]:
    found = declared.arguments.get(name) or []
    return [found] if isinstance(found, str) else list(found)


def _mark(
    workspace: Workspace,
    path: tuple[str, str, str],
    columns: Sequence[str],
    given: Sequence[str],
    kind: str,
) -> int:
    """Return the fingerprint of an id that is in the table, or was published; raises InvalidParameter otherwise."""
    table = ".".join(map(identifier, path))
    types = {row[0]: row[1] for row in workspace.rows(f"DESCRIBE SELECT * FROM {table}")}
    spelling = {name.lower(): name for name in types}
    names = [spelling[name.lower()] for name in columns if name.lower() in spelling]
    if len(names) < len(columns) or len(given) != len(names):
        raise InvalidParameter(
            f"the id of a {kind} is in {' and '.join(map(repr, columns))}, and {len(given)} values are given",
            hint="give as many values, as a list where there are several",
        )
    values = ", ".join(f"TRY_CAST(? AS {types[name]}) AS {identifier(name)}" for name in names)
    found = Source("", "", types, (), (), tuple(names), (), 0)
    ids = id_sql(found, names)
    ((mark,),) = workspace.rows(
        f"SELECT {mark_sql(ids)} FROM (SELECT {values}) AS s", list(map(str, given))
    )
    known = mark is not None and workspace.rows(
        "SELECT count(*) > 0 OR (SELECT count(*) > 0 FROM priv.fingerprint WHERE mark = $1 AND kind = $2)"
        f" FROM {table} AS s WHERE {mark_sql(ids)} = $1",
        [mark, "id" if kind == "record" else "person"],
    ) == [(True,)]
    if not known:
        raise InvalidParameter(
            f"no {kind} of {path[2]!r} has this id, and none had that was published",
            hint=f"kind := '{'record' if kind == 'person' else 'person'}' says whose id it is instead",
        )
    return int(mark)


def _told(workspace: Workspace, declared: Declared, kind: str) -> dict[str, Any]:
    epsilon = spent(workspace.cursor, declared.release)
    told = (
        "what it tells has no epsilon"
        if epsilon is None
        else f"it changes the odds between two true values by exp({epsilon:.4g}) at most"
    )
    return {
        "release": declared.release,
        "version": declared.version,
        "epsilon": epsilon,
        "statement": f"The {kind} is out of the next version: FROM priv.refresh({literal(declared.release)}). Version"
        f" {declared.version} and those before cannot be taken back; of a record {told}.",
    }
