"""Estimates from reconstruction-private releases, over many draws.

Seeds are fixed. With other seeds a correct mechanism fails a test with probability 1e-9 at most.
"""

import numpy as np
import pytest
from plausible import FALSE_ALARM
from scipy import stats

import duckdb_priv
from duckdb_priv.mechanism.sampling_variance import weighted_variance
from duckdb_priv.mechanism.uniform import Uniform

RUNS = 500
GROUPS = {"north": (40, 260, 700), "south": (4, 20, 20), "west": (300, 0, 0)}
OPERATOR = Uniform(0.4, 3)
SAMPLE = 56
VALUES = ("a", "b", "c")


@pytest.fixture(scope="module")
def runs():
    return published("public")


def published(sampling):
    """Return estimates, standard errors and intervals of every value, by region and in total, for many clinics.

    Every clinic has the same records with independent noise.
    """
    rows = ", ".join(
        f"('{region}', '{value}', {count})"
        for region, counts in GROUPS.items()
        for value, count in zip(VALUES, counts, strict=True)
    )
    with duckdb_priv.connect(secret=bytes(range(32))) as con:
        con.execute(
            "CREATE TABLE people AS SELECT row_number() OVER () AS id, clinic, region, value"
            f" FROM (VALUES {rows}) AS t(region, value, n), range({RUNS}) AS c(clinic), range(n)"
        )
        con.execute(
            "FROM priv.publish_reconstruction_private('people', 'r', sensitive := 'value', retention := 0.4,"
            f" epsilon := 0.4, delta := 0.3, record_id := 'id', sampling := '{sampling}')"
        ).fetchall()
        sizes = con.execute("SELECT DISTINCT count(*) FROM r GROUP BY clinic, region").fetchall()
        assert sampling == "paper" or sorted(sizes) == [(44,), (SAMPLE,)]
        answers = con.execute(
            "SELECT estimate, stderr, low, high FROM (SELECT * FROM priv.reconstructed_distribution('r',"
            " weight := 'scale', group_columns := 'clinic, region') UNION ALL BY NAME"
            " SELECT *, 'z' AS region FROM priv.reconstructed_distribution('r', weight := 'scale',"
            " group_columns := 'clinic')) ORDER BY clinic, region, value"
        ).fetchall()
    return np.array(answers).reshape(RUNS, -1, 4).transpose(2, 0, 1)


def truth():
    counts = np.array([GROUPS[region] for region in sorted(GROUPS)])
    sizes = counts.sum(axis=1, keepdims=True)
    variances = weighted_variance(sizes, counts, np.minimum(sizes, SAMPLE), OPERATOR)
    return (
        np.concatenate([counts.ravel(), counts.sum(axis=0)]),
        np.concatenate([variances.ravel(), variances.sum(axis=0)]),
    )


def test_estimates_are_unbiased(runs):
    counts, variances = truth()
    z = (runs[0].mean(axis=0) - counts) / np.sqrt(variances / RUNS)
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / len(counts))


def test_the_variance_is_as_derived(runs):
    """The bounds are those of a sample variance of normal estimates; these are sums of at least 44 rows."""
    _, variances = truth()
    ratio = runs[0].var(axis=0, ddof=1) / variances
    chance = FALSE_ALARM / 2 / len(variances)
    low, high = stats.chi2.ppf([chance, 1 - chance], RUNS - 1) / (RUNS - 1)
    assert (ratio > low).all()
    assert (ratio < high).all()


def test_standard_errors_are_not_too_small(runs):
    _, variances = truth()
    assert (np.mean(runs[1] ** 2, axis=0) > 0.9 * variances).all()


def test_intervals_cover(runs):
    counts, _ = truth()
    covered = ((runs[2] <= counts) & (counts <= runs[3])).sum(axis=0)
    # The nominal 95% are reached in every one of twelve cells, whose true counts go from 0 to all records.
    assert covered.min() >= stats.binom.ppf(FALSE_ALARM / len(counts), RUNS, 0.95)
    assert covered.mean() >= 0.94 * RUNS


def test_releases_as_in_the_paper_have_intervals_that_cover():
    """The paper's estimates have a small bias, because they divide by a random number of sampled records."""
    counts, variances = truth()
    estimate, _, low, high = published("paper")
    z = (estimate.mean(axis=0) - counts) / np.sqrt(variances / RUNS)
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / len(counts))
    covered = ((low <= counts) & (counts <= high)).sum(axis=0)
    assert covered.min() >= stats.binom.ppf(FALSE_ALARM / len(counts), RUNS, 0.95)
