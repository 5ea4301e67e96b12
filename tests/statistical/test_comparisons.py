"""Coverage of 95% intervals of lists, shares, differences, ratios, sums and means.

Perturbed counts are drawn in numpy, and SQL answers queries on releases with a fixed secret. All seeds are fixed. A
test fails if the coverage is significantly below the required one. With other seeds, an interval with exactly the
required coverage fails with probability 1e-9.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from plausible import FALSE_ALARM
from reference import comparison
from reference.comparison import Functional, Interval
from scipy.special import ndtri
from scipy.stats import binom

from duckdb_priv.mechanism.uniform import Uniform

pytestmark = pytest.mark.usefixtures("unasked", "plain_files")

RUNS = 10_000
REPLICATES = 100
Z = float(ndtri(0.975))
Floats = np.ndarray[Any, Any]


def fewest(runs: int, nominal: float) -> int:
    return int(binom.ppf(FALSE_ALARM, runs, nominal))


def weighted(operator: Uniform, amounts: Floats, shows: Floats) -> Functional:
    """Return the test terms of the sum of amounts over records with a value; ``shows`` has one row per run."""
    h = (shows - operator.other) / operator.retention
    dense = len({*amounts[amounts != 0]}) > 1
    return comparison.functional(amounts, h, operator.other, 1 / operator.retention, dense=dense)


def covered(interval: Interval, truth: float) -> int:
    inside = (interval.low <= truth + 1e-9) & (truth - 1e-9 <= interval.high)
    return int(inside.sum())


GROUPS = [
    (30, 0, 30, 3), (30, 3, 30, 10), (30, 1, 2000, 70), (30, 15, 2000, 70), (100, 5, 100, 20), (100, 50, 1000, 30),
    (1000, 0, 1000, 50), (1000, 300, 1000, 10), (100, 100, 100, 2),
]  # fmt: skip


@pytest.mark.parametrize("operator", [Uniform(0.5, 14), Uniform(0.2, 50), Uniform(0.7, 4)], ids=str)
@pytest.mark.parametrize(("n", "k", "others", "of_others"), GROUPS)
def test_two_groups_are_compared(
    operator: Uniform, n: int, k: int, others: int, of_others: int
) -> None:
    random = np.random.default_rng(1)

    def count(rows: int, true: int) -> Functional:
        own = random.binomial(true, operator.own, RUNS)
        shown = own + random.binomial(rows - true, operator.other, RUNS)
        p, q = operator.retention, operator.other
        estimate, spread = (shown - rows * q) / p, (1 - operator.own - q) / p
        variance = rows * q * (1 - q) / p**2 + spread * estimate
        above, below = (
            max(0.5 / p, (Z**2 - 1) / 6 * each)
            for each in (spread + 2 * operator.own - 1, spread + 1)
        )
        return Functional(
            estimate, variance, variance, *map(np.float64, (spread, -spread, above, below, 0, rows))
        )

    one, two = count(n, k), count(others, of_others)
    shares = comparison.difference(one, two, 0.0, (1 / n, 1 / others))
    difference = comparison.ends(shares, Z)
    assert covered(difference, k / n - of_others / others) >= fewest(RUNS, 0.94)
    ratio = comparison.ratio(one, two, 0.0, Z)
    assert covered(ratio, k / of_others) >= fewest(RUNS, 0.94)


AMOUNTS = {
    "even": lambda random, n: random.uniform(10, 50, n),
    "skewed": lambda random, n: random.lognormal(0, 1, n),
    "heavy": lambda random, n: random.lognormal(0, 2, n),
    "rare": lambda random, n: (random.random(n) < 0.1).astype(float),
}


@pytest.mark.parametrize("operator", [Uniform(0.5, 14), Uniform(0.2, 50), Uniform(0.8, 3)], ids=str)
@pytest.mark.parametrize("amounts", AMOUNTS)
@pytest.mark.parametrize(("n", "k"), [(100, 5), (100, 50), (400, 100)])
def test_sums_and_means(operator: Uniform, amounts: str, n: int, k: int) -> None:
    random, runs = np.random.default_rng(2), 2000
    of_rows = AMOUNTS[amounts](random, n)
    true = np.arange(n) < k
    shows = random.random((runs, n)) < np.where(true, operator.own, operator.other)
    found = comparison.ends(weighted(operator, of_rows, shows), Z)
    assert covered(found, of_rows[true].sum()) >= fewest(runs, 0.94)
    least = of_rows.min()
    above, count = (weighted(operator, each, shows) for each in (of_rows - least, np.ones(n)))
    h = (shows - operator.other) / operator.retention
    together = (h * h - h) @ (of_rows - least)
    mean = comparison.mean(above, count, together, (least, of_rows.max()), Z)
    assert covered(mean, of_rows[true].mean()) >= fewest(runs, 0.94)


SOURCE = f"""
CREATE TABLE source AS
    SELECT i + replicate * 1000 AS id, replicate, i % 3 = 0 AS one, i % 7 * 3.5 + i % 2 AS amount,
        (['flu', 'cold', 'cough', 'gout', 'none'])[1 + least((i * i + i % 5) % 23 % 9, 4)] AS disease
    FROM range(300) AS t(i), range({REPLICATES}) AS r(replicate);
CREATE TABLE numbered AS
    SELECT unnest(['flu', 'cold', 'cough', 'gout', 'none']) AS value, unnest(range(5))::INTEGER AS n;
CREATE TABLE exchange AS
    SELECT o.value AS original, p.value AS published,
        ([0.5, 0.25, 0.125, 0.0625, 0.0625])[1 + (p.n - o.n + 5) % 5] AS probability
    FROM numbered AS o, numbered AS p;
"""
HOW = {
    "uniform": "retention := 0.4",
    "fine_grain": "tolerance := 6, min_retention := 0.1",
    "matrix": "matrix := 'exchange'",
}
FLU, FEW = "disease = 'flu'", "(disease = 'none')::INTEGER"
SOME, NOT_NONE = "disease IN ('flu', 'cold')", "disease IN ('flu', 'gout')"
ASKED = {
    "list_interval": ("['flu', 'cold']", f"count_if({SOME})"),
    "share": ("['flu', 'gout']", f"avg(({NOT_NONE})::INTEGER)"),
    "difference": (
        "'flu', ['cold', 'gout']",
        f"2 * count_if({FLU}) - count_if({SOME} OR {NOT_NONE})",
    ),
    "ratio": ("'flu', 'none'", f"count_if({FLU}) / sum({FEW})"),
    "group_difference": (
        "'flu', one, NOT one",
        f"count_if({FLU} AND one) - count_if({FLU} AND NOT one)",
    ),
    "group_ratio": (
        "'flu', one, NOT one",
        f"count_if({FLU} AND one) / count_if({FLU} AND NOT one)",
    ),
    "share_difference": ("'none', one, true", f"avg({FEW}) FILTER (one) - avg({FEW})"),
    "share_ratio": ("'none', one, true", f"avg({FEW}) FILTER (one) / avg({FEW})"),
    "sum": ("['flu', 'none'], amount", "sum(amount) FILTER (disease IN ('flu', 'none'))"),
    "mean": ("['flu', 'none'], amount", "avg(amount) FILTER (disease IN ('flu', 'none'))"),
}
"""For each function: its arguments, and the true answer."""


@pytest.mark.parametrize("mechanism", HOW)
def test_what_sql_answers_covers(mechanism: str, prepared, tmp_path: Path) -> None:
    """Publish all replicates in one release: records have different ids, so their noise is independent."""
    path = tmp_path / "r.duckdb"
    with prepared() as publisher:
        publisher.execute(SOURCE)
        publisher.execute(
            f"FROM priv.publish_{mechanism}('source', 'r', sensitive := 'disease', record_id := 'id',"
            f" public := ['replicate', 'one', 'amount'], {HOW[mechanism]})"
        )
        publisher.execute("FROM priv.export_release('r', ?)", [str(path)])
        truths = {
            name: publisher.execute(f"SELECT {truth} FROM source WHERE replicate = 0").fetchall()[
                0
            ][0]
            for name, (_, truth) in ASKED.items()
        }
    with duckdb.connect(str(path), read_only=True) as release:
        for name, (arguments, _) in ASKED.items():
            answer = f"priv.reconstructed_{name}('r', noisy_disease, {arguments})"
            rows = release.execute(f"SELECT unnest({answer}) FROM r GROUP BY replicate").fetchall()
            found = Interval(*np.array(rows, float).T)
            truth = float(truths[name])
            assert covered(found, truth) >= fewest(REPLICATES, 0.95), (name, truth)
            assert (found.low <= found.high).all()
