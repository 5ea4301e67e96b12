"""Order and equality that go down to the bytes, where SQL's own stop earlier.

A release is stored in an order made from its own columns, so that its rows say nothing of the order of the source. Rows
that compare equal and are not the same would keep it: 'a' and 'A' under a collation that ignores case, 1 month and
30 days, 0.0 and -0.0, two kinds of NaN. The same rows would be one group to SQL, and two crowds to a reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

import duckdb
from duckdb.sqltypes import DuckDBPyType

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.sqltext.quoting import identifier, literal

EXACT = re.compile(
    r"^(BOOLEAN|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(.*\)|DATE|TIME(_NS)?|TIME(STAMP)? WITH TIME ZONE"
    r"|TIMESTAMP(_S|_MS|_NS)?|UUID|BLOB|BIT|ENUM\(.*\))$",
    re.DOTALL,
)
"""Types whose values are equal only if their bytes are."""
FLOATS = re.compile(r"\b(FLOAT|DOUBLE)\b")
COLLATED = re.compile(r"\bc(\d+) VARCHAR COLLATE ")


def byte_keys(expression: str, kind: str) -> list[str]:
    """Write what is equal for two values of a type only if they are the same, byte by byte.

    The first key orders as the type does. The others distinguish what it treats as equal.

    >>> byte_keys('"age"', "INTEGER"), byte_keys('"name"', "VARCHAR")
    (['"age"'], ['"name" COLLATE "binary"'])
    >>> byte_keys('"x"', "DOUBLE")
    ['"x"', 'signbit("x")', 'CASE WHEN isnan("x") THEN "x"::BIT END']
    """
    if kind == "VARCHAR":
        return [f'{expression} COLLATE "binary"']
    if EXACT.match(kind):
        return [expression]
    if kind in ("FLOAT", "DOUBLE"):
        return [
            expression,
            f"signbit({expression})",
            f"CASE WHEN isnan({expression}) THEN {expression}::BIT END",
        ]
    return [expression, f'{expression}::VARCHAR COLLATE "binary"']


def total_order(types: Mapping[str, str]) -> str:
    """Write an order of rows by all columns, which leaves only identical rows in the order that they had.

    >>> total_order({"age": "INTEGER", "stay": "INTERVAL"})
    '"age", "stay", "stay"::VARCHAR COLLATE "binary"'
    """
    keys = [byte_keys(identifier(name), kind) for name, kind in types.items()]
    return ", ".join([first for first, *_ in keys] + [rest for _, *more in keys for rest in more])


def one_zero(expression: str, kind: str) -> str:
    """Write a value of a type so that 0.0 and -0.0, which are equal, have one text.

    Within lists and structs, too; maps and unions stay as they are.

    >>> one_zero('"x"', "DOUBLE"), one_zero('"n"', "INTEGER")
    ('CASE WHEN "x" = 0 THEN 0::DOUBLE ELSE "x" END', '"n"')
    >>> print(one_zero('"x"', "FLOAT[]"))
    [CASE WHEN _priv_1 = 0 THEN 0::FLOAT ELSE _priv_1 END FOR _priv_1 IN "x"]
    """
    return _one_zero(expression, kind, 1)


def _one_zero(value: str, kind: str, depth: int) -> str:
    if kind in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN {value} = 0 THEN 0::{kind} ELSE {value} END"
    if not FLOATS.search(kind):
        return value
    read = duckdb.type(kind)
    each = f"_priv_{depth}"
    if read.id in ("list", "array"):
        ((_, held), *_) = cast("list[tuple[str, DuckDBPyType]]", read.children)
        changed = f"[{_one_zero(each, str(held), depth + 1)} FOR {each} IN {value}]"
        return changed if read.id == "list" else f"({changed})::{kind}"
    if read.id != "struct":
        return value
    packed = ", ".join(
        f"{identifier(name)}: {_one_zero(f'struct_extract({value}, {literal(name)})', str(of), depth)}"
        for name, of in read.children
    )
    return f"CASE WHEN {value} IS NOT NULL THEN {{{packed}}} END"


def compared_by_bytes(workspace: Workspace, table: str, types: Mapping[str, str]) -> dict[str, str]:
    """Write the texts of a table that have a collation without it, which would follow them into every join."""
    texts = [name for name, kind in types.items() if kind == "VARCHAR"]
    collated = _collated(workspace, table, texts)
    return {name: f"decode(encode({identifier(name)}))" for name in collated}


def read_exactly(table: str, types: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """Write how a table is read so that values are equal only if they are the same.

    ``texts`` is what is read instead of texts that have a collation; numbers have one zero, as they have in a file
    that DuckDB 1 writes: two groups in the source would be one in the release. A table with neither is read as it is.

    >>> print(read_exactly("t", {"x": "DOUBLE"}, {}))
    (SELECT * REPLACE (CASE WHEN "x" = 0 THEN 0::DOUBLE ELSE "x" END AS "x") FROM t)
    """
    zeros = {name: one_zero(identifier(name), kind) for name, kind in types.items()}
    read = {**texts} | {name: sql for name, sql in zeros.items() if sql != identifier(name)}
    replaced = ", ".join(f"{sql} AS {identifier(name)}" for name, sql in read.items())
    return f"(SELECT * REPLACE ({replaced}) FROM {table})" if read else table


def _collated(workspace: Workspace, table: str, names: Sequence[str]) -> list[str]:
    """Return the texts that have a collation. DuckDB knows it of tables only, so one without rows is made."""
    if not names:
        return []
    columns = ", ".join(f"{identifier(name)} AS c{n}" for n, name in enumerate(names))
    workspace.cursor.execute(
        f"CREATE TEMP TABLE _priv_texts_of_source AS SELECT {columns} FROM {table} LIMIT 0"
    )
    ((written,),) = workspace.rows(
        "SELECT sql FROM duckdb_tables() WHERE temporary AND table_name = '_priv_texts_of_source'"
    )
    workspace.cursor.execute("DROP TABLE temp.main._priv_texts_of_source")
    return [names[int(number)] for number in COLLATED.findall(written)]
