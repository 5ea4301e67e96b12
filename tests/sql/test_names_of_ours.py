"""Public columns, queries and files that have names of ours change no answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import duckdb
import pytest
from comparing import nearly

from duckdb_priv.estimator import macros
from duckdb_priv.release import catalog

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
        assert plain == nearly(other), question


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
def test_a_query_of_the_readers_own_that_is_called_like_the_release_is_not_read(years, question):
    years.execute("USE file")
    asked = question.format("file", "")
    expected = nearly(years.execute(asked).fetchall())
    assert years.execute(f"WITH two AS (FROM file.two LIMIT 9) {asked}").fetchall() == expected
    years.execute("USE file.estimated")
    assert years.execute(asked).fetchall() == expected
    named = question.format("file", ", database := 'file'")
    assert years.execute(named).fetchall() == expected


def test_a_public_column_called_scale_is_counted_by_all_doors(con, tmp_path):
    con.execute(TABLE)
    con.execute("CREATE TABLE mapped AS SELECT *, age % 3 AS scale FROM visits")
    path = str(tmp_path / "maps.duckdb")
    con.execute(
        "FROM priv.publish_uniform('mapped', 'maps', sensitive := 'disease', retention := 0.5,"
        " record_id := 'id', public := ['scale', 'ward'])"
    )
    con.execute("FROM priv.export_release('maps', ?)", [path])
    with duckdb.connect(path, read_only=True) as file:
        expected = file.execute(
            "SELECT scale, priv.reconstructed_count('maps', noisy_disease, 'flu') FROM maps"
            " GROUP BY 1 ORDER BY 1"
        ).fetchall()
        file.execute("USE estimated")
        counted = "SELECT scale, count(*) FROM maps WHERE disease = 'flu' GROUP BY 1 ORDER BY 1"
        assert file.execute(counted).fetchall() == nearly(expected)


ANSWERED = ["value", "estimate", "low", "stderr", "noisy_count", "smoothed", "before"]
"""Columns of answers that count by groups."""


def publish_groups(con):
    """Publish a release ``groups`` with equal public columns: called like those of the answers, and ``third``."""
    con.execute(TABLE)
    columns = ", ".join(f"1000 + age % 3 AS {name}" for name in [*ANSWERED, "third"])
    con.execute(f"CREATE TABLE named AS SELECT *, {columns} FROM visits")
    con.execute(
        "FROM priv.publish_uniform('named', 'groups', sensitive := 'disease', retention := 0.5, record_id := 'id',"
        f" public := {['ward', 'third', *ANSWERED]}, domain := ['none', 'flu', 'cold'])"
    )


def test_smoothed_counts_by_a_column_called_like_one_of_the_answer(con):
    publish_groups(con)
    query = "FROM priv.smoothed_count('groups', 'flu', group_columns := '{}')"
    third = con.execute(query.format("third")).fetchall()
    assert [len(row) for row in third] == [7, 7, 7]
    for name in ANSWERED:
        assert con.execute(query.format(name)).fetchall() == nearly(third), name


def test_a_change_by_a_column_called_like_one_of_the_answer(con, tmp_path):
    publish_groups(con)
    path = str(tmp_path / "newer.duckdb")
    for each in (str(tmp_path / "older.duckdb"), path):
        con.execute("FROM priv.export_release('groups', ?)", [each])
    con.execute("UPDATE named SET disease = 'flu' WHERE id < 30")
    con.execute("FROM priv.refresh('groups')").fetchall()
    query = "FROM priv.reconstructed_change('groups', 'older', group_columns := '{}')"
    with duckdb.connect(path) as reader:
        reader.execute(f"ATTACH '{tmp_path}/older.duckdb' AS older (READ_ONLY)")
        third = reader.execute(query.format("third")).fetchall()
        assert len(third) == 9
        for name in ANSWERED:
            assert reader.execute(query.format(name)).fetchall() == nearly(third), name
