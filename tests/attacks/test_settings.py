"""Settings of the publisher's session: what is published and reported under them is the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

import duckdb
import pytest

pytestmark = pytest.mark.usefixtures("unasked")

Connection = duckdb.DuckDBPyConnection

TABLES = """
    CREATE TABLE visits AS
    SELECT i AS id, ['a', 'A', 'b', NULL][1 + i % 4] AS ward,
        ['flu', 'Flu', 'cold', NULL][1 + (hash(i) % 4)::INTEGER] AS disease
    FROM range(240) AS t(i);
    CREATE TABLE exchange AS
    SELECT a.v AS original, b.v AS published, if(a.v IS NOT DISTINCT FROM b.v, 0.7, 0.1) AS probability
    FROM (SELECT unnest(['flu', 'Flu', 'cold', NULL]) AS v) AS a,
        (SELECT unnest(['flu', 'Flu', 'cold', NULL]) AS v) AS b
"""
GROUPS = "'visits', sensitive := 'disease', record_id := 'id', retention := 0.4, epsilon := 0.3, delta := 0.3"
CALLS = (
    "publish_uniform('visits', 'uniform', sensitive := 'disease', record_id := 'id', retention := 0.4)",
    "publish_matrix('visits', 'exchanged', sensitive := 'disease', record_id := 'id', matrix := 'exchange')",
    "publish_splu('visits', 'grouped', sensitive := 'disease', record_id := 'id', gamma := 2)",
    f"micro_groups({GROUPS})",
    f"reconstruction_risk({GROUPS})",
    "workload('visits', sensitive := 'disease', record_id := 'id', queries := 5)",
)
RELEASES = ("uniform", "exchanged", "grouped")
NO_TIMES = "* EXCLUDE (published_at)"
LEDGER = (
    f"SELECT {NO_TIMES} FROM priv.ledger(details := true)",
    "SELECT * EXCLUDE (published_at, digest) FROM priv.ledger",
)

CHANGED = {
    "Calendar": "japanese",
    "TimeZone": "Asia/Tokyo",
    "default_collation": "nocase",
    "default_null_order": "nulls_first",
    "default_order": "desc",
    "disabled_optimizers": "filter_pushdown,statistics_propagation,common_aggregate",
    "ieee_floating_point_ops": "false",
    "integer_division": "true",
    "old_implicit_casting": "true",
    "preserve_insertion_order": "false",
    "scalar_subquery_error_on_multiple_rows": "false",
    "threads": "1",
}
"""Settings by which a statement could mean something else, and another value of each."""


def _prepare(connection: Connection) -> None:
    connection.execute(TABLES)


@pytest.fixture(scope="module")
def reported(made: Callable[..., Connection]) -> Callable[[Sequence[str]], dict[str, object]]:
    """Publish and ask under settings; return the answers, the rows in their order, coefficients and ledger."""

    def under(settings: Sequence[str]) -> dict[str, object]:
        with made(_prepare) as connection:
            for setting in settings:
                value = CHANGED[setting]
                connection.execute(f"SET GLOBAL {setting} = '{value}'")
                connection.execute(f"SET {setting} = '{value}'")
            found: dict[str, object] = {}
            for call in CALLS:
                rows = connection.execute(f"FROM priv.{call}").fetchall()
                if not call.startswith("publish"):
                    found[call] = sorted(map(repr, rows))
            found |= {ask: connection.execute(ask).fetchall() for ask in LEDGER}
            with closing(connection.cursor()) as cursor:
                for name in RELEASES:
                    found[name] = cursor.execute(f"FROM {name}").fetchall()
                found["numbers"] = sorted(
                    map(repr, cursor.execute("FROM priv.coefficient").fetchall())
                )
            return found

    return under


@pytest.fixture(scope="module")
def usual(reported: Callable[[Sequence[str]], dict[str, object]]) -> dict[str, object]:
    return reported([])


@pytest.mark.parametrize("which", range(3))
def test_settings_change_nothing(reported, usual, which):
    found = reported([*CHANGED][which::3])
    assert {name for name in usual if found[name] != usual[name]} == set()


def test_a_view_reads_days_in_the_time_zone_of_who_publishes_it(made):
    with made(_prepare) as connection:
        connection.execute(
            "CREATE TABLE seen AS SELECT *, TIMESTAMPTZ '2026-03-01 20:00:00+00' AS at_time FROM visits;"
            " CREATE VIEW by_day AS SELECT id, disease, at_time::DATE AS day FROM seen; SET TimeZone = 'Asia/Tokyo'"
        )
        days = connection.execute("SELECT DISTINCT day::VARCHAR FROM by_day").fetchall()
        assert days == [("2026-03-02",)]
        connection.execute(f"FROM priv.{CALLS[0].replace('visits', 'by_day')}").fetchall()
        assert connection.execute("SELECT DISTINCT day::VARCHAR FROM uniform").fetchall() == days
        ((state,),) = connection.execute("SELECT state FROM priv.publications()").fetchall()
        assert state == "current"


def test_where_settings_are_locked_nothing_is_published_and_it_is_reported_why(made):
    with made(_prepare) as connection:
        connection.execute("SET lock_configuration = true")
        with pytest.raises(duckdb.Error, match="settings are locked"):
            connection.execute(f"FROM priv.{CALLS[0]}").fetchall()
        assert connection.execute("FROM priv.ledger").fetchall() == []
