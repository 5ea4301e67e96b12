"""Settings of a reader's: an answer under them is the same, or refused."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import duckdb_priv
from clients.asking import same
from clients.releases import Release

CHANGED = {
    "Calendar": "japanese",
    "default_null_order": "nulls_first",
    "default_order": "desc",
    "ieee_floating_point_ops": "false",
    "integer_division": "true",
    "old_implicit_casting": "true",
    "preserve_identifier_case": "false",
    "preserve_insertion_order": "false",
    "scalar_subquery_error_on_multiple_rows": "false",
    "threads": "1",
    "TimeZone": "Asia/Tokyo",
}
"""Settings by which a statement could mean something else, and another value of each."""
PLAIN = "SELECT ward, count(*) FROM {} WHERE disease = 'flu' GROUP BY ward ORDER BY ward ASC"
ESTIMATED = ("uniform", "two", "fine_grain", "matrix", "reconstruction_private", "splu")
"""Releases that the schema estimated answers of."""
QUANTILES = (
    "SELECT ward, median(CAST(age AS INTEGER)), quantile_disc(CAST(age AS INTEGER), 0.2) FROM {}"
    " WHERE disease = 'flu' GROUP BY ward ORDER BY ward ASC"
)

Connection = duckdb.DuckDBPyConnection


@pytest.fixture(
    params=["uniform", "matrix", "splu", "shuffled", "block_design", "anatomy", "safe_k"]
)
def release(request: pytest.FixtureRequest, releases: dict[str, Release]) -> Release:
    return releases[request.param]


def ordinary(reader: Connection, name: str) -> Iterator[list[object]]:
    """Ask plain SQL in the ways that there are."""
    for query in (PLAIN, QUANTILES):
        yield from map(list, duckdb_priv.reconstruct(reader, query.format(name)).fetchall())
    reader.execute("USE estimated")
    yield from map(list, reader.execute(PLAIN.format(name)).fetchall())
    reader.execute("USE main")


def test_an_answer_depends_on_no_setting(release: Release) -> None:
    with duckdb.connect(str(release.path), read_only=True) as reader:
        plain = [*ordinary(reader, release.name)] if release.name in ESTIMATED else []
        for name, value in CHANGED.items():
            reader.execute(f"SET {name} = '{value}'")
        for question, answer in zip(release.questions(), release.answers, strict=True):
            ordered = question.replace("ORDER BY ALL", "ORDER BY ALL ASC NULLS LAST")
            found = [list(row) for row in reader.execute(ordered).fetchall()]
            assert same(found, answer, tolerance=1e-12), question
        if plain:
            assert same([*ordinary(reader, release.name)], plain, tolerance=1e-12)
