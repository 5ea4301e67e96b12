"""Order and equality of values byte by byte, where SQL's own comparison treats different values as equal.

A release is sorted by its own columns, so that the order of its rows reveals nothing about the order of the source.
Values that compare equal but differ in bytes would keep the source's order. Examples are 'a' and 'A' under a collation
that ignores case, 1 month and 30 days, 0.0 and -0.0, and two kinds of NaN. SQL would also put such values into one
group, while a reader sees two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

import duckdb
from duckdb.sqltypes import DuckDBPyType

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.sqltext.quoting import identifier, identifiers, literal
from duckdb_priv.sqltext.reading import make_table, select
from duckdb_priv.sqltext.templates import expand, fill, sections

EXACT = re.compile(
    r"^(BOOLEAN|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(.*\)|DATE|TIME(_NS)?|TIME(STAMP)? WITH TIME ZONE"
    r"|TIMESTAMP(_S|_MS|_NS)?|UUID|BLOB|BIT|ENUM\(.*\))$",
    re.DOTALL,
)
"""Types whose values are equal only if their bytes are."""
IN_RUNS, RUNS = re.compile(r"(?!BLOB|BIT)" + EXACT.pattern, re.DOTALL), " USING COMPRESSION rle"
"""Types whose equal values DuckDB can store as runs, and the SQL that declares it."""
COUNTED = "_priv_rows"
"""The number of rows that a counted row stands for."""
FLOATS = re.compile(r"\b(FLOAT|DOUBLE)\b")
SQL = sections("publisher/fragments", "sorted_rows")
COPIES_AT_ONCE = 1024
"""The most copies of a row in one list; DuckDB holds the lists of 2,048 rows in memory."""
COLLATED = re.compile(r"\bc(\d+) VARCHAR COLLATE ")


def byte_keys(expression: str, kind: str) -> list[str]:
    """Return SQL keys that are equal for two values of a type only if their bytes are equal.

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
    """Return an ORDER BY list over all columns; only identical rows keep the order that they had.

    >>> total_order({"age": "INTEGER", "stay": "INTERVAL"})
    '"age", "stay", "stay"::VARCHAR COLLATE "binary"'
    """
    keys = [byte_keys(identifier(name), kind) for name, kind in types.items()]
    return ", ".join([first for first, *_ in keys] + [rest for _, *more in keys for rest in more])


def one_zero(expression: str, kind: str) -> str:
    """Return SQL that turns -0.0 into 0.0, so that equal numbers have the same text.

    This includes numbers in lists and structs. Maps and unions are unchanged.

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


def counted_rows(rows: str) -> str:
    """Return the query of the distinct rows of a query, with the number of each (COUNTED)."""
    return expand(SQL["counted_rows"], {"rows": rows})


def are_exact(types: Mapping[str, str]) -> bool:
    """Return whether rows of these types are equal only if their bytes are."""
    return all(len(byte_keys(name, kind)) == 1 for name, kind in types.items())


def sorted_table(name: str, rows: str, types: Mapping[str, str], *, counted: bool = False) -> str:
    """Return the SQL that creates a table of the rows of a query in ``total_order``.

    Rows may be ``counted_rows``: that takes half the time of sorting all rows if they are repeated several times, and
    twice the time if few are. Repeated rows are stored as runs. DuckDB would find that out, in as much time as it
    writes them.

    >>> rows = "SELECT unnest(['flu', 'cold', 'flu'])::ENUM('cold', 'flu') AS disease"
    >>> with duckdb.connect() as connection:
    ...     types = {"disease": "ENUM('cold', 'flu')"}
    ...     _ = connection.execute(sorted_table("a", rows, types))
    ...     _ = connection.execute(sorted_table("b", counted_rows(rows), types, counted=True))
    ...     [connection.execute(f"FROM {name}").fetchall() for name in ("a", "b")]
    [[('cold',), ('flu',), ('flu',)], [('cold',), ('flu',), ('flu',)]]
    """
    fillings = {
        "table": name,
        "rows": rows,
        "order": total_order(types),
        "columns": identifiers(types),
        "declared": ", ".join(
            f"{identifier(column)} {kind}{RUNS if IN_RUNS.match(kind) else ''}"
            for column, kind in types.items()
        ),
        "at_once": str(COPIES_AT_ONCE),
    }
    return fill(SQL["counted" if counted else "sorted"], fillings)


def compared_by_bytes(workspace: Workspace, table: str, types: Mapping[str, str]) -> dict[str, str]:
    """Return SQL that removes the collation from a table's text columns; joins would inherit it."""
    texts = [name for name, kind in types.items() if kind == "VARCHAR"]
    collated = _collated(workspace, table, texts)
    return {name: f"decode(encode({identifier(name)}))" for name in collated}


def read_exactly(table: str, types: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """Return a table expression whose values are equal only if their bytes are equal.

    ``texts`` replaces the text columns that have a collation. -0.0 becomes 0.0, as in a file that DuckDB 1 writes;
    otherwise two groups of the source would become one in the release. A table with neither is returned unchanged.

    >>> print(read_exactly("t", {"x": "DOUBLE"}, {}))
    (SELECT * REPLACE (CASE WHEN "x" = 0 THEN 0::DOUBLE ELSE "x" END AS "x") FROM t)
    """
    zeros = {name: one_zero(identifier(name), kind) for name, kind in types.items()}
    read = {**texts} | {name: sql for name, sql in zeros.items() if sql != identifier(name)}
    replaced = ", ".join(f"{sql} AS {identifier(name)}" for name, sql in read.items())
    return f"({select([f'* REPLACE ({replaced})'], table)})" if read else table


def _collated(workspace: Workspace, table: str, names: Sequence[str]) -> list[str]:
    """Return the text columns that have a collation; DuckDB reports it of tables only, so an empty table is made."""
    if not names:
        return []
    columns = (f"{identifier(name)} AS c{n}" for n, name in enumerate(names))
    make_table(workspace.cursor, "_priv_texts_of_source", f"{select(columns, table)} LIMIT 0")
    ((written,),) = workspace.rows(
        "SELECT sql FROM duckdb_tables() WHERE temporary AND table_name = '_priv_texts_of_source'"
    )
    workspace.cursor.execute("DROP TABLE temp.main._priv_texts_of_source")
    return [names[int(number)] for number in COLLATED.findall(written)]
