"""Publishing: what is written, from where, under which name, and what is said about it."""

from __future__ import annotations

import json

import duckdb
import pytest
from answers import rows

import duckdb_priv

HOSTILE = [
    """we"ird it's {condition} @estimate@ %s$1? \\ a\nb""",
    "Ünïcödé 🤧 İstanbul ΑΣ",
    "_bits0",
    "_public0",
]


def test_the_receipt_says_what_was_done(visits, published):
    receipt = published(
        visits, "visits", "public", sensitive="disease", retention=0.3, record_id="id"
    )
    assert receipt.pop("seconds") >= 0
    assert receipt == {
        "release": "public",
        "mechanism": "uniform",
        "rows_source": 4000,
        "rows_published": 4000,
        "rows_suppressed": 0,
        "guarantee": "From one noisy value alone: whatever was known before, the odds between two true values of"
        " disease change by a factor of at most 3.143 (epsilon = 1.145). The noisy values are in the column"
        " noisy_disease.",
        "ledger": "Population 'main' had spent nothing; this adds 1.145, which makes 1.145. disease: first publication"
        " of it: adds 1.145.",
        "warnings": [],
        "notes": [],
    }


def test_a_receipt_lists_blockers_that_were_named_then_warnings_then_notes(con, published):
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, 'card ' || i AS card, if(i = 0, 99, i % 7) AS age,"
        " 'd' || (hash(i) % 3) AS disease FROM range(3000) AS r(i)"
    )
    receipt = published(con, "t", "r", sensitive="disease", epsilon=6.0, public=["card", "age"])
    first, promise, *others = receipt["warnings"]
    assert first.startswith("named in public := […]: ")
    assert "'card'" in first
    assert "promises next to nothing" in promise
    assert "no record id is named" in others[-1]
    (note,) = published(
        con, "t", "s", sensitive="disease", epsilon=1.0, record_id="id", public=["age"]
    )["notes"]
    listed = con.execute(
        "SELECT what FROM priv.check_source('t', sensitive := 'disease', record_id := 'id', public := ['age'])"
        " WHERE severity = 'note'"
    ).fetchall()
    assert (note,) in listed


def test_the_catalog_says_how_to_read_it(visits, published):
    published(visits, "visits", "public", sensitive="disease", rho1=0.1, rho2=0.5, record_id="id")
    (release,) = visits.sql("FROM priv.release").to_arrow_table().to_pylist()
    assert json.loads(release["parameters"]) == pytest.approx(
        {"retention": 8 / 13, "rho1": 0.1, "rho2": 0.5}
    )
    assert json.loads(release["domain_provenance"]) == {"disease": "source"}
    assert (release["release"], release["mechanism"]) == ("public", "uniform")
    assert (release["rows_published"], release["library_version"]) == (
        4000,
        duckdb_priv.__version__,
    )
    attributes = "SELECT attribute, role, type, domain_size FROM priv.attribute ORDER BY ALL"
    assert rows(visits, attributes) == [
        ("age", "public", "INTEGER", None),
        ("disease", "sensitive", "ENUM", 5),
        ("gender", "public", "VARCHAR", None),
    ]
    numbers = "SELECT position, value, own, other FROM priv.coefficient ORDER BY position"
    values = ["asthma", "cold", "cough", "flu", None]
    q = (1 - 8 / 13) / 5
    for row, (number, value) in zip(rows(visits, numbers), enumerate(values), strict=True):
        assert row == (number, value, pytest.approx(8 / 13 + q), pytest.approx(q))
    guarantees = "SELECT guarantee, attribute, value FROM priv.guarantee ORDER BY guarantee"
    assert rows(visits, guarantees) == [
        ("local_differential_privacy", "disease", pytest.approx(2.1972245773)),
        ("rho1_rho2_privacy", "disease", pytest.approx(9)),
        ("shuffle_privacy", "disease", pytest.approx(2.1972245773, rel=0.1)),
    ]


def test_what_records_with_equal_public_columns_hide_is_stated_and_audited(visits, published):
    """The smallest groups say the worst; half of the records, and nearly all, are in larger ones."""
    visits.execute("CREATE TABLE few AS SELECT id, gender, age > 80 AS old, disease FROM visits")
    published(visits, "few", "public", sensitive="disease", retention=0.3, record_id="id")
    claim = "FROM priv.guarantee WHERE guarantee = 'shuffle_privacy'"
    ((worst, parameters),) = rows(visits, f"SELECT value, parameters {claim}")
    stated = json.loads(parameters)
    groups = rows(visits, "SELECT count(*) FROM few GROUP BY gender, old ORDER BY ALL")
    assert stated["group_sizes"]["1.0"] == groups[0][0]
    assert stated["group_sizes"]["0.5"] == groups[-2][0]
    for share, size in stated["group_sizes"].items():
        ((exact,),) = rows(visits, f"SELECT priv.shuffled_epsilon(0.3, 5, {size}, 1e-6)")
        assert exact <= stated["epsilons"][share] <= 1.05 * exact
    assert worst == stated["epsilons"]["1.0"]
    audit = "SELECT holds FROM priv.audit('public') WHERE guarantee = 'shuffle_privacy'"
    assert rows(visits, audit) == [(True,)]
    visits.execute("CREATE OR REPLACE TABLE public AS SELECT *, rowid % 50 AS number FROM public")
    assert rows(visits, audit) == [(False,)]


def test_columns_keep_their_order_and_excluded_ones_are_dropped(visits, published):
    visits.execute("ALTER TABLE visits ADD COLUMN last DATE DEFAULT DATE '2026-01-01'")
    published(visits, "visits", "a", sensitive="gender", retention=0.3, record_id="id")
    published(
        visits,
        "visits",
        "b",
        sensitive="AGE",
        retention=0.3,
        exclude=["ID", "Disease"],
        population="others",
    )
    names = "SELECT column_name FROM (DESCRIBE {})"
    assert rows(visits, names.format("a")) == [
        ("age",),
        ("noisy_gender",),
        ("disease",),
        ("last",),
    ]
    assert rows(visits, names.format("b")) == [("noisy_age",), ("gender",), ("last",)]


def test_a_release_may_have_no_public_column(visits, published):
    published(
        visits, "visits", "r", sensitive="disease", retention=0.3, exclude=["id", "age", "gender"]
    )
    assert rows(visits, "SELECT column_name FROM (DESCRIBE r)") == [("noisy_disease",)]
    assert rows(visits, "SELECT sum(estimate) FROM priv.reconstructed_distribution('r')") == [
        (pytest.approx(4000),)
    ]


def test_several_attributes_each_have_a_domain_and_a_guarantee(visits, published):
    receipt = published(
        visits, "visits", "r", sensitive=["disease", "gender"], rho1=0.1, rho2=0.5, record_id="id"
    )
    assert (
        "All that is published of one person, 2 noisy values in one record" in receipt["guarantee"]
    )
    assert json.loads(rows(visits, "SELECT parameters FROM priv.release")[0][0])["retention"] == {
        "disease": pytest.approx(8 / 13),
        "gender": pytest.approx(0.8),
    }
    together = rows(visits, "SELECT value FROM priv.guarantee WHERE attribute IS NULL")
    assert together == [(pytest.approx(2 * 2.1972245773),)]
    estimates = rows(
        visits,
        "SELECT round(priv.reconstructed_count('r.disease', noisy_disease, 'flu')),"
        " round(priv.reconstructed_count('r.gender', noisy_gender, 'female')),"
        " round(sum(priv.weight('r.disease', noisy_disease, 'flu') *"
        " priv.weight('r.gender', noisy_gender, 'female'))) FROM r",
    )[0]
    truth = rows(
        visits,
        "SELECT count(*) FILTER (disease = 'flu'), count(*) FILTER (gender = 'female'),"
        " count(*) FILTER (disease = 'flu' AND gender = 'female') FROM visits",
    )[0]
    assert all(abs(a - b) < 400 for a, b in zip(estimates, truth, strict=True))


def test_domains_may_be_given_for_some_of_several_attributes(con, published):
    con.execute("CREATE TABLE t AS SELECT i AS id, i % 2 AS a, i % 3 AS B FROM range(90) AS t(i)")
    con.execute(
        "FROM priv.publish_uniform('t', 'r', sensitive := ['a', 'B'], retention := 0.5,"
        " domain := {'b': [0, 1, 2, 3, NULL]}, record_id := 'id')"
    )
    assert rows(con, "SELECT domain_provenance FROM priv.release") == [
        ('{"B": "given", "a": "source"}',)
    ]
    sizes = "SELECT attribute, domain_size FROM priv.attribute ORDER BY attribute"
    assert rows(con, sizes) == [("B", 5), ("a", 2)]


def test_a_sensitive_text_becomes_an_enumeration_of_its_domain(con, published):
    con.execute("CREATE TABLE t AS SELECT (['b', 'a'])[1 + i % 2] AS s FROM range(20) AS t(i)")
    published(con, "t", "r", sensitive="s", retention=0.5, domain=["c", "b", None, "a"])
    assert rows(con, "SELECT typeof(noisy_s) FROM r LIMIT 1") == [("ENUM('a', 'b', 'c')",)]


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_of_table_column_and_value(con, published, name):
    """The same name for source, columns, a value and the release, wherever SQL lets them have it."""
    quoted, text = '"' + name.replace('"', '""') + '"', "'" + name.replace("'", "''") + "'"
    con.execute(
        f"CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.{quoted} (id BIGINT, {quoted} BIGINT, s TEXT)"
    )
    con.execute(
        f"INSERT INTO elsewhere.{quoted} SELECT i, i % 2, ([{text}, 'other', NULL])[1 + i % 3] FROM range(600) AS t(i)"
    )
    published(con, f"elsewhere.{quoted}", name, sensitive="s", retention=0.9, record_id="id")
    counts = rows(
        con,
        f"SELECT {quoted}, priv.reconstructed_count({text}, noisy_s, {text}),"
        f" priv.reconstructed_mle({text}, noisy_s, {text}),"
        f" priv.reconstructed_interval({text}, noisy_s, {text}).high FROM {quoted} GROUP BY 1 ORDER BY 1",
    )
    assert [group for group, *_ in counts] == [0, 1]
    assert all(abs(estimate - 100) < 30 for _, estimate, *_ in counts)
    listed = con.execute(
        "FROM priv.reconstructed_distribution(?, group_columns := ?, condition := ?)",
        [name, quoted, f"{quoted} >= 0"],
    ).fetchall()
    assert {row[1] for row in listed} == {name, "other", None}
    assert [row[2] for row in listed if row[1] == name] == [row[1] for row in counts]
    audit = con.execute("SELECT count(*) FROM priv.audit(?) WHERE NOT holds", [name]).fetchall()
    assert audit == [(0,)]
    # And as the name of the sensitive column itself.
    con.execute(f"CREATE VIEW renamed AS SELECT id, s AS {quoted} FROM elsewhere.{quoted}")
    published(
        con,
        "renamed",
        f"again {name}",
        sensitive=name,
        retention=0.9,
        record_id="id",
        republish=True,
    )
    doubled = name.replace('"', '""')
    again = con.execute(
        f'SELECT priv.reconstructed_count(?, "noisy_{doubled}", ?) FROM "again {doubled}"',
        [f"again {name}.{name}", name],
    ).fetchall()
    assert abs(again[0][0] - 200) < 40
    con.execute("FROM priv.drop_release(?)", [name])


def test_columns_named_like_the_bits_are_not_taken_for_them(con, published):
    """A column called _bits0 that holds small numbers must not keep every record at its true value."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, i % 3 AS s, 0::UBIGINT AS _bits0, 0::UINTEGER AS _code0,"
        " 0::UINTEGER AS _shown0, 7::BIGINT AS _number, 'x' AS _text, 0 AS position, 1 AS value, 2 AS published"
        " FROM range(3000) AS t(i)"
    )
    con.execute("CREATE VIEW plain AS SELECT id, s FROM t")
    published(con, "t", "r", sensitive="s", retention=0.3, record_id="id")
    published(con, "plain", "p", sensitive="s", retention=0.3, record_id="id")
    assert rows(con, "SELECT noisy_s FROM r ORDER BY ALL") == rows(
        con, "SELECT noisy_s FROM p ORDER BY ALL"
    )
    shown = rows(
        con,
        "SELECT DISTINCT _bits0, _code0, _shown0, _number, _text, position, value, published FROM r",
    )
    assert shown == [(0, 0, 0, 7, "x", 0, 1, 2)]


SOURCES = [
    ("visits", "memory.main.visits"),
    ("VISITS", "memory.main.visits"),
    (" visits ", "memory.main.visits"),
    ('"visits"', "memory.main.visits"),
    ("main.visits", "memory.main.visits"),
    ("memory.visits", "memory.main.visits"),
    ("memory.main.visits", "memory.main.visits"),
    ('memory."main" . visits', "memory.main.visits"),
    ("ward.visits", "memory.ward.visits"),
    ('ward."night shift"', 'memory.ward."night shift"'),
    ("dotted.name", 'memory.main."dotted.name"'),
    ("seen", "memory.main.seen"),
    ("archive.visits", "archive.main.visits"),
    ("archive.old.visits", "archive.old.visits"),
]


@pytest.fixture(scope="module")
def places(prepared):
    with prepared(None) as connection:
        connection.execute(
            "ATTACH ':memory:' AS archive; CREATE SCHEMA ward; CREATE SCHEMA archive.old;"
        )
        made = "SELECT i AS id, i % 3 AS s, '{0}' AS place FROM range(30) AS t(i)"
        for name in (
            "main.visits",
            "ward.visits",
            'ward."night shift"',
            'main."dotted.name"',
            "archive.main.visits",
            "archive.old.visits",
        ):
            connection.execute(f"CREATE TABLE {name} AS {made.format(name)}")
        connection.execute(f"CREATE VIEW seen AS {made.format('seen')}")
        yield connection


@pytest.mark.parametrize(("name", "path"), SOURCES)
def test_a_source_is_found_as_the_caller_would_find_it(places, published, name, path):
    published(places, name, "r", sensitive="s", retention=0.5, replace=True)
    ((source, place),) = rows(
        places,
        "SELECT arg_max(source, number), (SELECT any_value(place) FROM r) FROM priv.ledger",
    )
    assert source == path
    assert path.endswith(place) or place == "seen"


def test_the_search_path_of_the_caller_decides(places, published):
    places.execute("SET search_path = 'ward,main'")
    try:
        published(places, "visits", "r", sensitive="s", retention=0.5, replace=True)
        assert rows(places, "SELECT any_value(place) FROM main.r") == [("ward.visits",)]
    finally:
        places.execute("RESET search_path")


def test_releases_are_in_main_whatever_schema_the_caller_uses(places, published):
    places.execute("USE memory.ward")
    try:
        published(places, "night shift", "standing", sensitive="s", retention=0.5)
        assert rows(
            places,
            "SELECT round(priv.reconstructed_count('standing', noisy_s, 1) + 0.5) > -99 FROM standing",
        )
        assert rows(
            places, "SELECT schema_name FROM duckdb_tables() WHERE table_name = 'standing'"
        ) == [("main",)]
    finally:
        places.execute("USE memory.main")


def test_replacing_keeps_one_release_and_every_entry_of_the_ledger(released, published):
    before = rows(released, "FROM r")
    published(
        released, "visits", "R", sensitive="disease", retention=0.6, record_id="id", replace=True
    )
    assert rows(released, "SELECT release, parameters FROM priv.release") == [
        ("R", '{"retention": 0.6}')
    ]
    assert rows(released, "SELECT release FROM priv.ledger ORDER BY number") == [("r",), ("R",)]
    assert rows(released, "FROM r") != before
    assert len(rows(released, "FROM priv.coefficient")) == 5


def test_replacing_nothing_is_publishing(visits, published):
    published(visits, "visits", "r", sensitive="disease", retention=0.3, replace=True, exclude="id")
    assert rows(visits, "SELECT count(*) FROM r") == [(4000,)]


def test_dropping_leaves_the_other_releases_and_the_ledger(visits, published):
    for release in ("one", "two"):
        published(visits, "visits", release, sensitive="disease", retention=0.3, record_id="id")
    assert rows(visits, "FROM priv.drop_release('ONE')") == [("one",)]
    assert rows(visits, "SELECT release FROM priv.release") == [("two",)]
    assert rows(visits, "SELECT count(DISTINCT release) FROM priv.ledger") == [(2,)]
    for table in ("attribute", "coefficient", "guarantee"):
        assert rows(visits, f"SELECT DISTINCT release FROM priv.{table}") == [("two",)]
    with pytest.raises(
        duckdb.InvalidInputException, match='no release is called "one"; there is "two"'
    ):
        visits.execute("SELECT priv.reconstructed_count('one', noisy_disease, 'flu') FROM two")
    assert rows(visits, "SELECT priv.reconstructed_count('two', noisy_disease, 'flu') > 0 FROM two")


def test_dropping_the_last_release_leaves_macros_that_say_so(visits, published):
    published(visits, "visits", "one", sensitive="disease", retention=0.3, record_id="id")
    visits.execute("FROM priv.drop_release('one')")
    with pytest.raises(duckdb.InvalidInputException, match="nothing is published here yet"):
        visits.execute(
            "SELECT priv.reconstructed_count('one', noisy_disease, 'flu')"
            " FROM (SELECT disease AS noisy_disease FROM visits)"
        )


def test_arguments_may_be_parameters_and_subqueries(visits):
    visits.execute(
        "FROM priv.publish_uniform($source, $release, sensitive := [$column], retention := $p,"
        " exclude := $exclude)",
        {"source": "visits", "release": "r", "column": "disease", "p": 0.4, "exclude": ["id"]},
    )
    visits.execute(
        "FROM priv.publish_uniform('visits', 'r' || 2, sensitive := (SELECT 'disease'), retention := 2 / 5,"
        " exclude := 'id', domain := (SELECT list(DISTINCT disease) FROM visits) || ['plague'])"
    )
    assert rows(
        visits,
        "SELECT release, domain_size FROM priv.attribute WHERE role = 'sensitive' ORDER BY 1",
    ) == [
        ("r", 5),
        ("r2", 6),
    ]


def test_analyst_macros_take_parameters(released):
    literal = rows(
        released,
        "SELECT priv.reconstructed_interval('r', noisy_disease, 'flu') FROM r WHERE age > 30",
    )
    bound = released.execute(
        "SELECT priv.reconstructed_interval(?, noisy_disease, ?, confidence := ?) FROM r WHERE age > ?",
        ["r", "flu", 0.95, 30],
    ).fetchall()
    assert bound == literal
    missing = released.execute(
        "SELECT priv.reconstructed_count('r', noisy_disease, ?) FROM r", [None]
    )
    assert missing.fetchall() == rows(
        released, "SELECT priv.reconstructed_count('r', noisy_disease, NULL) FROM r"
    )
    released.execute(
        "PREPARE asked AS SELECT priv.reconstructed_count('r', noisy_disease, $1) FROM r"
    )
    for value in ("flu", "cold"):
        assert rows(released, f"EXECUTE asked('{value}')") == rows(
            released, f"SELECT priv.reconstructed_count('r', noisy_disease, '{value}') FROM r"
        )
    with pytest.raises(duckdb.InvalidInputException, match="has no value 'plague'"):
        released.execute("EXECUTE asked('plague')").fetchall()


def test_views_on_top_of_a_release_follow_it(released, published):
    released.execute(
        "CREATE VIEW by_gender AS"
        " SELECT gender, priv.reconstructed_count('r', noisy_disease, 'flu') AS flu FROM r GROUP BY gender"
    )
    released.execute("CREATE MACRO flu_of(g) AS (SELECT flu FROM by_gender WHERE gender = g)")
    first = rows(released, "FROM by_gender ORDER BY gender")
    assert rows(released, "SELECT flu_of('male')") == [(first[1][1],)]
    published(
        released, "visits", "r", sensitive="disease", retention=0.9, record_id="id", replace=True
    )
    second = rows(released, "FROM by_gender ORDER BY gender")
    truth = rows(
        released,
        "SELECT gender, count(*) FROM visits WHERE disease = 'flu' GROUP BY gender ORDER BY gender",
    )
    assert second != first
    assert all(abs(a[1] - b[1]) < 60 for a, b in zip(second, truth, strict=True))


def test_columns_named_like_parameters_of_the_macros_are_not_taken_for_them(con, published):
    """A parameter that shadows a column gives silently wrong counts."""
    names = ["weight", "confidence", "condition", "group_columns", "database", "method"]
    columns = ", ".join(f"(i // {3 + n}) % 4 AS {name}" for n, name in enumerate(names))
    con.execute(f"CREATE TABLE t AS SELECT i AS id, i % 3 AS s, {columns} FROM range(900) AS t(i)")
    published(con, "t", "r", sensitive="s", retention=0.5, record_id="id")
    for name in names:
        con.execute(f"CREATE OR REPLACE VIEW renamed AS SELECT {name} AS x, noisy_s FROM r")
        expected = rows(
            con,
            "SELECT x, priv.reconstructed_interval('r', noisy_s, 1),"
            " priv.reconstructed_mle('r', noisy_s, 1) FROM renamed"
            " WHERE x < 3 GROUP BY x ORDER BY x",
        )
        found = rows(
            con,
            f"SELECT {name}, priv.reconstructed_interval('r', noisy_s, 1),"
            f" priv.reconstructed_mle('r', noisy_s, 1) FROM r"
            f" WHERE {name} < 3 GROUP BY {name} ORDER BY {name}",
        )
        assert found == expected
        listed = rows(
            con,
            f"SELECT {name}, estimate FROM priv.reconstructed_distribution('r', group_columns := '{name}',"
            f" condition := '{name} < 3') WHERE value = 1 ORDER BY 1",
        )
        assert listed == [(group, interval["estimate"]) for group, interval, _ in expected]


GROUPS = [
    *("m", "t", "s", "o", "q", "r", "f", "x", "y", "step", "scale", "shown", "ratio", "total"),
    *(
        "value",
        "estimate",
        "low",
        "observed",
        "noisy_count",
        "_total",
        "_group",
        "_value",
        "_column",
        "_release",
    ),
    *("numbered", "grouped", "domain", "reached", "count", "position", "variance", "slope", "z"),
]


@pytest.fixture(scope="module")
def grouped(prepared):
    with prepared(None) as connection:
        columns = ", ".join(f'i % 5 AS "{name}"' for name in GROUPS)
        connection.execute(
            f"CREATE TABLE t AS SELECT i AS id, i % 5 AS plain, i % 3 AS sick, {columns} FROM range(600) AS t(i)"
        )
        connection.execute(
            "FROM priv.publish_uniform('t', 'released', sensitive := 'sick', retention := 0.5, record_id := 'id')"
        )
        yield connection


def answers_by(grouped, *names):
    """Ask everything by columns that hold the same, and return each answer with one of them."""
    by = ", ".join(f'"{name}"' for name in names)
    listed = (
        "FROM priv.reconstructed_distribution('released', group_columns := '{}', method := '{}')"
    )
    found = [
        rows(
            grouped,
            f"SELECT {by}, priv.reconstructed_interval('released', noisy_sick, 1),"
            " priv.reconstructed_mle('released', noisy_sick, 1),"
            f" sum(priv.weight('released', noisy_sick, 1)) FROM released GROUP BY {by} ORDER BY ALL",
        ),
        *(rows(grouped, listed.format(by, method)) for method in ("inverse", "bayesian")),
    ]
    assert all(len({*row[: len(names)]}) == 1 for answer in found for row in answer)
    return [[row[len(names) - 1 :] for row in answer] for answer in found]


@pytest.mark.parametrize("first", range(0, len(GROUPS), 6))
def test_columns_named_like_steps_of_the_macros_group_as_any(grouped, first):
    assert answers_by(grouped, *GROUPS[first : first + 6]) == answers_by(grouped, "plain")


def test_an_identifying_public_column_is_refused_unless_it_is_named(visits, published):
    arguments = {"sensitive": "disease", "retention": 0.3}
    with pytest.raises(
        duckdb.Error, match=r"'id' differs in every row(.|\n)*Hint: (.|\n)*public :="
    ):
        published(visits, "visits", "r", **arguments)
    assert rows(visits, "FROM priv.release") == []
    receipt = published(visits, "visits", "r", public=["ID", "age"], **arguments)
    assert any("'id' differs in every row" in warning for warning in receipt["warnings"])
    kept = rows(visits, "SELECT warning FROM priv.warning WHERE release = 'r' ORDER BY number")
    assert [warning for (warning,) in kept] == receipt["warnings"]
    named = rows(visits, "SELECT attribute FROM priv.attribute WHERE role = 'public' ORDER BY ALL")
    assert named == [("age",), ("id",)]
    visits.execute("FROM priv.drop_release('r')").fetchall()
    assert rows(visits, "FROM priv.warning") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"public": ["disease"]}, "'disease' is both sensitive and public"),
        ({"public": ["age"], "exclude": "AGE"}, "'age' is both exclude and public"),
        ({"public": ["agee"]}, "did you mean 'age'"),
        ({"public": 7}, "public must be a column name or a list of them"),
        ({"title": ""}, "title must be a text"),
        ({"contact": 3}, "contact must be a text"),
        ({"licence": ["MIT"]}, "licence must be a text"),
    ],
)
def test_public_columns_and_words_are_checked(visits, published, arguments, message):
    with pytest.raises(duckdb.Error, match=message):
        published(
            visits, "visits", "r", sensitive="disease", retention=0.3, record_id="id", **arguments
        )


def test_no_column_may_be_public(visits, published):
    published(visits, "visits", "r", sensitive="disease", retention=0.3, record_id="id", public=[])
    assert [name for name, *_ in rows(visits, "DESCRIBE r")] == ["noisy_disease"]


def test_what_a_release_is_about_travels_with_it(visits, published, tmp_path):
    words = {
        "title": "Visits of 2026",
        "description": "One row per visit; it's a test",
        "contact": "statistics@example.org",
        "licence": "CC BY 4.0",
    }
    visits.execute("COMMENT ON COLUMN visits.age IS 'in years; it''s rounded down'")
    visits.execute("COMMENT ON COLUMN visits.disease IS 'main diagnosis'")
    visits.execute("COMMENT ON COLUMN visits.id IS 'from the ward''s system'")
    published(visits, "visits", "r", sensitive="disease", epsilon=1.0, record_id="id", **words)
    visits.execute(f"FROM priv.export_release('r', '{tmp_path / 'r.duckdb'}')").fetchall()
    with duckdb.connect(tmp_path / "r.duckdb", read_only=True) as reader:
        found = rows(reader, "SELECT title, description, contact, licence FROM priv.release")
        assert found == [tuple(words.values())]
        comments = dict(
            rows(
                reader,
                "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'r' AND schema_name = 'main'"
                " AND comment IS NOT NULL",
            )
        )
        assert comments["age"] == "in years; it's rounded down"
        assert comments["noisy_disease"].startswith(
            "main diagnosis\nWhat a record reports of disease"
        )
        # What is not published is not spoken of.
        assert {*comments} == {"age", "noisy_disease"}
        assert rows(
            reader,
            "SELECT attribute, description FROM priv.attribute WHERE description IS NOT NULL ORDER BY ALL",
        ) == [("age", "in years; it's rounded down"), ("disease", "main diagnosis")]
        assert "Licence: <bdi>CC BY 4.0</bdi>" in rows(reader, "SELECT html FROM priv.card")[0][0]
        ((epsilon,),) = rows(
            reader,
            "SELECT value FROM priv.guarantee WHERE guarantee = 'local_differential_privacy'",
        )
    assert epsilon == pytest.approx(1.0)
    assert epsilon <= 1.0


def test_an_identifying_sensitive_column_is_warned_of(con, published):
    con.execute("CREATE TABLE t AS SELECT i AS id, 'name ' || i AS s FROM range(1000) AS t(i)")
    receipt = published(con, "t", "r", sensitive="s", retention=0.3, record_id="id")
    assert receipt["warnings"][1:] == [
        "sensitive column 's' differs in every row: it is an identifier; exclude it"
    ]
    assert rows(con, "SELECT count(*) FROM r") == [(1000,)]


@pytest.mark.skipif(
    duckdb.__version__ >= "2",
    reason="DuckDB 2 takes every expression that may fail for a side effect",
)
def test_the_alias_of_an_estimate_can_be_used_again(con, published):
    con.execute("CREATE TABLE t AS SELECT i AS id, i % 2 AS g, i % 3 AS s FROM range(600) AS t(i)")
    published(con, "t", "r", sensitive="s", retention=0.3, record_id="id")
    for call in ("count", "stderr"):
        assert rows(
            con,
            f"SELECT g, priv.reconstructed_{call}('r', noisy_s, 1) AS n, n - n FROM r GROUP BY g HAVING n < 600"
            " ORDER BY n",
        )
    assert rows(con, "SELECT priv.weight('r', noisy_s, 1) AS w, w - w FROM r LIMIT 1")[0][1] == 0


def test_a_huge_domain_is_warned_of_and_answers(con, published):
    """Twenty thousand values, each of which some records have."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, i % 2 AS g, 'value ' || i % 20_000 AS s FROM range(24_000) AS t(i)"
    )
    receipt = published(con, "t", "r", sensitive="s", retention=0.3, record_id="id")
    assert receipt["warnings"][1:] == [
        "sensitive column 's' has 20000 values: estimates will be noise; group its values first"
    ]
    assert receipt["seconds"] < 60
    found = rows(
        con,
        "SELECT priv.reconstructed_interval('r', noisy_s, 'value 77').high < 24_000 FROM r WHERE g = 1",
    )
    assert found == [(True,)]
    assert rows(
        con, "SELECT count(*), sum(estimate) FROM priv.reconstructed_distribution('r')"
    ) == [(20_000, pytest.approx(24_000))]
    with pytest.raises(
        duckdb.InvalidInputException, match=r"20000 values; see FROM priv.coefficient"
    ):
        con.execute("SELECT priv.reconstructed_count('r', noisy_s, 'nobody') FROM r").fetchall()


def test_a_huge_given_domain_is_text(con, published):
    """Not an ENUM, which takes long to declare; and values are distinguished whatever separates them inside."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, 'value ' || i % 10_000 AS s FROM range(20_000) AS t(i)"
    )
    domain = [f"value {i}" for i in range(10_001)]
    published(con, "t", "r", sensitive="s", retention=0.3, record_id="id", domain=domain)
    assert rows(con, "SELECT DISTINCT typeof(noisy_s) FROM r") == [("VARCHAR",)]
    assert rows(
        con, "SELECT isfinite(priv.reconstructed_count('r', noisy_s, 'value 10000')) FROM r"
    ) == [(True,)]
    for wrong in ("'value'", "''", "'value 1' || chr(31) || 'value 10'", "'value 1' || chr(31)"):
        with pytest.raises(duckdb.InvalidInputException, match="has no value"):
            con.execute(f"SELECT priv.reconstructed_count('r', noisy_s, {wrong}) FROM r").fetchall()


def test_real_reports_with_missing_values(con, published, vaers):
    """1,384 reactions, the missing one among them, keyed by the number of the report."""
    con.execute(
        f"CREATE VIEW reports AS SELECT vaers_id, sex, age // 10 AS decade, reaction FROM '{vaers}'"
    )
    receipt = published(
        con, "reports", "r", sensitive="reaction", retention=0.3, record_id="vaers_id"
    )
    assert receipt["rows_published"] == 172_261
    worst = rows(
        con,
        "SELECT max(abs(estimate - t.rows) / stderr), count(*) FROM priv.reconstructed_distribution('r') AS d"
        " JOIN (SELECT reaction AS value, count(*) AS rows FROM reports GROUP BY reaction) AS t"
        " ON t.value IS NOT DISTINCT FROM d.value WHERE t.rows > 1000",
    )
    ((deviation, values),) = worst
    assert values > 20
    assert deviation < 6.2
    assert rows(con, "SELECT count(*) FROM priv.audit('r') WHERE NOT holds") == [(0,)]
