"""Attacks on generalized samples by someone who knows every record but one."""

import math

import numpy as np
import pytest

from duckdb_priv.mechanism.sampling import sampling_delta, tight_delta

pytestmark = pytest.mark.usefixtures("unasked")

GROUPS = 40_000
K, BETA, EPSILON = 3, 0.3, 0.5
WORST = 4
"""Size of the group, with the record, in which it betrays itself most: ceil((k - 1) / gamma)."""


@pytest.fixture(scope="module")
def shown(prepared):
    """How often groups of 3 and of 4 records are published with 0, 1, 2, ... of them."""
    with prepared(secret=None) as con:
        con.execute(
            f"CREATE TABLE rules AS SELECT 'place' AS attribute, i::VARCHAR AS value, level,"
            f" CASE level WHEN 0 THEN i::VARCHAR ELSE '*' END AS generalized"
            f" FROM range({GROUPS}) AS t(i), range(2) AS l(level)"
        )
        counted = {}
        for size in (WORST - 1, WORST):
            con.execute(
                f"CREATE TABLE of_{size} AS SELECT i AS place FROM range({GROUPS}) AS t(i), range({size})"
            )
            con.execute(
                f"FROM priv.publish_safe_k('of_{size}', 'r{size}', k := {K}, beta := {BETA}, epsilon := {EPSILON},"
                " hierarchies := 'rules', levels := {'place': 0})"
            ).fetchall()
            sizes = con.execute(f"SELECT count(*) FROM r{size} GROUP BY place").fetchall()
            counted[size] = np.bincount(np.ravel(sizes).astype(int), minlength=WORST + 1)
            counted[size][0] = GROUPS - len(sizes)
        yield counted


def test_a_group_below_k_is_never_seen(shown):
    for counts in shown.values():
        assert counts[1:K].sum() == 0


@pytest.mark.parametrize("gone", [False, True])
def test_a_record_betrays_itself_as_rarely_as_the_tight_delta_says_and_no_more(shown, gone):
    """The best test for a record, by the likelihood ratio, gains what the mechanism says: delta, exactly."""
    present, absent = shown[WORST] / GROUPS, shown[WORST - 1] / GROUPS
    one, other = (absent, present) if gone else (present, absent)
    gained = np.maximum(one - math.exp(EPSILON) * other, 0).sum()
    # Only groups that are shown differ in likelihood by more than exp(epsilon): their shares are what is measured.
    spread = [math.sqrt(of[K:].sum() / GROUPS) for of in (one, other)]
    noise = 6.2 * (spread[0] + math.exp(EPSILON) * spread[1])
    tight = tight_delta(K, BETA, EPSILON)
    assert gained <= tight + noise < sampling_delta(K, BETA, EPSILON)
    if not gone:
        assert gained >= tight - noise > 0


def test_a_mechanism_without_sampling_would_be_caught():
    """The same measure finds what plain k-anonymity reveals: a group that is there only with the record."""
    with_record, without = (np.bincount([size * (size >= 4)], minlength=5) for size in (4, 3))
    gained = np.maximum(with_record - math.exp(EPSILON) * without, 0).sum()
    assert gained == 1
