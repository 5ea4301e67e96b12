"""Tables that are published by both engines, and how what they wrote is read."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import duckdb

PERSONS = """
    CREATE TABLE persons AS
    SELECT i AS id, 'H' || i % 7 || '-' || i AS ward, 20 + (hash('a' || i) % 40)::INTEGER AS age,
        (['f', 'm', NULL])[1 + (hash('g' || i) % 3)::INTEGER] AS gender,
        (['cough', 'cold', 'flu', 'zoster', NULL])[1 + least((hash('d' || i) % 8)::INTEGER, 4)] AS disease,
        (hash('s' || i) % 3)::DOUBLE / 2 * (if(i % 2 = 0, 1, -1)) AS score,
        DATE '2026-01-01' + (hash('o' || i) % 6)::INTEGER AS outcome
    FROM range(3000) AS t(i)
"""
CARERS = """
    CREATE TABLE carers AS
    SELECT i AS id, 20 + (hash('a' || i) % 40)::UTINYINT AS age, (['f', 'm', NULL])[1 + (hash('g' || i) % 3)::INTEGER]
        AS gender, (['cough', 'cold', 'flu', 'zoster', NULL, 'gout'])[1 + (hash('d' || i) % 6)::INTEGER] AS illness,
        (hash('w' || i) % 9)::TINYINT AS wing
    FROM range(4001) AS t(i)
"""


def sql(arguments: dict[str, Any]) -> str:
    """Write the arguments of a call."""
    return ", ".join(f"{name} := {value!r}" for name, value in arguments.items())


def contents(connection: duckdb.DuckDBPyConnection, table: str, columns: str = "*") -> list[str]:
    """Return the rows of a table as texts, in no order of their own."""
    return sorted(map(repr, connection.sql(f"SELECT {columns} FROM {table}").fetchall()))


def files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of the files of a release."""
    return {path.name: path.read_bytes() for path in sorted((folder / "data").iterdir())}


def functions(folder: Path) -> list[Any]:
    """Return the functions that the folder of a release brings along, but for the time that it was made at."""
    with contextlib.chdir(folder), duckdb.connect() as analyst:
        analyst.execute((folder / "setup.sql").read_text("utf-8"))
        found = analyst.sql(
            "SELECT function_name, parameters,"
            " replace(macro_definition, (SELECT created_at::VARCHAR FROM priv.release), '')"
            " FROM duckdb_functions() WHERE schema_name = 'priv' ORDER BY ALL"
        )
        return found.fetchall()


def same_functions(theirs: duckdb.DuckDBPyConnection, folder: Path, place: Path) -> None:
    """Compare them with those of the folder that DuckDB exports of its release r."""
    export = "FROM priv.export_release('r', $1, format := 'parquet')"
    theirs.execute(export, [str(place)]).fetchall()
    found = functions(folder)
    assert "reconstructed_count" in {name for name, *_ in found}
    assert found == functions(place)
