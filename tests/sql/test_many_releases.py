"""A publisher's database with many releases: each has macros of its own, and the choice among them is thin."""

from __future__ import annotations

import re

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.estimator import macros
from duckdb_priv.release import catalog

pytestmark = pytest.mark.usefixtures("plain_files")

PUBLISH = (
    "FROM priv.publish_uniform('visits', '{}', sensitive := 'disease', retention := 0.5, record_id := 'id',"
    " public := ['gender'], replace := true)"
)
STAYS = """
    CREATE TABLE visits AS
    SELECT i AS id, 18 + i % 7 AS age, (['female', 'male'])[1 + i % 2] AS gender,
        (['asthma', 'cold', 'cough', 'flu', NULL])[1 + (hash(i) % 5)::INTEGER] AS disease
    FROM range(2000) AS t(i)
"""
OTHERS = {
    "splu": "FROM priv.publish_splu('visits', 'splu', sensitive := 'disease', gamma := 3, record_id := 'id',"
    " public := ['gender'])",
    "fine": "FROM priv.publish_fine_grain('visits', 'fine', sensitive := 'disease', tolerance := 2,"
    " record_id := 'id', public := ['gender'])",
    "blocks": "FROM priv.publish_block_design('visits', 'blocks', sensitive := 'disease', epsilon := 0.5,"
    " record_id := 'id', public := ['gender'])",
    "two": "FROM priv.publish_uniform('visits', 'two', sensitive := ['disease', 'gender'], retention := 0.5,"
    " record_id := 'id', public := ['age'], republish := true)",
}

LITERAL = re.compile(r"'(?:[^']|'')*'")


@pytest.fixture
def visits(con):
    con.execute(STAYS)
    return con


@pytest.fixture
def installed():
    """A database that is no copy: DuckDB prints a macro that was copied otherwise."""
    with duckdb_priv.connect(secret=bytes(range(32))) as connection:
        connection.execute(STAYS)
        yield connection


def one(con, query):
    return con.execute(query).fetchall()


def asked(con, release, column="noisy_disease", most=None):
    """Ask everything about one attribute, of its value 'flu' and of a value that it has not.

    With ``most``, ask only so many of the questions.
    """
    arguments = f"'{release}', {column}, 'flu'"
    table = release.split(".")[0]
    calls = (
        f"SELECT priv.reconstructed_count({arguments}), priv.reconstructed_stderr({arguments}),"
        f" priv.reconstructed_mle({arguments}), priv.reconstructed_interval({arguments}),"
        f" sum(priv.weight({arguments})) FROM {table}",
        f"FROM priv.reconstructed_distribution('{release}')",
        f"FROM priv.reconstructed_distribution('{release}', method := 'bayesian')",
        f"FROM priv.reconstructed_joint('{table}', ['disease'], ['flu'])",
        f"SELECT priv.reconstructed_count('{release}', {column}, 'plague') FROM {table}",
        f"SELECT priv.reconstructed_count('{release}', {column}, 'flu', weight := 2) FROM {table}",
    )
    answers = []
    for call in calls[:most]:
        try:
            answers.append(repr(one(con, call)))
        except duckdb.Error as error:
            answers.append(str(error))
    return answers


def rounded(answers):
    """Round what is summed in another order where releases of several forms are chosen among."""
    return [
        re.sub(r"\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.6f}", answer)
        for answer in answers
    ]


def macros_of(con):
    """Name the macros of the database."""
    return {
        name
        for (name,) in one(
            con, "SELECT function_name FROM duckdb_functions() WHERE schema_name = 'priv'"
        )
    }


def joined_by(con, release):
    """Put the rows of a further release into the catalog, which are those of the first under another name."""
    for table in ("release", "attribute", "coefficient"):
        con.execute(
            f"INSERT INTO priv.{table} SELECT * REPLACE (? AS release) FROM priv.{table} WHERE release = 'first'",
            [release],
        )


@pytest.mark.once
def test_a_publication_writes_as_much_beside_a_hundred_releases_as_beside_one(visits, monkeypatch):
    visits.execute(PUBLISH.format("first"))
    texts, run = {}, macros.run

    def listen(connection, statements):
        texts.setdefault(number, []).extend(statements := list(statements))
        run(connection, statements)

    for number in range(2, 101):
        joined_by(visits, release := f"other_{number:03}")
        if number in (2, 100):
            attributes = catalog.sensitive_attributes(visits, release)
            with monkeypatch.context() as patch:
                patch.setattr(macros, "run", listen)
                macros.add(visits, release, attributes)
        elif number == 99:
            macros.create_all(visits)
    assert len(texts[2]) == len(texts[100])
    # Literals cost next to nothing, whatever their length. What grows beside them is one call for each release.
    code = {number: [LITERAL.sub("''", each) for each in texts[number]] for number in (2, 100)}
    grown = [
        len(after) - len(before)
        for before, after in zip(code[2], code[100], strict=True)
        if len(before) != len(after)
    ]
    assert len(grown) <= 1
    assert sum(grown) < 98 * 60
    assert sum(map(len, texts[100])) - sum(map(len, texts[2])) < 98 * 2_000


def test_a_first_release_of_texts_finds_its_functions_written(visits, monkeypatch):
    written = []
    monkeypatch.setattr(macros, "_functions", lambda shapes: written.append(shapes) or ())
    visits.execute("CREATE TABLE known AS FROM visits WHERE disease IS NOT NULL")
    visits.execute(PUBLISH.format("first").replace("'visits'", "'known'"))
    visits.execute(PUBLISH.format("second"))
    assert not written
    visits.execute(OTHERS["blocks"])
    assert [{shape.form for shape in shapes} for shapes in written] == [{"two_weights", "blocks"}]


@pytest.mark.once
def test_releases_of_many_forms_answer_as_each_does_in_its_file(
    visits, together, without_cards, tmp_path
):
    visits.execute(PUBLISH.format("plain"))
    with together(visits):
        for statement in OTHERS.values():
            visits.execute(statement)
    for release in ("plain", "plain.disease", "PLAIN.Disease", "splu", "fine", "two.disease"):
        table = release.split(".")[0].lower()
        path = tmp_path / f"{table}.duckdb"
        if not path.exists():
            with without_cards():
                one(visits, f"FROM priv.export_release('{table}', '{path}')")
        # Another name of the same release is found by the same macros, whatever is asked.
        most = 2 if release.lower().startswith("plain.") else None
        with duckdb.connect(str(path), read_only=True) as reader:
            here, there = asked(visits, release, most=most), asked(reader, release, most=most)
        assert rounded(here) == rounded(there)


def test_a_name_that_does_not_exist_is_reported_with_those_that_do(visits):
    with pytest.raises(
        duckdb.Error, match='no release is called "plain"; nothing is published here yet'
    ):
        one(visits, "SELECT priv.reconstructed_count('plain', disease, 'flu') FROM visits")
    visits.execute(PUBLISH.format("plain").replace("gender", "age"))
    visits.execute(OTHERS["two"])
    with pytest.raises(duckdb.Error, match='no release is called "none"; there is "plain", "two"'):
        one(visits, "SELECT priv.reconstructed_count('none', noisy_disease, 'flu') FROM plain")
    with pytest.raises(duckdb.Error, match=r"write 'two\.disease' or 'two\.gender'"):
        one(visits, "SELECT priv.reconstructed_count('two', noisy_disease, 'flu') FROM two")
    one(visits, "FROM priv.drop_release('two')")
    with pytest.raises(duckdb.Error, match='no release is called "two"; there is "plain"'):
        one(visits, "SELECT priv.reconstructed_count('two', noisy_disease, 'flu') FROM plain")


@pytest.mark.once
def test_dropping_and_replacing_leaves_the_others_as_they_are(installed, inventory):
    visits = installed
    there = macros_of(visits)
    visits.execute(PUBLISH.format("first"))
    one(visits, "FROM priv.drop_release('first')")
    assert macros_of(visits) == there
    empty = inventory(visits)["macros"]
    visits.execute(PUBLISH.format("first"))
    alone, answers = inventory(visits)["macros"], asked(visits, "first")
    visits.execute(OTHERS["splu"])
    assert asked(visits, "first") == [
        answer.replace('there is "first"', 'there is "first", "splu"') for answer in answers
    ]
    visits.execute(PUBLISH.format("splu"))
    assert asked(visits, "splu")[0] == answers[0]
    one(visits, "FROM priv.drop_release('splu')")
    assert inventory(visits)["macros"] == alone
    one(visits, "FROM priv.drop_release('first')")
    assert inventory(visits)["macros"] == empty


def test_values_and_names_may_hold_any_character(con):
    con.execute(
        "CREATE TABLE odd AS SELECT i AS id, (['a' || chr(31) || 'b', 'it''s', '', '{condition}', 'a'])[1 + i % 5] AS v"
        " FROM range(500) AS t(i)"
    )
    one(
        con,
        "FROM priv.publish_uniform('odd', 'the \"odd\" one', sensitive := 'v', retention := 0.9, record_id := 'id')",
    )
    estimates = one(
        con,
        "SELECT sum(estimate), count(*) FROM priv.reconstructed_distribution('the \"odd\" one', condition := 'true')",
    )
    assert estimates == [(pytest.approx(500), 5)]
    asked = "priv.reconstructed_count('The \"ODD\" one.v', noisy_v, {})"
    values = ("'a' || chr(31) || 'b'", "'it''s'", "''", "'{condition}'", "'a'")
    counts = ", ".join(asked.format(value) for value in values)
    assert sum(one(con, f'SELECT {counts} FROM "the ""odd"" one"')[0]) == pytest.approx(500)
    with pytest.raises(duckdb.Error, match="has no value 'b'"):
        one(con, f'SELECT {asked.format("chr(98)")} FROM "the ""odd"" one"')


def test_installing_mends_the_macros_of_a_release(inventory):
    with duckdb_priv.connect() as con:
        con.execute(STAYS)
        con.execute(PUBLISH.format("plain"))
        before = inventory(con)
        con.execute('DROP MACRO priv."_queries plain.disease"')
        for macro in ("_texts", "_shapes"):
            con.execute(f"DROP MACRO priv.{macro}")
            duckdb_priv.install(con.cursor())
            assert inventory(con) == before
