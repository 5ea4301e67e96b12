"""What the attacks are made on: a table of people with things in it that nobody may find again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import duckdb
import pytest

SECRET = bytes.fromhex("5ec4e75ec4e7a1b2c3d4e5f60718293a4b5c6d7e8f9001122334455667788990")
Publish = Callable[..., None]

MECHANISMS = {
    "uniform": "retention := 0.5",
    "fine_grain": "tolerance := 3, min_retention := 0.05",
    "matrix": "matrix := 'exchange'",
    "reconstruction_private": "retention := 0.5, epsilon := 0.3, delta := 0.3",
    "splu": "gamma := 3",
    "anatomy": "l := 3",
    "shuffled": "epsilon := 1.0, delta := 1e-6",
    "block_design": "epsilon := 0.5",
}
"""Mechanisms whose noise can be keyed, with arguments that suit the people below."""


def fill_with_persons(connection: duckdb.DuckDBPyConnection, rows: int = 4_000) -> None:
    """Make the tables that the mechanisms above publish from.

    Record ids and excluded notes have a form that is found again wherever it is.
    """
    connection.execute(
        f"""
        CREATE TABLE hospital_stays AS
        SELECT 'IDENT-' || lpad(i::VARCHAR, 7, '0') AS patient_number,
            ['none', 'flu', 'asthma', 'cancer', NULL][1 + (hash(i) % 5)::INTEGER] AS disease,
            20 + (hash(i + 10_000_000) % 7)::INTEGER * 10 AS age,
            ['north', 'south'][1 + (hash(i + 20_000_000) % 2)::INTEGER] AS ward,
            'EXCLUDED-' || md5(i::VARCHAR) AS private_note
        FROM range({rows}) t(i)
        """
    )
    connection.execute(
        """
        CREATE TABLE exchange AS
        FROM (VALUES ('none'), ('flu'), ('asthma'), ('cancer'), (NULL)) a(original),
            (VALUES ('none'), ('flu'), ('asthma'), ('cancer'), (NULL)) b(published)
        SELECT original, published,
            CASE WHEN original IS NOT DISTINCT FROM published THEN 0.6 ELSE 0.1 END AS probability
        """
    )


@pytest.fixture(name="fill_with_persons", scope="session")
def _fill_with_persons() -> Callable[..., None]:
    return fill_with_persons


@pytest.fixture
def arguments_of() -> dict[str, str]:
    return MECHANISMS


@pytest.fixture
def caller_secret() -> bytes:
    """A secret that its caller keeps, and whose bytes are found again wherever they are."""
    return SECRET


@pytest.fixture
def con(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = prepared(secret=None)
    connection.execute("SET threads = 2")
    fill_with_persons(connection)
    yield connection
    connection.close()


def publishing(connection: duckdb.DuckDBPyConnection) -> Publish:
    """Publish the people of a database, or a table like theirs."""

    def run(
        release: str,
        source: str = "hospital_stays",
        mechanism: str = "uniform",
        arguments: str | None = None,
        record_id: str | None = "patient_number",
        exclude: tuple[str, ...] = ("private_note",),
        replace: bool = False,
        public: tuple[str, ...] | None = None,
    ) -> None:
        hidden = [*exclude] if record_id else [*exclude, "patient_number"]
        connection.execute(
            f"FROM priv.publish_{mechanism}(?, ?, sensitive := 'disease', exclude := ?, record_id := ?,"
            f" replace := ?, public := ?, {arguments or MECHANISMS[mechanism]})",
            [source, release, hidden, record_id, replace, public and [*public]],
        ).fetchall()

    return run


@pytest.fixture
def publish(con: duckdb.DuckDBPyConnection) -> Publish:
    return publishing(con)


def publish_first(connection: duckdb.DuckDBPyConnection) -> None:
    fill_with_persons(connection)
    publishing(connection)("first")


@pytest.fixture
def once_published(
    made: Callable[..., duckdb.DuckDBPyConnection],
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Publish]]:
    """Open a database whose people are published as 'first' already, once for all tests; and publish again."""
    with made(publish_first, secret=None) as connection:
        connection.execute("SET threads = 2")
        yield connection, publishing(connection)
