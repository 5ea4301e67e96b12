"""Publishing by fine-grain perturbation and with any matrix: the paper's examples, bad input, the page of the docs."""

import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pytest

from duckdb_priv.mechanism.shuffled_retention import shuffled_epsilon

pytestmark = pytest.mark.usefixtures("unasked")

PAGE = Path(__file__).parents[2] / "docs" / "fine_grain.md"


@pytest.fixture
def con(prepared):
    con = prepared()
    con.execute(
        "CREATE TABLE visits AS SELECT i AS id, i % 3 AS ward,"
        " ['SARS', 'HIV', 'H1N1', 'cancer'][1 + i % 4] AS disease FROM range(4000) AS t(i)"
    )
    con.execute(
        "CREATE TABLE wanted AS FROM (VALUES ('SARS', 1/10, 1/7), ('HIV', 1/10, 1/4), ('H1N1', 1/20, 1/3),"
        " ('cancer', 1/10, 2/3)) AS t(value, rho1, rho2)"
    )
    con.execute(
        "CREATE TABLE exchange AS SELECT o.value AS original, p.value AS published,"
        " if(o.value = p.value, 0.4, 0.2)::DOUBLE AS probability FROM wanted AS o, wanted AS p"
    )
    yield con
    con.close()


def publish(con, rest, name="out", mechanism="fine_grain"):
    return con.execute(
        f"FROM priv.publish_{mechanism}('visits', '{name}', sensitive := 'disease', {rest})"
    ).fetchone()


def nothing_left(con):
    tables = con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'"
    ).fetchall()
    rows = con.execute(
        "SELECT (SELECT count(*) FROM priv.release) + (SELECT count(*) FROM priv.ledger)"
    ).fetchone()[0]
    return "out" not in {name for (name,) in tables} and rows == 0


class TestPaper:
    """Examples 1 and 2, and what their program lacks."""

    @pytest.mark.parametrize(
        ("direction", "retention", "utility"), [("upward", 1 / 3, 0.4375), ("both", 1 / 6, 0.34375)]
    )
    def test_examples(self, con, direction, retention, utility):
        publish(con, f"requirements := 'wanted', direction := '{direction}', record_id := 'id'")
        stored = dict(con.execute("SELECT value, retention FROM priv.coefficient").fetchall())
        assert stored["SARS"] == 0
        assert [stored[name] for name in ("HIV", "H1N1", "cancer")] == pytest.approx(
            [retention] * 3
        )
        assert con.execute("SELECT priv.record_utility('out')").fetchone()[0] == pytest.approx(
            utility
        )

    def test_the_plan_shows_it_beforehand(self, con):
        rows = con.execute(
            "SELECT value, gamma, retention, diagonal, uniform, gain, stderr, condition_number"
            " FROM priv.fine_grain_plan('visits', sensitive := 'disease', requirements := 'wanted',"
            " direction := 'upward')"
        ).fetchall()
        gamma = {row[0]: row[1] for row in rows}
        assert gamma == pytest.approx({"SARS": 1.5, "HIV": 3, "H1N1": 9.5, "cancer": 18})
        assert {row[0]: row[3] for row in rows} == pytest.approx(
            {"SARS": 1 / 4, "HIV": 1 / 2, "H1N1": 1 / 2, "cancer": 1 / 2}
        )
        assert [row[4] for row in rows] == pytest.approx([1 / 3] * 4)
        assert all(row[5] == pytest.approx(row[3] - row[4]) for row in rows)
        assert np.isfinite([row[6] for row in rows]).all()
        assert len({row[7] for row in rows}) == 1
        assert nothing_left(con)

    def test_the_audit_finds_the_fall_that_the_paper_overlooks(self, con):
        publish(con, "requirements := 'wanted', direction := 'upward', record_id := 'id'")
        rows = con.execute(
            "SELECT guarantee, parameters, value, holds FROM priv.audit('out')"
        ).fetchall()
        found = {
            (name, json.loads(parameters).get("of")): (value, holds)
            for name, parameters, value, holds in rows
        }
        assert found["downward_privacy", "SARS"] == (pytest.approx(1 / 13), None)
        assert found["upward_privacy", "SARS"] == (pytest.approx(1 / 7), True)
        assert found["upward_privacy", "HIV"] == (pytest.approx(1 / 4), True)
        publish(con, "requirements := 'wanted', record_id := 'id'", "safe")
        rows = con.execute(
            "SELECT holds FROM priv.audit('safe') WHERE guarantee LIKE '%ward_privacy'"
        )
        assert rows.fetchall() == [(True,)] * 8

    def test_the_audit_of_a_changed_operator_does_not_hold(self, con):
        publish(con, "requirements := 'wanted', record_id := 'id'")
        con.execute("UPDATE priv.coefficient SET retention = 0.5 WHERE value = 'HIV'")
        held = dict(
            con.execute(
                "SELECT guarantee, bool_and(holds) FROM priv.audit('out') GROUP BY ALL"
            ).fetchall()
        )
        assert held["upward_privacy"] is False
        assert held["downward_privacy"] is False
        assert held["local_differential_privacy"] is False


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("requirements := 'wanted', tolerance := 3", "not both"),
        ("record_id := 'id'", "either requirements or a tolerance"),
        ("tolerance := 1", "tolerance must be above 1, got 1"),
        (
            "tolerance := 2, min_retention := 0.9",
            "these requirements allow 0, or 1e-06 to 0.333333333333",
        ),
        ("tolerance := 2, direction := 'down'", "direction must be 'both' or 'upward', got 'down'"),
        ("requirements := 'nowhere'", "no table or view is called 'nowhere'"),
        ("requirements := 'visits'", "'visits' has no column 'value'"),
        ("requirements := 'less'", "has no row for 'cancer'"),
        (
            "requirements := 'more'",
            "has a row for 'ague', a value that column 'disease' does not have",
        ),
        ("requirements := 'wrong'", "rho1 = 0.5 and rho2 = 0.5"),
        ("requirements := 'half'", "rho1 = 0.5 and rho2 = None"),
        ("requirements := 'nobody'", "no value is constrained"),
    ],
)
def test_bad_requirements_are_refused(con, rest, message):
    con.execute("CREATE TABLE less AS FROM wanted WHERE value <> 'cancer'")
    con.execute("CREATE TABLE more AS FROM wanted UNION ALL VALUES ('ague', 0.1, 0.2)")
    con.execute("CREATE TABLE wrong AS SELECT value, 0.5 AS rho1, 0.5 AS rho2 FROM wanted")
    con.execute("CREATE TABLE half AS SELECT value, 0.5 AS rho1, NULL::DOUBLE AS rho2 FROM wanted")
    con.execute("CREATE TABLE nobody AS SELECT value, NULL AS rho1, NULL AS rho2 FROM wanted")
    with pytest.raises(duckdb.Error, match=re.escape(message)) as refused:
        publish(con, rest)
    assert "Hint:" in str(refused.value)
    assert nothing_left(con)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "DELETE FROM exchange WHERE original = 'HIV' AND published = 'SARS'",
            "lacks the probability that original 'HIV'",
        ),
        ("DELETE FROM exchange WHERE original = 'HIV'", "is not square"),
        (
            "INSERT INTO exchange VALUES ('HIV', 'SARS', 0.1)",
            "has two probabilities for original 'HIV'",
        ),
        (
            "UPDATE exchange SET probability = -0.2 WHERE original = 'HIV' AND published = 'SARS'",
            "is -0.2",
        ),
        (
            "UPDATE exchange SET probability = 0.3 WHERE original = 'HIV' AND published = 'SARS'",
            "sum to 1.1, not 1",
        ),
        ("UPDATE exchange SET probability = NULL WHERE original = 'HIV'", "has no probability"),
        ("UPDATE exchange SET probability = 0.25", "cannot be inverted"),
        (
            "DELETE FROM exchange WHERE 'HIV' IN (original, published)",
            "that the given domain lacks",
        ),
        ("ALTER TABLE exchange RENAME probability TO p", "has no column 'probability'"),
    ],
)
def test_bad_matrices_are_refused(con, change, message):
    con.execute(change)
    with pytest.raises(duckdb.Error, match=re.escape(message)) as refused:
        publish(con, "matrix := 'exchange'", mechanism="matrix")
    assert "Hint:" in str(refused.value)
    assert nothing_left(con)


def test_a_matrix_above_the_limit_is_refused(con):
    con.execute(
        "CREATE TABLE wide AS SELECT a::VARCHAR AS original, b::VARCHAR AS published,"
        " (a = b)::DOUBLE AS probability FROM range(101) AS s(a), range(101) AS t(b)"
    )
    with pytest.raises(duckdb.Error, match="101 values, and at most 100"):
        publish(con, "matrix := 'wide'", mechanism="matrix")


def test_a_matrix_with_zeros_publishes_without_a_promise(con):
    con.execute(
        "UPDATE exchange SET probability = CASE WHEN original = published THEN 0.8"
        " WHEN published = 'SARS' OR original = 'SARS' AND published = 'HIV' THEN 0.2 ELSE 0 END"
    )
    receipt = publish(con, "matrix := 'exchange', record_id := 'id'", mechanism="matrix")
    assert "excludes some true value" in receipt[6]
    assert con.execute("SELECT epsilon FROM priv.ledger").fetchall() == [(None,)]
    shown = con.execute("SELECT DISTINCT noisy_disease::VARCHAR FROM out").fetchall()
    assert len(shown) == 4


def test_the_same_parameters_give_the_same_records_and_others_do_not(con):
    for mechanism, rest, other in (
        ("fine_grain", "tolerance := 3", "tolerance := 3.1"),
        ("matrix", "matrix := 'exchange'", "matrix := 'changed'"),
    ):
        con.execute(
            "CREATE OR REPLACE TABLE changed AS SELECT original, published,"
            " if(original = published, 0.4 + 3e-4, 0.2 - 1e-4) AS probability FROM exchange"
        )
        for name, given in (("one", rest), ("two", rest), ("three", other)):
            publish(
                con,
                f"{given}, record_id := 'id', exclude := ['ward']",
                f"{mechanism}_{name}",
                mechanism,
            )
        random_bits = con.execute(
            "SELECT coins FROM priv.ledger ORDER BY number DESC LIMIT 3"
        ).fetchall()
        assert random_bits[1] == random_bits[2] != random_bits[0]
        same = f"FROM {mechanism}_one EXCEPT ALL FROM {mechanism}_two"
        assert con.execute(f"SELECT count(*) FROM ({same})").fetchone() == (0,)


@pytest.mark.usefixtures("asked")
def test_several_sensitive_columns_have_requirements_of_their_own(con):
    con.execute("CREATE TABLE both_of AS SELECT *, ward::VARCHAR AS w FROM visits")
    con.execute(
        "CREATE TABLE wards AS SELECT DISTINCT w AS value, 0.2 AS rho1, 0.6 AS rho2 FROM both_of"
    )
    con.execute(
        "FROM priv.publish_fine_grain('both_of', 'out', sensitive := ['disease', 'w'], record_id := 'id',"
        " exclude := 'ward',"
        " requirements := {'disease': 'wanted', 'w': 'wards'})"
    )
    (found,) = con.execute(
        "SELECT priv.reconstructed_count('out.w', noisy_w, '1') FROM out"
    ).fetchone()
    assert found == pytest.approx(1333, abs=6.2 * 80)
    for name in ("out.w", "out.disease"):
        assert 0 < con.execute(f"SELECT priv.record_utility('{name}')").fetchone()[0] < 1
    with pytest.raises(duckdb.Error, match=r"out\.disease"):
        con.execute("SELECT priv.record_utility('out')").fetchall()


def test_a_tolerance_does_not_publish_the_frequencies(con):
    publish(con, "tolerance := 3, record_id := 'id'")
    rows = con.execute(
        "SELECT parameters FROM priv.guarantee WHERE guarantee = 'fine_grain_privacy'"
    )
    assert json.loads(rows.fetchone()[0]) == {"direction": "both", "tolerance": 3.0}


@pytest.mark.usefixtures("asked")
def test_what_the_page_publishes_keeps_its_promises(prepared):
    blocks = re.findall(r"```sql publisher\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    with prepared(None) as con:
        for text in blocks:
            for statement in filter(str.strip, text.split(";\n")):
                con.execute(statement).fetchall()
        held = con.execute("SELECT bool_and(holds) FROM priv.audit('visits_public')").fetchall()
    assert held == [(True,)]


class TestFrequencies:
    """What retentions are computed from, and what that costs."""

    @pytest.fixture
    def public(self, con):
        con.execute("CREATE TABLE public AS SELECT value, 0.25 AS frequency FROM wanted")
        return con

    def claims(self, con):
        operator, claimed, entered = con.execute(
            "SELECT (SELECT value FROM priv.audit('out') WHERE guarantee = 'local_differential_privacy'),"
            " (SELECT value FROM priv.guarantee WHERE guarantee = 'local_differential_privacy'),"
            " (SELECT epsilon FROM priv.ledger)"
        ).fetchone()
        assert claimed == entered
        return operator, claimed

    @pytest.mark.parametrize(
        ("rest", "cost"),
        [
            ("tolerance := 3", 0.1),
            ("tolerance := 3, frequency_epsilon := 0.5", 0.5),
            ("tolerance := 3, frequencies := 'public'", 0),
            ("requirements := 'wanted'", 0),
            ("requirements := 'wanted', frequencies := 'public'", 0),
            ("requirements := 'wanted', frequency_epsilon := 0.2", 0.2),
        ],
    )
    def test_the_epsilon_includes_the_operator(self, public, rest, cost):
        receipt = publish(public, f"{rest}, record_id := 'id'")
        operator, claimed = self.claims(public)
        assert claimed == pytest.approx(operator + cost)
        assert receipt[6]
        assert public.execute("SELECT bool_and(holds) FROM priv.audit('out')").fetchall() == [
            (True,)
        ]
        costs = public.execute(
            "SELECT value FROM priv.guarantee WHERE guarantee = 'reference_frequencies'"
        ).fetchall()
        assert costs == ([(cost,)] if cost or "tolerance" in rest else [])

    @pytest.mark.parametrize(
        ("change", "rest", "message"),
        [
            ("", "frequencies := 'public', frequency_epsilon := 0.1", "not both"),
            ("", "frequency_epsilon := 0", "epsilon must lie between"),
            ("", "frequencies := 'nowhere'", "no table or view is called 'nowhere'"),
            ("", "frequencies := 'wanted'", "'wanted' has no column 'frequency'"),
            (
                "DELETE FROM public WHERE value = 'HIV'",
                "frequencies := 'public'",
                "no number above 0 for 'HIV'",
            ),
            ("UPDATE public SET frequency = 0", "frequencies := 'public'", "no number above 0 for"),
            ("INSERT INTO public FROM public", "frequencies := 'public'", "names a value twice"),
        ],
    )
    def test_bad_frequencies_are_refused(self, public, change, rest, message):
        public.execute(change)
        with pytest.raises(duckdb.Error, match=re.escape(message)) as refused:
            publish(public, f"tolerance := 3, {rest}")
        assert "Hint:" in str(refused.value)
        assert nothing_left(public)

    def test_a_value_that_does_not_occur_has_a_tolerance_as_well(self, con):
        publish(
            con,
            "tolerance := 5, domain := ['SARS', 'HIV', 'H1N1', 'cancer', 'plague'], record_id := 'id'",
        )
        ((retention,),) = con.execute(
            "SELECT retention FROM priv.coefficient WHERE value = 'plague'"
        ).fetchall()
        assert 0 <= retention < 1

    def test_the_same_table_tells_its_frequencies_once(self, con):
        for name in ("out", "again"):
            publish(con, "tolerance := 3, record_id := 'id'", name)
        con.execute("INSERT INTO visits VALUES (4000, 0, 'HIV')")
        publish(con, "tolerance := 3, record_id := 'id'", "changed")
        assert con.execute("SELECT adds FROM priv.ledger ORDER BY number").fetchall() == [
            (True,),
            (False,),
            (True,),
        ]


class TestShuffle:
    """What records with equal public columns hide of each other."""

    def stated(self, con):
        return con.execute(
            "SELECT value FROM priv.guarantee WHERE guarantee = 'shuffle_privacy'"
        ).fetchall()

    @pytest.mark.parametrize(
        ("mechanism", "rest"),
        [
            ("fine_grain", "requirements := 'wanted', record_id := 'id'"),
            ("matrix", "matrix := 'exchange', record_id := 'id'"),
        ],
    )
    def test_it_is_stated_and_audited(self, con, mechanism, rest):
        publish(con, rest, mechanism=mechanism)
        ((epsilon,),) = self.stated(con)
        ((local,),) = con.execute(
            "SELECT value FROM priv.guarantee WHERE guarantee = 'local_differential_privacy'"
        ).fetchall()
        assert 0 < epsilon < local / 3
        audit = "SELECT holds FROM priv.audit('out') WHERE guarantee = 'shuffle_privacy'"
        assert con.execute(audit).fetchall() == [(True,)]
        con.execute("CREATE OR REPLACE TABLE out AS SELECT *, rowid % 50 AS number FROM out")
        assert con.execute(audit).fetchall() == [(False,)]

    def test_a_matrix_as_uniform_perturbation_has_its_epsilon(self, con):
        publish(con, "matrix := 'exchange', record_id := 'id'", mechanism="matrix")
        ((epsilon,),) = self.stated(con)
        assert 1 <= epsilon / shuffled_epsilon(0.2, 4, 1333, 1e-6) <= 1.03

    def test_of_an_operator_that_was_computed_from_the_table_nothing_is_reported(self, con):
        publish(con, "tolerance := 3, min_retention := 0.05, record_id := 'id'")
        assert self.stated(con) == []


def test_more_values_than_an_operator_can_have_are_refused_before_memory_is_asked_for(con):
    con.execute(
        "CREATE OR REPLACE TABLE codes AS SELECT i AS id, i % 70_000 AS code FROM range(140_000) AS t(i)"
    )
    with pytest.raises(
        duckdb.Error, match="has 70,000 values, and fine-grain perturbation takes at most"
    ):
        con.execute(
            "FROM priv.publish_fine_grain('codes', 'x', sensitive := 'code', tolerance := 3, record_id := 'id')"
        )


def test_a_refresh_that_cannot_be_planned_says_to_publish_once_more(con):
    con.execute(
        "CREATE TABLE known AS FROM (VALUES ('SARS', 4), ('HIV', 3), ('H1N1', 2), ('cancer', 1)) AS t(value, frequency)"
    )
    publish(con, "record_id := 'id', tolerance := 4, min_retention := 0.05, frequencies := 'known'")
    con.execute("UPDATE known SET frequency = 1; DELETE FROM visits WHERE id < 4")
    with pytest.raises(duckdb.Error) as caught:
        con.execute("FROM priv.refresh('out')")
    text = str(caught.value)
    assert (
        "the next version of 'out' cannot be published with its arguments: no value is constrained"
        in text
    )
    assert "publish it once more with replace := true and other arguments: give at least" in text
