"""Likelihood ratios as they are: publish many records, count what tells two true values apart, and bound it from below.

A claim that were too small would show: the lower bound of what is measured would be above it. And where a claim is
tight, the bound comes near it, so that the claims are no idle ones. Four million records are published on demand, and
fewer in every run; the secret is fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import duckdb
import numpy as np
import pytest
from scipy.stats import beta, binom

from duckdb_priv.mechanism.shuffled_retention import scales_of_sizes
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.release import catalog

pytestmark = pytest.mark.usefixtures("unasked")

Prepared = Callable[..., duckdb.DuckDBPyConnection]
SIZES = [
    pytest.param(240_000, 1 - 1e-9, id="few"),
    pytest.param(4_000_000, 0.99, id="four million", marks=pytest.mark.on_demand),
]
"""How many records there are, and for how many secrets the bounds hold at least."""


def bounds(count: int, of: int, confidence: float) -> tuple[float, float]:
    """The exact interval of a probability (Clopper and Pearson)."""
    miss = (1 - confidence) / 2
    return (
        float(beta.ppf(miss, count, of - count + 1)),
        float(beta.ppf(1 - miss, count + 1, of - count)),
    )


@pytest.mark.parametrize(("rows", "confidence"), SIZES)
def test_blocks_tell_two_values_apart_by_what_is_stated(
    prepared: Prepared, rows: int, confidence: float
) -> None:
    """Half of the records have one value, half another; blocks of the first alone are gamma times as frequent."""
    with prepared() as con:
        con.execute(
            f"CREATE TABLE ill AS SELECT i AS id, i % 2 AS side, i % 2 AS code FROM range({rows}) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_block_design('ill', 'r', sensitive := 'code', epsilon := 1.5, record_id := 'id',"
            " public := ['side'], domain := ?)",
            [list(range(60))],
        ).fetchall()
        (attribute,) = catalog.sensitive_attributes(con, "r")
        found = con.execute(
            "SELECT side, noisy_code::INTEGER, count(*) FROM r GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        ((claimed,),) = con.execute(
            "SELECT value FROM priv.guarantee WHERE guarantee = 'local_differential_privacy'"
        ).fetchall()
    blocks = attribute.blocks
    assert blocks is not None
    shown = np.zeros((2, blocks.count), np.int64)
    for side, block, count in found:
        shown[side, block] = count
    first = np.array(blocks.first)
    held = [(first + value * blocks.stride) % blocks.count for value in (0, 1)]
    for mine, other in ((0, 1), (1, 0)):
        alone = np.setdiff1d(held[mine], held[other])
        low, _ = bounds(int(shown[mine, alone].sum()), rows // 2, confidence)
        _, high = bounds(int(shown[other, alone].sum()), rows // 2, confidence)
        ratio = math.exp(claimed)
        assert low / high <= ratio
        assert low / high >= (0.95 if rows > 10**6 else 0.88) * ratio


def town(scale: float, size: int, epsilon: float) -> tuple[list[np.ndarray], np.ndarray, int]:
    """The law of how many of a town report 1, for either value of one record while all others have 0; and the event by
    which that one value is distinguished best from the other."""
    own, other = (1 + scale) / (1 + 2 * scale), scale / (1 + 2 * scale)
    crowd = binom.pmf(np.arange(size), size - 1, other)
    law = [np.convolve(crowd, [1 - p, p]) for p in (other, own)]
    excess = [law[mine] - math.exp(epsilon) * law[1 - mine] for mine in (0, 1)]
    mine = int(np.argmax([np.maximum(each, 0).sum() for each in excess]))
    return law, excess[mine] > 0, mine


@pytest.mark.parametrize(("rows", "confidence"), SIZES)
def test_shuffled_groups_tell_two_values_apart_by_what_is_stated(
    prepared: Prepared, rows: int, confidence: float
) -> None:
    """Towns of four: three have a value that is known, and one of two values is asked of the fourth.

    The event is the one that tells most by the exact law; its excess is a lower bound of delta.
    """
    epsilon, delta, size = 0.5, 0.15, 4
    with prepared() as con:
        con.execute(
            f"CREATE TABLE ill AS SELECT i AS id, i // {size} AS town,"
            f" CASE WHEN i % {size} = 0 THEN i // {size} % 2 ELSE 0 END AS code FROM range({rows}) AS t(i)"
        )
        con.execute(
            f"FROM priv.publish_shuffled('ill', 'r', sensitive := 'code', epsilon := {epsilon}, delta := {delta},"
            " record_id := 'id', public := ['town'], domain := [0, 1])"
        ).fetchall()
        ((scale,),) = con.execute("SELECT DISTINCT scale FROM r").fetchall()
        found = con.execute(
            "SELECT side, ones, count(*) FROM (SELECT town % 2 AS side, count_if(noisy_code = 1) AS ones FROM r"
            " GROUP BY town) GROUP BY ALL"
        ).fetchall()
    assert scale == scales_of_sizes((Code(2),), [size], epsilon, delta)[size]
    shown = np.zeros((2, size + 1), np.int64)
    for side, ones, count in found:
        shown[side, ones] = count
    law, telling, mine = town(scale, size, epsilon)
    exact = float((law[mine] - math.exp(epsilon) * law[1 - mine])[telling].sum())
    towns = rows // size // 2
    low, _ = bounds(int(shown[mine, telling].sum()), towns, confidence)
    _, high = bounds(int(shown[1 - mine, telling].sum()), towns, confidence)
    measured = low - math.exp(epsilon) * high
    assert measured <= exact <= delta
    assert exact >= 0.98 * delta
    assert measured >= (0.95 if rows > 10**6 else 0.6) * delta


def test_less_noise_than_is_stated_would_be_caught() -> None:
    """What four million records are expected to show at four fifths of the noise is above the claim."""
    epsilon, delta, size, towns = 0.5, 0.15, 4, 500_000
    scale = 0.8 * scales_of_sizes((Code(2),), [size], epsilon, delta)[size]
    law, telling, mine = town(scale, size, epsilon)
    shown = [round(towns * float(each[telling].sum())) for each in law]
    low, _ = bounds(shown[mine], towns, 0.99)
    _, high = bounds(shown[1 - mine], towns, 0.99)
    assert low - math.exp(epsilon) * high > delta
