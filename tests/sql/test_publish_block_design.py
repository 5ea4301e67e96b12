"""Releases whose records report blocks of values: their law, their estimates, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pytest
from plausible import FALSE_ALARM
from reference.blocks import holds
from scipy.stats import binom, chisquare

import duckdb_priv
from duckdb_priv.card.card import read_card
from duckdb_priv.mechanism.block_design import choose_design
from duckdb_priv.mechanism.difference_family import cosets, singer
from duckdb_priv.mechanism.shuffle import code_pair, shuffle_epsilon
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.mechanism.uniform import WORDS

pytestmark = pytest.mark.usefixtures("plain_files")

Connect = Callable[..., duckdb.DuckDBPyConnection]

ROWS = 30_000
GAMMA = 9.0
PUBLISH = (
    "FROM priv.publish_block_design('visits', 'blocks', sensitive := 'disease', record_id := 'id'"
)
LIMITS = "rho1 := 0.1, rho2 := 0.5"


def _make_visits(con: duckdb.DuckDBPyConnection) -> None:
    # Few values are frequent and one is missing, as it is with diagnoses.
    con.execute(f"""
        CREATE TABLE visits AS
        SELECT i AS id, ['north', 'south', 'west'][1 + (hash('w' || i) % 3)::INTEGER] AS ward,
            CASE WHEN i % 50 = 7 THEN NULL
                ELSE 'd' || (99 * pow((hash('d' || i) % 10007) / 10007, 3))::INTEGER END AS disease
        FROM range({ROWS}) AS t(i)
    """)


@pytest.fixture(scope="module")
def publisher(made: Connect) -> Connect:
    """Open a database with a table of visits."""
    return partial(made, _make_visits)


@pytest.fixture(scope="module")
def con(publisher: Connect) -> Iterator[duckdb.DuckDBPyConnection]:
    with publisher() as connection:
        connection.execute(f"{PUBLISH}, {LIMITS})").fetchall()
        yield connection


@pytest.fixture(scope="module")
def analyst(
    con: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[duckdb.DuckDBPyConnection]:
    path = tmp_path_factory.mktemp("blocks") / "blocks.duckdb"
    con.execute("FROM priv.export_release('blocks', ?)", [str(path)]).fetchall()
    with duckdb.connect(str(path), read_only=True) as connection:
        yield connection


def truth(con: duckdb.DuckDBPyConnection, where: str = "true") -> dict[str | None, int]:
    return dict(
        con.execute(f"SELECT disease, count(*) FROM visits WHERE {where} GROUP BY ALL").fetchall()
    )


def test_the_design_is_the_one_of_least_variance_and_the_receipt_says_so(
    con: duckdb.DuckDBPyConnection,
) -> None:
    (receipt,) = con.execute(f"{PUBLISH}, {LIMITS}, replace := true)").fetchall()
    code = choose_design(101, GAMMA).code
    assert receipt[:5] == ("blocks", "block_design", ROWS, ROWS, 0)
    assert f"one of {code.outcomes:,} blocks of values of disease" in receipt[6]
    assert con.execute("SELECT enum_range(any_value(noisy_disease)) FROM blocks").fetchall() == [
        ([*map(str, range(code.outcomes))],)
    ]
    numbers = con.execute(
        "SELECT DISTINCT own, other FROM priv.coefficient WHERE release = 'blocks'"
    )
    assert numbers.fetchall() == [(code.own(GAMMA), code.other(GAMMA))]


def test_blocks_follow_the_law(con: duckdb.DuckDBPyConnection) -> None:
    """Given the secret the noise is fixed; a correct kernel fails one time in a thousand million secrets."""
    family = choose_design(101, GAMMA)
    code, values = (
        family.code,
        con.execute(
            "SELECT value FROM priv.coefficient WHERE release = 'blocks' ORDER BY position"
        ).fetchall(),
    )
    true = np.array([truth(con)[value] for (value,) in values])
    held = holds(family, np.arange(code.outcomes)[:, None], np.arange(len(values)))
    law = np.where(held, GAMMA, 1.0) / code.total(GAMMA) @ true
    shown = dict(con.execute("SELECT noisy_disease, count(*) FROM blocks GROUP BY ALL").fetchall())
    counts = np.array([shown.get(str(block), 0) for block in range(code.outcomes)])
    assert chisquare(counts, law).pvalue > FALSE_ALARM


@pytest.mark.parametrize("family", [singer(2, 3), singer(3, 3), cosets(7, 3)], ids=str)
@pytest.mark.parametrize("gamma", [1.05, math.e, 9.0])
def test_no_block_says_more_than_it_may(family, gamma) -> None:
    """All words are counted: the odds between any two values, and so all posteriors, change by gamma at most."""
    code = family.code
    keep, width = code.thresholds(gamma)
    assert keep + code.outcomes * width == WORDS
    held = holds(family, np.arange(code.outcomes)[:, None], np.arange(family.modulus))
    most = -(-keep // code.holding)
    likelihood = [[width + most if of else width for of in row] for row in held]
    worst = max(max(row) / min(row) for row in likelihood)
    assert worst <= gamma * (1 + 1e-15)
    assert worst >= gamma * (1 - 1e-9)
    for row in likelihood:
        for prior in (0.01, 0.1, 0.5):
            posterior = prior * max(row) / (prior * max(row) + (1 - prior) * min(row))
            assert posterior <= gamma * prior / (gamma * prior + 1 - prior) * (1 + 1e-12)


def test_counts_are_those_of_the_two_weight_form(analyst: duckdb.DuckDBPyConnection) -> None:
    code = choose_design(101, GAMMA).code
    own, other = code.own(GAMMA), code.other(GAMMA)
    held = "SELECT block FROM blocks_disease_blocks WHERE list_contains(disease, 'd3')"
    ((shown,),) = analyst.execute(
        f"SELECT count(*) FROM blocks WHERE noisy_disease IN ({held})"
    ).fetchall()
    estimate = (shown - other * ROWS) / (own - other)
    variance = (shown * (1 - other) ** 2 + (ROWS - shown) * other**2) / (
        own - other
    ) ** 2 - estimate
    ((count, stderr, interval, mle, weights),) = analyst.execute("""
        SELECT priv.reconstructed_count('blocks', noisy_disease, 'd3'),
            priv.reconstructed_stderr('blocks', noisy_disease, 'd3'),
            priv.reconstructed_interval('blocks', noisy_disease, 'd3'),
            priv.reconstructed_mle('blocks', noisy_disease, 'd3'),
            sum(priv.weight('blocks', noisy_disease, 'd3')) FROM blocks
    """).fetchall()
    assert count == pytest.approx(estimate)
    assert stderr == pytest.approx(math.sqrt(variance))
    assert interval["estimate"] == pytest.approx(estimate)
    assert mle == pytest.approx(max(estimate, 0))
    assert weights == pytest.approx(estimate)
    ((joint,),) = analyst.execute(
        "SELECT estimate FROM priv.reconstructed_joint('blocks', ['disease'], ['d3'])"
    ).fetchall()
    assert joint == pytest.approx(estimate)


def test_every_value_has_a_row_that_agrees_with_its_count(
    con: duckdb.DuckDBPyConnection, analyst: duckdb.DuckDBPyConnection
) -> None:
    rows = analyst.execute(
        "SELECT ward, value, estimate, stderr, low, high FROM"
        " priv.reconstructed_distribution('blocks', group_columns := 'ward')"
    ).fetchall()
    assert len(rows) == 3 * 101
    of = {(ward, value): rest for ward, value, *rest in rows}
    for value in ("d0", "d50", None):
        asked = analyst.execute(
            "SELECT ward, priv.reconstructed_interval('blocks', noisy_disease, $1) FROM blocks GROUP BY ward",
            [value],
        ).fetchall()
        for ward, interval in asked:
            assert of[ward, value] == pytest.approx(list(interval.values()))
    true = {
        (ward, disease): count
        for ward in ("north", "south", "west")
        for disease, count in truth(con, f"ward = '{ward}'").items()
    }
    covered = sum(of[key][2] <= true.get(key, 0) <= of[key][3] for key in of)
    assert binom.cdf(covered, len(of), 0.94) > FALSE_ALARM
    errors = [(of[key][0] - true.get(key, 0)) / of[key][1] for key in of]
    assert abs(np.mean(errors)) < 6.2 / math.sqrt(len(errors)) * 1.5
    assert con.execute(
        "SELECT count(*) FROM priv.reconstructed_distribution('blocks')"
    ).fetchall() == [(101,)]


def test_the_bayesian_estimate_has_the_largest_likelihood(
    con: duckdb.DuckDBPyConnection,
) -> None:
    family = choose_design(101, GAMMA)
    code = family.code
    rows = con.execute(
        "SELECT estimate FROM priv.reconstructed_distribution('blocks', method := 'bayesian') AS d"
        " JOIN priv.coefficient AS c ON c.value IS NOT DISTINCT FROM d.value::VARCHAR"
        " WHERE c.release = 'blocks' ORDER BY c.position"
    ).fetchall()
    found = np.array([estimate for (estimate,) in rows])
    assert found.sum() == pytest.approx(ROWS)
    assert found.min() >= 0
    shown = np.zeros(code.outcomes)
    for block, count in con.execute(
        "SELECT noisy_disease, count(*) FROM blocks GROUP BY ALL"
    ).fetchall():
        shown[int(block)] = count
    held = holds(family, np.arange(code.outcomes)[:, None], np.arange(101))
    law = np.where(held, GAMMA, 1.0) / code.total(GAMMA)
    # No value could take rows of the others so that what is shown became more likely.
    gradient = law.T @ (shown / (law @ found)) / shown.sum() * ROWS
    assert gradient.max() <= 1 + 1e-6


def test_so_many_blocks_that_iterating_would_take_hours_are_refused(
    publisher: Connect, monkeypatch
) -> None:
    with publisher() as con:
        monkeypatch.setattr("duckdb_priv.estimator.distribution.MOST_PAIRS", 100)
        con.execute(f"{PUBLISH}, {LIMITS})").fetchall()
        with pytest.raises(duckdb.Error, match="would take hours"):
            con.execute(
                "FROM priv.reconstructed_distribution('blocks', method := 'bayesian')"
            ).fetchall()


LISTS = {
    "['d1', 'd2', 'd5', NULL]": "disease IN ('d1', 'd2', 'd5') OR disease IS NULL",
    "['d0']": "disease = 'd0'",
    "[d::VARCHAR FOR d IN list_transform(range(20, 99), lambda i: 'd' || i)]": "disease[2:]::INTEGER"
    " BETWEEN 20 AND 98",
}


@pytest.mark.parametrize("values", LISTS)
def test_lists_of_values_have_the_variance_of_the_sum_of_their_weights(
    con: duckdb.DuckDBPyConnection, analyst: duckdb.DuckDBPyConnection, values: str
) -> None:
    """Blocks that hold several of the values count several times: the variance is the sum of h squared less h."""
    ((found,),) = analyst.execute(
        f"SELECT priv.reconstructed_list_interval('blocks', noisy_disease, {values}) FROM blocks"
    ).fetchall()
    ((estimate, variance),) = analyst.execute(f"""
        SELECT sum(h), sum(h * h - h) FROM (
            SELECT (SELECT sum(priv.weight('blocks', b, v)) FROM (SELECT unnest({values}) AS v)) AS h
            FROM (SELECT noisy_disease AS b FROM blocks))
    """).fetchall()
    assert found["estimate"] == pytest.approx(estimate)
    assert found["stderr"] == pytest.approx(math.sqrt(variance))
    ((true,),) = con.execute(f"SELECT count(*) FROM visits WHERE {LISTS[values]}").fetchall()
    assert abs(estimate - true) < 6.2 * found["stderr"]
    assert found["low"] <= estimate <= found["high"]
    ((share,),) = analyst.execute(
        f"SELECT priv.reconstructed_share('blocks', noisy_disease, {values}) FROM blocks"
    ).fetchall()
    assert share["estimate"] == pytest.approx(estimate / ROWS)


def test_it_is_evaluated_advised_and_on_a_page(
    con: duckdb.DuckDBPyConnection, analyst: duckdb.DuckDBPyConnection
) -> None:
    ((queries, covered),) = con.execute(
        "SELECT count(*), count_if(covered) FROM priv.evaluate('visits', 'blocks', queries := 200)"
    ).fetchall()
    assert queries == 200
    assert binom.cdf(covered, queries, 0.94) > FALSE_ALARM
    advice = con.execute(
        "SELECT mechanism, mean_relative_error, statement FROM priv.advise('visits', sensitive := 'disease',"
        " record_id := 'id', rho1 := 0.1, rho2 := 0.5, queries := 100) WHERE meets AND mechanism IN"
        " ('block_design', 'uniform')"
    ).fetchall()
    assert advice[0][0] == "block_design"
    assert advice[0][1] < max(error for name, error, _ in advice if name == "uniform")
    assert "priv.publish_block_design(" in advice[0][2]
    for connection in (con, analyst):
        card = read_card(connection, "blocks")
        assert any(meaning == "number of blocks" for meaning, _ in card.parameters)
        assert len(card.attributes[0].values) > 10


def test_few_values_are_perturbed_uniformly_record_by_record_as_elsewhere(
    publisher: Connect,
) -> None:
    with publisher() as con:
        con.execute("CREATE TABLE few AS SELECT id, ward AS disease FROM visits")
        publish = "FROM priv.publish_{}('few', '{}', sensitive := 'disease', epsilon := 3.0, record_id := 'id')"
        (receipt,) = con.execute(publish.format("block_design", "blocks")).fetchall()
        con.execute(publish.format("uniform", "plain")).fetchall()
        assert (
            "no code of blocks gains anything, so its values are perturbed uniformly" in receipt[6]
        )
        assert con.execute("FROM blocks EXCEPT ALL FROM plain").fetchall() == []
        numbers = con.execute(
            "SELECT DISTINCT own, other, form FROM priv.coefficient JOIN priv.attribute USING (release, attribute)"
        ).fetchall()
        own, other = Code(3).own(math.exp(3)), Code(3).other(math.exp(3))
        assert [(*map(pytest.approx, each[:2]), each[2]) for each in numbers] == [
            (own, other, "two_weights")
        ]
        assert all(
            holds is not False
            for (holds,) in con.execute("SELECT holds FROM priv.audit('blocks')").fetchall()
        )


def test_the_audit_recomputes_design_law_and_bounds(con: duckdb.DuckDBPyConnection) -> None:
    audit = dict(con.execute("SELECT guarantee, holds FROM priv.audit('blocks')").fetchall())
    assert {name: audit[name] for name in audit if audit[name] is not None} == dict.fromkeys(
        (
            "verdict",
            "operator",
            "local_differential_privacy",
            "upward_privacy",
            "downward_privacy",
            "noise_as_stated",
            "shuffle_privacy",
        ),
        True,
    )


def test_what_reported_blocks_hide_of_each_other_is_stated_and_audited(
    publisher: Connect,
) -> None:
    """With an attribute of few values beside it, whose rows are distinguished as well."""
    with publisher() as con:
        con.execute(
            "CREATE TABLE two AS SELECT id, ward, disease, if(id % 3 = 0, 'in', 'out') AS stay FROM visits LIMIT 6000"
        )
        for release, columns in (("one", "['disease']"), ("both", "['disease', 'stay']")):
            con.execute(
                f"FROM priv.publish_block_design('two', '{release}', sensitive := {columns}, epsilon := 1,"
                " record_id := 'id', public := ['ward'])"
            ).fetchall()
        claims = {
            (release, attribute): (value, json.loads(parameters))
            for release, attribute, value, parameters in con.execute(
                "SELECT release, attribute, value, parameters FROM priv.guarantee WHERE guarantee = 'shuffle_privacy'"
            ).fetchall()
        }
        sizes = con.execute("SELECT count(*) FROM two GROUP BY ward ORDER BY ALL").fetchall()
        worst, given = claims["one", "disease"]
        assert given["group_sizes"]["1.0"] == sizes[0][0]
        pair = code_pair(choose_design(101, math.e).code, math.e)
        exact = shuffle_epsilon([pair], sizes[0][0], 1e-6)
        assert exact <= worst <= 1.05 * exact
        assert worst < claims["both", "disease"][0] == claims["both", "stay"][0] < 2
        audit = "SELECT holds FROM priv.audit('{}') WHERE guarantee = 'shuffle_privacy'"
        assert con.execute(audit.format("both")).fetchall() == [(True,), (True,)]
        con.execute("CREATE OR REPLACE TABLE one AS SELECT *, rowid % 50 AS number FROM one")
        assert con.execute(audit.format("one")).fetchall() == [(False,)]


BAD = {
    "epsilon := 0": "epsilon must lie above 0 and be at most 30, got 0.0",
    "epsilon := 31": "epsilon must lie above 0 and be at most 30, got 31.0",
    "epsilon := 1e-17": "the likelihood ratio must be above 1",
    "rho1 := 0.5, rho2 := 0.5": "rho1 and rho2 must satisfy 0 < rho1 < rho2 < 1",
    "rho1 := 0.1": "rho2 is missing",
    "epsilon := 1, rho1 := 0.1, rho2 := 0.5": "give either epsilon, or rho1 and rho2",
    "epsilon := 1, domain := ['d1']": "that the given domain lacks",
}


@pytest.mark.parametrize("arguments", BAD)
def test_what_cannot_be_is_one_sentence(con: duckdb.DuckDBPyConnection, arguments: str) -> None:
    with pytest.raises(duckdb.Error) as caught:
        con.execute(f"{PUBLISH}, {arguments}, replace := true)")
    assert BAD[arguments] in str(caught.value)
    assert str(caught.value).count("Hint:") == 1


def test_the_next_version_shows_what_did_not_change_as_it_was(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("CREATE TABLE living AS FROM visits WHERE id < 2000")
    con.execute(
        "FROM priv.publish_block_design('living', 'followed', sensitive := 'disease', epsilon := 1.0,"
        " record_id := 'id', domain := (SELECT list(DISTINCT disease) FROM visits))"
    ).fetchall()
    con.execute("CREATE TABLE before AS FROM followed")
    con.execute("INSERT INTO living FROM visits WHERE id BETWEEN 2000 AND 2099")
    con.execute("FROM priv.refresh('followed')").fetchall()
    ((gone, come),) = con.execute(
        "SELECT (SELECT count(*) FROM (FROM before EXCEPT ALL FROM followed)),"
        " (SELECT count(*) FROM (FROM followed EXCEPT ALL FROM before))"
    ).fetchall()
    assert (gone, come) == (0, 100)
    charged = con.execute(
        "SELECT adds > 0, total FROM priv.ledger() WHERE release = 'followed'"
    ).fetchall()
    assert [adds for adds, _ in charged] == [True, False]


def test_the_largest_domain(con: duckdb.DuckDBPyConnection) -> None:
    """Ten thousand values, each in hundreds of blocks: all counts add up to the rows, and the frequent one is seen."""
    con.execute(
        "CREATE TABLE codes AS SELECT i AS id, i % 3 AS ward,"
        " 'c' || CASE WHEN i % 4 = 0 THEN 17 ELSE i % 10000 END AS code FROM range(20000) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_block_design('codes', 'huge', sensitive := 'code', epsilon := 4.0, record_id := 'id',"
        " domain := (SELECT list('c' || i) FROM range(10000) AS t(i)))"
    ).fetchall()
    ((values, covered, seen),) = con.execute("""
        SELECT count(*), avg((n BETWEEN low AND high)::INTEGER), max(abs(estimate - n) / stderr) FILTER (n > 1000)
        FROM priv.reconstructed_distribution('huge')
        JOIN (SELECT 'c' || i AS value, (SELECT count(*) FROM codes WHERE code = 'c' || i) AS n
            FROM range(10000) AS t(i)) USING (value)
    """).fetchall()
    assert values == 10_000
    assert covered > 0.94
    assert seen < 6.2


SOURCES = {
    "SELECT i AS id, 'a' AS disease FROM range(50) AS t(i)": "has 1 value, and needs at least 2",
    "SELECT i AS id, NULL::VARCHAR AS disease FROM range(50) AS t(i)": "has 1 value, and needs at least 2",
    "SELECT i AS id, 'd' || i % 10001 AS disease FROM range(20002) AS t(i)": "has 10001 values, and a block design"
    " allows 10000 at most",
    "SELECT i AS id, i % 9 AS noisy_disease, 'd' || i % 60 AS disease FROM range(500) AS t(i)": "but there is a"
    " column 'noisy_disease' already",
}


@pytest.mark.parametrize("query", SOURCES)
def test_sources_that_cannot_be_published_are_one_sentence(
    con: duckdb.DuckDBPyConnection, query: str
) -> None:
    con.execute(f"CREATE OR REPLACE TABLE wrong AS {query}")
    with pytest.raises(duckdb.Error) as caught:
        con.execute(
            "FROM priv.publish_block_design('wrong', 'more', sensitive := 'disease', epsilon := 1, record_id := 'id')"
        )
    assert SOURCES[query] in str(caught.value)
    assert str(caught.value).count("Hint:") == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("ward", "'d3'"),
        ("2000 + length(ward)", "'d3'"),
        # The first number that is of no block, though the mask of the match lets it pass.
        ("1010 + length(ward) % 2", "'d3'"),
        ("-1", "'d3'"),
        ("noisy_disease", "'x'"),
    ],
)
def test_other_columns_and_values_outside_the_domain_are_refused(
    con: duckdb.DuckDBPyConnection, analyst: duckdb.DuckDBPyConnection, column: str, value: str
) -> None:
    for connection in (con, analyst):
        with pytest.raises(duckdb.Error, match=r"must be the noisy column|has no value 'x'"):
            connection.execute(
                f"SELECT priv.reconstructed_count('blocks', {column}, {value}) FROM blocks"
            ).fetchall()


def test_values_of_any_type_and_two_columns_at_once(publisher: Connect, tmp_path: Path) -> None:
    with publisher() as con:
        con.execute(
            "CREATE TABLE two AS SELECT id, (hash(id) % 80)::INTEGER AS code,"
            " DATE '2024-01-01' + (hash('x' || id) % 120)::INTEGER AS day FROM visits LIMIT 3000"
        )
        con.execute(
            "FROM priv.publish_block_design('two', 'blocks', sensitive := ['code', 'day'], epsilon := 2,"
            " record_id := 'id')"
        ).fetchall()
        path = tmp_path / "two.duckdb"
        con.execute(f"FROM priv.export_release('blocks', '{path}')").fetchall()
        ((kinds, records),) = con.execute(
            "SELECT list(DISTINCT typeof(value)), count(*) FROM priv.reconstructed_distribution('blocks.day')"
        ).fetchall()
        assert (kinds, records) == (["DATE"], 120)
        ((true,),) = con.execute(
            "SELECT count(*) FROM two WHERE code < 40 AND day < DATE '2024-03-01'"
        ).fetchall()
        (joint,) = con.execute(
            "SELECT estimate, stderr FROM priv.reconstructed_joint('blocks', ['code', 'day'], ['7', '2024-01-09'])"
        ).fetchall()
        with duckdb.connect(str(path), read_only=True) as analyst:
            ((weights,),) = analyst.execute(
                "SELECT sum(priv.weight('blocks.code', noisy_code, 7)"
                " * priv.weight('blocks.day', noisy_day, DATE '2024-01-09')) FROM blocks"
            ).fetchall()
            found = duckdb_priv.reconstruct(
                analyst,
                "SELECT count(*) AS n FROM blocks WHERE code < 40 AND day < DATE '2024-03-01'",
                intervals=True,
            ).fetchall()
    assert joint[1] > 0
    assert weights == pytest.approx(joint[0], abs=8 * joint[1])
    assert abs(found[0][0] - true) < 6.2 * found[0][1]
