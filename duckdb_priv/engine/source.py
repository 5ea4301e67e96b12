"""The private table: finding it, reading its columns, and assigning their roles."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import duckdb

from duckdb_priv.engine.byte_order import compared_by_bytes, read_exactly
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource, UnknownName, echoed
from duckdb_priv.release.request import INTEGER, POPULATION, Roles
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.reading import count_of

PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^".\s]+))\s*(?:\.|$)')
PLAIN = re.compile(r"^\w+$")
SCALAR = re.compile(
    r"^(VARCHAR|BOOLEAN|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)|DATE|TIME"
    r"|TIMESTAMP(_S|_MS|_NS)?|UUID|ENUM\(.*\))$",
    re.DOTALL,
)
"""Types whose values have a single text, so that a domain can be listed; a time with a zone has several texts."""
RESERVED = "_priv_"
"""Prefix of our own names beside the user's."""
BITS_PER_ROW = 8
"""Bits of the bitmap per row, at most. Counting integer ids in a bitmap takes a tenth of a hash table's time."""
COUNTED = 100_000
"""Up to this number of ids, counting is faster than searching all constraints for a primary key."""
LONGEST_BITMAP = 1_000_000_000
"""The longest bitmap that DuckDB makes."""


@dataclass(frozen=True)
class Source:
    """The private table as one request sees it."""

    table: str
    """Table expression: the quoted full name, or a query in which only identical values are equal."""
    name: str
    """The full name, for messages."""
    types: dict[str, str]
    """Type of every column."""
    public: tuple[str, ...]
    sensitive: tuple[str, ...]
    record_id: tuple[str, ...]
    origins: tuple[str, ...]
    """The tables that the source reads."""
    rows: int
    person: tuple[str, ...] = ()
    """The columns of the person id."""
    persons: int | None = None
    """Number of people; None if there is no person column."""
    rows_of_person: int | None = None
    """The most records that one person has, or may have; None if there is no person column."""
    population: str = POPULATION
    """The population of the source; its name is part of every key of noise."""
    version: str | None = None
    """Version of the tables, if another engine than DuckDB holds them and reports it."""
    collated: tuple[str, ...] = ()
    """Text columns that the owner's table does not compare byte by byte."""
    answers: Callable[[Workspace, Source], Any] | None = field(
        default=None, repr=False, compare=False
    )
    """Computes counts of the records, if another engine than DuckDB holds them."""

    @property
    def stored(self) -> str:
        """The quoted full name, under which the owner reads the table."""
        return quoted_name(self.name)

    @property
    def read_types(self) -> dict[str, str]:
        """Types of the columns that publishing reads."""
        read = {*self.public, *self.sensitive, *self.record_id}
        return {name: kind for name, kind in self.types.items() if name in read}

    @property
    def published_roles(self) -> dict[str, str]:
        """The role of each published column, in the order of the source."""
        return {
            name: "sensitive" if name in self.sensitive else "public"
            for name in self.types
            if name in self.sensitive or name in self.public
        }

    @property
    def id_form(self) -> str:
        """Return the form in which the record id keys the random bits."""
        return "integer" if self.integer_id else f"text of {len(self.record_id)}"

    @property
    def integer_id(self) -> bool:
        """Whether the record id is one integer."""
        return len(self.record_id) == 1 and bool(INTEGER.match(self.types[self.record_id[0]]))

    def drawing(self, kind: str) -> tuple[str, str]:
        """Return the function that draws ``bits`` or ``random_bits`` for records, and SQL for the ids that it takes."""
        if self.integer_id:
            return f"_priv_integer_{kind}", "_number"
        return f"_priv_{kind}", "_number, _text"

    @property
    def id_arguments(self) -> tuple[str, str]:
        """Return SQL for a record ``s``'s id as the random bits take it: an integer, or a text."""
        nothing = ("NULL::BIGINT", "NULL::VARCHAR")
        # The text of a time with a zone depends on the session's time zone.
        columns = [
            f"epoch_us(s.{identifier(name)})"
            if self.types[name] == "TIMESTAMP WITH TIME ZONE"
            else f"s.{identifier(name)}"
            for name in self.record_id
        ]
        if not columns:
            return nothing
        if self.integer_id:
            return f"{columns[0]}::BIGINT", nothing[1]
        return nothing[0], joined([f"{column}::VARCHAR" for column in columns])


def joined(texts: Sequence[str]) -> str:
    """Return SQL for one text of several, from which they can be told apart.

    >>> print(joined(["a"]), joined(["a", "b"]))
    a length(a) || ':' || a || length(b) || ':' || b
    """
    if len(texts) == 1:
        return texts[0]
    # Lengths distinguish ('ab', 'c') from ('a', 'bc').
    return " || ".join(f"length({text}) || ':' || {text}" for text in texts)


def is_one_of(kind: str, *names: str) -> bool:
    """Return whether a type has one of these names, whatever its parameters; a list type does not count.

    >>> is_one_of("ENUM('a')", "ENUM"), is_one_of("ENUM('a')[]", "ENUM")
    (True, False)
    """
    return kind.startswith(names) and not kind.endswith("]")


def key_type(kind: str) -> str:
    """Return the type in which a column's values are looked up: text for an ENUM, otherwise its own."""
    return "VARCHAR" if is_one_of(kind, "ENUM") else kind


def key_expression(attribute: str, kind: str) -> str:
    """Return SQL for the key that is looked up in the domain: text for an ENUM, otherwise the value itself."""
    column = identifier(attribute)
    return f"{column}::VARCHAR" if is_one_of(kind, "ENUM") else column


def open_source(workspace: Workspace, name: str, roles: Roles) -> Source:
    """Find a table or view by its name, and check the roles of its columns.

    Raises UnknownName for an unknown table or column, and InvalidSource for a column that cannot have its role, an
    empty table, and a record id that is missing or not unique.
    """
    path = find_table(workspace, name)
    table = ".".join(map(identifier, path))
    described = workspace.rows(f"DESCRIBE SELECT * FROM {table}")
    types = {row[0]: row[1] for row in described}
    found = columns_of_roles(name, [row[0] for row in described], types, roles)
    texts = compared_by_bytes(workspace, table, types)
    table = read_exactly(table, types, texts)
    rows = count_of(workspace.cursor, table)
    refuse_empty(name, rows)
    origins = origins_of(workspace, path)
    if private := [each for each in sorted(origins) if parse_name(each)[-2] == "priv"]:
        raise InvalidSource(
            f"{name!r} reads {private[0]!r}, which is never published",
            hint="what the schema priv holds is the publisher's; leave it out of the view",
        )
    read = (*found.record_id, *found.person, *found.sensitive, *(found.public or ()))
    if read:
        _check_steady(workspace, table, path, read)
    if found.record_id:
        _check_record_id(
            workspace, table, path, {column: types[column] for column in found.record_id}, rows
        )
    return Source(
        table=table,
        name=readable_name(path),
        types=types,
        public=found.public or (),
        sensitive=found.sensitive,
        record_id=found.record_id,
        origins=tuple(sorted(origins)),
        rows=rows,
        person=found.person,
        collated=tuple(texts),
    )


def columns_of_roles(
    source: str, names: Sequence[str], types: dict[str, str], roles: Roles
) -> Roles:
    """Return the columns of each role, spelled as in the source; the public ones in its order.

    Raises UnknownName for an unknown column. Raises InvalidSource for a column that cannot have its role, for two
    columns of one name, and for a reserved name.
    """
    if len({each.lower() for each in names}) < len(names):
        raise InvalidSource(f"{source!r} has two columns of one name", hint="rename one")
    if "" in names:
        raise InvalidSource(f"{source!r} has a column without a name", hint="give it one")
    if taken := [each for each in names if each.lower().startswith(RESERVED)]:
        raise InvalidSource(
            f"column {taken[0]!r} has a name that begins with {RESERVED}",
            hint="such names are taken; rename it in a view, and publish the view",
        )
    sensitive = _columns(roles.sensitive, types, source)
    record_id = _columns(roles.record_id, types, source)
    exclude = _columns(roles.exclude, types, source)
    person = _columns(roles.person, types, source)
    for column in sensitive:
        if not SCALAR.match(types[column]):
            raise InvalidSource(
                f"sensitive column {column!r} has type {types[column]}, whose values cannot be listed",
                hint="cast it to text or to a number in a view, and publish the view",
            )
    hidden = {*sensitive, *record_id, *exclude, *person}
    if roles.public is not None:
        hidden |= {*types} - {*_columns(roles.public, types, source)}
    public = tuple(column for column in types if column not in hidden)
    return Roles(sensitive, record_id, exclude, public, person)


def refuse_empty(source: str, rows: int) -> None:
    """Refuse a source without rows."""
    if rows == 0:
        raise InvalidSource(f"{source!r} has no rows", hint="publish a table that has some")


def parse_name(text: str) -> list[str]:
    """Split a dotted name, whose parts may be quoted.

    >>> parse_name('hospital."visits 2026"')
    ['hospital', 'visits 2026']
    """
    parts, position = [], 0
    while position < len(text):
        match = PART.match(text, position)
        if match is None:
            return []
        parts.append(match[1].replace('""', '"') if match[1] is not None else match[2])
        position = match.end()
    return parts if text and not text.rstrip().endswith(".") else []


def quoted_name(text: str) -> str:
    """Quote every part of a dotted name.

    >>> print(quoted_name('hospital."visits 2026"'))
    "hospital"."visits 2026"
    """
    return ".".join(map(identifier, parse_name(text)))


def readable_name(path: Sequence[str]) -> str:
    """Return a dotted name, quoted only where necessary; parse_name reads it back.

    >>> print(readable_name(["hospital", "main", "visits 2026"]))
    hospital.main."visits 2026"
    """
    return ".".join(part if PLAIN.match(part) else identifier(part) for part in path)


def refuse_reading(source: Source, origins: Iterable[str], what: str, hint: str) -> None:
    """Refuse a publisher's table that should be public knowledge but reads the published source."""
    if common := sorted({*source.origins} & {*origins}):
        raise InvalidParameter(
            f"{what} reads {common[0]!r}, which is what is published: its numbers would reveal records",
            hint=hint,
        )


def find_table(workspace: Workspace, name: str) -> tuple[str, str, str]:
    """Return database, schema and name of a table or view that the caller gives by its plain or dotted name."""
    known = workspace.rows(
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE NOT temporary"
        " UNION ALL SELECT database_name, schema_name, view_name FROM duckdb_views()"
        " WHERE NOT temporary AND NOT internal"
    )
    by_name = {tuple(part.lower() for part in path): path for path in known}
    for parts in ([name], parse_name(name)):
        candidates: list[tuple[str, ...]] = []
        if len(parts) == 1:
            candidates = [
                (workspace.database, schema, *parts) for schema in (*workspace.schemas, "main")
            ]
        elif len(parts) == 2:
            candidates = [(workspace.database, *parts), (parts[0], "main", parts[1])]
        elif len(parts) == 3:
            candidates = [tuple(parts)]
        for candidate in candidates:
            path = by_name.get(tuple(part.lower() for part in candidate))
            if path is not None and path[1] != "priv":
                return path
    raise UnknownName.among(
        "table or view",
        name,
        [path[2] for path in known if path[1] != "priv"],
        also="A temporary table, a file, or what is not committed yet cannot be published:"
        " make it a table or a view",
    )


def _columns(names: Sequence[str], types: dict[str, str], source: str) -> tuple[str, ...]:
    """Return names, spelled as in the table."""
    spelling = {name.lower(): name for name in types}
    for name in names:
        if name.lower() not in spelling:
            raise UnknownName.among("column", name, types, of=echoed(source))
    return tuple(spelling[name.lower()] for name in names)


def _check_record_id(
    workspace: Workspace,
    table: str,
    path: tuple[str, str, str],
    record_id: dict[str, str],
    rows: int,
) -> None:
    if rows > COUNTED and _is_key(workspace, path, tuple(record_id)):
        return
    with_id, distinct = _count_ids(workspace, table, record_id, rows)
    refuse_ids(tuple(record_id), rows, with_id, distinct)


def refuse_ids(record_id: Sequence[str], rows: int, with_id: int, distinct: int) -> None:
    """Refuse ids that are missing in some rows, or occur more than once."""
    what = " and ".join(map(repr, record_id))
    if with_id < rows:
        raise InvalidSource(
            f"record id {what} is NULL in {rows - with_id} of {rows} rows",
            hint="give every record an id, leave those rows out in a view, or publish without record_id",
        )
    if distinct < rows:
        raise InvalidSource(
            f"record id {what} is not unique: {rows} rows have {distinct} ids",
            hint="records with one id would share their noise; name all columns that identify a record",
        )


def _count_ids(
    workspace: Workspace, table: str, record_id: dict[str, str], rows: int
) -> tuple[int, int]:
    """Count the rows with an id and the distinct ids; ``record_id`` is the type of every column of the id."""
    names = [identifier(name) for name in record_id]
    key = names[0] if len(names) == 1 else f"({', '.join(names)})"
    present = " AND ".join(f"{name} IS NOT NULL" for name in names)
    distinct = f"count(DISTINCT {key})"
    if len(names) == 1 and INTEGER.match(next(iter(record_id.values()))):
        low, high = workspace.rows(f"SELECT min({key}), max({key}) FROM {table}")[0]
        if low is not None and high - low < min(BITS_PER_ROW * rows, LONGEST_BITMAP):
            distinct = f"bit_count(bitstring_agg({key}, {low}, {high}))"
            # If the table changes, DuckDB's error could contain an id that is outside of the bitmap.
            present = f"{key} BETWEEN {low} AND {high}"
    (counted,) = workspace.rows(f"SELECT count(*), {distinct} FROM {table} WHERE {present}")
    return counted


def _check_steady(
    workspace: Workspace, table: str, path: tuple[str, str, str], columns: Sequence[str]
) -> None:
    """Refuse a view that returns another id or value for a record at each reading.

    The noise would be fresh, or groups would be planned with other public columns than the published ones.
    """
    (views,) = workspace.rows(
        "SELECT count(*) FROM duckdb_views()"
        " WHERE database_name = ? AND schema_name = ? AND view_name = ?",
        list(path),
    )[0]
    query = f"SELECT sum(hash({', '.join(map(identifier, columns))})::HUGEINT) FROM {table}"
    if views and workspace.rows(query) != workspace.rows(query):
        raise InvalidSource(
            f"the view {path[2]!r} gives other values each time it is read",
            hint="publications could be averaged, or be of others than planned; make it a table, and publish that",
        )


def _is_key(workspace: Workspace, path: tuple[str, str, str], record_id: tuple[str, ...]) -> bool:
    """Return whether a primary key guarantees present and distinct ids, so that they need not be counted."""
    keys = workspace.rows(
        "SELECT constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
        " AND database_name = ? AND schema_name = ? AND table_name = ?",
        list(path),
    )
    return any(set(columns) <= set(record_id) for (columns,) in keys)


def origins_of(workspace: Workspace, path: tuple[str, str, str]) -> set[str]:
    """Return the names of the tables and files that a table or view reads, through all views between.

    A source that reads no table and no named file is its own origin.
    """
    query = f"SELECT * FROM {'.'.join(map(identifier, path))}"
    workspace.cursor.execute("SET explain_output = 'all'")
    nodes = json.loads(dict(workspace.rows(f"EXPLAIN (FORMAT json) {query}"))["logical_plan"])
    tables, only_tables = set(), True
    while nodes:
        node = nodes.pop()
        nodes += node["children"]
        table = node["extra_info"].get("Table")
        only_tables &= bool(table or node["children"])
        if table:
            # A name with a line break is printed as a list of lines.
            text = table if isinstance(table, str) else "\n".join(table)
            tables.add(readable_name(parse_name(text)))
    if only_tables:
        return tables
    files = {readable_name((path[0], "main", file)) for file in _files(workspace, query)}
    return tables | (files or {readable_name(path)})


def _files(workspace: Workspace, query: str) -> list[str]:
    """Return the files that a query reads under their names, as if they were tables."""
    # On another cursor, since an error, as for JOIN … USING here, would abort the transaction.
    with workspace.another_cursor() as cursor, suppress(duckdb.BinderException):
        names = map(parse_name, cursor.get_table_names(query, qualified=True))
        return [name[0] for name in names if len(name) == 1 and set(name[0]) & {".", "/"}]
    return []
