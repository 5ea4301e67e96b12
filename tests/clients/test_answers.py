"""Every client gives the answers of Python's connection, to twelve digits: versions add up lists in other orders.

A client opens a release, or attaches all of them, uses one or none. Where others have the same library, or a version
lies between two that are asked everything, a client is asked less, and everything on demand.

After USE estimated, a plain count is an estimate in every client but DuckDB in WebAssembly: there, the extension json
that reads a statement comes from the network.
"""

from __future__ import annotations

import duckdb
import pytest

import duckdb_priv
from clients.asking import (
    CLIENTS,
    VERSIONS,
    Asked,
    Client,
    ask_version,
    at_a_glance,
    attached,
    briefly,
    in_turn,
    job,
    opened,
    same,
)
from clients.installation import Missing
from clients.releases import Answer, Release, enlarge

PLAIN = """
    SELECT ward, count(*) AS n, avg(CAST(age AS INTEGER)) AS mean_age FROM {} WHERE disease = 'flu' AND age <> '50'
    GROUP BY ward ORDER BY ward
"""
SPREAD = "SELECT ward, count_stderr() FROM {} WHERE disease = 'flu' GROUP BY ward ORDER BY ward"
ESTIMATED = ("uniform", "two", "fine_grain", "matrix", "reconstruction_private", "splu")


@pytest.fixture(scope="module")
def estimated(releases) -> list[Asked]:
    """Plain counts of one release after the other, and the estimates that they are."""
    found: list[Asked] = []
    for name in ESTIMATED:
        path, questions = releases[name].path, [PLAIN.format(name), SPREAD.format(name)]
        with duckdb.connect(str(path), read_only=True) as reader:
            estimates = duckdb_priv.reconstruct(reader, questions[0]).fetchall()
            reader.execute("USE estimated")
            answers = [[list(row) for row in reader.execute(each).fetchall()] for each in questions]
        assert same(answers[0], [list(row) for row in estimates], tolerance=1e-9), name
        assert all(float(stderr) > 0 for _, stderr in answers[1])
        found.append((job(path, questions) | {"setup": ["USE estimated"]}, answers))
    return found


def right(client: Client, asked: list[Asked]) -> None:
    """Ask a client, and compare what it answers."""
    try:
        replies = client.ask([each for each, _ in asked])
    except Missing as reason:
        pytest.skip(str(reason))
    for (each, expected), reply in zip(asked, replies, strict=True):
        assert "error" not in reply, (each, reply["error"])
        for question, answer, rows in zip(
            each["questions"], reply["answers"], expected, strict=True
        ):
            assert rows is None or same(answer["rows"], rows, tolerance=1e-12), (each, question)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_the_answers_are_those_of_python(client: Client, releases, years, estimated) -> None:
    asked = [each for way in client.ways for each in way(releases)]
    asked += [each for way in client.ways if way in (attached, in_turn) for each in way(years)]
    if "wasm" not in client.name:
        asked += estimated if client.name.startswith(("Python", "DuckDB")) else estimated[:1]
    right(client, asked)


@pytest.mark.on_demand
@pytest.mark.parametrize(
    "client", [each for each in CLIENTS if opened not in each.ways], ids=lambda client: client.name
)
def test_everything_is_answered_wherever_a_file_is_opened(client: Client, releases) -> None:
    right(client, (briefly if at_a_glance in client.ways else opened)(releases))


def test_releases_of_one_name_answer_differently(years) -> None:
    assert years["y2025"].answers != years["y2026"].answers


@pytest.fixture(scope="module")
def many(releases, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Release]:
    """Releases of more rows than one thread counts: a thread takes 122,880."""
    return enlarge(releases, tmp_path_factory.mktemp("many"), times=22)


@pytest.fixture(scope="module")
def counted(many) -> list[tuple[str, str, Answer]]:
    """By name: a question for every group, and its answer."""
    asked = [(name, release.questions()[1]) for name, release in many.items()]
    (question,) = [question for name, question in asked if name == "uniform"]
    asked.append(
        ("uniform", question.replace("group_columns", "method := 'bayesian', group_columns"))
    )
    found = []
    for name, question in asked:
        with duckdb.connect(str(many[name].path), read_only=True) as reader:
            found.append(
                (name, question, [list(row) for row in reader.execute(question).fetchall()])
            )
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_groups_keep_their_names_where_several_threads_count(version: str, many, counted) -> None:
    """Groups come out of several threads in any order, and in another one where they are counted twice."""
    jobs = [job(many[name].path, [question] * 3) for name, question, _ in counted]
    try:
        replies = ask_version(jobs, version=version)
    except Missing as reason:
        pytest.skip(str(reason))
    for (name, question, rows), reply in zip(counted, replies, strict=True):
        for answer in reply["answers"]:
            assert same(answer["rows"], rows, tolerance=1e-9), (name, question)
