"""Publishing with reconstruction privacy, and what is asked of such releases."""

import json

import duckdb
import numpy as np
import pytest
from reference.score_interval import (
    WeightedSums,
    reconstructed_interval,
    reconstructed_variance,
)

from duckdb_priv.engine import workspace
from duckdb_priv.mechanism.uniform import Uniform
from duckdb_priv.methods.reconstruction_private import samples

PEOPLE = """
CREATE TABLE people AS SELECT id, (18 + hash(id) % 7)::UTINYINT AS age,
    CASE hash(id, 1) % 3 WHEN 0 THEN 'f' WHEN 1 THEN 'm' END AS gender,
    CASE WHEN id % 17 = 0 THEN NULL ELSE 'occupation ' || (hash(id, 3) % 5) END AS occupation
FROM range(8000) AS t(id)
UNION ALL SELECT 10000 + id, 99, 'f', 'occupation 1' FROM range(5) AS t(id)
"""
SAMPLE = 62
"""The sample size for retention 0.5, 6 values, epsilon 0.3 and delta 0.3."""


def publish(con, release="r", **given):
    arguments = {
        "source": "'people'",
        "sensitive": "'occupation'",
        "retention": 0.5,
        "epsilon": 0.3,
        "delta": 0.3,
        "record_id": "'id'",
        "replace": "true",
        "republish": "true",
    } | given
    source = arguments.pop("source")
    written = ", ".join(f"{name} := {value}" for name, value in arguments.items() if value != "")
    row = con.execute(
        f"FROM priv.publish_reconstruction_private({source}, '{release}', {written})"
    ).fetchall()[0]
    names = ("release", "mechanism", "rows_source", "rows_published", "rows_suppressed")
    return dict(
        zip((*names, "seconds", "guarantee", "warnings", "notes", "ledger"), row, strict=True)
    )


@pytest.fixture(scope="module")
def con(prepared):
    connection = prepared()
    connection.execute(PEOPLE)
    connection.execute("CREATE TABLE lone AS SELECT id, occupation FROM people")
    connection.execute("CREATE TABLE alone AS SELECT * REPLACE (id AS age) FROM people")
    publish(connection)
    yield connection
    connection.close()


def test_groups_keep_size_and_frequencies(con):
    receipt = publish(con, "kept")
    groups = con.execute(
        "SELECT n, published, total, scale FROM"
        " (SELECT age, gender, count(*) AS n FROM people GROUP BY ALL) AS a JOIN"
        " (SELECT age, gender, count(*) AS published, sum(scale) AS total, any_value(scale) AS scale"
        "  FROM kept GROUP BY ALL) AS b"
        " ON a.age = b.age AND a.gender IS NOT DISTINCT FROM b.gender"
    ).fetchall()
    assert len(groups) == 22
    for n, published, total, scale in groups:
        assert published == min(n, SAMPLE)
        assert scale == pytest.approx(max(n / SAMPLE, 1), abs=1e-12)
        assert total == pytest.approx(n, rel=1e-12)
    assert receipt["rows_published"] == sum(min(n, SAMPLE) for n, *_ in groups)
    assert receipt["rows_suppressed"] == 8005 - receipt["rows_published"]


def test_the_sample_of_each_value_is_next_to_its_share(con):
    """A retention of all but a billionth publishes the sampled values as they are."""
    publish(con, "bare", retention=0.999999999, epsilon=0.1, delta=0.3)
    cells = con.execute(
        "SELECT n * 1.0 * s / total, s, coalesce(shown, 0)"
        " FROM (SELECT *, sum(n) OVER (PARTITION BY age, gender) AS total"
        " FROM (SELECT age, gender, occupation, count(*) AS n FROM people GROUP BY ALL)) AS a"
        " JOIN (SELECT age, gender, count(*) AS s FROM bare GROUP BY ALL) AS c"
        " ON a.age = c.age AND a.gender IS NOT DISTINCT FROM c.gender"
        " LEFT JOIN (SELECT age, gender, noisy_occupation::VARCHAR AS occupation, count(*) AS shown"
        "  FROM bare GROUP BY ALL) AS b"
        " ON a.age = b.age AND a.gender IS NOT DISTINCT FROM b.gender"
        " AND a.occupation IS NOT DISTINCT FROM b.occupation"
    ).fetchall()
    assert len(cells) > 100
    assert any(expected % 1 for expected, *_ in cells)
    for expected, _, shown in cells:
        assert abs(shown - expected) < 1


def test_keyed_releases_repeat_and_fresh_ones_do_not(con):
    def rows(release):
        return con.execute(f"SELECT * FROM {release}").fetchall()

    publish(con, "one")
    publish(con, "two", source="(SELECT 'people')")
    assert rows("one") == rows("two")
    publish(con, "three", delta=0.31)
    assert rows("one") != rows("three")
    publish(con, "four", record_id="", exclude="['id']")
    publish(con, "five", record_id="", exclude="['id']")
    assert rows("four") != rows("five")
    assert len(rows("four")) == len(rows("one"))


def test_large_sources_are_counted_first_and_give_the_same_rows(con, monkeypatch):
    publish(con, "remembered")
    monkeypatch.setattr(samples, "REMEMBERED", 0)
    publish(con, "counted")
    # No room for all records, but for the first ones of each value.
    room = iter([False])
    monkeypatch.setattr(workspace.Workspace, "fits_in_memory", lambda *_: next(room, True))
    publish(con, "in_pieces")
    # Nor for these: their order is drawn in the query.
    monkeypatch.setattr(workspace.Workspace, "fits_in_memory", lambda *_: False)
    publish(con, "streamed")
    rows = {
        name: con.execute(f"FROM {name}").fetchall()
        for name in ("remembered", "counted", "in_pieces", "streamed")
    }
    assert rows["remembered"] == rows["counted"] == rows["in_pieces"] == rows["streamed"]
    assert next(room, None) is None
    for name in rows:
        con.execute(f"FROM priv.drop_release('{name}')")


def test_the_interval_is_that_of_the_kernel(con):
    operator = Uniform(0.5, 6)
    for condition in ("true", "age < 20", "age = 99", "gender IS NULL", "false"):
        sums = con.execute(
            "SELECT coalesce(sum(scale), 0), coalesce(sum(scale ** 2), 0),"
            " coalesce(sum(scale) FILTER (noisy_occupation = 'occupation 1'), 0),"
            " coalesce(sum(scale ** 2) FILTER (noisy_occupation = 'occupation 1'), 0),"
            " coalesce(sum(scale ** 2) FILTER (scale > 1), 0), coalesce(max(scale), 1)"
            f" FROM r WHERE {condition}"
        ).fetchall()[0]
        sums = WeightedSums(*sums)
        low, high = reconstructed_interval(sums, operator, SAMPLE, 0.9)
        ours = con.execute(
            "SELECT priv.reconstructed_interval('r', noisy_occupation, 'occupation 1', weight := scale,"
            " confidence := 0.9),"
            " priv.reconstructed_count('r', noisy_occupation, 'occupation 1', weight := scale),"
            " priv.reconstructed_stderr('r', noisy_occupation, 'occupation 1', weight := scale),"
            " priv.reconstructed_mle('r', noisy_occupation, 'occupation 1', weight := scale),"
            " coalesce(sum(scale), 0)"
            f" FROM r WHERE {condition}"
        ).fetchall()[0]
        interval, estimate, stderr, mle, total = ours
        assert interval["low"] == pytest.approx(float(low), abs=1e-6)
        assert interval["high"] == pytest.approx(float(high), abs=1e-6)
        assert interval["estimate"] == estimate
        assert interval["stderr"] == stderr
        assert stderr**2 == pytest.approx(float(reconstructed_variance(sums, operator, SAMPLE)))
        assert -1e-9 <= mle <= total * (1 + 1e-9)
        distribution = con.execute(
            "SELECT estimate, stderr, low, high FROM priv.reconstructed_distribution('r', weight := 'scale',"
            f" condition := '{condition}', confidence := 0.9) WHERE value = 'occupation 1'"
        ).fetchall()[0]
        assert distribution == pytest.approx(tuple(interval.values()), abs=1e-6)


def test_estimates_add_up_and_weights_per_row_agree(con):
    values = con.execute(
        "SELECT sum(estimate) FROM priv.reconstructed_distribution('r', weight := 'scale')"
    ).fetchall()[0][0]
    assert values == pytest.approx(8005)
    count, weights = con.execute(
        "SELECT priv.reconstructed_count('r', noisy_occupation, NULL, weight := scale),"
        " sum(scale * priv.weight('r', noisy_occupation, NULL)) FROM r"
    ).fetchall()[0]
    assert count == pytest.approx(weights)
    total = con.execute(
        "SELECT sum(estimate) FROM priv.reconstructed_distribution('r', weight := 'scale', method := 'bayesian')"
    ).fetchall()[0][0]
    assert total == pytest.approx(8005)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT priv.reconstructed_count('r', noisy_occupation, 'occupation 1') FROM r",
        "SELECT priv.reconstructed_interval('r', noisy_occupation, 'occupation 1') FROM r",
        "SELECT priv.reconstructed_stderr('r', noisy_occupation, 'occupation 1') FROM r",
        "SELECT priv.reconstructed_mle('r', noisy_occupation, 'occupation 1') FROM r",
        "FROM priv.reconstructed_distribution('r')",
        "FROM priv.reconstructed_distribution('r', weight := '1')",
        "FROM priv.reconstructed_distribution('r', weight := '2 * scale')",
        "FROM priv.reconstructed_distribution('r', weight := '1 -- scale')",
    ],
)
def test_asking_without_the_weight_says_how_to_ask(con, query):
    with pytest.raises(duckdb.Error, match="write weight := scale"):
        con.execute(query).fetchall()


@pytest.mark.parametrize(
    "weight",
    [
        "1",
        "1.5e0",
        "'1'",
        "published",
        "-scale",
        "2 * scale",
        "scale / 0",
        "least(scale, 1)",
        "scale::INTEGER",
    ],
)
def test_a_weight_that_is_not_the_scale_is_refused(con, weight):
    rows = "(SELECT *, 'x' AS occupation, 2e0 AS published FROM r)"
    for call in ("count({})", "interval({})", "share({})"):
        arguments = f"'r', noisy_occupation, 'occupation 1', weight := {weight}"
        with pytest.raises(duckdb.InvalidInputException, match="write weight := scale"):
            con.execute(f"SELECT priv.reconstructed_{call.format(arguments)} FROM {rows}")


def test_the_scale_may_come_by_way_of_a_view_or_a_join(con):
    asked = "SELECT priv.reconstructed_count('r', noisy_occupation, 'occupation 1', weight := {}) FROM {}"
    right = con.execute(asked.format("scale", "r")).fetchall()
    for weight, rows in (
        ("SCALE", "(SELECT * FROM r ORDER BY ALL)"),
        ("r.scale", "r JOIN (SELECT DISTINCT age FROM r) USING (age)"),
    ):
        assert con.execute(asked.format(weight, rows)).fetchall()[0] == pytest.approx(right[0])


def test_releases_of_several_mechanisms_live_side_by_side(con):
    con.execute(
        "FROM priv.publish_uniform('people', 'u', sensitive := 'occupation', retention := 0.5, record_id := 'id')"
    ).fetchall()
    query = (
        "SELECT priv.reconstructed_count('r', noisy_occupation, 'occupation 1', weight := scale),"
        " (SELECT priv.reconstructed_count('u', noisy_occupation, 'occupation 1') FROM u) FROM r"
    )
    scaled, unscaled = con.execute(query).fetchall()[0]
    assert scaled != unscaled
    with pytest.raises(duckdb.Error, match="leave out weight"):
        con.execute(
            "SELECT priv.reconstructed_count('u', noisy_occupation, NULL, weight := age) FROM u"
        ).fetchall()
    con.execute("FROM priv.drop_release('u')").fetchall()
    alone = con.execute(
        "SELECT priv.reconstructed_count('r', noisy_occupation, 'occupation 1', weight := scale) FROM r"
    ).fetchall()
    assert alone == [(scaled,)]


def test_only_exact_tails_promise_a_delta(con):
    stated = publish(con, "said")["guarantee"]
    assert "at most 62 records" in stated
    assert "proves no delta" in stated
    assert "0.007" in stated  # the exact tail, not 0.3
    exact = publish(con, "said", delta=0.1, bound="'exact'")["guarantee"]
    assert "too high by more than 0.3 of it with probability 0.1 at least" in exact
    assert "proves no delta" not in exact


def test_the_audit_recomputes_every_claim(con):
    publish(con, "audited", delta=0.1, bound="'exact'")
    found = {
        name: (value, holds, json.loads(parameters))
        for name, value, holds, parameters in con.execute(
            "SELECT guarantee, value, holds, parameters FROM priv.audit('audited')"
        ).fetchall()
    }
    assert all(holds is not False for _, holds, _ in found.values())
    for name in ("sample_size", "groups_represented", "largest_sample", "exact_tails"):
        assert found[name][1] is True
    assert found["violating_groups_before"][0] == pytest.approx(100 * 21 / 22)
    assert found["violating_groups_after"][0] == 0
    assert found["exact_tails"][0] >= 0.1
    assert found["noise_as_stated"][1] is True


def test_the_audit_finds_what_was_tampered_with(con):
    publish(con, "tampered")
    con.execute("UPDATE tampered SET noisy_occupation = 'occupation 1'")
    con.execute("INSERT INTO tampered FROM tampered LIMIT 1")
    holds = dict(con.execute("SELECT guarantee, holds FROM priv.audit('tampered')").fetchall())
    assert holds["noise_as_stated"] is False
    assert holds["groups_represented"] is False


def test_the_audit_compares_nothing_with_a_source_that_has_other_records(con):
    con.execute(
        "CREATE TABLE stays AS SELECT i AS id, i % 3 AS ward, 'd' || i * i % 23 % 4 AS disease"
        " FROM range(3000) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_reconstruction_private('stays', 'waits', sensitive := 'disease', record_id := 'id',"
        " retention := 0.5, epsilon := 0.3, delta := 0.3)"
    )
    con.execute("INSERT INTO stays SELECT i, 1, 'd1' FROM range(3000, 3010) AS t(i)")
    con.execute("FROM priv.refresh('waits')")
    assert con.execute(
        "SELECT state FROM priv.publications() WHERE release = 'waits'"
    ).fetchall() == [("waiting",)]
    holds = dict(con.execute("SELECT guarantee, holds FROM priv.audit('waits')").fetchall())
    assert holds["verdict"] is True
    assert "source" in holds
    assert "groups_represented" not in holds
    con.execute("DELETE FROM stays WHERE id >= 3000")
    holds = dict(con.execute("SELECT guarantee, holds FROM priv.audit('waits')").fetchall())
    assert holds["groups_represented"] is True


def test_the_audit_finds_homogeneous_unions(con):
    """Four records say little of what they have in common; the five thousand around them say all."""
    con.execute(
        "CREATE TABLE equal_rows AS SELECT i AS id, i // 4 AS ward, i % 2 AS gender,"
        " CASE WHEN i < 5000 THEN 'x' ELSE 'y' || i % 5 END AS disease FROM range(6000) AS t(i)"
    )
    con.execute("CREATE TABLE wards AS SELECT id, ward, disease FROM equal_rows WHERE id < 5500")

    def share(source):
        publish(con, "unions", source=source, sensitive="'disease'", delta=0.05, bound="'exact'")
        return con.execute(
            "SELECT value FROM priv.audit('unions') WHERE guarantee = 'homogeneous_neighbourhoods'"
        ).fetchall()[0][0]

    assert share("'equal_rows'") == 0
    assert share("'wards'") == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"epsilon": 1.5}, r"epsilon = 1.5 lies outside \(0, 1.16667\].*frequency 1"),
        ({"epsilon": 0}, "epsilon = 0.0 lies outside"),
        ({"delta": 0}, "delta must lie strictly between 0 and 1"),
        ({"delta": 1}, "delta must lie strictly between 0 and 1"),
        ({"retention": 1}, "retention must lie strictly between 0 and 1"),
        ({"retention": ""}, "retention is missing"),
        ({"epsilon": ""}, "epsilon is missing"),
        ({"max_frequency": 0}, r"max_frequency must lie in \(0, 1\]"),
        ({"bound": "'tight'"}, "bound must be 'simplified', 'chernoff' or 'exact', got 'tight'"),
        ({"sampling": "'all'"}, "sampling must be 'public' or 'paper', got 'all'"),
        ({"delta": 0.9, "epsilon": 1.1, "retention": 0.5}, "may publish even one record.*Hint.*delta can be at most"),
        ({"delta": 0.3, "bound": "'exact'"}, "may publish even one record.*Hint.*delta can be at most"),
        ({"sensitive": "['occupation', 'gender']"}, "one sensitive column"),
        ({"sensitive": "'work'"}, "no column 'work'"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_and_leaves_nothing(con, given, says):
    before = con.execute("SELECT count(*) FROM duckdb_tables()").fetchall()
    with pytest.raises(duckdb.Error, match=f"(?s){says}"):
        publish(con, "refused", **given)
    assert con.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == before


def test_a_column_with_one_value_and_a_column_called_scale_are_refused(con):
    con.execute("CREATE TABLE constant AS SELECT id, age, 'x' AS occupation FROM people")
    with pytest.raises(duckdb.Error, match="needs at least 2"):
        publish(con, "refused", source="'constant'")
    con.execute('CREATE TABLE scaled AS SELECT id, age AS "Scale", occupation FROM people')
    with pytest.raises(duckdb.Error, match="'Scale' has the name"):
        publish(con, "refused", source="'scaled'")


def test_warnings_say_where_groups_are_not_what_they_should_be(con):
    warning = publish(con, "warned", source="'lone'", population="'lone'")["warnings"][0]
    assert (
        "no public attributes, so all 8005 records are one micro group, of which at most 62"
        in warning
    )
    assert con.execute("SELECT count(*), sum(scale) FROM warned").fetchall() == [
        (62, pytest.approx(8005))
    ]
    people = {"population": "'lone'", "republish": True}
    warnings = publish(con, "warned", source="'alone'", public="['age']", **people)["warnings"]
    assert any("nothing was sampled" in each for each in warnings)
    warnings = publish(con, "warned", max_frequency=0.3, **people)["warnings"]
    assert any("1 micro groups with 5 records" in each for each in warnings)
    stated = con.execute("SELECT statement FROM priv.guarantee WHERE release = 'warned'").fetchall()
    assert "in which no occupation is more frequent than 0.3" in stated[0][0]


def test_text_and_compound_ids_key_the_noise(con):
    con.execute("CREATE TABLE named AS SELECT * REPLACE ('person ' || id AS id) FROM people")
    con.execute("CREATE TABLE compound AS SELECT *, id // 100 AS ward FROM people")
    for source, record_id in (("named", "'id'"), ("compound", "['id', 'ward']")):
        one, two = f"one_{source}", f"two_{source}"
        for release in (one, two):
            given = {"source": f"'{source}'", "population": f"'{source}'"}
            publish(con, release, record_id=record_id, **given)
        assert con.execute(f"FROM {one}").fetchall() == con.execute(f"FROM {two}").fetchall()
        assert con.execute(f"SELECT sum(scale) FROM {one}").fetchall()[0][0] == pytest.approx(8005)


def test_enums_numbers_and_given_domains(con):
    con.execute("CREATE TYPE work AS ENUM ('a', 'b', 'c')")
    con.execute(
        "CREATE TABLE typed AS SELECT id, age, (['a', 'b', 'c'][1 + id % 3])::work AS job, (id % 4)::TINYINT AS level"
        " FROM people"
    )
    publish(con, "typed_job", source="'typed'", sensitive="'job'", exclude="['level']")
    publish(
        con,
        "typed_level",
        source="'typed'",
        sensitive="'level'",
        exclude="['job']",
        domain="[0, 1, 2, 3, 9]",
    )
    values = np.array(
        con.execute(
            "SELECT value, estimate FROM priv.reconstructed_distribution('typed_level', weight := 'scale')"
        ).fetchall()
    )
    assert values[:, 0].tolist() == [0, 1, 2, 3, 9]
    assert values[:, 1].sum() == pytest.approx(8005)
    assert (
        con.execute("SELECT typeof(noisy_job) FROM typed_job LIMIT 1")
        .fetchall()[0][0]
        .startswith("ENUM")
    )


def test_errors_are_those_of_the_records_and_not_of_their_copies(prepared):
    """A hundred groups of 800 records, published about thrice each; known noise."""
    with prepared() as con:
        con.execute(
            "CREATE TABLE source AS SELECT i AS id, i % 100 AS part,"
            " ['a', 'a', 'a', 'b', 'b', 'c', 'd', 'e'][1 + i // 100 % 8] AS s"
            " FROM range(80000) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_reconstruction_private('source', 'copies', sensitive := 's', retention := 0.5,"
            " epsilon := 0.3, delta := 0.3, sampling := 'paper', record_id := 'id', public := ['part'])"
        ).fetchall()
        found = con.execute(
            "SELECT (estimate - CASE value WHEN 'a' THEN 300 WHEN 'b' THEN 200 ELSE 100 END) / stderr FROM"
            " priv.reconstructed_distribution('copies', weight := 'scale', group_columns := 'part')"
        ).fetchnumpy()
    (deviations,) = found.values()
    assert len(deviations) == 500
    assert 0.8 < deviations.std() < 1.2


@pytest.mark.every
def test_a_release_as_in_the_paper_duplicates_and_says_what_it_gives_away(con):
    receipt = publish(con, "copied", sampling="'paper'")
    assert "This is not a guarantee" in receipt["guarantee"]
    assert abs(receipt["rows_published"] - 8005) < 300
    copies = con.execute(
        "SELECT min(n), max(n) FROM (SELECT count(*) AS n FROM copied WHERE age < 99 GROUP BY ALL)"
    ).fetchall()
    assert copies[0][0] >= 1
    # How often each of so many records appears on average: at most as often as if the sample had its public size.
    for scale, rows in con.execute(
        "SELECT any_value(scale), count(*) FROM copied GROUP BY age, gender"
    ).fetchall():
        assert rows / scale == pytest.approx(round(rows / scale), abs=1e-6)
        assert 1 <= scale <= max(rows / (SAMPLE - 10), 1)
    for query in (
        "SELECT sum(scale * priv.weight('copied', noisy_occupation, 'occupation 1')) FROM copied",
        "SELECT sum(priv.weight('copied', noisy_occupation, 'occupation 1')) FROM copied",
    ):
        with pytest.raises(duckdb.Error, match="records of this release appear in copies"):
            con.execute(query).fetchall()
    publish(con, "again", sampling="'paper'")
    assert con.execute("FROM copied").fetchall() == con.execute("FROM again").fetchall()
    for query in (
        "SELECT priv.reconstructed_count('copied', noisy_occupation, NULL) FROM copied",
        "FROM priv.reconstructed_distribution('copied')",
    ):
        with pytest.raises(duckdb.Error, match="write weight := scale"):
            con.execute(query).fetchall()
    one, of_all = (
        con.execute(sql).fetchall()[0]
        for sql in (
            "SELECT unnest(priv.reconstructed_interval('copied', noisy_occupation, 'occupation 1', weight := scale))"
            " FROM copied",
            "SELECT estimate, stderr, low, high FROM priv.reconstructed_distribution('copied', weight := 'scale')"
            " WHERE value = 'occupation 1'",
        )
    )
    assert one == pytest.approx(of_all)
    epsilon = con.execute(
        "SELECT bool_and(epsilon IS NULL) FROM priv.ledger() WHERE release = 'copied'"
    ).fetchall()
    assert epsilon == [(True,)]
    found = dict(con.execute("SELECT guarantee, value FROM priv.audit('copied')").fetchall())
    assert found["violating_groups_before"] > 0
    assert (
        found["largest_frequencies_given_away"] == 0
    )  # the groups are too small to be copied thrice


def test_a_retention_follows_from_the_epsilon_of_local_differential_privacy(con):
    publish(con, "by_epsilon", retention="", ldp_epsilon=1.0)
    found = dict(
        con.execute(
            "SELECT guarantee, value FROM priv.guarantee WHERE release = 'by_epsilon'"
        ).fetchall()
    )
    assert found["local_differential_privacy"] == pytest.approx(1.0)
    with pytest.raises(duckdb.Error, match="retention is missing"):
        publish(con, retention="")
    with pytest.raises(duckdb.Error, match="not both"):
        publish(con, ldp_epsilon=1.0)
