"""Anatomy: groups of l different values, and where the records go that fill none."""

import numpy as np
import pytest
from random_words import keyed

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.anatomy import AnatomyGroups, anatomy_groups

HISTOGRAMS = {
    "no record is left": ([4, 4, 4], 3),
    "as many left as can be": ([4, 4, 4, 4, 3], 4),
    "one value in every group": ([7, 3, 2, 2, 1], 2),
    "empty values": ([0, 6, 0, 5, 4, 4, 0], 3),
    "rare values": ([300, 250, 200, *[1] * 152], 3),
}


def members(groups: AnatomyGroups) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(int(groups.group.max()) + 1)]
    for value, group in zip(groups.value.tolist(), groups.group.tolist(), strict=True):
        found[group].append(value)
    return found


@pytest.mark.parametrize("name", HISTOGRAMS)
@pytest.mark.parametrize("key", ["a", "b"])
def test_groups_have_l_different_values_and_every_record_has_one(name, key):
    counts, diversity = HISTOGRAMS[name]
    groups = anatomy_groups(counts, diversity, keyed(key))
    assert groups.value.tolist() == np.repeat(range(len(counts)), counts).tolist()
    assert groups.rank.tolist() == [rank for count in counts for rank in range(count)]
    found = members(groups)
    assert len(found) == sum(counts) // diversity
    assert all(len(set(group)) == len(group) >= diversity for group in found)
    assert sum(len(group) - diversity for group in found) == sum(counts) % diversity


def test_the_largest_values_come_first():
    groups = anatomy_groups([6, 1, 1, 1, 1, 2], 2, keyed("a"))
    assert all(0 in group for group in members(groups))


def test_a_remaining_record_goes_into_any_group_without_its_value():
    met = set()
    for key in range(60):
        (extra,) = (
            group for group in members(anatomy_groups([3, 3, 3], 2, keyed(key))) if len(group) > 2
        )
        met.add(tuple(sorted(extra)))
    assert met == {(0, 1, 2)}
    places = {
        next(
            n
            for n, group in enumerate(members(anatomy_groups([2, 2, 2, 2, 1], 2, keyed(key))))
            if len(group) > 2
        )
        for key in range(60)
    }
    assert len(places) > 1


def test_ties_and_remaining_records_follow_the_words():
    counts = [9, 9, 9, 9, 9]
    one, same, other = (anatomy_groups(counts, 3, keyed(key)).group for key in ("a", "a", "b"))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_background_counts_the_other_records_that_list_a_value():
    groups = anatomy_groups([5, 4, 3, 2, 1], 3, keyed("a"))
    lists = members(groups)
    for code, share in enumerate(groups.background()):
        others = [
            group for value, group in zip(groups.value, groups.group, strict=True) if value != code
        ]
        assert share == pytest.approx(sum(code in lists[group] for group in others) / len(others))


@pytest.mark.parametrize(
    ("counts", "diversity", "stated"),
    [
        (
            [5, 2, 2],
            2,
            "a value of 'disease' is in 5 of 9 rows, more than 1 in l = 2\nHint: no l works",
        ),
        ([4, 3, 3], 3, "more than 1 in l = 3\nHint: l = 2 is the largest that works here"),
        (
            [4, 4, 0],
            3,
            "l = 3 needs at least 3 distinct values, 'disease' has 2\nHint: choose a smaller l",
        ),
        ([4, 4, 4], 1, "l must be an integer of at least 2, got 1"),
    ],
)
def test_what_has_no_such_groups_is_refused(counts, diversity, stated):
    with pytest.raises(InvalidParameter) as raised:
        anatomy_groups(counts, diversity, keyed("a"), "disease")
    assert stated in str(raised.value)
