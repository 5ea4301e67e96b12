"""What the tests of publishing and reconstruction share."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from answers import named_row
from hypothesis import HealthCheck, settings

import duckdb_priv
from duckdb_priv.card import export
from duckdb_priv.estimator import distribution, estimated, macros
from duckdb_priv.estimator.written import ENUM_IS_READ, Lookup, Written
from duckdb_priv.sqltext import templates

# A runner in the background of a script ignores Ctrl-C, and so would every program that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How loaded the machine is says nothing about what is tested; and the same code passes or fails in every run.
settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("steady")

SURFACE = {
    "contract": None,
    "sql": "cases enumeration equal_values examples install looked_up names_of_ours side_effects steps types views",
}
"""By folder: the files whose results depend on the version of DuckDB; None for all of them.

They run on the oldest DuckDB, too; ``older`` says which of their tests. The contract publishes, counts, audits and
refreshes by each method, and runs the example of each other SQL file. So of the folder sql, these are the files about
what DuckDB does itself: types, equal values, views, threads and storage.
"""

LONGEST = ("spark/test_inside.py",)
"""Files of tests that would be the last to end if they did not start first."""

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

SECRET = bytes(range(32))
"""A known secret: keyed releases of known records are then the same in every run and version."""

VISITS = """
    CREATE TABLE visits AS
    SELECT i AS id,
        18 + (hash('age' || i) % 70)::INTEGER AS age,
        (['female', 'male'])[1 + (hash('gender' || i) % 2)::INTEGER] AS gender,
        (['cough', 'cold', 'flu', 'asthma', NULL])[1 + least((hash('disease' || i) % 8)::INTEGER, 4)] AS disease
    FROM range(4000) AS t(i)
"""
"""Four thousand records whose diseases are unevenly frequent, some of them missing."""


def older(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Choose what runs on the oldest DuckDB, too, of the files of the surface.

    Of a test that runs with several parameters, the first: the others are other numbers, names or tables for the same
    SQL. All of them where they are SQL files, documents, methods or forms, which ``every`` says, in whichever file.
    Nothing that is marked ``once``: simulations, what Python says or decides, and what puts together what other tests
    run there one by one.
    """
    chosen: set[str] = set()
    for item in items:
        test = item.nodeid.split("[")[0]
        first = _of_the_surface(item.path) and test not in chosen
        if (first or item.get_closest_marker("every")) and not item.get_closest_marker("once"):
            chosen.add(test)
            yield item


def _of_the_surface(path: Path) -> bool:
    files = SURFACE.get(path.parent.name, "")
    return files is None or path.stem.removeprefix("test_") in files.split()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let one method be chosen: ``python3 dev.py test --method splu``."""
    parser.addoption("--method", help="run only what the contract asks of this method")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what runs on the oldest DuckDB, too, keep what is asked of one method, and put the longest files first."""
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONGEST))
    for item in older(items):
        item.add_marker("surface")
    method = config.getoption("--method")
    if method:
        items[:] = [item for item in items if _parameter(item, "method") == method]


def _parameter(item: pytest.Item, name: str) -> object:
    return getattr(item, "callspec", None) and item.callspec.params.get(name)


@pytest.fixture(scope="session")
def secret() -> bytes:
    return SECRET


Connection = duckdb.DuckDBPyConnection


@pytest.fixture(scope="session", autouse=True)
def environment_is_our_own() -> None:
    """Start programs with the memory that users start them with, whichever ``dev.py`` gave to the tests.

    A secret in the environment of who runs the tests would be the secret of all publications.
    """
    for name in ("LD_PRELOAD", "DUCKDB_PRIV_SECRET"):
        os.environ.pop(name, None)


@pytest.fixture(scope="session", autouse=True)
def functions_parsed_once() -> Iterator[None]:
    """Write and parse the same functions once for all databases and files: DuckDB 2 parses all of them in 200 ms.

    The functions of a release file depend on its attributes, and on what tests change.
    """
    parsed = lru_cache(maxsize=4000)(duckdb.extract_statements)
    read = lru_cache(maxsize=None)(templates.everything)
    write, texts = macros.statements, {}

    def written_once(lookup: Lookup) -> list[str]:
        if not isinstance(lookup, Written):
            return write(lookup)
        key = repr((lookup._all, ENUM_IS_READ.get(), distribution.MOST_PAIRS))
        if key not in texts:
            texts[key] = write(lookup)
        return texts[key]

    def run(connection: Connection, texts: Iterable[str]) -> None:
        for text in texts:
            for each in parsed(text) if len(text) > 500 else [text]:
                connection.execute(each)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(macros, "run", run)
        patch.setattr(macros, "statements", written_once)
        patch.setattr(templates, "everything", read)
        yield
    parsed.cache_clear()


def _new_file(path: Path) -> None:
    """Make a database whose copies keep every word of the macros; an older format forgets one."""
    with duckdb.connect() as maker:
        maker.execute(f"ATTACH '{path}' AS made (STORAGE_VERSION 'v1.5.0')")


def _copy(path: Path, secret: bytes | None) -> Connection:
    """Open a database in memory that has what a file has, and can publish.

    With few records, threads only wait for each other.
    """
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(
        f"ATTACH '{path}' AS made (READ_ONLY); COPY FROM DATABASE made TO memory; DETACH made"
    )
    duckdb_priv.install(connection, secret=secret)
    return connection


def _prepare(folder: Path) -> Path:
    path = folder / "prepared.duckdb"
    _new_file(path)
    with duckdb_priv.connect(path) as first:
        first.execute("DELETE FROM priv.secret")
    return path


@pytest.fixture(scope="session")
def prepared_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that was prepared once, and has no secret yet; to be copied."""
    return _prepare(tmp_path_factory.mktemp("prepared"))


@pytest.fixture(scope="session")
def prepared(
    prepared_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Connection]:
    """Open a database in memory that can publish: a copy of one that was prepared once, in a seventh of the time.

    Where nobody counts, it has no functions for analysts, which are most of what is copied.
    """
    without = lru_cache(maxsize=None)(lambda: _prepare(tmp_path_factory.mktemp("unasked")))

    def copy(secret: bytes | None = SECRET) -> Connection:
        return _copy(prepared_file if _is_asked() else without(), secret)

    return copy


@pytest.fixture(scope="session")
def made(
    prepared: Callable[..., Connection], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Connection]:
    """Open a copy in memory of a database that is made once, by a function of a connection and of what it is given.

    What many tests begin with is published for all of them; each has a copy of its own to change.
    """
    folder = tmp_path_factory.mktemp("made")
    files: dict[tuple[object, ...], Path] = {}

    def copy(
        make: Callable[..., object], *given: object, secret: bytes | None = SECRET
    ) -> Connection:
        key = (make, repr(given), secret, _is_asked())
        if key not in files:
            path = folder / f"{len(files)}.duckdb"
            _new_file(path)
            with prepared(secret) as first:
                make(first, *given)
                first.execute(f"ATTACH '{path}' AS made; COPY FROM DATABASE memory TO made")
            files[key] = path
        return _copy(files[key], secret)

    return copy


@pytest.fixture(scope="session")
def together() -> Callable[[Connection], AbstractContextManager[None]]:
    """Publish releases of many forms: the analyst's functions are written once for all, and not with each form."""

    @contextmanager
    def publishing(connection: Connection) -> Iterator[None]:
        with _no_functions():
            yield
        macros.create_all(connection)

    return publishing


WRITTEN = {name: getattr(macros, name) for name in ("add", "create_all", "drop_own", "remove")}
"""What writes the analyst's functions, and the facts that they read, into a publisher's database."""
ESTIMATED = estimated.statements


def _is_asked() -> bool:
    """Whether functions are written for analysts."""
    return macros.add is WRITTEN["add"]


@contextmanager
def _writing(functions: Mapping[str, Callable[..., None]]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, function in functions.items():
            patch.setattr(macros, name, function)
        yield


def _no_functions() -> AbstractContextManager[None]:
    return _writing(dict.fromkeys(WRITTEN, lambda *_: None))


@contextmanager
def _plain_page() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "analyst_card", lambda *_: "<!doctype html>\n<p>No card.</p>\n")
        yield


@pytest.fixture(scope="session")
def without_cards() -> Callable[[], AbstractContextManager[None]]:
    """Export releases whose cards nobody reads: a card takes a third of the time."""
    return _plain_page


@pytest.fixture(scope="session")
def for_files() -> Callable[..., AbstractContextManager[None]]:
    """Publish what is only asked in files: functions of the publisher's database are not written, nor are cards."""

    @contextmanager
    def publishing() -> Iterator[None]:
        with _plain_page(), _no_functions():
            yield

    return publishing


@pytest.fixture(scope="module")
def unasked(prepared_file: Path) -> Iterator[None]:
    """A whole module in which nobody counts: the analyst's functions are not written for the forms of releases.

    What others copy is prepared before, with its functions.
    """
    with _no_functions():
        yield


@pytest.fixture(scope="module")
def plain_files() -> Iterator[None]:
    """A whole module that reads neither cards nor the schema ``estimated`` of files: half of the time of an export."""
    with _plain_page(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimated, "statements", lambda *_: [])
        yield


@pytest.fixture
def whole_files() -> Iterator[None]:
    """One test that reads the schema ``estimated``, in a module of ``plain_files``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimated, "statements", ESTIMATED)
        yield


@pytest.fixture
def asked() -> Iterator[None]:
    """One test that counts, in a module that is ``unasked``."""
    with _writing(WRITTEN):
        yield


@pytest.fixture
def con(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory that can publish."""
    with prepared() as connection:
        yield connection


@pytest.fixture
def visits(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A database that can publish, with a table of visits."""
    con.execute(VISITS)
    return con


def _publish_visits(connection: Connection) -> None:
    connection.execute(VISITS)
    connection.execute(
        "FROM priv.publish_uniform('visits', 'r', sensitive := 'disease', retention := 0.3, record_id := 'id')"
    ).fetchall()


@pytest.fixture
def released(made: Callable[..., Connection]) -> Iterator[Connection]:
    """A database in which the visits are published as 'r', at a retention of 0.3."""
    with made(_publish_visits) as connection:
        yield connection


@pytest.fixture(scope="session")
def published() -> Callable[..., dict[str, Any]]:
    """Publish uniformly on a connection, and return the receipt by column."""

    def call(
        connection: duckdb.DuckDBPyConnection, source: str, release: str, **arguments: Any
    ) -> dict[str, Any]:
        named = "".join(f", {name} := ?" for name in arguments)
        call = f"FROM priv.publish_uniform(?, ?{named})"
        return named_row(connection, call, source, release, *arguments.values())

    return call


@pytest.fixture(scope="session")
def inventory() -> Callable[[duckdb.DuckDBPyConnection], dict[str, Any]]:
    """List everything that a database holds, so that what was before can be compared with what is after."""

    def look(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        found = {
            "tables": "SELECT database_name, schema_name, table_name, temporary, sql, comment FROM duckdb_tables()",
            "views": "SELECT database_name, schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal",
            "macros": "SELECT database_name, schema_name, function_name, macro_definition, comment"
            " FROM duckdb_functions() WHERE NOT internal",
            "types": "SELECT database_name, schema_name, type_name FROM duckdb_types() WHERE NOT internal",
            "databases": "SELECT database_name, path FROM duckdb_databases()",
        }
        state: dict[str, Any] = {
            kind: sorted(map(repr, connection.execute(query).fetchall()))
            for kind, query in found.items()
        }
        for database, schema, table in connection.execute(
            "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE NOT internal"
        ).fetchall():
            rows = connection.execute(
                f'SELECT COLUMNS(*)::VARCHAR FROM "{database}"."{schema}"."{table}"'
            ).fetchall()
            state[f"{database}.{schema}.{table}"] = sorted(map(repr, rows))
        return state

    return look


def _real(name: str) -> str:
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"{name} is not in {DATA}")
    return str(path)


@pytest.fixture(scope="session")
def census() -> str:
    """Path of half a million people of the American Community Survey."""
    return _real("census_500k.parquet")


@pytest.fixture(scope="session")
def adult() -> str:
    """Path of the Adult records."""
    return _real("adult.parquet")


@pytest.fixture(scope="session")
def vaers() -> str:
    """Path of the vaccine adverse event reports."""
    return _real("vaers_reactions.parquet")
