"""Hostile names, values and arguments: each is what it says, and never SQL."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

ROWS = 900
TOGETHER = {
    "single quotes": ["'", "''", "x'; DROP TABLE canary; --", "['list']"],
    "double quotes": [
        '"',
        'x"; DROP TABLE canary; --',
        "x\"'); DROP TABLE canary; --",
        '{"json": ["a"]}',
    ],
    "templates": [
        "@estimate@",
        "@table@",
        "{group_columns}",
        "{condition}",
        "%s %d {} {0}",
        "$1 ? :name",
    ],
    "characters": ["line\nbreak\ttab\r", "ünïcødé ☃ 𝕏 \u202e", "back\\slash\\x27", "a\x1fb\x1ec"],
    "words": [
        "select",
        "NULL",
        "COLUMNS(*)",
        "!bang",
        "main.dotted.name",
        "L" * 300,
        "-- a;b",
        "/* a",
    ],
}
"""Names and values that break someone who pastes them into SQL, a template or a message, by what breaks."""

HOSTILE = [name for names in TOGETHER.values() for name in names]

SHADOWING = [
    *("m", "t", "s", "o", "c", "r", "i", "q", "z", "n", "k", "scale", "step", "total", "estimate"),
    *("variance", "value", "observed", "weight", "confidence", "condition", "low", "high", "shown"),
    *("domain", "counts", "own", "other", "_value", "_column", "_release", "_weight", "_total"),
    *("_group", "_observed", "_missing", "_code0", "_bits0", "_shown0", "_number", "_text", "rows"),
]
"""Names that the project's own SQL uses, or could use, for something else."""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture
def con(prepared):
    connection = prepared(secret=None)
    connection.execute("SET threads = 2")
    connection.execute("CREATE TABLE canary AS SELECT 42 AS alive")
    yield connection
    assert connection.execute("FROM canary").fetchall() == [(42,)]
    connection.close()


@pytest.mark.parametrize("hostile", TOGETHER.values(), ids=TOGETHER)
def test_hostile_names_and_values_go_all_the_way(con, tmp_path, hostile, without_cards):
    """From the source to the analyst's answer, in every place of a name or a value."""
    joined = " ".join(hostile)
    release, source, sensitive, record_id = (joined + suffix for suffix in "0123")
    release = release.replace(".", "_")
    values = sorted([*HOSTILE, "b"])
    each = 100
    publics = ", ".join(f"i // {len(values)} % 2 AS {quoted(name)}" for name in hostile)
    con.execute(
        f"CREATE TABLE {quoted(source)} AS SELECT i AS {quoted(record_id)},"
        f" ?[1 + i % {len(values)}] AS {quoted(sensitive)}, {publics} FROM range({each * len(values)}) t(i)",
        [values],
    )
    con.execute(
        "FROM priv.publish_uniform(?, ?, sensitive := ?, retention := 0.9, domain := ?, record_id := ?,"
        " public := ?)",
        [quoted(source), release, [sensitive], values, [record_id], hostile],
    ).fetchall()
    column = quoted(f"noisy_{sensitive}")
    functions = (
        f"priv.reconstructed_count(?, {column}, ?)",
        f"priv.reconstructed_interval(?, {column}, ?)",
        f"priv.reconstructed_mle(?, {column}, ?)",
        f"sum(priv.weight(?, {column}, ?))",
    )
    question = "SELECT " + ", ".join(each for _ in hostile for each in functions)
    asked = [given for value in hostile for given in [release, value] * len(functions)]
    answer = numbers(con.execute(f"{question} FROM {quoted(release)}", asked))
    # An interval has four numbers. The standard deviation of a count is about 5.
    assert all(abs(count - each) < 40 for count in answer[:: len(functions) + 3])
    answer = pytest.approx(answer, rel=1e-9)
    distribution = con.execute(
        "SELECT value::VARCHAR, estimate FROM priv.reconstructed_distribution(?)", [release]
    ).fetchall()
    assert sorted(value for value, _ in distribution) == values
    assert sum(estimate for _, estimate in distribution) == pytest.approx(each * len(values))
    public = ", ".join(map(quoted, hostile))
    grouped = con.execute(
        "FROM priv.reconstructed_distribution(?, group_columns := ?, condition := ?)",
        [release, public, " AND ".join(f"{quoted(name)} = 1" for name in hostile)],
    ).fetchall()
    assert len(grouped) == len(values)
    for asked_for, wrong in (("no such value", release), (hostile[0], "no such release")):
        with pytest.raises(duckdb.InvalidInputException, match=r"has no value|no release"):
            con.execute(
                f"SELECT priv.reconstructed_count(?, {column}, ?) FROM {quoted(release)}",
                [wrong, asked_for],
            )
    assert con.execute("FROM priv.audit(?)", [release]).fetchall()

    path = tmp_path / "release.duckdb"
    con.execute("FROM priv.export_release(?, ?)", [release, str(path)]).fetchall()
    with duckdb.connect(str(path), read_only=True) as reader:
        assert numbers(reader.execute(f"{question} FROM {quoted(release)}", asked)) == answer
    with duckdb.connect() as reader:
        reader.execute(f"ATTACH '{path}' AS attached (READ_ONLY)")
        reported = question.replace("priv.", "attached.priv.")
        assert (
            numbers(reader.execute(f"{reported} FROM attached.{quoted(release)}", asked)) == answer
        )
        rows = reader.execute(
            "SELECT value::VARCHAR, estimate FROM attached.priv.reconstructed_distribution(?, database := 'attached')",
            [release],
        ).fetchall()
        assert sorted(rows) == sorted(distribution)
    folder = tmp_path / "folder"
    # The card is the one that the file has.
    with without_cards():
        if "\r" in joined:
            with pytest.raises(duckdb.InvalidInputException, match="contains a carriage return"):
                parquet_answer(con, folder, release, question, asked)
        else:
            assert parquet_answer(con, folder, release, question, asked) == answer
    con.execute("FROM priv.drop_release(?)", [release]).fetchall()


def numbers(answer: duckdb.DuckDBPyConnection) -> list[float]:
    """The numbers of the one row of an answer. Sums of floats differ in the last digits from one order of rows to
    another."""
    (row,) = answer.fetchall()
    return [n for cell in row for n in (cell.values() if isinstance(cell, dict) else [cell])]


def parquet_answer(con, folder: Path, release: str, question: str, asked: list) -> list[float]:
    """Export to Parquet, set it up with its script as an analyst would, and ask there."""
    con.execute("FROM priv.export_release(?, ?, format := 'parquet')", [release, str(folder)])
    before = Path.cwd()
    os.chdir(folder)
    try:
        with duckdb.connect() as reader:
            reader.execute((folder / "setup.sql").read_bytes().decode())
            return numbers(reader.execute(f"{question} FROM {quoted(release)}", asked))
    finally:
        os.chdir(before)


PAIRS = [*zip(SHADOWING[::2], SHADOWING[1::2], strict=True)]


def publish_pairs(connection: duckdb.DuckDBPyConnection, pairs: list[tuple[str, str]]) -> None:
    """Publish with public columns called so, every pair of them the same two numbers."""
    columns = ", ".join(
        f"(hash(i) % 3)::INTEGER AS {quoted(public)}, (hash(i + 7) % 5)::INTEGER AS {quoted(number)}"
        for public, number in pairs
    )
    connection.execute(
        f"CREATE VIEW stays AS SELECT i AS patient, ['a', 'b', NULL][1 + i % 3] AS disease, {columns}"
        f" FROM range({ROWS}) t(i)"
    )
    connection.execute(
        "FROM priv.publish_uniform('stays', 'release', sensitive := 'disease', retention := 0.5,"
        " record_id := 'patient')"
    ).fetchall()


def answers(connection: duckdb.DuckDBPyConnection, pairs: list[tuple[str, str]]) -> list:
    """Ask everything that can be asked by public columns, by all of them at once."""
    publics, numbers = ([*map(quoted, names)] for names in zip(*pairs, strict=True))
    everything = ", ".join(publics + numbers)
    by_one = " AND ".join(
        [*(f"{name} = 1" for name in publics), *(f"{name} < 3" for name in numbers)]
    )
    same = " AND ".join(f"i.{name} = o.{name}" for name in publics)
    asked = (
        "priv.reconstructed_count('release', noisy_disease, 'a'),"
        " priv.reconstructed_stderr('release', noisy_disease, 'a'),"
        " priv.reconstructed_interval('release', noisy_disease, 'a'),"
        " priv.reconstructed_mle('release', noisy_disease, NULL),"
        " sum(priv.weight('release', noisy_disease, 'b'))"
    )
    found = [
        sorted(connection.execute(query).fetchall(), key=repr)
        for query in (
            f"SELECT {publics[0]}, {asked} FROM release GROUP BY {', '.join(publics)}",
            f"SELECT {publics[-1]}, {numbers[-1]}, {asked} FROM release GROUP BY {everything}",
            f"SELECT {asked} FROM release WHERE {by_one}",
            f"SELECT {publics[0]}, (SELECT priv.reconstructed_interval('release', noisy_disease, 'a')"
            f" FROM release i WHERE {same}) FROM (SELECT DISTINCT {', '.join(publics)} FROM release) o",
        )
    ]
    for groups, condition in (
        (", ".join(publics), " AND ".join(f"{name} > 1" for name in numbers)),
        (everything, None),
        (None, by_one),
    ):
        rows = connection.execute(
            "FROM priv.reconstructed_distribution('release', group_columns := ?, condition := ?)",
            [groups, condition],
        ).fetchall()
        # Of the groups, one public column and one number, and the six columns of an estimate.
        found.append(sorted(((row[0], *row[-7:]) for row in rows), key=repr))
    return found


def test_no_column_of_the_user_shadows_a_name_of_ours(prepared):
    """Every public column is called so, and the answers are those by columns of other names."""
    of_names = {}
    for pairs in ([("ward", "floor")], PAIRS):
        with prepared() as connection:
            publish_pairs(connection, pairs)
            of_names[len(pairs)] = answers(connection, pairs)
    assert of_names[len(PAIRS)] == of_names[1]


ARGUMENTS = [
    "NULL",
    "''",
    "' '",
    "1",
    "-1.5",
    "true",
    "[]",
    "['a']",
    "[NULL]",
    "[['disease']]",
    "{'a': 1}",
    "{'disease': ['a', 'b', 'c']}",
    "MAP {'a': 1}",
    "row(1, 2)",
    """'{"a": 1}'""",
    """'["disease"]'""",
    "'stays; DROP TABLE canary'",
    "'stays\"; DROP TABLE canary; --'",
    "'x'' OR 1 = 1; DROP TABLE canary; --'",
    "(SELECT 'disease')",
    "DATE '2020-01-01'",
    "'\\x00'::BLOB",
    "chr(0)",
    "'a' || chr(0) || 'b'",
    "'nan'::DOUBLE",
    "'inf'::DOUBLE",
    "99999999999999999999999",
    "INTERVAL 1 DAY",
    "repeat('x', 100000)",
]
PLACES = [
    "source",
    "release",
    "sensitive",
    "retention",
    "record_id",
    "exclude",
    "domain",
    "replace",
]
GOOD = {
    "source": "'stays'",
    "release": "'release'",
    "sensitive": "'disease'",
    "retention": "0.5",
    "record_id": "'patient'",
}


@pytest.fixture
def unanswered(for_files):
    """Nobody counts: the functions are not written for releases, nor the cards."""
    with for_files():
        yield


@pytest.mark.parametrize("place", PLACES)
def test_any_argument_anywhere_publishes_or_is_refused_in_a_sentence(unanswered, con, place):
    con.execute(
        "CREATE TABLE stays AS SELECT i AS patient, ['a', 'b', 'c'][1 + i % 3] AS disease, i % 2 AS ward"
        " FROM range(60) t(i)"
    )
    before = names(con)
    for argument in ARGUMENTS:
        given = GOOD | {place: argument}
        named = ", ".join(
            f"{name} := {text}" for name, text in given.items() if name not in ("source", "release")
        )
        try:
            published = con.execute(
                f"FROM priv.publish_uniform({given['source']}, {given['release']}, {named})"
            ).fetchall()
        except duckdb.Error as error:
            reported = str(error)
            assert "Hint: " in reported, f"{argument}: {reported}"
            assert "Python exception" not in reported, f"{argument}: {reported}"
            assert names(con) == before
        else:
            con.execute("FROM priv.drop_release(?)", [published[0][0]]).fetchall()
            assert names(con) == before


def names(con) -> set[str]:
    rows = con.execute(
        "SELECT table_name FROM duckdb_tables() UNION SELECT release FROM priv.release"
    )
    return {name for (name,) in rows.fetchall()}


@pytest.mark.parametrize(
    "call",
    [
        "priv.export_release(?, 'release.duckdb')",
        "priv.export_release('release', ?)",
        "priv.export_release('release', 'release.duckdb', format := ?)",
        "priv.drop_release(?)",
        "priv.audit(?)",
    ],
)
def test_other_procedures_refuse_what_they_do_not_know(
    unanswered, con, publish_stays, tmp_path, monkeypatch, call
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    for given in (
        *HOSTILE[::5],
        None,
        "",
        "mine.txt",
        "..",
        "/",
        "/dev/null",
        "~nobody/x",
        "no/such/folder",
        "a" * 300,
    ):
        if "path" not in call and given == "release":
            continue
        try:
            con.execute(f"FROM {call}", [given]).fetchall()
        except duckdb.Error as error:
            reported = str(error)
            assert "Hint: " in reported, f"{given!r}: {reported}"
            assert "Python exception" not in reported, f"{given!r}: {reported}"
        else:
            assert "'release', ?)" in call
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert not list(tmp_path.glob(".*"))
    assert names(con) == names(con) | {"release"}


@pytest.fixture
def publish_stays(con):
    con.execute(
        "CREATE TABLE stays AS SELECT i AS patient, ['a', 'b', 'c'][1 + i % 3] AS disease FROM range(60) t(i)"
    )
    con.execute(
        "FROM priv.publish_uniform('stays', 'release', sensitive := 'disease', retention := 0.5)"
    ).fetchall()


def test_group_columns_are_sql_that_can_only_ask(con, publish_stays):
    """What an analyst writes there is SQL of the analyst's own; the publisher calls no query with it."""
    for text in ("1; DROP TABLE canary", "1) FROM canary; DROP TABLE canary; --"):
        with pytest.raises(duckdb.Error):
            con.execute(
                "FROM priv.reconstructed_distribution('release', group_columns := ?)", [text]
            ).fetchall()
        with pytest.raises(duckdb.Error):
            con.execute(
                "FROM priv.reconstructed_distribution('release', condition := ?)", [text]
            ).fetchall()
