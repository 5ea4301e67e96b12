"""Decoy groups: what every plan must satisfy, and what is refused."""

import itertools

import numpy as np
import pytest
from random_words import keyed
from reference.whole_plan import largest_first_groups, mixed_groups

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism import decoy_groups
from duckdb_priv.mechanism.decoy_groups import (
    DecoyGroups,
    below,
    leave_out,
)
from duckdb_priv.mechanism.eligibility import largest_gamma, require_eligible

HISTOGRAMS = {
    "one group": ([1, 1, 1], 3),
    "every value in every group": ([7, 7, 7], 3),
    "one value in every group": ([40, 20, 10, 10], 2),
    "odd number of groups": ([3, 3, 3, 2, 1, 0, 3], 5),
    "empty values": ([0, 6, 0, 5, 4, 3, 0], 3),
    "rare values": ([300, 250, 200, *[1] * 150], 3),
    "two bytes a code": ([4] * 700, 7),
    "four bytes a code": ([1] * 70_000, 10),
}


@pytest.fixture(params=HISTOGRAMS)
def histogram(request):
    counts, gamma = HISTOGRAMS[request.param]
    return np.array(counts), gamma


@pytest.mark.parametrize("grouping", [mixed_groups, largest_first_groups])
@pytest.mark.parametrize("tile", [5, 1 << 16])
def test_groups_hold_gamma_distinct_values_and_each_record_once(
    histogram, grouping, tile, monkeypatch
):
    monkeypatch.setattr(decoy_groups, "TILE", tile if histogram[0].size < 1000 else 1 << 10)
    counts, gamma = histogram
    plan = grouping(counts, gamma, keyed("a"))
    groups = counts.sum() // gamma
    assert plan.members.shape == (groups, gamma)
    ordered = np.sort(plan.members, axis=1)
    assert (ordered[:, 1:] != ordered[:, :-1]).all()
    assert np.array_equal(np.bincount(plan.members.ravel(), minlength=counts.size), counts)
    assert np.array_equal(plan.first, np.concatenate([[0], np.cumsum(counts)]))
    # Every group gets gamma records, and each record's group holds its value.
    assert (np.bincount(plan.group_of, minlength=groups) == gamma).all()
    value = np.repeat(np.arange(counts.size), counts)
    assert ((plan.members[plan.group_of] == value[:, np.newaxis]).sum(axis=1) == 1).all()


def test_a_plan_is_a_pure_function_of_key_and_histogram():
    counts = np.array([30, 25, 20, 15, 10])
    one, again, other = (mixed_groups(counts, 2, keyed(key)) for key in "aab")
    assert np.array_equal(one.members, again.members)
    assert np.array_equal(one.group_of, again.group_of)
    assert not np.array_equal(one.members, other.members)


def test_tiles_draw_from_streams_of_their_own(monkeypatch):
    monkeypatch.setattr(decoy_groups, "TILE", 8)
    asked = []

    def words(stream, count):
        asked.append(stream)
        return keyed("a")(stream, count)

    mixed_groups([20] * 4, 2, words)
    assert len(asked) == len(set(asked)) == 1 + 5


def test_a_systematic_line_up_is_valid_exactly_for_eligible_histograms():
    rng = np.random.default_rng(1)
    seen = {True: 0, False: 0}
    for _ in range(300):
        gamma = int(rng.integers(2, 6))
        groups = int(rng.integers(1, 9))
        values = int(rng.integers(gamma, gamma + 6))
        counts = rng.multinomial(gamma * groups, rng.dirichlet(np.ones(values) * 3))
        columns = np.repeat(np.arange(values), counts).reshape(gamma, groups)
        ordered = np.sort(columns, axis=0)
        valid = bool((ordered[1:] != ordered[:-1]).all())
        assert valid == (counts.max() <= groups)
        seen[valid] += 1
        if valid:
            mixed_groups(counts, gamma, keyed("a"))
        else:
            with pytest.raises(InvalidParameter):
                mixed_groups(counts, gamma, keyed("a"))
    assert min(seen.values()) > 30


def test_largest_gamma_is_the_largest_that_is_eligible():
    rng = np.random.default_rng(2)
    for _ in range(200):
        counts = rng.integers(0, 30, int(rng.integers(3, 9)))
        best = largest_gamma(counts)
        works = []
        for gamma in range(2, 12):
            try:
                require_eligible(counts, gamma)
            except InvalidParameter:
                continue
            works.append(gamma)
        assert works == list(range(2, best + 1))
    assert largest_gamma([]) == largest_gamma([0, 0]) == 0


def test_leaving_out_fills_the_groups_and_keeps_the_table_eligible():
    rng = np.random.default_rng(3)
    for number in range(200):
        gamma = int(rng.integers(2, 7))
        counts = rng.integers(0, 12, gamma + 4) + 1
        if counts.max() * gamma > counts.sum():
            continue
        kept = leave_out(counts, gamma, keyed(number))
        assert counts.sum() - kept.sum() == counts.sum() % gamma
        assert (kept <= counts).all()
        assert (kept >= 0).all()
        mixed_groups(kept, gamma, keyed(number))


def test_largest_first_takes_the_largest_values_first():
    plan = largest_first_groups([1, 6, 5, 2], 2, keyed("a"))
    assert set(plan.members[0].tolist()) == {1, 2}
    # 6, 5 against 2: three more times before a third value is as frequent as the second.
    assert {frozenset(group) for group in plan.members[:3].tolist()} == {frozenset({1, 2})}


def test_below_is_the_high_half_of_the_product():
    words = np.concatenate([keyed("w")(0, 200), np.array([0, 1, 2**64 - 1], np.uint64)])
    for bound in (2, 3, 5, 10, 255, 2**32 - 1):
        expected = [(int(word) * bound) >> 64 for word in words]
        assert below(bound, words).tolist() == expected


def test_publishing_takes_each_member_of_the_own_group():
    plan = mixed_groups([6, 5, 4, 3], 3, keyed("a"))
    value = np.repeat(np.arange(4), [6, 5, 4, 3])
    rank = np.arange(18) - plan.first[value]
    third = np.uint64(2**64 // 3 + 1)
    columns = [plan.publish(value, rank, np.full(18, k * int(third), np.uint64)) for k in range(3)]
    assert np.array_equal(np.stack(columns, axis=1), plan.members[plan.group_of])
    # Record by record: the order and the number of records do not matter.
    word = keyed("a")(9, 18)
    whole = plan.publish(value, rank, word)
    shuffled = np.random.default_rng(0).permutation(18)
    assert np.array_equal(
        plan.publish(value[shuffled], rank[shuffled], word[shuffled]), whole[shuffled]
    )


def test_the_mean_background_is_that_of_any_grouping():
    # Of the gamma f records in groups with s, (gamma - 1) f do not hold it: b = (g-1)f / g(N-f).
    counts, gamma = np.array([60, 45, 30, 25, 20]), 3
    for plan in (
        mixed_groups(counts, gamma, keyed(0)),
        largest_first_groups(counts, gamma, keyed(0)),
    ):
        value = np.repeat(np.arange(5), counts)
        for s, count in enumerate(counts):
            decoy = (plan.members[plan.group_of] == s).any(axis=1)[value != s]
            expected = (gamma - 1) * count / (gamma * (counts.sum() - count))
            assert decoy.mean() / gamma == pytest.approx(expected, rel=1e-12)


def test_a_record_that_was_left_out_is_not_published():
    plan = mixed_groups([2, 2, 2], 2, keyed("a"))
    with pytest.raises(InvalidParameter, match="no group for a record of this rank"):
        plan.publish(np.array([0, 1]), np.array([1, 2]), np.zeros(2, np.uint64))


@pytest.mark.parametrize(
    ("counts", "gamma", "message", "hint"),
    [
        ([5, 3, 2], 1, "gamma must be an integer of at least 2, got 1", "5 to 10"),
        ([5, 3, 2], 2.5, "gamma must be an integer of at least 2, got 2.5", "5 to 10"),
        ([5, 3, 2], True, "gamma must be an integer of at least 2, got True", "5 to 10"),
        ([5, 0, 2], 3, "gamma = 3 needs at least 3 distinct values, the column has 2", "smaller"),
        ([], 2, "gamma = 2 needs at least 2 distinct values, the column has 0", "smaller"),
        (
            [5, 3, 2],
            3,
            "a value of the column is in 5 of 10 rows, more than 1 in gamma = 3",
            "2 is",
        ),
        (
            [6, 3, 2],
            2,
            "a value of the column is in 6 of 11 rows, more than 1 in gamma = 2",
            "no gamma",
        ),
    ],
)
def test_ineligible_tables_are_refused_with_the_reason(counts, gamma, message, hint):
    for refuse in (
        lambda: require_eligible(counts, gamma),
        lambda: leave_out(counts, gamma, keyed(0)),
        lambda: mixed_groups(counts, gamma, keyed(0)),
        lambda: largest_first_groups(counts, gamma, keyed(0)),
    ):
        with pytest.raises(InvalidParameter) as caught:
            refuse()
        assert caught.value.message == message
        assert hint in caught.value.hint


def test_rows_that_do_not_fill_the_groups_are_refused():
    with pytest.raises(InvalidParameter, match=r"11 rows do not fill groups of 2\nHint: leave 1"):
        mixed_groups([4, 4, 3], 2, keyed(0))


def test_small_tables_reach_every_arrangement():
    # Two groups of two from (a, a, b, c): b and c change places, nothing else can.
    reached = {
        tuple(map(frozenset, mixed_groups([2, 1, 1], 2, keyed(key)).members.tolist()))
        for key in range(64)
    }
    assert reached == set(itertools.permutations([frozenset({0, 1}), frozenset({0, 2})]))


def test_decoy_groups_are_read_by_value_and_rank():
    plan = DecoyGroups(
        members=np.array([[0, 1], [0, 2]], np.uint8),
        first=np.array([0, 2, 3, 4]),
        group_of=np.array([0, 1, 0, 1], np.uint32),
    )
    zero = np.zeros(4, np.uint64)
    assert plan.publish(np.array([0, 0, 1, 2]), np.array([0, 1, 0, 0]), zero).tolist() == [0] * 4
    top = np.full(4, 2**64 - 1, np.uint64)
    assert plan.publish(np.array([0, 0, 1, 2]), np.array([0, 1, 0, 0]), top).tolist() == [
        1,
        2,
        1,
        2,
    ]
