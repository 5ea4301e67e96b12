"""Exports a release: a file with one published table, its public catalog and its macros, and nothing else.

The file is written under a temporary name in the same folder, and renamed when it is complete (``placing``). The caller
makes the card, a page that explains the release. The card is stored in the file and next to it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from duckdb_priv.engine.workspace import SCHEMA, Workspace
from duckdb_priv.errors import InvalidParameter, echoed
from duckdb_priv.estimator import dialects, estimated, examples, labels, macros, read_me, views
from duckdb_priv.estimator.written import Written
from duckdb_priv.publisher import comments, metadata, page
from duckdb_priv.publisher.declared import keep_export
from duckdb_priv.publisher.described import describe
from duckdb_priv.publisher.intact import find_intact
from duckdb_priv.publisher.placing import (
    begin,
    beside,
    give_up,
    move_file,
    move_folder,
    place_for,
    refuse_replaying,
    refuse_unmarked,
    replaceable,
    write_text,
)
from duckdb_priv.publisher.signing import Signature, SigningKey, sign_file, signing_key
from duckdb_priv.release import catalog
from duckdb_priv.release.arguments import (
    FILE,
    FLAG,
    NAME,
    Arguments,
    argument,
    choice,
    read,
    several,
)
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.quoting import identifier, in_types, literal, without_carriage_returns
from duckdb_priv.sqltext.reading import types_of

STORAGE_VERSION = "v1.0.0"
"""A storage format that DuckDB 1.4 and later opens, in every client."""
SCRIPT = "setup.sql"
"""The script of a Parquet release that creates its tables, views and macros."""
DATA = "data.parquet"
CATALOG = "catalog"
PAGE = "card.html"
"""The card of a Parquet release; the card of a release file has the name of that file."""
SCRIPT_TITLE = "-- A release published by duckdb_priv."
SCRIPT_USE = """\
-- In this folder, run:  duckdb release.duckdb -init setup.sql
-- It needs DuckDB 1.4 or newer.
"""
NOT_IN_PARQUET = re.compile(r"\b(U?HUGEINT|INTERVAL|TIME WITH TIME ZONE)\b")
"""Types whose values Parquet rounds, or whose zone it drops."""
QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")


@dataclass(frozen=True, kw_only=True)
class ExportArguments(Arguments):
    """The release to export, and the path and formats."""

    release: str = argument(NAME, "the release to write", "'visits_public'")
    path: str = argument(FILE, "the file or folder to write", "'visits_public.duckdb'")
    format: str = argument(
        choice("duckdb", "parquet"), "what is written", "'duckdb'", default="duckdb"
    )
    card: bool = argument(
        FLAG, "whether the page that explains it is written beside it, too", "false", default=True
    )
    metadata: tuple[str, ...] = argument(
        several(*metadata.FORMATS),
        "the formats in which it is described for programs, beside it",
        "['croissant', 'dcat']",
        default=(),
    )
    dialects: tuple[str, ...] = argument(
        several(*dialects.DIALECTS),
        "the databases for which views of estimates are written beside it",
        "['spark', 'postgres']",
        default=(),
    )
    sign: bool = argument(FLAG, "whether it is signed", "true", default=False)
    key_file: str | None = argument(
        FILE, "the file of the key that it is signed with", "'hospital.key'", default=None
    )

    def __post_init__(self) -> None:
        if self.key_file is not None and not self.sign:
            raise InvalidParameter("key_file is for what is signed", hint="write sign := true")


def export_with(
    maker: page.Maker, workspace: Workspace, given: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Write a release and its card to a file, or to a folder of Parquet files with a script."""
    (arguments,) = read(given, ExportArguments, of="export_release")
    release = find_intact(workspace, arguments.release)
    path = place_for(arguments.path, arguments.format)
    key = signing_key(arguments.key_file) if arguments.sign else None
    described = describe(workspace.cursor, release) if arguments.metadata else None
    documents = [metadata.place_of(path, form) for form in arguments.metadata]
    for place in documents:
        metadata.check_replaceable(place, release)
    views_elsewhere = _scripts(workspace, release, path, arguments.dialects)
    workspace.stage("asking for the card, and writing")
    if arguments.format == "duckdb":
        _check_replaceable_file(path, release)
        card = beside(path, "html")
        if arguments.card:
            page.check_replaceable(card, release)
        html = page.named(maker(workspace.cursor, release), release)
        _write_file(workspace, path, release, html, key)
        if arguments.card:
            workspace.on_commit.append(partial(write_text, card, html))
    else:
        card = path / PAGE
        _check_replaceable_folder(path, release)
        html = page.named(maker(workspace.cursor, release), release)
        _write_folder(workspace, path, release, html, key, shown=arguments.card)
    if described is not None:
        metadata.write(workspace, path, described, arguments.metadata)
    for place, text in views_elsewhere.items():
        workspace.on_commit.append(partial(write_text, place, text))
    keep_export(workspace, release, asdict(replace(arguments, path=str(path))))
    return [
        {
            "release": release,
            "path": str(path),
            "format": arguments.format,
            "card": str(card) if arguments.card else None,
            "metadata": [str(place) for place in documents],
            "dialects": [str(place) for place in views_elsewhere],
            "signed_with": None if key is None else key.public,
        }
    ]


def _check_replaceable_file(path: Path, release: str) -> None:
    """Refuse to overwrite anything but an earlier export of the same release."""
    if not path.exists():
        refuse_replaying(path)
        return
    if found_in(path) != {release}:
        raise InvalidParameter(
            f"{str(path)!r} exists and is no export of {release!r}, or another program writes to it",
            hint="close it there, choose another name, or remove it first",
        )


def found_in(path: Path) -> set[str]:
    """Return the names of the releases in a file; empty if it is not a release file."""
    with duckdb.connect() as connection, suppress(duckdb.Error):
        connection.execute(f"ATTACH {literal(str(path))} AS found (READ_ONLY)")
        tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'found' AND schema_name = 'priv'"
        ).fetchall()
        if {name for (name,) in tables} == set(catalog.PUBLIC):
            rows = connection.execute("SELECT release FROM found.priv.release").fetchall()
            return {name for (name,) in rows}
    return set()


def _check_replaceable_folder(path: Path, release: str) -> None:
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    script = path / SCRIPT
    if not (script.exists() and replaceable(script, _title(release))):
        raise InvalidParameter(
            f"{str(path)!r} exists and is no export of {release!r}",
            hint="choose another name, or remove it first",
        )
    if foreign := sorted({file.name for file in path.iterdir()} - {SCRIPT, DATA, CATALOG, PAGE}):
        raise InvalidParameter(
            f"{str(path)!r} holds {foreign[0]!r}, which is not of the export",
            hint="move it elsewhere: the folder is replaced as a whole",
        )


def _title(release: str) -> str:
    return f"{SCRIPT_TITLE}\n-- Release: {release!r}\n"


def _write_file(
    workspace: Workspace, path: Path, release: str, html: str, key: SigningKey | None
) -> None:
    part = begin(path)
    finish = _write_database(workspace, part, release, html)

    def move() -> None:
        finish()
        if key is not None:
            sign_file(part, release, html, key)
        move_file(part, path)

    workspace.on_commit.append(move)


def _write_database(
    workspace: Workspace, part: Path, release: str, html: str
) -> Callable[[], None]:
    """Write a release file, and return the function that completes it after the commit."""
    alias = identifier(f"_priv_export_{uuid.uuid4().hex}")
    home = identifier(workspace.database)
    cursor = workspace.cursor

    def detach() -> None:
        cursor.execute(f"USE {home}")
        cursor.execute(f"DETACH {alias}")

    def finish() -> None:
        cursor.execute(f"CHECKPOINT {alias}")
        detach()

    def undo() -> None:
        with suppress(duckdb.Error):
            detach()
        give_up(part)

    workspace.on_rollback.append(undo)
    # No write-ahead log: the file is renamed when complete, or not at all.
    cursor.execute(
        f"ATTACH {literal(str(part))} AS {alias}"
        f" (STORAGE_VERSION {literal(STORAGE_VERSION)}, RECOVERY_MODE no_wal_writes)"
    )
    cursor.execute(f"USE {alias}")
    cursor.execute("CREATE SCHEMA priv")
    for table in catalog.PUBLIC:
        cursor.execute(catalog.table_definitions()[table])
        cursor.execute(
            f"INSERT INTO priv.{table} SELECT * FROM {home}.priv.{table} WHERE release = ?",
            [release],
        )
    cursor.execute(
        f"CREATE TABLE {SCHEMA}.{identifier(release)} AS FROM {workspace.table(release)}"
    )
    create_objects(cursor, release, html)
    return finish


def create_objects(cursor: duckdb.DuckDBPyConnection, release: str, html: str) -> None:
    """Create the comments, macros and views of a release file. Its catalog and rows must exist."""
    attributes = catalog.sensitive_attributes(cursor)
    macros.run(cursor, comments.statements(cursor, release, attributes))
    macros.create(cursor, attributes)
    macros.run(cursor, _views(cursor, release, attributes, html))


def _views(
    cursor: duckdb.DuckDBPyConnection,
    release: str,
    attributes: Sequence[SensitiveAttribute],
    html: str,
) -> list[str]:
    return [
        *labels.statements(),
        *views.statements(cursor, release, attributes),
        *estimated.statements(cursor, release, attributes),
        *examples.statements(cursor, release, attributes),
        *read_me.statements(cursor, release, attributes),
        *page.statements(html),
    ]


def _write_folder(
    workspace: Workspace,
    path: Path,
    release: str,
    html: str,
    key: SigningKey | None,
    *,
    shown: bool,
) -> None:
    part = begin(path)
    workspace.on_rollback.append(lambda: give_up(part))
    part.mkdir()
    table = workspace.table(release)
    types = types_of(workspace.cursor, table)
    refuse_for_parquet(release, types)
    workspace.cursor.execute(
        f"COPY (FROM {table}) TO {literal(str(part / DATA))} (FORMAT parquet, COMPRESSION zstd)"
    )
    write_catalog(workspace, part, release, "TABLE", selected(types), html)
    if shown:
        (part / PAGE).write_text(html, encoding="utf-8", newline="\n")
    if key is not None:
        _sign_folder(workspace, part, release, html, key)
    workspace.on_commit.append(lambda: move_folder(part, path))


def _sign_folder(
    workspace: Workspace, part: Path, release: str, html: str, key: SigningKey
) -> None:
    """Sign a folder by the contents that a file of the same release would have."""
    beside = part / "signed.duckdb"
    finish = _write_database(workspace, beside, release, html)

    def sign() -> None:
        finish()
        signature = sign_file(beside, release, html, key)
        beside.unlink()
        with (part / SCRIPT).open("a", encoding="utf-8", newline="\n") as script:
            script.write(signature_text(signature))

    workspace.on_commit.append(sign)


def signature_text(signature: Signature) -> str:
    """Write the statements that end the script of a signed folder."""
    return "\n" + ";\n\n".join(signature.statements) + ";\n"


def selected(types: Mapping[str, str]) -> str:
    """Write the select list and source that read the rows of a folder with these column types."""
    columns = in_types(types, ",\n    ")
    return f"{columns}\nFROM read_parquet('{DATA}')"


def refuse_for_parquet(release: str, types: Mapping[str, str]) -> None:
    """Refuse names and types that a folder of Parquet files cannot hold."""
    for name in (release, *types):
        if "\r" in name:
            raise InvalidParameter(
                f"the name {echoed(name)} contains a carriage return, which reading a script line by line changes",
                hint="format := 'duckdb', or rename it",
            )
    for column, kind in types.items():
        if NOT_IN_PARQUET.search(QUOTED.sub("", kind)):
            raise InvalidParameter(
                f"column {column!r} has type {kind}, whose values Parquet would change",
                hint="format := 'duckdb', or cast it in a view and publish the view",
            )


def write_catalog(
    workspace: Workspace, part: Path, release: str, kind: str, selected: str, html: str
) -> None:
    """Write the catalog and the setup script of a folder of Parquet files.

    ``kind`` is what the script creates from the rows, TABLE or VIEW. ``selected`` is the query that reads them.
    ``html`` is the card.
    """
    home = identifier(workspace.database)
    (part / CATALOG).mkdir()
    for table in catalog.PUBLIC:
        workspace.cursor.execute(
            f"COPY (FROM {home}.priv.{table} WHERE release = {literal(release)})"
            f" TO {literal(str(part / CATALOG / f'{table}.parquet'))} (FORMAT parquet)"
        )
    script = script_text(workspace.cursor, release, kind, selected, html)
    (part / SCRIPT).write_text(script, encoding="utf-8", newline="\n")


def script_text(
    cursor: duckdb.DuckDBPyConnection, release: str, kind: str, selected: str, html: str
) -> str:
    """Write the script that creates the contents of a release file from Parquet files."""
    attributes = catalog.sensitive_attributes(cursor, release)
    statements = [
        "CREATE SCHEMA IF NOT EXISTS priv",
        *(
            f"{catalog.table_definitions()[table]}\n"
            f"INSERT INTO priv.{table} FROM read_parquet('{CATALOG}/{table}.parquet')"
            for table in catalog.PUBLIC
        ),
        f"CREATE {kind} {identifier(release)} AS SELECT\n    {selected}",
        *comments.statements(cursor, release, attributes, kind),
        *(statement.rstrip().rstrip(";") for statement in macros.statements(Written(attributes))),
        *_views(cursor, release, attributes, html),
    ]
    script = _title(release) + SCRIPT_USE + "\n" + ";\n\n".join(statements) + ";\n"
    return without_carriage_returns(script)


def _scripts(
    workspace: Workspace, release: str, export: Path, wanted: Sequence[str]
) -> dict[Path, str]:
    """Return the text of each script, by path.

    Raises InvalidParameter if another file has that path, or if the release cannot be counted outside DuckDB.
    """
    if not wanted:
        return {}
    attributes = catalog.sensitive_attributes(workspace.cursor, release)
    columns = catalog.published_columns(workspace.cursor, release)
    public = [of.name for of in columns if of.role == "public"]
    found = {}
    for dialect in dict.fromkeys(wanted):
        place = beside(export, f"{dialect}.sql")
        refuse_unmarked(place, dialects.mark(release), release, "dialects")
        found[place] = dialects.script(release, attributes, public, dialect)
    return found
