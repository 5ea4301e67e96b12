"""One release of each form, published once, with the definition of its answers beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pytest
from ordinary.releases import of_run, weigh

LOOK_UP = """
    CREATE TABLE memory.main.chapter AS
    SELECT * FROM (VALUES ('flu', 'lung', 2), ('asthma', 'lung', 3), ('cancer', 'cells', 10), ('none', NULL, 0))
        AS t(code, chapter, points)
"""
WARDS = """
    CREATE TABLE memory.main.wards AS
    SELECT * FROM (VALUES ('north', 'upper', 1.5), ('south', 'lower', 2.5)) AS t(ward, floor, rate)
"""
VIEWS = (
    "CREATE VIEW memory.main.adults AS SELECT age AS years, * FROM visits WHERE age >= 30",
    "CREATE VIEW memory.main.ill AS FROM memory.main.adults WHERE ward = 'north'",
)
"""Views of the reader's own over the release."""


@pytest.fixture(scope="session")
def path(
    tmp_path_factory: pytest.TempPathFactory,
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    for_files: Callable[..., AbstractContextManager[None]],
) -> Callable[[str], Path]:
    """The file of the release of a form."""

    def get(form: str) -> Path:
        with for_files():
            return of_run(tmp_path_factory, form, prepared)

    return get


@pytest.fixture(scope="session")
def release(
    path: Callable[[str], Path],
) -> Iterator[Callable[[str], duckdb.DuckDBPyConnection]]:
    """A connection that uses the release of a form, with tables of its own and all weights in ``memory.main``."""
    opened: dict[str, duckdb.DuckDBPyConnection] = {}

    def get(form: str) -> duckdb.DuckDBPyConnection:
        if form not in opened:
            connection = opened[form] = duckdb.connect()
            connection.execute(f"ATTACH '{path(form)}' AS r (READ_ONLY)")
            weigh(connection)
            connection.execute(LOOK_UP)
            connection.execute(WARDS)
            connection.execute("USE r")
            for view in VIEWS:
                connection.execute(view)
        return opened[form]

    yield get
    for connection in opened.values():
        connection.close()
