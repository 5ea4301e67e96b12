"""Asks releases through a Python package: python ask_python.py duckdb | adbc | polars | sqlalchemy | pandas.

Reads jobs from standard input and writes replies to standard output, as all programs beside it do. A job is
{"path", "files", "setup", "questions"}: a file to open or null, statements to run first, questions to ask.
A reply is {"answers": [{"rows", "seconds"}, ...]} or {"error"}; if a job is "wrong", each question may fail alone,
and {"error"} replaces its rows.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Run = Callable[[str], Any]


@contextmanager
def through_duckdb(path: str | None) -> Iterator[tuple[Run, Run]]:
    import duckdb

    connection = duckdb.connect(path or ":memory:", read_only=path is not None)
    yield connection.execute, lambda question: connection.execute(question).fetchall()
    connection.close()


@contextmanager
def cursor_of_adbc(path: str | None) -> Iterator[tuple[Any, Any]]:
    """Attach the file: ADBC's own path would be opened for writing, and made where it is missing."""
    from adbc_driver_duckdb import dbapi

    with dbapi.connect() as connection, connection.cursor() as cursor:
        if path:
            cursor.execute(f"ATTACH '{path}' AS opened (READ_ONLY)")
            cursor.execute("USE opened")
        yield connection, cursor


@contextmanager
def through_adbc(path: str | None) -> Iterator[tuple[Run, Run]]:
    with cursor_of_adbc(path) as (_, cursor):

        def ask(question: str) -> Any:
            cursor.execute(question)
            columns = cursor.fetch_arrow_table().columns
            return list(zip(*(column.to_pylist() for column in columns), strict=True))

        yield cursor.execute, ask


@contextmanager
def through_polars(path: str | None) -> Iterator[tuple[Run, Run]]:
    import polars

    with cursor_of_adbc(path) as (connection, cursor):
        yield cursor.execute, lambda question: polars.read_database(question, connection).rows()


@contextmanager
def through_sqlalchemy(path: str | None) -> Iterator[tuple[Run, Run]]:
    import sqlalchemy

    options = {"read_only": True} if path else {}
    engine = sqlalchemy.create_engine(f"duckdb:///{path or ':memory:'}", connect_args=options)
    with engine.connect() as connection:

        def run(statement: str) -> Any:
            return connection.execute(sqlalchemy.text(statement))

        yield run, lambda question: [list(row) for row in run(question)]
    engine.dispose()


@contextmanager
def through_pandas(path: str | None) -> Iterator[tuple[Run, Run]]:
    import pandas
    import sqlalchemy

    options = {"read_only": True} if path else {}
    engine = sqlalchemy.create_engine(f"duckdb:///{path or ':memory:'}", connect_args=options)
    with engine.connect() as connection:

        def ask(question: str) -> Any:
            frame = pandas.read_sql(sqlalchemy.text(question), connection).astype(object)
            return frame.where(frame.notna(), None).to_numpy().tolist()

        yield lambda statement: connection.execute(sqlalchemy.text(statement)), ask
    engine.dispose()


WAYS = {
    "duckdb": through_duckdb,
    "adbc": through_adbc,
    "polars": through_polars,
    "sqlalchemy": through_sqlalchemy,
    "pandas": through_pandas,
}


def answer(ask: Run, question: str, wrong: bool) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        rows = ask(question)
    except Exception as error:
        if wrong:
            return {"error": str(error)}
        raise
    seconds = time.perf_counter() - start
    return {"rows": [list(row) for row in rows], "seconds": seconds}


def reply(way: str, job: dict[str, Any]) -> dict[str, Any]:
    wrong = job.get("wrong", False)
    try:
        with WAYS[way](job["path"]) as (run, ask):
            for statement in job["setup"]:
                run(statement)
            return {"answers": [answer(ask, question, wrong) for question in job["questions"]]}
    except Exception as error:
        return {"error": str(error)}


if __name__ == "__main__":
    # The second argument is a folder with another version of DuckDB.
    sys.path[:0] = sys.argv[2:]
    print(json.dumps([reply(sys.argv[1], job) for job in json.load(sys.stdin)]))
