"""What holds for every uniformly perturbed release, whatever was published and someone who asks."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from duckdb_priv.sqltext.literals import enum

OPERATORS = [(0.5, 2), (0.2, 3), (0.9, 5), (0.05, 5), (0.5, 14), (0.1, 30)]
"""Retention and size of the domain of each release; the domain is the integers from 0, and NULL comes last."""


@pytest.fixture(scope="module")
def releases(prepared, together):
    """One release for every operator; their rows do not matter, since macros count what they are given."""
    with prepared(secret=None) as connection:
        connection.execute("CREATE TABLE source AS SELECT 0 AS s FROM range(4)")
        with together(connection):
            for number, (retention, size) in enumerate(OPERATORS):
                connection.execute(
                    f"FROM priv.publish_uniform('source', 'release_{number}', sensitive := 's',"
                    f" retention := {retention}, domain := range({size - 1}) || [NULL])"
                )
        yield connection


@st.composite
def shown_rows(draw, most=120):
    """A release, and rows that show values of its domain, each in one of three groups."""
    number = draw(st.integers(0, len(OPERATORS) - 1))
    size = OPERATORS[number][1]
    value = st.integers(0, size - 1).map(lambda v: None if v == size - 1 else v)
    rows = draw(st.lists(st.tuples(value, st.integers(0, 2)), min_size=1, max_size=most))
    return number, rows


def show(connection: duckdb.DuckDBPyConnection, number: int, rows) -> None:
    kind = enum(map(str, range(OPERATORS[number][1] - 1)))
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE shown AS SELECT unnest(?::BIGINT[])::VARCHAR::{kind} AS noisy_s,"
        " unnest(?::BIGINT[]) AS g",
        [[value for value, _ in rows], [group for _, group in rows]],
    ).fetchall()


def all_asked(connection, number, macros, condition="true"):
    """The answers of each macro for every value of the domain, in its order; without rows, all are zero."""
    size = OPERATORS[number][1]
    calls = ", ".join(f"priv.{macro}('release_{number}', noisy_s, v)" for macro in macros)
    answers = connection.execute(
        f"SELECT v, {calls} FROM shown, (SELECT unnest(range({size - 1}) || [NULL]) AS v)"
        f" WHERE {condition} GROUP BY v ORDER BY v NULLS LAST"
    ).fetchall()
    columns = [list(column) for column in zip(*answers, strict=True)][1:]
    return columns or [[0.0] * size for _ in macros]


def asked(connection, number, macro, condition="true"):
    """The answer of one macro."""
    (answers,) = all_asked(connection, number, [macro], condition)
    return answers


some = settings(max_examples=20)


@some
@given(shown_rows())
def test_estimates_over_the_domain_sum_to_the_number_of_rows(releases, case):
    number, rows = case
    show(releases, number, rows)
    assert sum(asked(releases, number, "reconstructed_count")) == pytest.approx(len(rows), abs=1e-6)


@some
@given(shown_rows())
def test_estimates_add_up_over_disjoint_predicates(releases, case):
    number, rows = case
    show(releases, number, rows)
    whole = asked(releases, number, "reconstructed_count")
    parts = [asked(releases, number, "reconstructed_count", f"g = {g}") for g in range(3)]
    assert np.sum(parts, axis=0) == pytest.approx(whole, abs=1e-6)


@some
@given(shown_rows())
def test_estimates_are_the_sums_of_weights(releases, case):
    number, rows = case
    show(releases, number, rows)
    weights = [
        weight
        for _, weight in releases.execute(
            f"SELECT v, sum(priv.weight('release_{number}', noisy_s, v))"
            f" FROM shown, (SELECT unnest(range({OPERATORS[number][1] - 1}) || [NULL]) AS v)"
            " GROUP BY v ORDER BY v NULLS LAST"
        ).fetchall()
    ]
    assert weights == pytest.approx(asked(releases, number, "reconstructed_count"), abs=1e-6)


@some
@given(shown_rows(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(releases, case, random):
    number, rows = case
    macros = (
        "reconstructed_count",
        "reconstructed_stderr",
        "reconstructed_mle",
        "reconstructed_interval",
    )
    show(releases, number, rows)
    before = all_asked(releases, number, macros)
    random.shuffle(rows)
    show(releases, number, rows)
    assert all_asked(releases, number, macros) == before


@some
@given(shown_rows(), st.data())
def test_renaming_the_values_renames_the_answers(releases, case, data):
    """The missing value may become any other, and any other the missing one."""
    number, rows = case
    size = OPERATORS[number][1]
    domain = [*range(size - 1), None]
    renamed = data.draw(st.permutations(domain))
    to = dict(zip(domain, renamed, strict=True))
    macros = ("reconstructed_count", "reconstructed_mle", "reconstructed_stderr")
    show(releases, number, rows)
    before = all_asked(releases, number, macros)
    show(releases, number, [(to[value], group) for value, group in rows])
    for answers, renamed in zip(before, all_asked(releases, number, macros), strict=True):
        after = dict(zip(domain, renamed, strict=True))
        assert [after[to[value]] for value in domain] == pytest.approx(answers, abs=1e-6)


@some
@given(shown_rows())
def test_intervals_are_possible_and_hold_every_possible_estimate(releases, case):
    number, rows = case
    show(releases, number, rows)
    for interval in asked(releases, number, "reconstructed_interval"):
        assert 0 <= interval["low"] <= interval["high"] <= len(rows)
        assert interval["stderr"] >= 0
        if 0 <= interval["estimate"] <= len(rows):
            assert interval["low"] <= interval["estimate"] + 1e-6
            assert interval["estimate"] <= interval["high"] + 1e-6


@some
@given(shown_rows())
def test_the_standard_error_is_the_plug_in_of_the_estimate(releases, case):
    """Var = sum of the variances of n independent draws, of which the estimate truly hold the value."""
    number, rows = case
    retention, size = OPERATORS[number]
    q = (1 - retention) / size
    a = retention + q
    show(releases, number, rows)
    estimates = np.array(asked(releases, number, "reconstructed_count"))
    variance = (estimates * a * (1 - a) + (len(rows) - estimates) * q * (1 - q)) / retention**2
    assert np.array(asked(releases, number, "reconstructed_stderr")) ** 2 == pytest.approx(
        np.maximum(variance, 0), abs=1e-6 * (1 + len(rows))
    )


@some
@given(shown_rows())
def test_the_most_likely_counts_are_possible_and_optimal(releases, case):
    """They satisfy the conditions of Karush, Kuhn and Tucker, whose multiplier is found by bisection."""
    number, rows = case
    retention, size = OPERATORS[number]
    q = (1 - retention) / size
    show(releases, number, rows)
    likely = np.array(asked(releases, number, "reconstructed_mle"))
    assert likely.min() >= 0
    assert likely.max() <= len(rows) + 1e-6
    assert likely.sum() == pytest.approx(len(rows), abs=1e-6)
    position = [size - 1 if value is None else value for value, _ in rows]
    share = np.bincount(position, minlength=size) / len(rows)

    def excess(scale: float) -> float:
        return float(np.maximum(0, scale * share - q).sum() / retention - 1)

    scale = brentq(excess, 0, (retention + q) / share.max() + 1, xtol=1e-15)
    optimum = np.maximum(0, scale * share - q) / retention
    assert likely / len(rows) == pytest.approx(optimum, abs=1e-9)


@some
@given(shown_rows())
def test_where_no_estimate_is_negative_the_most_likely_counts_are_the_estimates(releases, case):
    number, rows = case
    show(releases, number, rows)
    estimates = asked(releases, number, "reconstructed_count")
    likely = asked(releases, number, "reconstructed_mle")
    if min(estimates) >= 0:
        assert likely == pytest.approx(estimates, abs=1e-6)
    else:
        assert max(likely) <= max(estimates) + 1e-6


@pytest.fixture(scope="module")
def publisher(prepared):
    """A database with no other release, whose functions are soon written."""
    with prepared(secret=None) as connection:
        yield connection


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "c'", None]), st.integers(0, 3)),
        min_size=2,
        max_size=60,
    ).filter(lambda rows: len({value for value, _ in rows}) > 1),
    st.floats(0.01, 0.99),
    st.booleans(),
)
def test_whatever_is_published_has_the_same_public_columns_and_domain(
    publisher, rows, retention, keyed
):
    publisher.execute(
        "CREATE OR REPLACE TABLE records AS"
        " SELECT unnest(range(len($s))) AS id, unnest($s) AS s, unnest($g) AS g",
        {"s": [value for value, _ in rows], "g": [group for _, group in rows]},
    ).fetchall()
    publisher.execute(
        "FROM priv.publish_uniform('records', 'of_records', sensitive := 's', retention := ?,"
        f" {'record_id' if keyed else 'exclude'} := 'id', replace := true)",
        [retention],
    ).fetchall()
    published = publisher.execute("FROM of_records").fetchall()
    assert sorted(group for _, group in published) == sorted(group for _, group in rows)
    assert {value for value, _ in published} <= {value for value, _ in rows}
    total = publisher.execute(
        "SELECT sum(estimate), sum(noisy_count), count(*) FROM priv.reconstructed_distribution('of_records')"
    ).fetchall()
    domain = len({value for value, _ in rows})
    assert total == [(pytest.approx(len(rows), abs=1e-6), len(rows), domain)]
