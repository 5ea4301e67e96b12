"""Safe k-anonymity from end to end: what is published, what is promised, what is refused."""

import json
import math

import duckdb
import numpy as np
import pytest
from answers import named_row
from comparing import nearly
from reference.composition import advanced_composition, basic_composition
from reference.scaled_count import scaled_count

from duckdb_priv.engine import randomness
from duckdb_priv.mechanism.composition import EpsilonDelta
from duckdb_priv.mechanism.sampling import sampling_delta, tight_delta

pytestmark = pytest.mark.usefixtures("unasked")

COLUMNS = ("age", "gender", "town")
LEVELS = "{'age': 2, 'gender': 0, 'town': 1}"
ARGUMENTS = {
    "k": "5",
    "beta": "0.5",
    "epsilon": "1.0",
    "hierarchies": "'hierarchies'",
    "levels": LEVELS,
    "exclude": "['id', 'note']",
}


def publish(con, release="public", source="visits", function="safe_k", **changes):
    arguments = {name: text for name, text in {**ARGUMENTS, **changes}.items() if text is not None}
    written = ", ".join(f"{name} := {text}" for name, text in arguments.items())
    return named_row(con, f"FROM priv.publish_{function}('{source}', '{release}', {written})")


def make(con):
    con.execute(
        "CREATE TABLE visits AS SELECT i AS id, (i * 37 % 100)::INTEGER AS age,"
        " CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 'f' ELSE 'm' END AS gender,"
        " ['Ulm', 'Bochum', 'Rostock', 'Jena'][i % 4 + 1] AS town, 'secret note ' || i AS note FROM range(4000) AS t(i)"
    )
    con.execute(
        "CREATE TABLE hierarchies AS FROM priv.range_hierarchy('age', 5, 20) UNION ALL"
        " SELECT 'Gender', value, level, CASE level WHEN 0 THEN value ELSE '*' END"
        " FROM (VALUES ('f'), ('m'), (NULL)) AS v(value), range(2) AS l(level)"
        " UNION ALL SELECT 'town', town, level, [town, area, '*'][level + 1]"
        " FROM (VALUES ('Ulm', 'south'), ('Bochum', 'west'), ('Rostock', 'north'), ('Jena', 'east'), ('Hof', 'south'))"
        " AS v(town, area), range(3) AS l(level)"
    )
    con.execute("CREATE TABLE no_rules AS SELECT 'age' AS name")


@pytest.fixture
def con(prepared):
    with prepared(secret=None) as connection:
        make(connection)
        yield connection


def make_and_publish(con):
    make(con)
    publish(con)


@pytest.fixture
def released(made):
    """A database in which the visits are published, once for all tests."""
    with made(make_and_publish, secret=None) as connection:
        yield connection


@pytest.fixture(scope="module")
def lasting(prepared):
    """For calls that are refused, and leave nothing."""
    with prepared(secret=None) as connection:
        make(connection)
        yield connection


def test_what_is_published_is_generalized_and_in_groups_of_k(con):
    receipt = publish(con)
    described = con.execute("DESCRIBE public").fetchall()
    assert [row[0] for row in described] == ["age", "gender", "town", "scale"]
    assert described[0][1] == "ENUM('0-19', '20-39', '40-59', '60-79', '80-99', '100-119')"
    assert described[1][1] == "ENUM('f', 'm')"
    assert sorted(described[2][1][6:-2].split("', '")) == ["east", "north", "south", "west"]
    assert con.execute("SELECT DISTINCT scale FROM public").fetchall() == [(2.0,)]
    sizes = con.execute("SELECT count(*) FROM public GROUP BY age, gender, town").fetchall()
    assert min(sizes) >= (5,)
    assert con.execute("SELECT count(*) > 100 FROM public WHERE gender IS NULL").fetchall() == [
        (True,)
    ]
    assert receipt["mechanism"] == "safe_k"
    assert receipt["rows_source"] == 4000
    assert receipt["rows_published"] == sum(size for (size,) in sizes)
    assert receipt["rows_suppressed"] is None
    assert receipt["warnings"] == [
        f"delta = {sampling_delta(5, 0.5, 1):.3g} is not small: it is at least 1 / 4000, one over the number of"
        " records. For delta = 1e-06, k must be at least 46"
    ]


def test_all_records_survive_a_rate_near_one_and_groups_below_k_do_not(con):
    # Three of 2,856 records are lost with a chance of 4e-12.
    publish(
        con, beta="0.9999999", epsilon="20", k="100", levels="{'age': 3, 'gender': 0, 'town': 2}"
    )
    # 572 records without gender, 572 f, 2856 m.
    counted = dict(con.execute("SELECT gender, count(*) FROM public GROUP BY ALL").fetchall())
    assert {key: abs(n - {None: 572, "f": 572, "m": 2856}[key]) <= 2 for key, n in counted.items()} == {
        None: True, "f": True, "m": True,
    }  # fmt: skip
    publish(
        con,
        beta="0.9999999",
        epsilon="20",
        k="1000",
        levels="{'age': 3, 'gender': 0, 'town': 2}",
        replace="true",
    )
    assert con.execute("SELECT DISTINCT gender FROM public").fetchall() == [("m",)]


def test_the_catalog_holds_what_is_public_and_nothing_else(con):
    receipt = publish(con)
    roles = con.execute(
        "SELECT attribute, role, type, domain_size, form FROM priv.attribute ORDER BY attribute"
    ).fetchall()
    assert roles == [
        ("age", "generalized", "ENUM", 6, "sample"),
        ("gender", "generalized", "ENUM", 3, "sample"),
        ("scale", "scale", "DOUBLE", None, None),
        ("town", "generalized", "ENUM", 4, "sample"),
    ]
    values = con.execute(
        "SELECT value FROM priv.coefficient WHERE attribute = 'age' ORDER BY position"
    ).fetchall()
    assert values == [("0-19",), ("20-39",), ("40-59",), ("60-79",), ("80-99",), ("100-119",)]
    ((parameters, published),) = con.execute(
        "SELECT parameters, rows_published FROM priv.release"
    ).fetchall()
    assert json.loads(parameters) == {
        "k": 5, "beta": 0.5, "epsilon": 1.0, "delta": sampling_delta(5, 0.5, 1.0),
        "levels": {"age": 2, "gender": 0, "town": 1},
    }  # fmt: skip
    assert published == receipt["rows_published"]
    promised = dict(con.execute("SELECT guarantee, value FROM priv.guarantee").fetchall())
    assert promised["differential_privacy"] == 1.0
    assert promised["delta"] == sampling_delta(5, 0.5, 1.0)
    assert promised["tight_delta"] == tight_delta(5, 0.5, 1.0)
    assert promised["differential_privacy_exchange"] == 2.0
    assert promised["k_anonymity"] == 5
    assert con.execute(
        "SELECT count(*) FROM priv.guarantee WHERE attribute IS NOT NULL"
    ).fetchall() == [(0,)]


@pytest.mark.usefixtures("asked")
def test_estimates_are_counts_over_beta_with_their_interval(released):
    rows = released.execute(
        "SELECT gender, count(*) FILTER (age = '20-39'),"
        " priv.reconstructed_count('public.age', age, '20-39', weight := scale),"
        " priv.reconstructed_stderr('public.age', age, '20-39', weight := scale),"
        " priv.reconstructed_interval('public.age', age, '20-39', weight := scale),"
        " priv.reconstructed_mle('public.age', age, '20-39', weight := scale),"
        " sum(scale * priv.weight('public.age', age, '20-39'))"
        " FROM public GROUP BY gender"
    ).fetchall()
    assert len(rows) == 3
    for _, kept, estimate, stderr, interval, mle, summed in rows:
        # Six ages, three genders and four towns, of which one class is seen.
        expected = scaled_count(kept, 0.5, hidden=3 * 4 - (kept > 0), k=5)
        assert (
            estimate
            == interval["estimate"]
            == mle
            == summed
            == float(expected.estimate)
            == 2 * kept
        )
        assert stderr == interval["stderr"] == pytest.approx(float(expected.stderr))
        assert interval["low"] == pytest.approx(float(expected.low))
        assert interval["high"] == pytest.approx(float(expected.high))


@pytest.mark.usefixtures("asked")
def test_the_interval_reaches_as_far_as_what_may_be_hidden(con):
    """Of 20 classes of 143 records and 40 of 28 or 29, 20 must be sampled at a rate of .3: small classes are missing.

    The estimates add up to 2,857 on average, with a standard deviation of 82: 3,400 is 6.6 of them.
    """
    publish(con, k="20", beta="0.3", epsilon="2")
    found = con.execute(
        "SELECT value, estimate, low, high FROM priv.reconstructed_distribution('public.town', weight := 'scale')"
    ).fetchall()
    assert sum(estimate for _, estimate, *_ in found) < 3400
    for _, estimate, low, high in found:
        assert 0 <= low <= estimate <= 1000 <= high
    statement, value = con.execute(
        "SELECT statement, value FROM priv.guarantee WHERE guarantee = 'suppression'"
    ).fetchall()[0]
    assert "fewer than 67 source records (k / beta) is mostly missing" in statement
    assert value == pytest.approx(20 / 0.3)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("kept", [1, 5, 10, 300])
def test_the_interval_begins_at_the_records_that_are_seen(con, kept):
    """Of a high rate and few records, what is seen is more than the score interval begins with."""
    levels = "{'age': 3, 'gender': 0, 'town': 2}"
    publish(con, beta="0.9", epsilon="3", k="20", levels=levels)
    expected = scaled_count(kept, 0.9)
    ((interval,),) = con.execute(
        "SELECT priv.reconstructed_interval('public.gender', gender, 'm', weight := scale)"
        f" FROM (FROM public WHERE gender = 'm' LIMIT {kept})"
    ).fetchall()
    assert (interval["low"], interval["high"]) == pytest.approx((expected.low, expected.high))
    if kept <= 10:
        assert interval["low"] == kept
    con.execute(f"CREATE OR REPLACE TABLE public AS FROM public WHERE gender = 'm' LIMIT {kept}")
    ((low, high),) = con.execute(
        "SELECT low, high FROM priv.reconstructed_distribution('public.gender', weight := 'scale')"
        " WHERE value = 'm'"
    ).fetchall()
    assert (low, high) == pytest.approx((expected.low, expected.high))


@pytest.mark.usefixtures("asked")
def test_a_missing_value_and_a_generalized_one_are_asked_for_like_any_other(con):
    publish(con, levels="{'age': 3, 'gender': 0, 'town': 2}")
    ((everything, missing, f, m),) = con.execute(
        "SELECT priv.reconstructed_count('public.age', age, '*', weight := scale),"
        " priv.reconstructed_count('public.gender', gender, NULL, weight := scale),"
        " priv.reconstructed_count('public.gender', gender, 'f', weight := scale),"
        " priv.reconstructed_count('public.gender', gender, 'm', weight := scale) FROM public"
    ).fetchall()
    assert everything == missing + f + m
    assert abs(everything - 4000) < 6.2 * math.sqrt(4000)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("method", ["inverse", "bayesian"])
def test_the_distribution_is_scaled_too(released, method):
    rows = released.execute(
        "SELECT gender, value, estimate, noisy_count, high FROM priv.reconstructed_distribution('public.town',"
        f" weight := 'scale', group_columns := 'gender', condition := 'age <> ''0-19''', method := '{method}')"
    ).fetchall()
    assert len(rows) == 3 * 4
    shown = released.execute(
        "SELECT gender, town, count(*) FROM public WHERE age <> '0-19' GROUP BY ALL"
    ).fetchall()
    counts = {(gender, town): n for gender, town, n in shown}
    for gender, value, estimate, observed, high in rows:
        assert observed == counts.get((gender, value), 0)
        assert estimate == pytest.approx(2 * observed)
        if method == "inverse":
            assert high == pytest.approx(
                float(scaled_count(observed, 0.5, hidden=6 * 3 - (observed > 0), k=5).high)
            )


@pytest.mark.usefixtures("asked")
def test_asking_wrongly_is_an_error_that_says_what_is_right(released):
    for call, message in [
        ("priv.reconstructed_count('public.age', age, '20-39')", "write weight := scale"),
        (
            "priv.reconstructed_count('public.age', age, '37', weight := scale)",
            "it has '0-19', '20-39'",
        ),
        (
            "priv.reconstructed_count('public', age, '20-39', weight := scale)",
            "'public.age' or 'public.gender'",
        ),
    ]:
        with pytest.raises(duckdb.InvalidInputException, match=message):
            released.execute(f"SELECT {call} FROM public")
    with pytest.raises(duckdb.InvalidInputException, match="write weight := scale"):
        released.execute("FROM priv.reconstructed_distribution('public.age')")


@pytest.mark.usefixtures("asked")
def test_beside_a_release_of_another_mechanism(released):
    released.execute(
        "FROM priv.publish_uniform('visits', 'uniform', sensitive := 'town', retention := 0.5, public := 'gender')"
    )
    ((scaled, perturbed),) = released.execute(
        "SELECT (SELECT priv.reconstructed_count('public.town', town, 'west', weight := scale) FROM public),"
        " (SELECT priv.reconstructed_count('uniform', noisy_town, 'Bochum') FROM uniform)"
    ).fetchall()
    assert abs(scaled - 1000) < 6.2 * math.sqrt(1000) + 100
    assert abs(perturbed - 1000) < 6.2 * math.sqrt(4 * 4000)
    for call in (
        "priv.reconstructed_count('public.town', town, 'west') FROM public",
        "priv.reconstructed_count('uniform', noisy_town, 'Bochum', weight := 1) FROM uniform",
    ):
        with pytest.raises(duckdb.InvalidInputException, match="source record"):
            released.execute(f"SELECT {call}")


@pytest.mark.usefixtures("asked")
def test_a_release_file_answers_without_python_and_holds_nothing_private(con, tmp_path):
    receipt = publish(con)
    con.execute(f"FROM priv.export_release('public', '{tmp_path}/public.duckdb')")
    ask = "{0}priv.reconstructed_interval('public.town', town, 'west', weight := scale) FROM {0}public"
    expected = con.execute("SELECT " + ask.format("")).fetchall()
    with duckdb.connect() as reader:
        reader.execute(f"ATTACH '{tmp_path}/public.duckdb' AS handed (READ_ONLY)")
        assert reader.execute("SELECT " + ask.format("handed.")).fetchall() == nearly(expected)
        tables = reader.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        assert tables == [
            ("attribute",),
            ("coefficient",),
            ("guarantee",),
            ("public",),
            ("release",),
        ]
        rows = reader.execute("SELECT rows_published FROM handed.priv.release").fetchall()
        assert rows == [(receipt["rows_published"],)]
        (reported,) = reader.execute(
            "SELECT comment FROM duckdb_tables() WHERE table_name = 'public'"
        ).fetchall()[0]
        assert "a sample, generalized" in reported
    content = (tmp_path / "public.duckdb").read_bytes()
    for private in (b"secret note", b"visits", b"Bochum", b"Rostock", b": 4000", b"4000 records"):
        assert private not in content


def test_every_release_is_a_sample_of_its_own_whatever_identifies_the_records(con):
    for release in ("one", "two"):
        publish(con, release, record_id="'id'", exclude="['note']")
    assert con.execute("FROM one EXCEPT ALL FROM two").fetchall()
    ledger = con.execute(
        "SELECT attribute, fresh, record_id, coins FROM priv.ledger ORDER BY number"
    ).fetchall()
    assert [row[:3] for row in ledger] == [("*", True, [])] * 2
    assert ledger[0][3] != ledger[1][3]
    assert "id" not in [row[0] for row in con.execute("DESCRIBE one").fetchall()]


def test_one_sample_is_not_used_twice(con, monkeypatch):
    monkeypatch.setattr(randomness, "new_secret", lambda: bytes(32))
    publish(con, "one")
    with pytest.raises(duckdb.InvalidInputException, match="was drawn for another publication"):
        publish(con, "two")
    assert con.execute("SELECT release FROM priv.release").fetchall() == [("one",)]
    assert con.execute("SELECT release FROM priv.ledger").fetchall() == [("one",)]


def test_epsilon1_chooses_levels_and_says_so(con):
    receipt = publish(con, levels=None, epsilon1="0.2")
    ((parameters,),) = con.execute("SELECT parameters FROM priv.release").fetchall()
    terms = json.loads(parameters)
    assert terms["epsilon1"] == 0.2
    assert terms["delta"] == sampling_delta(5, 0.5, 0.8)
    # So many records a group that the finest nodes win by far: 28 groups of 142 leave nothing to gain by merging.
    assert set(terms["levels"]) == set(COLUMNS)
    assert sum(terms["levels"].values()) < 6
    ((stated,),) = con.execute(
        "SELECT statement FROM priv.guarantee WHERE guarantee = 'scheme'"
    ).fetchall()
    assert "The exponential mechanism chose the levels among 24 nodes on the full table" in stated
    assert "exp(0.2 * precision * excess)" in stated
    assert "beyond the first 9 of each group" in stated
    assert receipt["rows_published"] > 0


def test_the_ledger_adds_up(con):
    for release, epsilon in [("a", 1.0), ("b", 1.5), ("c", 0.8)]:
        publish(con, release, epsilon=str(epsilon))
    rows = con.execute(
        "SELECT epsilon, delta, epsilon_attribute, epsilon_record, delta_record, epsilon_advanced, delta_advanced,"
        " warning FROM priv.ledger(slack := 1e-5, details := true)"
    ).fetchall()
    released = []
    for epsilon, delta, attribute, source, risk, advanced, advanced_risk, warning in rows:
        released.append(EpsilonDelta(epsilon, delta))
        total, other = basic_composition(released), advanced_composition(released, 1e-5)
        assert (attribute, source) == pytest.approx((total.epsilon,) * 2)
        assert risk == pytest.approx(total.delta)
        assert (advanced, advanced_risk) == pytest.approx((other.epsilon, other.delta))
        assert warning is None
    for rest in (", details := true", ""):
        with pytest.raises(
            duckdb.InvalidInputException, match="slack must lie strictly between 0 and 1, got 0"
        ):
            con.execute(f"SELECT count(*) FROM priv.ledger(slack := 0{rest})")


def test_a_mechanism_that_shows_records_takes_the_total_away(con):
    def uniform(release):
        return con.execute(
            f"SELECT warnings FROM priv.publish_uniform('visits', '{release}', sensitive := 'town', retention := 0.5,"
            " record_id := 'id', public := 'gender')"
        ).fetchall()[0][0]

    assert uniform("before") == []
    assert any("published by safe_k and by uniform" in each for each in publish(con)["warnings"])
    assert any("published by safe_k and by uniform" in each for each in uniform("after"))
    rows = con.execute(
        "SELECT release, total, warning IS NOT NULL FROM priv.ledger(details := true)"
    ).fetchall()
    assert rows[0][1] < math.inf
    assert [row[1:] for row in rows] == [(rows[0][1], False), (math.inf, True), (math.inf, True)]


def test_an_audit_bears_the_claims_out(released):
    findings = released.execute(
        "SELECT guarantee, value, holds FROM priv.audit('public')"
    ).fetchall()
    assert {name: holds for name, _, holds in findings} == {
        "verdict": True, "differential_privacy": True, "tight_delta": True, "k_anonymity": True, "scale": True,
        "sampled_as_stated": True, "sample_used_once": True, "accumulated_epsilon": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "guarantee"),
    [
        ("DELETE FROM public WHERE rowid > 3", "k_anonymity"),
        ("UPDATE public SET scale = 3", "scale"),
        ("INSERT INTO public SELECT p.* FROM public p, range(3)", "sampled_as_stated"),
        (
            "UPDATE priv.release SET parameters = json_merge_patch(parameters, '{\"delta\": 1e-12}')",
            "differential_privacy",
        ),
        ("UPDATE priv.guarantee SET value = 1e-12 WHERE guarantee = 'tight_delta'", "tight_delta"),
        (
            "INSERT INTO priv.ledger SELECT * REPLACE (9 AS number, 'x' AS release) FROM priv.ledger",
            "sample_used_once",
        ),
    ],
)
def test_an_audit_finds_what_does_not_hold(released, damage, guarantee):
    released.execute(damage)
    failed = released.execute(
        "SELECT guarantee FROM priv.audit('public') WHERE NOT holds"
    ).fetchall()
    assert failed == [("verdict",), (guarantee,)]


@pytest.mark.usefixtures("asked")
def test_any_name_and_any_value(con):
    con.execute(
        """CREATE TABLE "od'd" AS SELECT i % 2 AS "_value", '"' || i % 3 AS "we""ird", i % 2 = 0 AS "Level",
           DATE '2020-01-01' + (i % 60)::INTEGER AS code, ['a', 'b'][i % 2 + 1]::ENUM('b', 'a') AS shown
           FROM range(900) AS t(i)"""
    )
    con.execute(
        """CREATE TABLE rules AS
           SELECT '_VALUE' AS attribute, value::VARCHAR AS value, l AS level,
               [value::VARCHAR, '*'][l + 1] AS generalized
           FROM range(2) v(value), range(2) s(l) UNION ALL
           SELECT 'we"ird', '"' || value, l, ['"' || value, 'it''s *, or @so@'][l + 1]
           FROM range(3) v(value), range(2) s(l)
           UNION ALL SELECT 'level', value::VARCHAR, 0, value::VARCHAR FROM (VALUES (true), (false)) v(value)
           UNION ALL SELECT 'shown', value, 0, value FROM (VALUES ('a'), ('b')) v(value)
           UNION ALL FROM priv.date_hierarchy('code', DATE '2020-01-01', DATE '2020-12-31', parts := ['month'])"""
    )
    publish(
        con,
        source="od''d",
        hierarchies="'rules'",
        exclude=None,
        levels="""{'_value': 0, 'we"ird': 1, 'Level': 0, 'code': 1, 'shown': 0}""",
    )
    described = con.execute("DESCRIBE public").fetchall()
    assert [row[0] for row in described] == ["_value", 'we"ird', "Level", "code", "shown", "scale"]
    assert described[4][1] == "ENUM('b', 'a')"
    assert described[3][1].startswith("ENUM('2020-01', '2020-02', ")
    ((count,),) = con.execute(
        """SELECT priv.reconstructed_count('public.we"ird', "we""ird", 'it''s *, or @so@', weight := scale)
           FROM public"""
    ).fetchall()
    assert count > 500


def test_a_view_and_a_source_elsewhere(con):
    con.execute("ATTACH ':memory:' AS other")
    con.execute("CREATE TABLE other.visits AS FROM visits WHERE id < 1000")
    con.execute("CREATE TABLE other.rules AS FROM hierarchies")
    publish(con, source="other.visits", hierarchies="'other.rules'")
    con.execute("CREATE VIEW ages AS SELECT age, gender FROM visits")
    publish(con, "of_view", source="ages", exclude=None, levels="{'AGE': 2, 'gender': 1}")
    assert con.execute("SELECT source FROM priv.ledger ORDER BY number").fetchall() == [
        ("other.main.visits",),
        ("memory.main.ages",),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": None}, "k is missing"),
        ({"k": "0"}, "k must be an integer of at least 1, got 0"),
        ({"k": "2.5"}, "k must be an integer of at least 1, got 2.5"),
        ({"k": "'five'"}, "k must be an integer of at least 1, got 'five'"),
        (
            {"k": "1"},
            "the bare sample would be as private\nHint: for delta = 1e-06, k must be at least 46",
        ),
        ({"beta": None}, "beta is missing"),
        ({"beta": "0"}, "beta must lie strictly between 0 and 1, got 0"),
        ({"beta": "1"}, "beta must lie strictly between 0 and 1, got 1"),
        ({"epsilon": None}, "epsilon is missing"),
        ({"epsilon": "-1"}, "epsilon must be above 0"),
        (
            {"epsilon": "0.5"},
            "epsilon = 0.5 is below -ln(1 - beta), the least possible with beta = 0.5\n"
            "Hint: with this beta use epsilon >= 0.693154; with this epsilon use beta <= 0.393465",
        ),
        (
            {"epsilon1": "0.5", "levels": None},
            "epsilon - epsilon1 = 0.5 is below -ln(1 - beta), the least possible with beta = 0.5\n"
            "Hint: with this beta use epsilon >= 1.19316; with this epsilon use beta <= 0.393465",
        ),
        ({"epsilon1": "0.1"}, "give either levels, or an epsilon1"),
        ({"levels": None}, "give either levels, or an epsilon1"),
        (
            {"epsilon1": "1.0", "levels": None},
            "epsilon1 must lie strictly between 0 and epsilon = 1.0, got 1.0",
        ),
        (
            {"epsilon1": "-0.1", "levels": None},
            "epsilon1 must lie strictly between 0 and epsilon = 1.0, got -0.1",
        ),
        ({"levels": "[1, 2]"}, "levels must be a struct of whole numbers, got [1, 2]"),
        (
            {"levels": "{'age': 2, 'town': 1}"},
            "levels has no level of 'gender'\nHint: give it one from 0 (as it is) to 1",
        ),
        (
            {"levels": "{'age': 4, 'gender': 0, 'town': 1}"},
            "'age' has no level 4\nHint: give it one from 0",
        ),
        ({"levels": "{'age': -1, 'gender': 0, 'town': 1}"}, "'age' has no level -1"),
        ({"levels": "{'age': 1.5, 'gender': 0, 'town': 1}"}, "'age' has no level 1.5"),
        ({"levels": "{'age': true, 'gender': 0, 'town': 1}"}, "'age' has no level True"),
        (
            {"levels": "{'age': 2, 'gendre': 0, 'town': 1}"},
            "no column to be generalized is called 'gendre'\nHint: did you mean 'gender'?",
        ),
        (
            {"exclude": "['id']"},
            "column 'note' has no hierarchy, and nothing is published as it is\nHint: ",
        ),
        (
            {"exclude": "['id', 'note', 'age', 'gender', 'town']"},
            "no column is left to publish",
        ),
        ({"hierarchies": None}, "hierarchies is missing"),
        ({"hierarchies": "['a']"}, "hierarchies must be the name of a table, got ['a']"),
        (
            {"hierarchies": "'hierarchy'"},
            "no table or view is called 'hierarchy'\nHint: did you mean 'hierarchies'?",
        ),
        (
            {"hierarchies": "'no_rules'"},
            "the table of hierarchies 'no_rules' has no column 'attribute'",
        ),
        (
            {"k": "3000"},
            "every record was left out, so nothing was published\nHint: take coarser levels",
        ),
    ],
)
def test_bad_arguments_are_refused_and_leave_nothing(lasting, changes, message):
    with pytest.raises(duckdb.InvalidInputException) as refused:
        publish(lasting, **changes)
    assert message in str(refused.value)
    assert "Hint: " in str(refused.value)
    for table in ("release", "attribute", "coefficient", "guarantee", "ledger"):
        assert lasting.execute(f"SELECT count(*) FROM priv.{table}").fetchall() == [(0,)]
    assert lasting.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'"
    ).fetchall() == [
        ("hierarchies",),
        ("no_rules",),
        ("visits",),
    ]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM hierarchies WHERE attribute = 'town'", "column 'town' has no hierarchy"),
        (
            "DELETE FROM hierarchies WHERE value = 'Rostock'",
            "column 'town' has 1 value that its hierarchy lacks",
        ),
        (
            "DELETE FROM hierarchies WHERE value IS NULL",
            "column 'gender' has 1 value that its hierarchy lacks",
        ),
        (
            "DELETE FROM hierarchies WHERE value = '37' AND level = 2",
            "'age' has no level 2 for the value '37'",
        ),
        (
            "DELETE FROM hierarchies WHERE value = '37' AND level = 3",
            "'age' has no level 3 for the value '37'",
        ),
        (
            "DELETE FROM hierarchies WHERE value = '37' AND level = 0",
            "'age' has no level 0 for the value '37'",
        ),
        (
            "UPDATE hierarchies SET generalized = '90-99' WHERE value = '37' AND level = 2",
            "'age' separates at level 2 what level 1 has merged as '35-39'\nHint: each level must coarsen",
        ),
        (
            "UPDATE hierarchies SET generalized = 'x' WHERE value = '37' AND level = 0",
            "value '37' to 'x' at level 0",
        ),
        (
            "UPDATE hierarchies SET generalized = NULL WHERE value = '37' AND level = 3",
            "'37' a missing one at level 3",
        ),
        (
            "UPDATE hierarchies SET level = -1 WHERE value = '37' AND level = 0",
            "a level of the value '37' that is no",
        ),
        (
            "UPDATE hierarchies SET level = 1 WHERE value = '37' AND level = 2",
            "has the value '37' twice at level 1",
        ),
        (
            "INSERT INTO hierarchies VALUES ('TOWN', 'Ulm', 1, 'south')",
            "has the value 'Ulm' twice at level 1",
        ),
        ("DELETE FROM hierarchies", "'hierarchies' has no rows"),
        (
            "ALTER TABLE visits ADD COLUMN scale INTEGER",
            "column 'scale' has the same name as the column 'scale' that the release adds",
        ),
        (
            "ALTER TABLE visits ALTER town TYPE VARCHAR[] USING [town]",
            "column 'town' has type VARCHAR[]",
        ),
    ],
)
def test_bad_hierarchies_and_columns_are_refused(con, damage, message):
    con.execute(damage)
    with pytest.raises(duckdb.InvalidInputException) as refused:
        publish(con)
    assert message in str(refused.value)
    assert "Hint: " in str(refused.value)
    assert con.execute("SELECT count(*) FROM priv.ledger").fetchall() == [(0,)]


def test_levels_that_are_no_numbers_are_refused(con):
    con.execute(
        "CREATE TABLE texts AS SELECT attribute, value, 'level ' || level AS level, generalized FROM hierarchies"
    )
    with pytest.raises(duckdb.InvalidInputException, match="that is no whole number from 0 on"):
        publish(con, hierarchies="'texts'")
    con.execute(
        "CREATE TABLE halves AS SELECT attribute, value, level / 2 AS level, generalized FROM hierarchies"
    )
    with pytest.raises(duckdb.InvalidInputException, match="that is no whole number from 0 on"):
        publish(con, hierarchies="'halves'")


def test_a_lattice_of_one_node_leaves_nothing_to_choose(con):
    con.execute("DELETE FROM hierarchies WHERE level > 0")
    with pytest.raises(duckdb.InvalidInputException, match="epsilon1 has nothing to choose from"):
        publish(con, levels=None, epsilon1="0.1")


def test_a_third_of_a_million_records(con):
    con.execute("CREATE TABLE many AS SELECT v.* FROM visits v, range(75)")
    receipt = publish(con, source="many")
    groups = con.execute("SELECT count(*) FROM public GROUP BY age, gender, town").fetchall()
    assert receipt["rows_published"] == np.sum(groups)
    assert abs(receipt["rows_published"] - 150_000) < 6.2 * math.sqrt(75_000)
