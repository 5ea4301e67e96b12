"""Every client gives the answers of Python's connection, to twelve digits: versions add up lists in other orders.

A client opens a release, or attaches all of them, uses one or none.
"""

from __future__ import annotations

from itertools import islice

import duckdb
import pytest

from clients.asking import (
    CLIENTS,
    VERSIONS,
    Client,
    ask_version,
    attached,
    briefly,
    in_use,
    job,
    same,
)
from clients.installation import Missing
from clients.releases import Release, publish_all


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_the_answers_are_those_of_python(client: Client, releases, years) -> None:
    asked = [
        (way.__name__, releases, [name], way(releases, name))
        for way in client.ways
        for name in releases
    ]
    if in_use in client.ways:
        asked += [("in_use", years, [name], in_use(years, name)) for name in years]
    if briefly not in client.ways:
        asked += [("attached", of, [*of], attached(of)) for of in (releases, years)]
    try:
        replies = client.ask([each for *_, each in asked])
    except Missing as reason:
        pytest.skip(str(reason))
    for (way, of, names, each), reply in zip(asked, replies, strict=True):
        assert "error" not in reply, (way, names, reply["error"])
        found = iter([answer["rows"] for answer in reply["answers"]])
        for name in names:
            expected = of[name].answers[: len(each["questions"])]
            assert same([*islice(found, len(expected))], expected, tolerance=1e-12), (way, name)
        assert next(found, None) is None


def test_releases_of_one_name_answer_differently(years) -> None:
    assert years["y2025"].answers != years["y2026"].answers


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Release]:
    """Releases of more rows than one thread counts: a thread takes 122,880."""
    return publish_all(tmp_path_factory.mktemp("many"), rows=130_000)


@pytest.mark.parametrize("version", VERSIONS)
def test_groups_keep_their_names_where_several_threads_count(version: str, many) -> None:
    """Groups come out of several threads in any order, and in another one where they are counted twice."""
    asked = {name: release.questions()[1] for name, release in many.items()}
    bayesian = asked["uniform"].replace("group_columns", "method := 'bayesian', group_columns")
    jobs = [job(many[name].path, [question] * 3) for name, question in asked.items()]
    jobs.append(job(many["uniform"].path, [bayesian] * 3))
    expected = [release.answers[1] for release in many.values()]
    with duckdb.connect(str(many["uniform"].path), read_only=True) as reader:
        expected.append([list(row) for row in reader.execute(bayesian).fetchall()])
    try:
        replies = ask_version(jobs, version=version)
    except Missing as reason:
        pytest.skip(str(reason))
    for name, right, reply in zip([*asked, "bayesian"], expected, replies, strict=True):
        for answer in reply["answers"]:
            assert same(answer["rows"], right, tolerance=1e-9), name
