"""Uniform perturbation end to end, against its stated distribution.

A test with fresh noise fails a correct mechanism with probability FALSE_ALARM. A test with keyed noise, of a fixed
secret and fixed records, never flakes; its bound is the same as for a random secret.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pytest
from plausible import FALSE_ALARM
from scipy.stats import binom, chi2

pytestmark = pytest.mark.usefixtures("unasked")

ROWS = 200_000
SETTINGS = [(0.5, 14), (0.2, 50)]


def bounds(count: int, probability: float, alarm: float = FALSE_ALARM) -> tuple[int, int]:
    """Return the range that a binomial count leaves with probability FALSE_ALARM at most."""
    low = binom.ppf(alarm / 2, count, probability)
    high = binom.isf(alarm / 2, count, probability)
    return int(low), int(high)


def test_bounds_are_those_that_were_computed_elsewhere():
    assert bounds(ROWS, 0.5 + 0.5 / 14) == pytest.approx((105780, 108505), abs=2)
    assert bounds(ROWS, 0.2 + 0.8 / 50) == pytest.approx((42079, 44328), abs=2)


@pytest.fixture(scope="module")
def releases(secret, prepared) -> Iterator[duckdb.DuckDBPyConnection]:
    """Publish 200,000 records with keyed and with fresh noise; the record number determines the true value."""
    with prepared(secret=secret) as connection:
        for retention, size in SETTINGS:
            connection.execute(
                f"CREATE TABLE source_{size} AS SELECT i AS id, i AS number, i % {size} AS s"
                f" FROM range({ROWS}) AS t(i)"
            )
            for noise, ids in (("keyed", "record_id := 'id'"), ("fresh", "exclude := 'id'")):
                connection.execute(
                    f"FROM priv.publish_uniform('source_{size}', '{noise}_{size}', sensitive := 's',"
                    f" retention := {retention}, public := ['number'], {ids})"
                )
        yield connection


def one(connection: duckdb.DuckDBPyConnection, sql: str):
    return connection.execute(sql).fetchall()[0][0]


NOISE = pytest.mark.parametrize("noise", ["keyed", "fresh"])
EACH = pytest.mark.parametrize(("retention", "size"), SETTINGS)


@NOISE
@EACH
def test_own_values_are_kept_as_often_as_stated(releases, noise, retention, size):
    """A record may be redrawn to its own value too: (1 - p) / m of all are."""
    shown = one(releases, f"SELECT count(*) FROM {noise}_{size} WHERE noisy_s = number % {size}")
    low, high = bounds(ROWS, retention + (1 - retention) / size)
    assert low <= shown <= high


@NOISE
@EACH
def test_each_true_value_is_shown_by_the_law_of_its_row(releases, noise, retention, size):
    """Chi-square over the whole operator, each true value with at least 4,000 records."""
    counts = np.zeros((size, size))
    for true, shown, count in releases.execute(
        f"SELECT number % {size}, noisy_s::INTEGER, count(*) FROM {noise}_{size} GROUP BY ALL"
    ).fetchall():
        counts[true, shown] = count
    q = (1 - retention) / size
    expected = (np.eye(size) * retention + q) * counts.sum(axis=1, keepdims=True)
    statistic = ((counts - expected) ** 2 / expected).sum()
    # Each tail gets a third of the false alarms. Cells of 64 records are close enough to normal for the rest.
    assert statistic < chi2.isf(FALSE_ALARM / 3, size * (size - 1))
    # The fit must not be too good either: a mechanism that assigns values in turn has no variance.
    assert statistic > chi2.ppf(FALSE_ALARM / 3, size * (size - 1))


@NOISE
@EACH
def test_redrawn_records_show_every_other_value_equally_often(releases, noise, retention, size):
    """The differences between published and true value, modulo the size of the domain, are equally frequent."""
    shifts = releases.execute(
        f"SELECT (noisy_s::INTEGER - number % {size} + {size}) % {size}, count(*) FROM {noise}_{size}"
        f" WHERE noisy_s <> number % {size} GROUP BY 1"
    ).fetchall()
    counts = np.array([count for _, count in shifts], dtype=float)
    assert len(counts) == size - 1
    mean = counts.mean()
    assert ((counts - mean) ** 2 / mean).sum() < chi2.isf(FALSE_ALARM, size - 2)


@NOISE
@EACH
def test_neighbouring_records_are_independent(releases, noise, retention, size):
    """Keeping the value is independent between a record and the next one, and between records 2,048 apart."""
    own = retention + (1 - retention) / size
    distances = (1, 2, size, 2048)
    for distance in distances:
        both = one(
            releases,
            f"SELECT count(*) FROM {noise}_{size} AS a JOIN {noise}_{size} AS b ON b.number = a.number + {distance}"
            f" WHERE a.number // {distance} % 2 = 0"
            f" AND a.noisy_s = a.number % {size} AND b.noisy_s = b.number % {size}",
        )
        pairs = one(
            releases,
            f"SELECT count(*) FROM range({ROWS - distance}) AS t(i) WHERE i // {distance} % 2 = 0",
        )
        low, high = bounds(pairs, own**2, FALSE_ALARM / len(distances))
        assert low <= both <= high


@EACH
def test_two_releases_agree_as_often_as_independent_ones(releases, retention, size):
    """A keyed and a fresh release agree in a share a^2 + (m - 1) q^2 of all records."""
    agreeing = one(
        releases,
        f"SELECT count(*) FROM keyed_{size} AS a JOIN fresh_{size} AS b USING (number)"
        " WHERE a.noisy_s = b.noisy_s",
    )
    q = (1 - retention) / size
    low, high = bounds(ROWS, (retention + q) ** 2 + (size - 1) * q**2)
    assert low <= agreeing <= high


def test_agreement_bounds_are_those_that_were_computed_elsewhere():
    assert bounds(ROWS, 0.3035714) == pytest.approx((59460, 61973), abs=2)
    assert bounds(ROWS, 0.0592) == pytest.approx((11201, 12490), abs=2)


def publish(connection, source, release, **arguments):
    named = "".join(f", {name} := ?" for name in arguments)
    connection.execute(
        f"FROM priv.publish_uniform('{source}', '{release}', sensitive := 's', public := ['number']{named})",
        list(arguments.values()),
    ).fetchall()


def agreement(connection, one_release, other):
    return one(
        connection,
        f"SELECT count(*) FROM {one_release} AS a JOIN {other} AS b USING (number) WHERE a.noisy_s = b.noisy_s",
    )


def test_two_secrets_draw_independent_noise(releases, prepared):
    retention, size = SETTINGS[0]
    with prepared(secret=bytes(range(100, 132))) as other:
        other.execute(
            f"CREATE TABLE source AS SELECT i AS id, i AS number, i % {size} AS s FROM range({ROWS}) AS t(i)"
        )
        publish(other, "source", "of_another", retention=retention, record_id="id")
        table = other.sql("FROM of_another").to_arrow_table()
    releases.register("of_another", table)
    agreeing = agreement(releases, f"keyed_{size}", "of_another")
    releases.unregister("of_another")
    q = (1 - retention) / size
    low, high = bounds(ROWS, (retention + q) ** 2 + (size - 1) * q**2)
    assert low <= agreeing <= high


def test_two_retentions_draw_independent_noise(releases):
    """If both compared the same word with their threshold, most records kept by one would be kept by the other."""
    (first, size), second = SETTINGS[0], 0.3
    publish(releases, f"source_{size}", "less", retention=second, record_id="id")
    agreeing = agreement(releases, f"keyed_{size}", "less")
    q, r = (1 - first) / size, (1 - second) / size
    low, high = bounds(ROWS, (first + q) * (second + r) + (size - 1) * q * r)
    assert low <= agreeing <= high


def test_two_attributes_draw_independent_noise(releases):
    retention, size = SETTINGS[0]
    releases.execute(f"CREATE VIEW renamed AS SELECT id, number, s AS other FROM source_{size}")
    releases.execute(
        "FROM priv.publish_uniform('renamed', 'renamed_r', sensitive := 'other', retention := ?, record_id := 'id',"
        " public := ['number'])",
        [retention],
    )
    releases.execute(
        "CREATE VIEW renamed_s AS SELECT number, noisy_other AS noisy_s FROM renamed_r"
    )
    q = (1 - retention) / size
    low, high = bounds(ROWS, (retention + q) ** 2 + (size - 1) * q**2)
    assert low <= agreement(releases, f"keyed_{size}", "renamed_s") <= high


def test_two_true_values_draw_independent_noise(releases):
    """If everyone has the next value a year later, the two releases have independent noise."""
    retention, size = SETTINGS[0]
    releases.execute(
        f"CREATE VIEW a_year_later AS SELECT id, number, (s + 1) % {size} AS s FROM source_{size}"
    )
    publish(releases, "a_year_later", "later", retention=retention, record_id="id")
    q = (1 - retention) / size
    own = retention + q
    low, high = bounds(ROWS, 2 * own * q + (size - 2) * q**2)
    assert low <= agreement(releases, f"keyed_{size}", "later") <= high
    # Even if one look shows neither the old nor the new value, it is independent of the other look.
    aside = one(
        releases,
        f"SELECT count(*) FROM keyed_{size} AS a JOIN later AS b USING (number) WHERE a.noisy_s = b.noisy_s"
        f" AND a.noisy_s::INTEGER NOT IN (number % {size}, (number + 1) % {size})",
    )
    low, high = bounds(ROWS, (size - 2) * q**2)
    assert low <= aside <= high


def test_two_domains_draw_independent_noise(releases):
    retention, size = SETTINGS[0]
    publish(
        releases,
        f"source_{size}",
        "wider",
        retention=retention,
        record_id="id",
        domain=list(range(size + 1)),
    )
    q, r = (1 - retention) / size, (1 - retention) / (size + 1)
    low, high = bounds(ROWS, (retention + q) * (retention + r) + (size - 1) * q * r)
    assert low <= agreement(releases, f"keyed_{size}", "wider") <= high
