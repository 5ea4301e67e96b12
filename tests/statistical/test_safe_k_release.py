"""Releases of samples: independent sampling, unbiased estimates, and levels chosen with the stated probabilities."""

import itertools
import math

import numpy as np
import pytest
from plausible import FALSE_ALARM
from scipy.stats import binom, binomtest, chi2

from duckdb_priv.engine.instance import instance_of
from duckdb_priv.engine.randomness import FreshBits
from duckdb_priv.engine.source import open_source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.exponential_mechanism import exponential_mechanism
from duckdb_priv.mechanism.lattice import Lattice
from duckdb_priv.methods.common.hierarchy import open_hierarchies
from duckdb_priv.methods.safe_k.plan import _score_levels
from duckdb_priv.methods.safe_k.terms import Terms
from duckdb_priv.release.request import Roles


@pytest.fixture(scope="module")
def con(prepared):
    with prepared(secret=None) as connection:
        yield connection


def publish(con, source, **arguments):
    written = ", ".join(f"{name} := {value}" for name, value in arguments.items())
    con.execute(
        f"FROM priv.publish_safe_k('{source}', 'sampled', {written}, replace := true)"
    ).fetchall()


def least_chance(observed, trials, probabilities):
    """Return the smallest binomial p-value of any cell; expected counts are too small for a chi-square test."""
    cells = zip(observed, probabilities, strict=True)
    return min(binomtest(int(count), trials, p).pvalue for count, p in cells)


def test_every_record_is_sampled_by_a_coin_of_its_own(con):
    """The sampled rows in each of 1,000 blocks of 400 neighbouring rows are binomial."""
    con.execute("CREATE TABLE blocks AS SELECT i // 400 AS block FROM range(400000) AS t(i)")
    con.execute(
        "CREATE TABLE block_rules AS SELECT 'block' AS attribute, value::VARCHAR AS value, 0 AS level,"
        " value::VARCHAR AS generalized FROM range(1000) AS t(value)"
    )
    publish(
        con,
        "blocks",
        k=2,
        beta=0.1,
        epsilon=1.0,
        hierarchies="'block_rules'",
        levels="{'block': 0}",
    )
    counts = np.array(con.execute("SELECT count(*) FROM sampled GROUP BY block").fetchall()).ravel()
    assert len(counts) == 1000
    p = binomtest(int(counts.sum()), 400_000, 0.1).pvalue
    assert p > FALSE_ALARM / 3, f"{counts.sum()} of 400,000 sampled; p = {p:.1e}"
    spread = ((counts - 40) ** 2).sum() / 36
    tails = chi2.cdf(spread, 1000), chi2.sf(spread, 1000)
    assert min(tails) > FALSE_ALARM / 10, (
        f"blocks are spread {spread / 1000:.3f} times as they should be"
    )
    law = binom.pmf(np.arange(20, 62), 400, 0.1)
    expected = np.concatenate(([binom.cdf(19, 400, 0.1)], law, [binom.sf(61, 400, 0.1)]))
    observed = np.bincount(np.clip(counts, 19, 62) - 19, minlength=44)
    shown, law = (np.add.reduceat(each, np.arange(0, 44, 4)) for each in (observed, expected))
    p = least_chance(shown, 1000, law)
    assert p > FALSE_ALARM / 3 / len(law), f"{shown.tolist()} blocks by size; p = {p:.1e}"


def test_estimates_are_unbiased_and_intervals_cover(con):
    """There are a thousand values each of 10, 30, 100 and 1,000 records; k = 2 suppresses nearly none of them."""
    sizes, values = [10, 30, 100, 1000], 1000
    con.execute(
        "CREATE TABLE counted AS SELECT size || '/' || v AS value"
        f" FROM (VALUES (10), (30), (100), (1000)) AS s(size), range({values}) AS t(v), range(size)"
    )
    con.execute(
        "CREATE TABLE counted_rules AS SELECT DISTINCT 'value' AS attribute, value, level,"
        " CASE level WHEN 0 THEN value ELSE '*' END AS generalized FROM counted, range(2) AS l(level)"
    )
    publish(
        con,
        "counted",
        k=2,
        beta=0.5,
        epsilon=1.0,
        hierarchies="'counted_rules'",
        levels="{'value': 0}",
    )
    found = {size: [] for size in sizes}
    for size, *answer in con.execute(
        "SELECT split_part(value, '/', 1)::INTEGER, estimate, stderr, low, high"
        " FROM priv.reconstructed_distribution('sampled', weight := 'scale')"
    ).fetchall():
        found[size].append(answer)
    for size in sizes:
        estimate, stderr, low, high = np.array(found[size]).T
        trials = len(estimate)
        assert trials == values
        # The expectation is E[J 1{J >= 2}] / beta, because groups with fewer than k = 2 sampled records are left out.
        bias = -size * binom.cdf(0, size - 1, 0.5)
        deviation = abs(estimate.mean() - size - bias) / math.sqrt(size / trials)
        # One of four means, the smallest of which is skewed, exceeds this limit with probability 8e-10.
        assert deviation < 6.4, f"{estimate.mean()} for {size}: {deviation:.1f} standard errors off"
        assert np.mean(stderr**2) == pytest.approx(size, rel=0.07)
        covered = int(((low <= size) & (size <= high)).sum())
        assert binom.cdf(covered, trials, 0.94) > FALSE_ALARM, f"{covered} of {trials} cover {size}"


AGES = [40, 3, 25, 7, 1, 30, 12, 12]
LEVELS = [
    {i: str(i) for i in range(8)},
    {i: f"pair {i // 2}" for i in range(8)},
    {i: f"half {i // 4}" for i in range(8)},
    dict.fromkeys(range(8), "*"),
]


def test_levels_are_chosen_with_the_probabilities_of_the_exponential_mechanism(con):
    """The probabilities are computed from the definition, with one query per node, in floats."""
    con.execute("CREATE TABLE small (age INTEGER, sex VARCHAR)")
    for age, count in enumerate(AGES):
        con.execute(
            "INSERT INTO small SELECT ?, if(i % 3 = 0, 'f', 'm') FROM range(?) AS t(i)",
            [age, count],
        )
    con.execute(
        "CREATE TABLE small_rules (attribute VARCHAR, value VARCHAR, level INTEGER, generalized VARCHAR)"
    )
    rows = [
        ("age", str(i), level, text) for level, of in enumerate(LEVELS) for i, text in of.items()
    ]
    rows += [("sex", sex, level, [sex, "*"][level]) for sex in "fm" for level in range(2)]
    con.executemany("INSERT INTO small_rules VALUES (?, ?, ?, ?)", rows)

    # With k = 3 and beta = .4 a group needs 8 records, so the excess counts records beyond the first 7.
    epsilon1, weighed = 0.3, []
    for age, sex in itertools.product(range(4), range(2)):
        sizes = con.execute(
            "SELECT count(*) FROM small JOIN small_rules AS a ON a.attribute = 'age' AND a.value = age::VARCHAR"
            " AND a.level = ? JOIN small_rules AS s ON s.attribute = 'sex' AND s.value = sex AND s.level = ?"
            " GROUP BY a.generalized, s.generalized",
            [age, sex],
        ).fetchall()
        excess = sum(max(size - 7, 0) for (size,) in sizes)
        weighed.append(excess * ((3 - age) / 3 + (1 - sex)) / 2)
    expected = np.exp(epsilon1 * np.array(weighed))
    expected /= expected.sum()
    assert np.sort(expected)[-3:].min() > 1e-3, "the test would not notice a wrong rate"

    instance = instance_of(con)
    workspace = Workspace(instance, "memory", cursor=con.cursor())
    source = open_source(workspace, "small", Roles())
    hierarchies = open_hierarchies(workspace, source, "small_rules")
    lattice = Lattice(tuple(each.codes for each in hierarchies))
    terms = Terms(k=3, beta=0.4, epsilon=1.5, epsilon1=epsilon1)
    scores, rate = _score_levels(workspace, source, hierarchies, lattice, terms)
    workspace.cursor.close()
    bits = FreshBits()
    draws = 20_000
    chosen = [
        exponential_mechanism(scores, rate, lambda: int(bits.draw(1)[0])) for _ in range(draws)
    ]
    observed = np.bincount(chosen, minlength=len(expected))
    p = least_chance(observed, draws, expected)
    assert p > FALSE_ALARM / len(expected), (
        f"chosen {observed.tolist()}, expected {(draws * expected).round().tolist()}"
    )
