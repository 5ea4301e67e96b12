"""Fine-grain and matrix releases: unbiased estimates, intervals with the stated coverage, draws as stated.

Fixed noise: every release has a fixed secret, so the tests cannot flake. With fresh noise a correct
mechanism would fail one of them with a probability below 1e-9.
"""

import duckdb
import numpy as np
import pytest
from plausible import FALSE_ALARM
from scipy import stats

from duckdb_priv.mechanism.alias import alias_tables
from duckdb_priv.mechanism.fine_grain import FineGrain

REPLICATES = 60
VALUES = 8
GROUPS = 12


@pytest.fixture(scope="module", params=["fine_grain", "matrix"])
def answers(request, prepared):
    """True count, estimate, standard error, low, high: of every value, in every group, in every replicate."""
    con = prepared()
    # One publication has all replicates: records have different ids in each, so their draws are independent.
    con.execute(
        f"CREATE TABLE source AS SELECT i + replicate * 100000 AS id, replicate, i % {GROUPS} AS ward,"
        " chr(97 + floor(8 * pow(i * 7919 % 9973 / 9973.0, 2.2))::INTEGER) AS s"
        f" FROM range(12000) AS t(i), range({REPLICATES}) AS r(replicate)"
    )
    con.execute(
        "CREATE TABLE exchange AS SELECT chr((97 + o)::INTEGER) AS original, chr((97 + p)::INTEGER) AS published,"
        " CASE WHEN o = p THEN 0.5 + 0.04 * o WHEN p = (o + 1) % 8 THEN 0.5 - 0.04 * o - 0.06 ELSE 0.01 END::DOUBLE"
        " AS probability FROM range(8) AS s(o), range(8) AS t(p)"
    )
    how = {
        "fine_grain": "tolerance := 12, min_retention := 0.1",
        "matrix": "matrix := 'exchange'",
    }[request.param]
    con.execute(
        f"FROM priv.publish_{request.param}('source', 'out', sensitive := 's', {how}, record_id := 'id')"
    )
    found = con.execute(
        "SELECT true_count, estimate, stderr, low, high FROM"
        " priv.reconstructed_distribution('out', group_columns := 'replicate, ward') JOIN"
        " (SELECT replicate, ward, s AS value, count(*) AS true_count FROM source GROUP BY ALL)"
        " USING (replicate, ward, value) ORDER BY replicate, ward, value"
    ).fetchall()
    con.close()
    return np.array(found, dtype=float)


def test_estimates_are_unbiased(answers):
    true, estimate, stderr, *_ = answers.T
    z = (estimate - true).sum() / np.sqrt((stderr**2).sum())
    each = ((estimate - true) / stderr).reshape(REPLICATES, -1).mean(axis=0) * np.sqrt(REPLICATES)
    limit = stats.norm.isf(FALSE_ALARM / 2 / (len(each) + 1))
    # Standardized by estimated errors, small counts are skewed: the limit is wide enough for that.
    assert abs(z) < limit
    assert np.abs(each).max() < limit + 1


def test_intervals_cover(answers):
    """A true coverage of 95 % or more fails with probability 1e-9; a coverage well below 94 % is detected."""
    true, _, _, low, high = answers.T
    covered = int(((low <= true) & (true <= high)).sum())
    assert stats.binom.cdf(covered, len(true), 0.95) > FALSE_ALARM
    assert covered / len(true) >= 0.94


def test_records_are_drawn_as_stated(prepared):
    """A chi-square test for each true value compares its published counts with the operator."""
    con = prepared(secret=bytes(range(1, 33)))
    con.execute(
        "CREATE TABLE source AS SELECT id, truth, truth AS s FROM"
        " (SELECT i AS id, chr((97 + i % 5)::INTEGER) AS truth FROM range(200000) AS t(i))"
    )
    con.execute(
        "CREATE TABLE wanted AS FROM (VALUES ('a', 0.5, 0.6), ('b', 0.5, 0.7), ('c', 0.5, 0.8), ('d', 0.5, 0.9),"
        " ('e', 0.5, 0.95)) AS t(value, rho1, rho2)"
    )
    probabilities = np.random.default_rng(5).dirichlet(
        np.full(5, 0.5), size=5
    ).T * 0.5 + 0.5 * np.eye(5)
    listed = ", ".join(
        f"('{chr(97 + x)}', '{chr(97 + y)}', {float(probabilities[y, x])!r}::DOUBLE)"
        for x in range(5)
        for y in range(5)
    )
    con.execute(
        f"CREATE TABLE exchange AS FROM (VALUES {listed}) AS t(original, published, probability)"
    )
    for mechanism, how in (
        ("fine_grain", "requirements := 'wanted', direction := 'upward'"),
        ("matrix", "matrix := 'exchange'"),
    ):
        con.execute(
            f"FROM priv.publish_{mechanism}('source', '{mechanism}_out', sensitive := 's', {how},"
            f" record_id := 'id', public := ['truth'], population := '{mechanism}')"
        )
        shown = np.zeros((5, 5))
        for truth, s, count in con.execute(
            f"SELECT ascii(truth) - 97, ascii(noisy_s::VARCHAR) - 97, count(*) FROM {mechanism}_out GROUP BY ALL"
        ).fetchall():
            shown[s, truth] = count
        if mechanism == "matrix":
            operator = probabilities
        else:
            rows = con.execute(
                "SELECT retention FROM priv.coefficient WHERE release = 'fine_grain_out' ORDER BY position"
            ).fetchall()
            operator = FineGrain(np.array(rows).ravel()).matrix()
            assert len(set(np.round(rows, 6).ravel())) > 2
        expected = operator * 40000
        for x in range(5):
            chance = stats.chisquare(
                shown[:, x], expected[:, x] / expected[:, x].sum() * 40000
            ).pvalue
            assert chance > FALSE_ALARM
    con.close()


def test_alias_tables_share_all_words_out():
    """The number of words that publish a value is exactly its probability times 2^64."""
    operator = np.random.default_rng(9).dirichlet(np.full(37, 0.2), size=37).T
    tables = alias_tables(operator)
    size, bins = 2**tables.bits, tables.bounds.shape[1]
    assert size * bins == 2**64
    for x in range(37):
        words = [0] * bins
        for j in range(bins):
            bound = int(tables.bounds[x, j])
            words[j] += bound
            words[int(tables.aliases[x, j])] += size - bound
        assert words[37:] == [0] * (bins - 37)
        assert np.array(words[:37], dtype=float) / 2**64 == pytest.approx(operator[:, x], abs=1e-15)


def test_a_plain_reader_gets_the_same_numbers(prepared, tmp_path):
    con = prepared()
    con.execute(
        "CREATE TABLE source AS SELECT i AS id, chr((97 + i % 5)::INTEGER) AS s FROM range(500) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_fine_grain('source', 'out', sensitive := 's', tolerance := 3, exclude := ['id'])"
    )
    con.execute(f"FROM priv.export_release('out', '{tmp_path / 'out.duckdb'}')")
    ask = "FROM {}priv.reconstructed_distribution('out'{}) ORDER BY value"
    here = con.execute(ask.format("", "")).fetchall()
    con.close()
    with duckdb.connect() as reader:
        reader.execute(f"ATTACH '{tmp_path / 'out.duckdb'}' AS handed (READ_ONLY)")
        there = reader.execute(ask.format("handed.", ", database := 'handed'")).fetchall()
    assert [value for value, *_ in there] == [value for value, *_ in here]
    numbers = [number for _, *row in here for number in row]
    assert [number for _, *row in there for number in row] == pytest.approx(numbers, rel=1e-9)
