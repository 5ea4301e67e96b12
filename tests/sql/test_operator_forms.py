"""The analyst's SQL against the kernels: the same published counts give the same numbers."""

from itertools import product

import duckdb
import numpy as np
import pytest
from reference.operator_estimates import (
    estimated_variance,
    iterative_bayesian,
)
from reference.score_interval import score_interval

from duckdb_priv.mechanism import operator as op
from duckdb_priv.mechanism.fine_grain import FineGrain
from duckdb_priv.mechanism.score_terms import likely_shares, score_terms

pytestmark = pytest.mark.usefixtures("plain_files")

WITHOUT_MISSING = ["flu", "it's", "HIV", "cold", "gout"]
WITH_MISSING = [*WITHOUT_MISSING, None]
RECORDS = 4000


def literal(value):
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


def gammas(con, table, values, gamma):
    """Write requirements that come down to these gammas, from even odds."""
    rows = ", ".join(
        f"({literal(value)}, {'NULL, NULL' if g is None else f'0.5, {g / (1 + g)!r}'})"
        for value, g in zip(values, gamma, strict=True)
    )
    con.execute(f"CREATE TABLE {table} AS FROM (VALUES {rows}) AS t(value, rho1, rho2)")


def matrix(con, table, values, probabilities):
    """Write a matrix; ``probabilities[y, x]`` is that of publishing y for x."""
    rows = ", ".join(
        f"({literal(original)}, {literal(published)}, {float(probabilities[y, x])!r}::DOUBLE)"
        for x, original in enumerate(values)
        for y, published in enumerate(values)
    )
    con.execute(
        f"CREATE TABLE {table} AS FROM (VALUES {rows}) AS t(original, published, probability)"
    )


@pytest.fixture(scope="module")
def publisher(prepared, together):
    """Releases of every form in one database, with and without missing values."""
    con = prepared()
    rng = np.random.default_rng(3)
    with together(con):
        for name, values in (("v", WITHOUT_MISSING), ("w", WITH_MISSING)):
            listed = ", ".join(map(literal, values))
            con.execute(
                f"CREATE TABLE {name} AS SELECT i AS id, i % 3 AS ward,"
                f" [{listed}][1 + (i * 7919 % 9973 % {len(values)})::INTEGER] AS s"
                f" FROM range({RECORDS}) AS t(i)"
            )
            size = len(values)
            gammas(con, f"loose_{name}", values, [9, 3, 20, 8, None, 5][:size])
            gammas(con, f"zero_{name}", values, [1.5, 3, 9.5, 18, 30, 12][:size])
            gammas(con, f"zeros_{name}", values, [1.2, 1.2, 9.5, 18, 30, 12][:size])
            noisy = rng.dirichlet(np.full(size, 0.7), size=size).T * 0.4 + 0.6 * np.eye(size)
            matrix(con, f"any_{name}", values, noisy)
            for table in ("loose", "zero", "zeros"):
                con.execute(
                    f"FROM priv.publish_fine_grain('{name}', '{table}_{name}_public', sensitive := 's',"
                    f" requirements := '{table}_{name}', record_id := 'id',"
                    f" direction := '{'upward' if table == 'zeros' else 'both'}')"
                )
            con.execute(
                f"FROM priv.publish_matrix('{name}', 'any_{name}_public', sensitive := 's',"
                f" matrix := 'any_{name}', record_id := 'id')"
            )
        con.execute(
            "FROM priv.publish_uniform('v', 'uniform_public', sensitive := 's', retention := 0.5, exclude := 'id')"
        )
    yield con
    con.close()


def operator_of(con, release):
    """Return the domain, the operator and the weights of a release, by the kernels."""
    rows = con.execute(
        "SELECT value, retention, operator FROM priv.coefficient WHERE release = ? ORDER BY position",
        [release],
    ).fetchall()
    values = [row[0] for row in rows]
    if rows[0][1] is not None:
        operator = FineGrain(np.array([row[1] for row in rows]))
        return values, operator.matrix(), operator.weights(), operator.identifiable
    stored = np.array([row[2] for row in rows]).T
    return values, stored, op.invert(stored), np.full(len(rows), True)


def shown_counts(con, release, values, where="true"):
    found = dict(
        con.execute(
            f"SELECT noisy_s::VARCHAR, count(*) FROM {release} WHERE {where} GROUP BY ALL"
        ).fetchall()
    )
    return np.array([found.get(value, 0) for value in values], dtype=float)


def grouped(release, conditions):
    """Write the rows that meet each condition, by its number: functions are planned once for all of them."""
    rows = [
        f"SELECT *, {number} AS chosen FROM {release} WHERE {condition}"
        for number, condition in enumerate(conditions)
    ]
    return f"({' UNION ALL '.join(rows)}) GROUP BY chosen ORDER BY chosen"


RELEASES = [f"{kind}_{name}_public" for kind in ("loose", "zero", "any") for name in "vw"]


@pytest.fixture(scope="module")
def reader(publisher, without_cards, tmp_path_factory):
    """Where a release is read: from its file alone, and one with all others in the publisher's database."""
    opened = {}
    folder = tmp_path_factory.mktemp("releases")

    def open_release(release):
        if release == "any_w_public":
            return publisher
        if release not in opened:
            path = folder / f"{release}.duckdb"
            with without_cards():
                publisher.execute(f"FROM priv.export_release('{release}', '{path}')")
            opened[release] = duckdb.connect(str(path), read_only=True)
        return opened[release]

    yield open_release
    for con in opened.values():
        con.close()


@pytest.mark.parametrize("release", RELEASES)
def test_estimates_and_what_belongs_to_them(reader, release):
    con = reader(release)
    values, _operator, weights, _ = operator_of(con, release)
    for where, asked in (("ward = 1", values), ("false", values[-1:])):
        shown = shown_counts(con, release, values, where)
        variance = estimated_variance(weights, shown)
        for x, value in enumerate(values):
            if value not in asked:
                continue
            given = f"'{release}', noisy_s, {literal(value)}"
            row = con.execute(
                f"SELECT priv.reconstructed_count({given}), priv.reconstructed_stderr({given}),"
                f" sum(priv.weight({given})), priv.reconstructed_interval({given})"
                f" FROM {release} WHERE {where}"
            ).fetchone()
            assert row[0] == pytest.approx(weights[x] @ shown, abs=1e-6)
            assert row[1] == pytest.approx(np.sqrt(max(variance[x], 0)), abs=1e-6)
            assert (row[2] or 0) == pytest.approx(weights[x] @ shown, abs=1e-6)
            assert row[3]["estimate"] == row[0]
            assert row[3]["stderr"] == row[1]
            assert 0 <= row[3]["low"] <= row[3]["high"] <= shown.sum()


@pytest.mark.parametrize("release", RELEASES)
def test_the_distribution_is_the_aggregates_at_once(reader, release):
    con = reader(release)
    rows = con.execute(
        f"FROM priv.reconstructed_distribution('{release}', group_columns := 'ward', condition := 'ward < 2')"
    ).fetchall()
    values, *_ = operator_of(con, release)
    assert len(rows) == 2 * len(values)
    aggregates = {
        (ward, value): answers
        for value in values
        for ward, *answers in con.execute(
            f"SELECT ward, priv.reconstructed_interval('{release}', noisy_s, {literal(value)}),"
            f" count(*) FILTER (noisy_s IS NOT DISTINCT FROM {literal(value)}) FROM {release} GROUP BY ward"
        ).fetchall()
    }
    for ward, value, estimate, low, high, stderr, observed in rows:
        interval, seen = aggregates[ward, value]
        assert [estimate, stderr, low, high] == pytest.approx(list(interval.values()), abs=1e-6)
        assert observed == seen


@pytest.mark.parametrize("release", [*RELEASES, "zeros_v_public", "zeros_w_public"])
def test_the_bayesian_estimate_is_its_limit(reader, release):
    con = reader(release)
    values, operator, _weights, _ = operator_of(con, release)
    each = ", ".join(
        f"priv.reconstructed_mle('{release}', noisy_s, {literal(value)})" for value in values
    )
    conditions = ("true", "ward = 1")
    of_each = con.execute(f"SELECT {each} FROM {grouped(release, conditions)}").fetchall()
    for where, one_by_one in zip(conditions, of_each, strict=True):
        shown = shown_counts(con, release, values, where)
        limit = iterative_bayesian(operator, shown, tolerance=1e-9, max_iterations=1_000_000)
        found = con.execute(
            f"SELECT value::VARCHAR, estimate FROM priv.reconstructed_distribution('{release}',"
            f" condition := '{where}', method := 'bayesian')"
        ).fetchall()
        by_value = dict(found)
        estimates = np.array([by_value[value] for value in values])
        assert estimates.sum() == pytest.approx(shown.sum())
        assert (
            likelihood(operator, shown, estimates)
            >= likelihood(operator, shown, limit) - 1e-6 * shown.sum()
        )
        assert sum(one_by_one) == pytest.approx(shown.sum())
        assert likelihood(operator, shown, np.array(one_by_one)) >= (
            likelihood(operator, shown, limit) - 0.05
        )
        if np.linalg.cond(operator) < 20:
            assert estimates == pytest.approx(limit, abs=0.01 * shown.sum() ** 0.5 + 0.05)


def likelihood(operator, shown, counts):
    seen = shown > 0
    expected = (operator @ counts)[seen] / counts.sum()
    return float(shown[seen] @ np.log(expected))


@pytest.mark.every
@pytest.mark.parametrize("release", ["zeros_v_public", "zeros_w_public"])
def test_values_with_the_same_noise_are_refused_and_the_others_answered(reader, release):
    con = reader(release)
    values, _, weights, identifiable = operator_of(con, release)
    assert identifiable.sum() == len(values) - 2
    shown = shown_counts(con, release, values)
    variance = estimated_variance(weights, shown)
    for x, value in enumerate(values):
        for name in (
            "reconstructed_count",
            "reconstructed_stderr",
            "reconstructed_interval",
            "weight",
        ):
            ask = f"SELECT priv.{name}('{release}', noisy_s, {literal(value)}) FROM {release}"
            if identifiable[x]:
                con.execute(ask).fetchall()
            else:
                with pytest.raises(duckdb.Error, match="only their total can be reconstructed"):
                    con.execute(ask).fetchall()
        if identifiable[x]:
            found = con.execute(
                f"SELECT unnest(priv.reconstructed_interval('{release}', noisy_s, {literal(value)})) FROM {release}"
            ).fetchone()
            assert found[0] == pytest.approx(weights[x] @ shown, abs=1e-6)
            assert found[1] == pytest.approx(np.sqrt(max(variance[x], 0)), abs=1e-6)
    with pytest.raises(duckdb.Error, match="method := 'bayesian'"):
        con.execute(f"FROM priv.reconstructed_distribution('{release}')").fetchall()
    named = con.execute(
        "SELECT statement FROM priv.guarantee WHERE release = ? AND guarantee = 'not_distinguished'",
        [release],
    ).fetchone()[0]
    assert all(
        (repr(value) in named) == (not known)
        for value, known in zip(values, identifiable, strict=True)
        if value is not None
    )


@pytest.mark.once
def test_the_interval_is_the_one_that_the_kernels_derive(reader):
    """From the histogram that is published alone; the slope may be negative."""
    negative = 0
    for release in RELEASES:
        con = reader(release)
        values, operator, weights, _ = operator_of(con, release)
        everybody = shown_counts(con, release, values)
        terms = score_terms(weights, operator, likely_shares(weights, operator, everybody))
        steps = op.half_step(weights)
        conditions = (
            "true",
            "ward = 1",
            f"rowid IN (SELECT rowid FROM {release} WHERE noisy_s = 'gout' LIMIT 6)",
        )
        intervals = [
            con.execute(
                f"SELECT priv.reconstructed_interval('{release}', noisy_s, {literal(value)})"
                f" FROM {grouped(release, conditions)}"
            ).fetchall()
            for value in values
        ]
        for (x, of_value), (number, condition) in product(
            enumerate(intervals), enumerate(conditions)
        ):
            shown = shown_counts(con, release, values, condition)
            (found,) = of_value[number]
            estimate, slope = weights[x] @ shown, terms.slope[x]
            nearest = np.clip(estimate, 0, shown.sum())
            floor = (shown.sum() - 1) * terms.scatter[x] + terms.most_scatter[x]
            low, high = score_interval(
                estimate,
                max(estimated_variance(weights, shown)[x] - slope * nearest, floor),
                slope,
                steps[x],
                shown.sum(),
                upward=terms.upward[x],
                downward=terms.downward[x],
            )
            assert found["low"] == pytest.approx(float(low), abs=1e-6)
            assert found["high"] == pytest.approx(float(high), abs=1e-6)
            negative += slope < 0
    assert negative > 0


def test_a_release_with_a_matrix_of_64_values_holds_two_megabytes_of_macros_at_most(tmp_path, con):
    size = 64
    values = [str(each) for each in range(size)]
    rng = np.random.default_rng(7)
    operator = 0.8 * np.eye(size) + 0.2 * rng.dirichlet(np.ones(size), size).T
    matrix(con, "m64", values, operator / operator.sum(axis=0))
    con.execute(
        "CREATE TABLE t64 AS SELECT i AS id, (i % 64)::VARCHAR AS s FROM range(640) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_matrix('t64', 'r64', sensitive := 's', record_id := 'id', matrix := 'm64')"
    ).fetchall()
    path = tmp_path / "r64.duckdb"
    con.execute("FROM priv.export_release('r64', $1)", [str(path)]).fetchall()
    with duckdb.connect(path, read_only=True) as file:
        ((written,),) = file.execute(
            "SELECT sum(length(macro_definition)) FROM duckdb_functions() WHERE schema_name = 'priv'"
        ).fetchall()
        kept = file.execute(
            "SELECT value, weights FROM priv.coefficient ORDER BY position"
        ).fetchall()
        found = dict(
            file.execute(
                "SELECT DISTINCT noisy_s::VARCHAR, priv.weight('r64', noisy_s, '5') FROM r64"
            ).fetchall()
        )
    assert written <= 2_000_000
    # To the last bit.
    (weights,) = (weights for value, weights in kept if value == "5")
    assert found.items() <= dict(zip((value for value, _ in kept), weights, strict=True)).items()
