"""Decoy groups are well mixed: they follow the conditional Poisson design, and estimates are unbiased.

Keys are fixed, so the tests fail only when the code changes; with fresh keys a correct mechanism
would fail each of them with probability ``FALSE_ALARM``.
"""

import itertools
from collections import Counter

import numpy as np
import pytest
from plausible import FALSE_ALARM
from reference.decoy_weights import conditional_poisson_weights
from reference.whole_plan import largest_first_groups, mixed_groups
from scipy.stats import binom, chisquare, norm

from duckdb_priv.mechanism import decoy_groups
from duckdb_priv.mechanism.conditional_poisson import ConditionalPoisson
from duckdb_priv.mechanism.decoy_groups import leave_out
from duckdb_priv.mechanism.splu_reconstruction import choose, two_by_two

SKEWED = {
    "zipf": (np.array([3400, 1700, 1133, 850, 680, 567, 486, 425, 378, 381]), 2),
    "zipf, larger groups": (np.array([1990, 1900, 1500, 1100, 900, 800, 700, 500, 380, 230]), 5),
    "steep": (np.array([2400, 2400, 2400, 1200, 700, 400, 200, 150, 100, 50]), 4),
}
"""10,000 records each; the most frequent values are in 68%, 99.5% and 96% of the groups."""


def keyed(seed):
    """A seeded stand-in for the keyed stream of a publisher."""

    def words(stream, count):
        generator = np.random.Generator(np.random.Philox(key=[seed, stream]))
        return generator.integers(0, 2**64, count, np.uint64)

    return words


def arrangements(counts, gamma):
    """Return every way to fill numbered groups with distinct values."""
    groups = sum(counts) // gamma

    def fill(left, filled):
        if len(filled) == groups:
            yield tuple(filled)
            return
        for values in itertools.combinations(range(len(left)), gamma):
            rest = [count - (value in values) for value, count in enumerate(left)]
            if min(rest) >= 0:
                yield from fill(rest, [*filled, values])

    return list(fill(list(counts), []))


@pytest.mark.parametrize(
    ("counts", "gamma", "ways"),
    [([3, 2, 2, 1], 2, 48), ([2, 2, 2, 2], 2, 90), ([2, 2, 2, 2, 1], 3, 36)],
)
def test_every_arrangement_is_equally_likely(counts, gamma, ways):
    every = arrangements(counts, gamma)
    assert len(every) == ways
    drawn = Counter(
        tuple(
            map(tuple, np.sort(mixed_groups(counts, gamma, keyed(seed)).members, axis=1).tolist())
        )
        for seed in range(10 * ways)
    )
    assert set(drawn) <= set(every)
    assert chisquare([drawn[way] for way in every]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("name", SKEWED)
@pytest.mark.parametrize("tile", [1 << 16, 500])
def test_values_meet_as_the_conditional_poisson_law_says(name, tile, monkeypatch):
    # Tiles of 500 groups are mixed separately, and must follow the same distribution.
    monkeypatch.setattr(decoy_groups, "TILE", tile)
    counts, gamma = SKEWED[name]
    z = standardized_meetings(mixed_groups, counts, gamma, runs=40)
    assert z.max() < norm.isf(FALSE_ALARM / 2 / z.size)
    # The test has power: the paper's groups fail it by far.
    assert standardized_meetings(largest_first_groups, counts, gamma, runs=10).max() > 20


def standardized_meetings(grouping, counts, gamma, runs):
    """Return the relative distance between the mean number of groups with each pair of values and its expectation."""
    groups, values = counts.sum() // gamma, counts.size
    meetings = np.zeros((runs, values, values))
    for seed in range(runs):
        members = grouping(counts, gamma, keyed(seed)).members
        holds = np.zeros((groups, values))
        np.put_along_axis(holds, members.astype(np.intp), 1, axis=1)
        meetings[seed] = holds.T @ holds
    pairs = np.triu_indices(values, 1)
    expected = (
        groups * ConditionalPoisson.fit(gamma * counts / counts.sum(), gamma).joint_inclusion()
    )
    spread = np.sqrt(expected * (1 - expected / groups) / runs)
    return np.abs(meetings.mean(axis=0) - expected)[pairs] / spread[pairs]


def published_with_subset(plan, counts, taken, rng):
    """Publish all records, and select a subset independently of their ranks.

    ``taken`` is the share of each value's records in the subset. Returns the true counts in the subset, and the
    published counts of each value in the subset and in all records.
    """
    value = np.repeat(np.arange(counts.size), counts)
    rank = np.concatenate([rng.permutation(count) for count in counts])
    word = rng.integers(0, 2**64, value.size, np.uint64)
    published = plan.publish(value, rank, word)
    inside = np.concatenate(
        [np.arange(count) < round(part * count) for count, part in zip(counts, taken, strict=True)]
    )
    return (
        np.bincount(each, minlength=counts.size)
        for each in (value[inside], published[inside], published)
    )


@pytest.mark.parametrize("name", SKEWED)
def test_reconstruction_is_unbiased_on_correlated_data(name):
    counts, gamma = SKEWED[name]
    runs = 200
    rng = np.random.default_rng(5)
    taken = rng.uniform(0.05, 0.65, counts.size)
    paired = conditional_poisson_weights(counts, gamma).matrix()
    shown = np.empty((runs, counts.size))
    for run in range(runs):
        plan = mixed_groups(counts, gamma, keyed(run))
        subset, shown[run], _ = published_with_subset(plan, counts, taken, rng)
    estimates = shown @ paired.T
    z = (estimates.mean(axis=0) - subset) / (estimates.std(axis=0, ddof=1) / np.sqrt(runs))
    assert np.abs(z).max() < norm.isf(FALSE_ALARM / 2 / z.size)
    # The estimated variance, sum of squared weights less the estimate, is not too small.
    variance = (shown @ (paired**2).T - estimates).mean(axis=0)
    assert (variance > 0.75 * estimates.var(axis=0, ddof=1)).all()


@pytest.mark.parametrize(
    "counts",
    [
        np.full(10, 2000),
        np.array([3600, 3400, 3000, 2600, 2200, 1800, 1400, 1000, 600, 400]),
        np.array([3900, 3900, 3000, 2800, 2400, 1800, 1000, 600, 400, 200]),
    ],
    ids=["balanced", "skewed", "steep"],
)
def test_intervals_of_the_chosen_form_cover_at_least_94_percent(counts):
    gamma, runs = 5, 200
    rng = np.random.default_rng(6)
    covered = np.zeros(runs)
    for run in range(runs):
        plan = mixed_groups(counts, gamma, keyed(run))
        taken = rng.uniform(0.02, 0.3, counts.size)
        subset, shown, everything = published_with_subset(plan, counts, taken, rng)
        form = choose(everything, gamma).weights
        weights = np.array([form.row(value) for value in range(counts.size)])
        estimate = weights @ shown
        error = np.sqrt(np.maximum(weights**2 @ shown - estimate, 0))
        known = np.isfinite(estimate)
        covered[run] = (np.abs(estimate - subset) <= 1.96 * error)[known].mean()
    # Values of one run are dependent, different runs are independent.
    uncertainty = norm.isf(FALSE_ALARM) * covered.std(ddof=1) / np.sqrt(runs)
    assert covered.mean() > 0.94 - uncertainty
    assert uncertainty < 0.05


def test_bias_of_reconstruction_by_the_way_of_grouping():
    # 50 values, 200,000 records, eight disjoint subsets with values of their own: mean relative
    # error over the counts of at least 1%, with nothing but the partition random.
    gamma = 5
    counts = np.round(200_000 * (share := 1 / np.arange(4, 54)) / share.sum()).astype(int)
    counts = leave_out(counts, gamma, keyed(0))
    rng = np.random.default_rng(7)
    favourite = rng.permutation(50) % 8
    subsets = np.array([np.round(counts * (0.05 + 0.6 * (favourite == part))) for part in range(8)])
    paired = conditional_poisson_weights(counts, gamma).matrix()
    simple = np.array([two_by_two(counts, gamma).row(value) for value in range(50)])
    large = subsets >= 0.01 * counts.sum()

    def error(grouping, weights):
        holds = np.zeros((counts.sum() // gamma, 50), np.float32)
        members = grouping(counts, gamma, keyed(1)).members
        np.put_along_axis(holds, members.astype(np.intp), 1, axis=1)
        operator = (holds.T @ holds) / (gamma * counts)
        np.fill_diagonal(operator, 1 / gamma)
        estimates = subsets @ operator.T @ weights.T
        return np.abs(estimates / subsets - 1)[large].mean()

    mixed = error(mixed_groups, paired)
    assert mixed < 0.01
    assert error(largest_first_groups, paired) > 5 * mixed
    assert error(largest_first_groups, simple) > 5 * mixed


def test_records_are_left_out_with_equal_chances():
    counts, gamma, runs = np.array([40, 30, 20, 15, 6]), 2, 8000
    left = sum(counts - leave_out(counts, gamma, keyed(seed)) for seed in range(runs))
    assert left.sum() == runs
    assert chisquare(left, runs * counts / counts.sum()).pvalue > FALSE_ALARM
    # Several at a time are left out without replacement: all pairs are equally likely.
    counts, gamma = np.array([3, 3, 3, 2]), 3
    pairs = Counter(tuple(counts - leave_out(counts, gamma, keyed(seed))) for seed in range(runs))
    ways = {
        (2, 0, 0, 0): 3, (0, 2, 0, 0): 3, (0, 0, 2, 0): 3, (0, 0, 0, 2): 1,
        (1, 1, 0, 0): 9, (1, 0, 1, 0): 9, (0, 1, 1, 0): 9,
        (1, 0, 0, 1): 6, (0, 1, 0, 1): 6, (0, 0, 1, 1): 6,
    }  # fmt: skip
    expected = [runs * ways[pair] / sum(ways.values()) for pair in ways]
    assert chisquare([pairs[pair] for pair in ways], expected).pvalue > FALSE_ALARM


def test_one_record_in_gamma_shows_its_own_value():
    counts, gamma = np.array([30_000, 25_000, 20_000, 15_000, 10_000]), 3
    counts = leave_out(counts, gamma, keyed(3))
    plan = mixed_groups(counts, gamma, keyed(3))
    rng = np.random.default_rng(8)
    value = np.repeat(np.arange(5), counts)
    rank = np.arange(value.size) - plan.first[value]
    published = plan.publish(value, rank, rng.integers(0, 2**64, value.size, np.uint64))
    own = int((published == value).sum())
    low, high = binom.isf([1 - FALSE_ALARM / 2, FALSE_ALARM / 2], value.size, 1 / gamma)
    assert low <= own <= high
