"""Reference frequencies: the exact law of what is published, and the noise as it is drawn."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from duckdb_priv.engine.randomness import KeyedWords
from duckdb_priv.mechanism.reference_frequencies import reference_frequencies, rounded


def law(count: int, records: int, epsilon: float) -> dict[float, float]:
    """Pr[reference frequency] of a value, summed over the noise."""
    totals = np.arange(-600 / epsilon, 600 / epsilon + 1)
    noise = totals - count
    a = math.exp(-epsilon / 2)
    probability = (1 - a) / (1 + a) * a ** np.abs(noise)
    shown = rounded(np.maximum(totals, 1) / records)
    return {share: float(probability[shown == share].sum()) for share in np.unique(shown)}


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 1.0])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 90, 363])
def test_one_record_changes_no_probability_by_more_than_it_may(count, epsilon):
    here, there = law(count, 1000, epsilon), law(count + 1, 1000, epsilon)
    assert here.keys() == there.keys()
    ratios = [here[share] / there[share] for share in here]
    assert max(*ratios, *(1 / ratio for ratio in ratios)) <= math.exp(epsilon / 2) * (1 + 1e-9)
    assert sum(here.values()) == pytest.approx(1)


def test_the_shares_have_this_law():
    """With known noise; each share is off by more than six standard errors with probability below 1e-8."""
    epsilon, draws = 0.1, 20_000
    words, streams = KeyedWords.derive(bytes(32), "test"), itertools.count()
    counts = np.full(draws, 90)
    shown = reference_frequencies(counts, epsilon, lambda n: words(next(streams), n))
    for share, probability in law(90, int(counts.sum()), epsilon).items():
        expected, spread = draws * probability, math.sqrt(draws * probability * (1 - probability))
        assert abs((shown == share).sum() - expected) <= 6 * spread + 1
