"""One release of each form, published once, with the definition of its answers beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pytest
from ordinary.releases import EVEN, VISITS, of_run, weigh

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
    "CREATE VIEW memory.main.adults AS SELECT age AS years, * FROM visits WHERE age::VARCHAR >= '30'",
    "CREATE VIEW memory.main.ill AS FROM memory.main.adults WHERE ward = 'north'",
)
"""Views of the reader's own over the release."""

ROWS = 600
ALMOST_NO_NOISE = 1 - 1e-12
"""A retention with which one of a trillion values is redrawn: estimates are the truth, but for rounding."""


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


@pytest.fixture(scope="session")
def exact_tables(
    prepared, for_files, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[duckdb.DuckDBPyConnection]]:
    """A release that shows the truth, with the catalog of a noisy one, and the true table."""
    path = tmp_path_factory.mktemp("exact") / "visits.duckdb"
    source = VISITS.format(rows=ROWS, disease=EVEN)
    with for_files(), prepared() as publisher:
        publisher.execute(source)
        publisher.execute(
            "FROM priv.publish_uniform('source', 'visits', sensitive := ['disease', 'dose'], record_id := 'id',"
            f" public := ['age', 'ward', 'cost', 'day'], retention := {ALMOST_NO_NOISE!r})"
        ).fetchall()
        publisher.execute("FROM priv.export_release('visits', ?)", [str(path)]).fetchall()
    # One thread adds numbers up in one order, so that what is left by rounding is the same in every run.
    release, true = duckdb.connect(config={"threads": 1}), duckdb.connect()
    release.execute(f"ATTACH '{path}' AS r (READ_ONLY)")
    for connection in (release, true):
        connection.execute(LOOK_UP)
        connection.execute(WARDS)
    release.execute("USE r")
    true.execute(source)
    true.execute("CREATE TABLE visits AS SELECT * EXCLUDE (id) FROM source")
    yield [release, true]
    for connection in (release, true):
        connection.close()
