"""Rows that no choice by public columns gives: the bound against the exact law, and how soon it tells."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from scipy import stats

from duckdb_priv.estimator.forms import FORMS
from duckdb_priv.estimator.set_formulas import formula

RATE = 1e-9
"""How often a question that is right may be refused."""


@pytest.fixture(scope="module")
def refused():
    """Return for which counts, of 0 to n rows that show a value, a question is refused."""
    with duckdb.connect() as connection:

        def ask(rows: int, rarely: float, often: float) -> np.ndarray:
            query = (
                f"SELECT {formula('as_many')} FROM (SELECT {{rows: {rows}, seen: k, rarely: {rarely!r}::DOUBLE,"
                f" often: {often!r}::DOUBLE}} AS s FROM range({rows + 1}) AS t(k) ORDER BY k)"
            )
            return np.array([not fits for (fits,) in connection.execute(query).fetchall()])

        yield ask


@pytest.mark.parametrize(
    ("rarely", "often"), [(0.1, 0.6), (0.001, 0.02), (0.45, 0.55), (0, 0.2), (0.3, 1)]
)
def test_a_right_question_is_refused_less_than_once_in_a_thousand_million_times(
    refused, rarely, often
):
    """Someone who has the value: the more have it the likelier is a large count, the fewer, a small one."""
    for rows in (1, 7, 45, 300, 3000):
        wrong = refused(rows, rarely, often)
        counts = np.arange(rows + 1)
        for chance in (rarely, often):
            assert stats.binom.pmf(counts, rows, chance)[wrong].sum() <= RATE


def test_a_mixture_of_chances_is_refused_no_more_often(refused):
    """Records of different values show one with different chances: the law of the count is Poisson binomial."""
    law = np.ones(1)
    for chance in np.linspace(0.1, 0.6, 120):
        law = np.convolve(law, [1 - chance, chance])
    assert law[refused(120, 0.1, 0.6)].sum() <= RATE


@pytest.mark.parametrize(("often", "needed"), [(0.6, 100), (0.2, 29), (1 / 3, 43)])
def test_rows_that_all_show_the_value_are_refused_soon(refused, often, needed):
    """Two and a half times as many as the exact law needs, often ** n < 5e-10, are enough."""
    assert not refused(needed - 1, 0.05, often)[-1]
    assert refused(needed, 0.05, often)[-1]
    assert needed < 2.5 * np.log(5e-10) / np.log(often)


def test_what_cannot_be_shown_is_refused_all_the_same(refused):
    assert refused(20, 0.0, 0.0).tolist() == [False] * 15 + [True] * 6
    assert refused(20, 1.0, 1.0).tolist() == [True] * 6 + [False] * 15


def test_forms_whose_records_are_not_independent_are_not_judged():
    assert {name for name, form in FORMS.items() if not form.independent} == {
        "sample", "duplicated", "listed", "constant",
    }  # fmt: skip


@pytest.mark.parametrize("share", [0.1, 0.51, 0.625, 0.98])
def test_rows_that_all_show_the_same_value_are_refused_as_soon_as_that_is_no_chance(share):
    """Whatever they have: the first shows some value, each further one that value with that probability at most."""
    query = f"""
        SELECT bool_and(fits) FILTER (n <= {{0}}), bool_or(fits) FILTER (n > {{0}})
        FROM (SELECT n, {formula("several")} AS fits FROM (
            SELECT n, {{{{first: 'a', last: 'a', rows: n, agreement: {share!r}::DOUBLE}}}} AS s FROM range(3000) AS t(n)
        ))
    """
    allowed = int(np.floor(1 + np.log(RATE) / np.log(share)))
    with duckdb.connect() as connection:
        assert connection.execute(query.format(allowed)).fetchone() == (True, False)
        varied = query.replace("last: 'a'", "last: 'b'").format(allowed)
        assert connection.execute(varied).fetchone() == (True, True)
    assert share**allowed <= RATE * 1.001
    assert share ** (allowed - 1) >= RATE
