"""What a reader has called like a function of DuckDB does not change what ours answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import duckdb
import pytest

from duckdb_priv.estimator import macros
from duckdb_priv.release import catalog
from duckdb_priv.sqltext.builtins import BUILT_INS, WHOLE

TABLE = """
    CREATE TABLE visits AS
    SELECT i AS id, (i % 40)::INTEGER AS age, (['north', 'south'])[1 + i % 2] AS ward,
        (['none', 'flu', 'cold'])[1 + (hash(i) % 3)::INTEGER] AS disease, (hash(i || 'x') % 3)::INTEGER AS drug
    FROM range(600) AS t(i);
    CREATE TABLE exchange AS
    SELECT a.v AS original, b.v AS published, CASE WHEN a.v = b.v THEN 0.7 ELSE 0.15 END AS probability
    FROM (SELECT unnest(['none', 'flu', 'cold']) AS v) AS a, (SELECT unnest(['none', 'flu', 'cold']) AS v) AS b;
"""
PUBLISH = "FROM priv.publish_{}, record_id := 'id', public := ['age', 'ward'{}])"
RELEASES = {
    "two": "uniform('visits', 'two', sensitive := ['disease', 'drug'], retention := 0.5",
    "exchanged": "matrix('visits', 'exchanged', sensitive := 'disease', matrix := 'exchange'",
}
IMPLICIT = (
    "+", "-", "*", "/", "**", "||", "list_value", "list_apply", "list_filter", "struct_pack", "struct_extract",
    "array_extract",
)  # fmt: skip
"""What operators, lists and structs call, which no text can name in full."""
QUESTIONS = (
    "SELECT ward, {0}priv.reconstructed_count('{1}.disease', noisy_disease, 'flu') FROM {0}{1} GROUP BY ward",
    "SELECT {0}priv.reconstructed_interval('{1}.disease', noisy_disease, 'flu') FROM {0}{1}",
    "SELECT {0}priv.reconstructed_mle('{1}.disease', noisy_disease, 'flu') FROM {0}{1}",
    "SELECT {0}priv.reconstructed_share_ratio('{1}.disease', noisy_disease, 'flu', age > 20, true) FROM {0}{1}",
    "SELECT {0}priv.reconstructed_mean('{1}.disease', noisy_disease, ['flu', 'cold'], age) FROM {0}{1}",
    "SELECT w FROM (SELECT {0}priv.weight('{1}.disease', noisy_disease, 'flu') AS w FROM {0}{1})",
    "FROM {0}priv.reconstructed_distribution('{1}.disease', group_columns := 'ward', database := 'file')",
    "FROM {0}priv.smoothed_count('{1}.disease', 'flu', group_columns := 'age', database := 'file')",
    "FROM {0}priv.reconstructed_distribution('{1}.disease', method := 'bayesian', database := 'file')",
)
JOINT = (
    "FROM {0}priv.reconstructed_joint('two', ['disease', 'drug'], ['flu', '1'], database := 'file')"
)


@pytest.fixture(scope="module")
def files(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    for_files: Callable[..., AbstractContextManager[None]],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("planted")
    with for_files(), prepared() as publisher:
        publisher.execute(TABLE)
        for name, call in RELEASES.items():
            publisher.execute(PUBLISH.format(call, "")).fetchall()
            publisher.execute("FROM priv.export_release(?, ?)", [name, f"{folder}/{name}.duckdb"])
    return {name: f"{folder}/{name}.duckdb" for name in RELEASES}


@contextmanager
def session(file: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Attach a release."""
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{file}' AS file (READ_ONLY)")
        yield connection


@pytest.fixture(scope="module", params=RELEASES)
def asked(request, files) -> tuple[str, dict[str, object]]:
    """The file of a release, and by question what is answered where nothing is planted."""
    name = request.param
    questions = [*QUESTIONS, *([JOINT] if name == "two" else [])]
    texts = [f"{question.format('file.', name)} ORDER BY ALL" for question in questions]
    with session(files[name]) as connection:
        return files[name], dict(zip(texts, answers(connection, texts), strict=True))


@pytest.fixture
def reader(asked) -> Iterator[tuple[duckdb.DuckDBPyConnection, dict[str, object]]]:
    """A session to which a release is attached, and questions about it, with their answers."""
    file, answered = asked
    with session(file) as connection:
        yield connection, answered


def answers(connection: duckdb.DuckDBPyConnection, questions: list[str]) -> list[object]:
    return [connection.execute(question).fetchall() for question in questions]


@pytest.mark.parametrize("kind", ["", "TEMP "], ids=["in the main schema", "temporary"])
def test_a_macro_called_like_a_function_of_duckdb_changes_nothing(reader, kind):
    connection, answered = reader
    for name in {
        *BUILT_INS,
        *WHOLE,
        "f",
        "shown",
        "ratio",
        "list_aggr",
    } - {"nullif", *IMPLICIT}:
        connection.execute(f'CREATE {kind}MACRO "{name}"(a) AS 7, (a, b) AS 7, (a, b, c) AS 7')
    assert answers(connection, [*answered]) == [*answered.values()]


@pytest.mark.parametrize("name", IMPLICIT)
def test_a_macro_in_the_place_of_an_operator_changes_no_number(reader, name):
    connection, answered = reader
    count, _, likely, _, _, *others = answered
    for body in ("7", "a"):
        connection.execute(f'CREATE OR REPLACE MACRO "{name}"(a) AS {body}, (a, b) AS {body}')
        for question in (count, likely, *others):
            try:
                found = connection.execute(question).fetchall()
            except duckdb.Error:
                continue
            assert found == answered[question], (question, body)


def test_the_error_says_what_is_in_the_way(reader):
    connection, (first, *_) = reader
    connection.execute('CREATE MACRO "*"(a, b) AS 7')
    with pytest.raises(duckdb.InvalidInputException, match="a macro of yours takes the place of"):
        connection.execute(first)


@pytest.mark.skipif(duckdb.__version__ > "2", reason="what DuckDB 2 writes of an ENUM, 1.2 reads")
def test_no_macro_has_an_enum_that_older_versions_could_not_read(files):
    for file in files.values():
        with duckdb.connect(file, read_only=True) as connection:
            texts = connection.execute(
                "SELECT macro_definition FROM duckdb_functions() WHERE schema_name = 'priv' AND NOT internal"
            ).fetchall()
        assert not [text for (text,) in texts if "ENUM(" in re.sub(r"'(?:[^']|'')*'", "", text)]


def test_every_function_is_called_by_its_full_name(files):
    """But what syntax calls, which is looked up in any case."""
    allowed = {
        "list_apply",
        "list_value",
        "list_filter",
        "struct_pack",
        "struct_extract",
        "coalesce",
        "unnest",
        "row",
    }
    for file in files.values():
        with duckdb.connect(file, read_only=True) as connection:
            texts = connection.execute(
                "SELECT function_name, macro_definition FROM duckdb_functions()"
                " WHERE schema_name = 'priv' AND NOT internal AND function_name <> 'example'"
            ).fetchall()
        assert texts
        for macro, text in texts:
            # DuckDB names what an aggregate gives by its call, which macros compare with a text.
            # And one literal is no query, but a pattern of those that name a reported column.
            code = re.sub(r"'\^\(\?:\[\^(?:[^']|'')*'", "''", text.replace("'count(", "'"))
            called = set(re.findall(r'(?<![\w."])"?([a-z_][a-z0-9_]*)"?\(', code))
            assert called <= allowed | {"duckdb_functions", "reconstructed_count"}, macro


def test_a_column_called_like_a_variable_of_ours_changes_nothing(con):
    """Public columns of the names that the macros use for what they compute."""
    names = [
        "f",
        "shown",
        "ratio",
        "scale_",
        "step",
        "t",
        "o",
        "e",
        "w",
        "c",
        "q",
        "r",
        "s",
        "i",
        "k",
        "l",
        "p",
        "u",
        "v",
        "x",
        "h",
    ]
    con.execute(TABLE)
    columns = ", ".join(f"{5 + number} AS {name}" for number, name in enumerate(names))
    con.execute(f"CREATE TABLE named AS SELECT *, {columns} FROM visits")
    kept = "".join(f", '{name}'" for name in names)
    con.execute(PUBLISH.format(RELEASES["exchanged"], ""))
    renamed = RELEASES["exchanged"].replace("'visits', 'exchanged'", "'named', 'renamed'")
    con.execute(PUBLISH.format(renamed, kept))
    for question in QUESTIONS:
        plain, other = (
            con.execute(
                question.format("", name).replace(", database := 'file'", "") + " ORDER BY ALL"
            ).fetchall()
            for name in ("exchanged", "renamed")
        )
        assert plain == other, question


DISTRIBUTION = "FROM {}.priv.reconstructed_distribution('two.disease'{})"
TOGETHER = "FROM {}.priv.reconstructed_joint('two', ['disease', 'drug'], ['flu', '1']{})"


@pytest.fixture
def years(files, tmp_path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A session to which two releases of one name are attached, one published a year after the other."""
    later = tmp_path / "later.duckdb"
    with duckdb.connect(str(later)) as writer:
        writer.execute(
            f"ATTACH '{files['two']}' AS file (READ_ONLY); COPY FROM DATABASE file TO later"
        )
        writer.execute("UPDATE priv.release SET created_at = created_at + INTERVAL 1 YEAR")
        macros.create(writer, catalog.sensitive_attributes(writer))
    with duckdb.connect() as connection:
        connection.execute(
            f"ATTACH '{files['two']}' AS file (READ_ONLY); ATTACH '{later}' AS later (READ_ONLY)"
        )
        yield connection


@pytest.mark.parametrize("question", [DISTRIBUTION, TOGETHER])
def test_a_release_of_another_file_is_not_read(years, question):
    for named in ("file", "later"):
        assert years.execute(question.format(named, f", database := '{named}'")).fetchall()
    other = 'the database in use has another release called "two", or none\nHint: say which file'
    with pytest.raises(duckdb.InvalidInputException, match=other):
        years.execute(question.format("file", ", database := 'later'"))
    years.execute("USE later")
    assert years.execute(question.format("later", "")).fetchall()
    with pytest.raises(duckdb.InvalidInputException, match=other):
        years.execute(question.format("file", ""))
    assert years.execute("FROM file.two_disease_estimates").fetchall()


@pytest.mark.parametrize("question", [DISTRIBUTION, TOGETHER])
def test_a_table_of_the_readers_own_is_not_read(years, question):
    years.execute("CREATE TABLE memory.main.two AS FROM file.two LIMIT 9")
    with pytest.raises(duckdb.Error, match="does not exist"):
        years.execute(question.format("file", ""))
    years.execute("USE file")
    expected = years.execute(question.format("file", "")).fetchall()
    years.execute("CREATE TEMP VIEW two AS FROM file.two LIMIT 9")
    with pytest.raises(
        duckdb.InvalidInputException, match="a temporary table or view of yours is called"
    ):
        years.execute(question.format("file", ""))
    assert years.execute(question.format("file", ", database := 'file'")).fetchall() == expected


@pytest.mark.parametrize("question", [DISTRIBUTION, TOGETHER])
def test_a_table_that_the_search_path_names_before_the_release_is_not_read(years, question):
    years.execute("CREATE TABLE memory.main.two AS FROM file.two LIMIT 9; DETACH later")
    for path in ("file.priv,memory.main", "memory.main,file.priv,file.main"):
        years.execute(f"SET search_path = '{path}'")
        with pytest.raises(duckdb.Error, match="another database in the search path"):
            years.execute(question.format("file", ""))
    assert years.execute(question.format("file", ", database := 'file'")).fetchall()


@pytest.mark.parametrize("question", [DISTRIBUTION, TOGETHER])
def test_a_query_of_the_readers_own_that_is_called_like_the_release_is_not_read(years, question):
    years.execute("USE file")
    asked = question.format("file", "")
    expected = years.execute(asked).fetchall()
    assert years.execute(f"WITH two AS (FROM file.two LIMIT 9) {asked}").fetchall() == expected
    years.execute("USE file.estimated")
    assert years.execute(asked).fetchall() == expected
    named = question.format("file", ", database := 'file'")
    assert years.execute(named).fetchall() == expected
