"""Laying two releases of the same people side by side.

Each test runs the attack twice: against a key that leaves out what belongs in it, where the attacker
names true values and is never wrong, and against ours, where the same claims are as good as guesses.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from plausible import FALSE_ALARM
from scipy import stats

from duckdb_priv.engine import randomness
from duckdb_priv.mechanism.uniform import Uniform

pytestmark = pytest.mark.usefixtures("unasked")

PERSONS = 20_000
WORDS = 2**64
DOMAIN = ["asthma", "cancer", "flu", "none"]
OTHERS = [f"other {number:02}" for number in range(30)]


@pytest.fixture
def con(prepared):
    """People with a public seat of their own, by which someone who has two releases links them."""
    connection = prepared(secret=None)
    connection.execute(
        f"""
        CREATE TABLE persons AS
        SELECT i AS id, i AS seat, {DOMAIN}[1 + (hash(i) % 4)::INTEGER] AS disease
        FROM range({PERSONS}) t(i)
        """
    )
    yield connection
    connection.close()


def publish(con, retention, domain=DOMAIN):
    con.execute(
        "FROM priv.publish_uniform('persons', 'release', sensitive := 'disease', retention := ?,"
        " domain := ?, record_id := 'id', public := 'seat', replace := true)",
        [retention, domain],
    ).fetchall()
    rows = con.execute("SELECT noisy_disease::VARCHAR FROM release ORDER BY seat").fetchall()
    return np.array([value for (value,) in rows])


def truth(con):
    return np.array(
        [value for (value,) in con.execute("SELECT disease FROM persons ORDER BY seat").fetchall()]
    )


def forget_true_values(monkeypatch):
    """Break the key: the bits of a record no longer depend on what is true of it."""
    draw = randomness.KeyedBits.draw_for_integers
    monkeypatch.setattr(
        randomness.KeyedBits,
        "draw_for_integers",
        lambda self, ids, codes: draw(self, ids, np.zeros_like(codes)),
    )


def forget_in_key(monkeypatch, *names):
    """Break the key: what is called so is left out of the context that it is derived from."""
    derive = randomness.KeyedBits.derive

    def without(cls, secret, context):
        if not context.startswith("{"):
            return derive(secret, context)
        known = json.loads(context)
        assert set(names) <= set(known)
        return derive(
            secret, json.dumps({name: known[name] for name in known if name not in names})
        )

    monkeypatch.setattr(randomness.KeyedBits, "derive", classmethod(without))


def assert_share(right, claims, expected):
    assert stats.binomtest(int(right), int(claims), expected).pvalue > FALSE_ALARM


def claims_after_a_change(con):
    """Publish, let half of the people change, publish again; claim both values of someone who shows a change."""
    shown, true = publish(con, 0.5), truth(con)
    con.execute(
        f"UPDATE persons SET disease = {DOMAIN}[1 + (hash(id + 1_000_000) % 4)::INTEGER]"
        " WHERE hash(id + 2_000_000) % 2 = 0"
    )
    shown_later, true_later = publish(con, 0.5), truth(con)
    claimed = (shown != shown_later) & (true != true_later)
    right = (shown == true) & (shown_later == true_later) & claimed
    return right.sum(), claimed.sum(), ((shown != shown_later) & (true == true_later)).sum()


def test_a_changed_value_is_named_where_the_key_lacks_the_true_value(con, monkeypatch):
    forget_true_values(monkeypatch)
    right, claims, _ = claims_after_a_change(con)
    assert claims > PERSONS / 10
    assert right == claims


def test_a_changed_value_is_not_named(con):
    right, claims, _ = claims_after_a_change(con)
    own, other = Uniform(0.5, 4).own, Uniform(0.5, 4).other
    # Two independent draws that differ, of true values that differ.
    both = own * own
    differ = 1 - (2 * own * other + 2 * other * other)
    assert claims > PERSONS / 10
    assert_share(right, claims, both / differ)


def test_a_value_that_did_not_change_shows_no_change(con):
    *_, changed_for_nothing = claims_after_a_change(con)
    assert changed_for_nothing == 0


def words_of(retention, size, true):
    """Give the words that show each value: own values below keep, and a stretch of equal width for each."""
    keep, width = Uniform(retention, size).thresholds()
    stretches = {code: [(keep + code * width, keep + (code + 1) * width)] for code in range(size)}
    stretches[true].append((0, keep))
    return stretches


def possible(first, second):
    """Name the true values with which one word could have shown each pair, in two releases of (retention, size)."""
    found = {}
    for true in range(first[1]):
        one, two = words_of(*first, true), words_of(*second, true)
        for a, b in product(one, two):
            if any(max(s[0], t[0]) < min(s[1], t[1]) for s in one[a] for t in two[b]):
                found.setdefault((a, b), set()).add(true)
    return found


CHANGES = {
    "retention": ((0.2, DOMAIN), (0.6, DOMAIN), ["retention"]),
    "domain": ((0.1, DOMAIN), (0.1, [*DOMAIN, *OTHERS]), ["domain"]),
}


def claims_of_certainty(con, first, second):
    """Publish twice with other parameters; claim a value wherever one word leaves only one."""
    shown, later = publish(con, *first), publish(con, *second)
    places = [{value: place for place, value in enumerate(domain)} for _, domain in (first, second)]
    certain = {
        pair: next(iter(true))
        for pair, true in possible(*((p, len(domain)) for p, domain in (first, second))).items()
        if len(true) == 1
    }
    right = claims = 0
    for true, a, b in zip(truth(con), shown, later, strict=True):
        claim = certain.get((places[0][a], places[1][b]))
        if claim is not None:
            claims += 1
            right += DOMAIN[claim] == true
    return right, claims, certain


@pytest.mark.parametrize("change", CHANGES)
def test_other_parameters_name_true_values_where_the_key_lacks_them(con, monkeypatch, change):
    first, second, names = CHANGES[change]
    forget_in_key(monkeypatch, *names)
    right, claims, _ = claims_of_certainty(con, first, second)
    assert claims > PERSONS / 20
    assert right == claims


@pytest.mark.parametrize("change", CHANGES)
def test_other_parameters_name_no_true_value(con, change):
    first, second, _ = CHANGES[change]
    right, claims, certain = claims_of_certainty(con, first, second)
    one, two = (Uniform(p, len(domain)) for p, domain in (first, second))
    shows = {
        true: sum(
            (one.own if a == true else one.other) * (two.own if b == true else two.other)
            for a, b in certain
        )
        for true in range(4)
    }
    hits = {
        true: sum(
            (one.own if a == true else one.other) * (two.own if b == true else two.other)
            for (a, b), claim in certain.items()
            if claim == true
        )
        for true in range(4)
    }
    counts = {true: int((truth(con) == value).sum()) for true, value in enumerate(DOMAIN)}
    expected = sum(counts[t] * hits[t] for t in counts) / sum(counts[t] * shows[t] for t in counts)
    assert expected < 0.75
    assert_share(right, claims, expected)


def test_the_attacker_reckons_with_the_whole_of_the_words():
    """The stretches that the attack reasons about are the operator: they have its probabilities, exactly."""
    operator = Uniform(0.5, 4)
    for true in range(4):
        shares = {
            code: Fraction(sum(end - start for start, end in stretches), WORDS)
            for code, stretches in words_of(0.5, 4, true).items()
        }
        assert sum(shares.values()) == 1
        assert float(shares[true]) == pytest.approx(operator.own, abs=1e-15)
