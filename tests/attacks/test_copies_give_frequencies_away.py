"""An attacker sees the published values of one micro group, and wants its largest frequency.

Where every record is duplicated, the published counts are sums of whole numbers of copies: they tell how many records
were sampled, the threshold gives the frequency that it was computed from, and sampling has revealed what it was
to hide. A sample of public size has nothing to tell.
"""

from math import comb

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from duckdb_priv.mechanism.reconstruction_privacy import threshold
from duckdb_priv.mechanism.uniform import Uniform

pytestmark = pytest.mark.usefixtures("unasked")

OPERATOR = Uniform(0.5, 14)
GROUPS = 15
SIZE = 1000


@pytest.fixture(scope="module")
def con(prepared):
    with prepared(secret=bytes(range(1, 33))) as connection:
        yield connection


def published(con, frequency, sampling):
    """Histograms of a release in which every ward has one value this often, and the other thirteen equally often."""
    con.execute(
        f"CREATE OR REPLACE TABLE visits AS SELECT i AS id, i // {SIZE} AS ward,"
        f" CASE WHEN i % {SIZE} < {int(SIZE * frequency)} THEN 0 ELSE 1 + i % 13 END AS disease"
        f" FROM range({SIZE} * {GROUPS}) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_reconstruction_private('visits', 'r', sensitive := 'disease', retention := 0.5,"
        f" epsilon := 0.3, delta := 0.3, record_id := 'id', sampling := '{sampling}',"
        " replace := true, republish := true)"
    ).fetchall()
    rows = con.execute(
        "SELECT ward, noisy_disease::VARCHAR::INTEGER, count(*) FROM r GROUP BY ALL"
    ).fetchall()
    histograms = np.zeros((GROUPS, 14), dtype=int)
    for ward, disease, count in rows:
        histograms[ward, disease] = count
    return histograms


def sampled_records(histogram):
    """How many records were most likely sampled: whole numbers of copies of each, for each value."""
    total = histogram.sum()
    scores = {}
    for number in range(40, 300):
        few, part = divmod(total / number, 1)
        ways = np.ones(1)
        records = np.arange(number + 1)
        counts = histogram[histogram > 0][:, np.newaxis]
        for law in binom.pmf(counts - records * few, records, part):
            ways = np.convolve(ways, law)[: number + 1]
        # Every way to share the records out among fourteen values is as likely as any other beforehand.
        scores[number] = ways[number] / comb(number + 13, 13) if len(ways) > number else 0.0
    return max(scores, key=lambda number: scores[number])


def frequency_behind(number):
    """The largest frequency at which the threshold is that many records."""

    def excess(frequency):
        return float(threshold(frequency, OPERATOR, 0.3, 0.3)) - number

    return 1.0 if excess(1.0) > 0 else brentq(excess, 0.05, 1.0)


@pytest.mark.parametrize("frequency", [0.6, 0.9])
def test_copies_tell_the_largest_frequency_far_better_than_the_estimate(con, frequency):
    histograms = published(con, frequency, "paper")
    attacked = np.array([frequency_behind(sampled_records(each)) for each in histograms])
    estimated = (histograms[:, 0] / histograms.sum(axis=1) - OPERATOR.other) / OPERATOR.retention
    attack, estimate = (
        np.sqrt(np.mean((guess - frequency) ** 2)) for guess in (attacked, estimated)
    )
    assert attack < 0.05
    assert attack < estimate / 2


def test_a_sample_of_public_size_tells_nothing(con):
    """The number of rows is all that an attacker can count, and it is the same whatever the frequency."""
    for frequency in (0.2, 0.6, 0.9):
        histograms = published(con, frequency, "public")
        assert (histograms.sum(axis=1) == 57).all()
        assert con.execute("SELECT DISTINCT scale FROM r").fetchall() == [(SIZE / 57,)]
