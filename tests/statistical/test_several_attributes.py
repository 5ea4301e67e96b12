"""Predicates over several sensitive attributes: products of weights, on real records."""

from __future__ import annotations

import numpy as np
import pytest
from plausible import FALSE_ALARM
from scipy.stats import norm


@pytest.fixture(scope="module")
def released(secret, adult, prepared):
    """Publish occupation and salary of the adults, perturbed independently."""
    with prepared(secret=secret) as connection:
        connection.execute(
            "CREATE TABLE adult AS SELECT row_number() OVER () AS id, sex, race, occupation, salary::VARCHAR AS salary"
            f" FROM '{adult}'"
        )
        connection.execute(
            "FROM priv.publish_uniform('adult', 'r', sensitive := ['occupation', 'salary'], retention := 0.6,"
            " record_id := 'id')"
        ).fetchall()
        yield connection


def test_products_of_weights_estimate_joint_counts(released):
    """Each error is within limits of its standard error, at most the root of the sum of squared weights."""
    product = "priv.weight('r.occupation', noisy_occupation, o) * priv.weight('r.salary', noisy_salary, s)"
    pairs = released.execute(
        "SELECT estimate, spread, (SELECT count(*) FROM adult WHERE occupation = o AND salary = s) FROM ("
        f" SELECT o, s, sum({product}) AS estimate, sqrt(sum(({product}) ** 2)) AS spread FROM r,"
        " (SELECT DISTINCT occupation AS o, salary AS s FROM adult) GROUP BY o, s)"
    ).fetchall()
    estimate, spread, true = np.array(pairs, dtype=float).T
    assert len(true) == 28
    assert np.abs((estimate - true) / spread).max() < norm.isf(FALSE_ALARM / (2 * len(true)))
    assert estimate.sum() == pytest.approx(true.sum())


def test_attributes_that_go_together_still_do(released):
    """Perturbation weakens the association of two attributes in plain counts; estimates recover it."""
    share = "SELECT {0} / {1} FROM (SELECT sum({2}) AS rich, sum({3}) AS everybody FROM {4} WHERE sex = 'Male')"
    manager = "occupation = 'Exec-managerial'"
    rich = released.execute("SELECT max(salary) FROM adult").fetchall()[0][0]
    weight = "priv.weight('r.occupation', noisy_occupation, 'Exec-managerial')"
    rich_weight = f"priv.weight('r.salary', noisy_salary, '{rich}')"
    true = (f"({manager} AND salary = '{rich}')::INTEGER", f"({manager})::INTEGER")
    plain = tuple(
        each.replace("occupation", "noisy_occupation").replace("salary", "noisy_salary")
        for each in true
    )
    weighted = (f"{weight} * {rich_weight}", weight)

    def asked(numbers, table):
        return released.execute(share.format("rich", "everybody", *numbers, table)).fetchall()[0][0]

    truth, shown, reconstructed = asked(true, "adult"), asked(plain, "r"), asked(weighted, "r")
    assert abs(reconstructed - truth) < 0.08
    assert abs(reconstructed - truth) < abs(shown - truth)
