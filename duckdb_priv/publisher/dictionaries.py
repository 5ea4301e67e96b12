"""Public ENUM columns list the values that are published, and none that their type could hold besides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.sqltext.literals import enum
from duckdb_priv.sqltext.quoting import identifier

ENUM = re.compile(r"ENUM\((?:'(?:[^']|'')*'(?:, )?)*\)")


def narrow(
    workspace: Workspace, table: str, types: Mapping[str, str], columns: Iterable[str]
) -> dict[str, str]:
    """Take values that do not occur out of the types of columns of a table, and return the types of all.

    The rows stay, and their order. An ENUM within a list or a struct becomes text.
    """
    found = dict(types)
    for column in columns:
        if not ENUM.search(types[column]):
            continue
        name = identifier(column)
        if ENUM.fullmatch(types[column]):
            values = [
                text
                for (text,) in workspace.rows(
                    f"SELECT {name}::VARCHAR FROM {table} WHERE {name} IS NOT NULL"
                    f" GROUP BY {name} ORDER BY {name}"
                )
            ]
            found[column] = enum(values) if values else "VARCHAR"
        else:
            found[column] = ENUM.sub("VARCHAR", types[column])
        if found[column] != types[column]:
            workspace.cursor.execute(f"ALTER TABLE {table} ALTER {name} TYPE {found[column]}")
    return found
